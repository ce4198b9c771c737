#include "harness/diagnose/audit/audit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/cache.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/suites/sweep/covering_array.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

Audit audit_of(const std::string& suite, std::optional<std::uint64_t> cases = {}) {
  auto sources = open_suite(suite, {.seed = 1, .cases = cases});
  EXPECT_TRUE(sources.has_value());
  auto result = audit(suite, *sources, {});
  EXPECT_TRUE(result.has_value());
  return *std::move(result);
}

const Mutant& mutant(const Audit& audit, std::string_view id, std::string_view op_type) {
  for (const Mutant& m : audit.mutants) {
    if (m.defect->id == id && m.op->name == op_type) return m;
  }
  throw std::out_of_range(std::string(id));
}

// The default suite has to kill every mutant: one that survives here is a loss of detection power.
TEST(Audit, TheCorpusKillsEveryMutantThatIsNotAdmitted) {
  const Audit corpus = audit_of("corpus");
  EXPECT_EQ(corpus.killed(), corpus.killable());
  EXPECT_GT(corpus.killable(), 80U);
  for (const Mutant& m : corpus.mutants) {
    EXPECT_EQ(m.fate() == Fate::killed, corpus.could_kill(m)) << m.defect->id << m.op->name;
  }
}

// Random graphs are for models of graphs, and for no others. Right rewritings pass.
TEST(Audit, GraphsKillEveryMutantOfGraphsThatIsNotAdmitted) {
  const Audit graphs = audit_of("graphs", 2400);
  EXPECT_EQ(graphs.graphs, graphs.cases);
  EXPECT_GE(graphs.killable(), 21U);
  std::uint64_t admitted = 0;
  for (const Mutant& m : graphs.mutants) {
    EXPECT_EQ(m.fate() == Fate::killed, graphs.could_kill(m)) << m.defect->id << m.op->name;
    admitted += m.fate() == Fate::admitted ? 1 : 0;
  }
  EXPECT_EQ(admitted, 13U) << "they differ somewhere";
}

// A few uniform random cases reach no tie: the audit must say so, or it would flatter every suite.
TEST(Audit, ASuiteWithoutTiesMissesTieDefects) {
  const Audit random = audit_of("random", 60);
  EXPECT_EQ(random.cases, 60U);
  EXPECT_EQ(mutant(random, "half-away", "QLinearConv").fate(), Fate::not_triggered);
  const Mutant& pads = mutant(random, "pad-raw-zero", "QLinearConv");
  EXPECT_EQ(pads.fate(), Fate::killed);
  EXPECT_LE(pads.killed, pads.differed);
  EXPECT_LE(pads.differed, pads.cases);
  ASSERT_TRUE(pads.first);
  EXPECT_GE(pads.first->at, 1U);
  EXPECT_LE(pads.first->at, 60U);
}

// An audit that ends each mutant with its first kill, as for a baseline, runs fewer cases and finds the same fates.
TEST(Audit, UntilKilledFindsTheSameFirstCases) {
  const Audit whole = audit_of("corpus");
  auto sources = open_suite("corpus", {});
  const auto brief = audit("corpus", *sources, {.policy = {}, .until_killed = true});
  ASSERT_TRUE(brief);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < whole.mutants.size(); ++i) {
    const Mutant& m = brief->mutants[i];
    EXPECT_EQ(m.fate() == Fate::killed, whole.mutants[i].fate() == Fate::killed) << m.defect->id;
    if (!m.first) continue;
    EXPECT_EQ(m.first->at, whole.mutants[i].first->at) << m.defect->id;
    EXPECT_EQ(m.killed, 1U);
    last = std::max(last, m.first->at);
  }
  EXPECT_EQ(brief->cases, last) << "no case after the last mutant that could be killed";
  EXPECT_LT(last, whole.cases);
}

TEST(Audit, AdmittedMutantsFailOnlyUnderPinnedProfiles) {
  auto sources = open_suite("corpus", {});
  const auto strict = audit("corpus", *sources, {.policy = {.profile = Profile::ort_f32}});
  ASSERT_TRUE(strict);
  EXPECT_EQ(mutant(*strict, "scale-double", "QLinearConv").fate(), Fate::killed);
  const Audit lenient = audit_of("corpus");
  EXPECT_GT(mutant(lenient, "scale-double", "QLinearConv").differed, 0U);
  EXPECT_EQ(mutant(lenient, "scale-double", "QLinearConv").killed, 0U);
}

// No case condemns the answer of a model that the default profile is said to admit. Seed 2 meets an infinity under a
// subnormal scale.
TEST(Audit, AdmittedMutantsFailNoCase) {
  std::size_t differed = 0;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(testing::scaled(4000)); ++i) {
    const Case test_case = fuzz_case(2, i);
    const Expected expected = expect(test_case, {});
    const auto modelled = ModelledCase::prepare(test_case, expected.classification);
    if (modelled == nullptr || !expected.output) continue;
    for (const Defect& defect : defects()) {
      if (!defect.admitted.contains(modelled->op().name)) continue;
      DefectModel model;
      ASSERT_TRUE(model.add(defect));
      auto outputs = *modelled->outputs(model);
      differed += outputs.front() != *expected.output ? 1 : 0;
      const Verdict verdict = judge(expected, outcome::Produced{std::move(outputs)});
      EXPECT_FALSE(is_failure(verdict.kind)) << defect.id << " on " << test_case.id << ": " << verdict.detail;
    }
  }
  EXPECT_GT(differed, 20U);
}

// The reason why a mutant survives names the corner cases that no case reaches.
TEST(Audit, ASurvivorNamesTheCornerCaseThatWasNotReached) {
  const Audit random = audit_of("random", 60);
  const Survival ties = random.survival(mutant(random, "half-away", "QLinearConv"));
  EXPECT_EQ(ties.unreached, (std::vector{CornerCase::tie_positive, CornerCase::tie_negative}));
  EXPECT_EQ(ties.reason, "never reached: positive ties, negative ties");
  EXPECT_EQ(random.reached("QLinearConv", CornerCase::tie_positive), 0U);
  EXPECT_GT(random.reached("QLinearConv", CornerCase::clamp_high), 0U);
  const Audit none = audit_of("random", 0);
  EXPECT_EQ(none.survival(none.mutants.front()).reason, "no case of the operator");
}

// Each corner case behind a defect is one of the operator, and every defect that shows in ordinary cases has none.
TEST(Audit, KilledMutantsReachTheirCornerCase) {
  const Audit corpus = audit_of("corpus");
  for (const Mutant& m : corpus.mutants) {
    const std::vector<CornerCase> behind = corner_cases_behind(*m.defect, *m.op);
    if (behind.empty() || m.fate() != Fate::killed) continue;
    std::uint64_t reached = 0;
    for (const CornerCase corner_case : behind) reached += corpus.reached(m.op->name, corner_case);
    EXPECT_GT(reached, 0U) << m.defect->id << " in " << m.op->name;
  }
}

TEST(AuditBaseline, NamesMutantsThatSurviveNow) {
  const std::vector<Audit> before{audit_of("random", 60)};
  const auto baseline = read_baseline_json(audits_json(before, 1));
  ASSERT_TRUE(baseline.has_value()) << baseline.error().text();
  EXPECT_EQ(baseline->size(), before[0].count(Fate::killed));
  EXPECT_TRUE(lost_kills(*baseline, before).empty());
  const std::vector<Audit> after{audit_of("random", 3)};
  const auto lost = lost_kills(*baseline, after);
  EXPECT_EQ(lost.size(), before[0].count(Fate::killed) - after[0].count(Fate::killed));
  EXPECT_FALSE(lost.empty());
  EXPECT_EQ(lost_kills(*baseline, {}), *baseline) << "a suite that is gone kills nothing";
  EXPECT_FALSE(read_baseline_json("{}").has_value());
}

// A count of 0 is stated; a baseline that people keep may leave counts out.
TEST(AuditBaseline, CountsAreStatedAndNotNeeded) {
  const std::string text = audits_json(std::vector{audit_of("random", 3)}, 1);
  auto document = nlohmann::json::parse(text);
  std::size_t survivors = 0;
  for (auto& mutant : document["audits"][0]["mutants"]) {
    ASSERT_TRUE(mutant.contains("killed")) << mutant;
    survivors += mutant["killed"] == 0 ? 1 : 0;
    for (const char* count : {"cases", "differed", "killed"}) mutant.erase(count);
  }
  EXPECT_GT(survivors, 0U);
  const auto without = read_baseline_json(document.dump());
  ASSERT_TRUE(without) << without.error().text();
  EXPECT_EQ(*without, *read_baseline_json(text));
}

// The cases of a suite, at most so many, into a meter.
void add_cases(PowerMeter& meter, Suite& suite, std::size_t most = SIZE_MAX) {
  for (std::size_t i = 0; i < most; ++i) {
    const auto next = *suite.next();
    if (!next) return;
    meter.add(*next);
  }
}

TEST(DetectionPower, ABackendThatTakesEverythingHasAllMutantsToFear) {
  PowerMeter meter({});
  const auto corpus = open_suite("corpus", {});
  add_cases(meter, *corpus->front());
  const auto power = meter.power(whole_contracts(), 1);
  ASSERT_TRUE(power);
  EXPECT_EQ(*power, (DetectionPower{audit_of("random", 0).killable(), power->killed, 0, {}}));
}

// Few cases of a narrow kernel kill few of the mutants that apply; all that are known kill all of these, and no mutant
// is left out of account.
TEST(DetectionPower, MutantsApplyThatACaseInsideTheContractKills) {
  const auto contracts = stated_contracts("QuantizeLinear: x type=float, y type=uint8, layout=scalar");
  ASSERT_TRUE(contracts);
  cache::use(::testing::TempDir());  // one array is asked for four times
  std::uint64_t wrong = 0;
  for (const Mutant& m : all_mutants()) {
    wrong += m.op->name == "QuantizeLinear" && !m.defect->admitted.contains(m.op->name) ? 1 : 0;
  }
  PowerMeter few({});
  add_cases(few, *suite_within(*contracts, "narrow", 1), 3);
  const auto of_few = few.power(*contracts, 1);
  ASSERT_TRUE(of_few);
  EXPECT_LT(of_few->killed, of_few->apply);
  EXPECT_EQ(of_few->survivors.size(), of_few->apply - of_few->killed);
  EXPECT_GT(of_few->not_shown, 0U) << "blocks are outside";
  EXPECT_EQ(of_few->apply + of_few->not_shown, wrong);

  PowerMeter all({});
  add_cases(all, *suite_within(*contracts, "narrow", 1));
  for (const std::uint64_t seed : {1U, 2U}) {
    for (const auto& suite : drawn_within(*contracts, "narrow", seed)) add_cases(all, *suite);
  }
  const auto of_all = all.power(*contracts, 1);
  ASSERT_TRUE(of_all);
  EXPECT_EQ(of_all->killed, of_all->apply);
  EXPECT_GE(of_all->apply, of_few->apply);
  EXPECT_TRUE(of_all->survivors.empty());
  cache::use({});
}

TEST(Audit, CasesOutOfContractAreNotModelled) {
  const Audit corpus = audit_of("corpus");
  EXPECT_GT(corpus.not_modelled, 100U);
  EXPECT_LT(corpus.not_modelled, corpus.cases);
}

}  // namespace
}  // namespace qconform::diagnose
