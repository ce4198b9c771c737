// Relations of graphs: they hold of right backends, and each finds a planted defect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/backends/kinds.h"
#include "harness/engine/relation_check.h"
#include "harness/model/operator.h"
#include "harness/operators/graph/random.h"
#include "harness/tests/refusing_backend.h"
#include "harness/tests/test_scale.h"

namespace qconform::relations {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Backend> with_defect(std::string_view id) {
  diagnose::Model model;
  if (!id.empty()) (void)model.add(*diagnose::find_defect(id));
  return backend::defect_model(std::move(model), "defect:" + std::string(id));
}

using Outcomes = std::map<RelationOutcome, int>;

struct Checked {
  Outcomes outcomes;
  Verdict broken;  // the verdict on the first broken case
};

Checked check_all(std::string_view relation, Backend& backend, std::uint64_t cases,
                  std::vector<Backend*> siblings = {}) {
  Checked result;
  GuardedOutput output;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Case graph = graph_case(11, i);
    const auto subject = subject_of(graph);
    if (!subject) continue;
    const FormedOutput base = run_for_output(backend, graph, output);
    const Relation& known = *find_relation(relation);
    const RelationCheck check = base.tensor
                                    ? check_relation(known, *subject, *base.tensor, backend, output, {}, siblings)
                                    : check_refusal(known, *subject, base.verdict, backend, output, siblings);
    if (check.outcome == RelationOutcome::broken && result.outcomes[check.outcome] == 0) result.broken = check.verdict;
    ++result.outcomes[check.outcome];
    EXPECT_NE(check.outcome, RelationOutcome::failed) << check.verdict.detail;
  }
  return result;
}

TEST(GraphRelations, HoldOfRightBackends) {
  const auto cases = static_cast<std::uint64_t>(testing::scaled(250));
  for (const std::string_view id : {"", "sum-blocked", "fused-multiplier"}) {
    const auto backend = with_defect(id);
    const auto sibling = with_defect("sum-forward");
    for (const std::string_view relation : {"opt-level", "model-form", "context", "qdq-vs-qlinear"}) {
      Outcomes outcomes = check_all(relation, *backend, cases, {sibling.get()}).outcomes;
      EXPECT_EQ(outcomes[RelationOutcome::broken], 0) << relation << " on " << id;
      EXPECT_EQ(outcomes[RelationOutcome::refused], 0) << relation << " on " << id;
      EXPECT_GT(outcomes[RelationOutcome::held], 0) << relation << " on " << id;
    }
  }
}

TEST(GraphRelations, DeriveLegalGraphs) {
  for (std::uint64_t i = 0; i < 250; ++i) {
    const Case graph = graph_case(12, i);
    const auto subject = subject_of(graph);
    if (!subject) continue;
    for (const std::string_view relation : {"model-form", "context", "qdq-vs-qlinear"}) {
      const Applied applied = find_relation(relation)->apply(*subject);
      if (!std::holds_alternative<Derivation>(applied)) continue;
      for (const Case& derived : std::get<Derivation>(applied)({}).derived) {
        const Classification found = classify(derived);
        EXPECT_EQ(found.expectation(), Expectation::valid)
            << derived.id << ": " << (found.deciding_remark() != nullptr ? found.deciding_remark()->text() : "");
      }
    }
  }
}

// A converted bias is that of an initializer alone, and integers that something else reads are kept.
TEST(GraphRelations, FindPlantedDefects) {
  constexpr std::uint64_t cases = 400;  // not scaled: a quarter of them has none that shows the last
  for (const auto& [relation, id] : std::map<std::string_view, std::string_view>{
           {"model-form", "bias-raw"}, {"context", "s8u8-one-side"}, {"qdq-vs-qlinear", "q-default-uint8"}}) {
    EXPECT_GT(check_all(relation, *with_defect(id), cases).outcomes[RelationOutcome::broken], 0)
        << relation << " on " << id;
  }
}

TEST(GraphRelations, CompareLevels) {
  const auto right = with_defect("");
  const auto wrong = with_defect("relu-dropped");
  const Checked values = check_all("opt-level", *right, 300, {right.get(), wrong.get()});
  EXPECT_EQ(values.broken.kind, VerdictKind::inconsistent);
  EXPECT_THAT(values.broken.detail, HasSubstr("on defect:relu-dropped"));
  EXPECT_EQ(check_all("opt-level", *right, 20).outcomes[RelationOutcome::not_applicable], 20) << "it has no levels";
}

TEST(GraphRelations, CompareRefusalsOfLevels) {
  const auto right = with_defect("");
  testing::RefusingBackend refusing;
  Checked later = check_all("opt-level", *right, 20, {&refusing});
  EXPECT_EQ(later.outcomes[RelationOutcome::broken], 20);
  EXPECT_THAT(later.broken.detail, HasSubstr("y of the case is computed"));
  Checked first = check_all("opt-level", refusing, 20, {right.get()});
  EXPECT_EQ(first.outcomes[RelationOutcome::broken], 20);
  EXPECT_THAT(first.broken.detail, HasSubstr("the case is refused"));
  EXPECT_EQ(check_all("opt-level", refusing, 20, {&refusing}).outcomes[RelationOutcome::refused], 20);
  EXPECT_EQ(check_all("context", refusing, 20).outcomes[RelationOutcome::refused], 20);
}

}  // namespace
}  // namespace qconform::relations
