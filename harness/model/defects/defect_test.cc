// The list of defects: what it says of each, and how models combine.

#include "harness/model/defects/defect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/profile.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/defects/expression.h"
#include "harness/model/family.h"
#include "harness/operators/convolution/pipeline.h"
#include "harness/suites/drawn.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string_view> names_of(const Stages& stages) {
  std::vector<std::string_view> names;
  for (const StageInfo* stage : stages.replaced()) names.push_back(stage->name);
  return names;
}

bool is_one_line(std::string_view text) {
  return text.find_first_of("\r\n\t") == std::string_view::npos && !text.starts_with(' ') && !text.ends_with(' ');
}

// Lists and the page of all models show these texts in cells of one line.
TEST(Defects, SayWhatTheyAre) {
  std::set<std::string_view> ids;
  std::set<std::string_view> descriptions;
  for (const Defect& defect : defects()) {
    EXPECT_TRUE(ids.insert(defect.id).second) << defect.id;
    EXPECT_TRUE(descriptions.insert(defect.description).second) << defect.id << ": another model says the same";
    for (const std::string_view text : {defect.description, defect.trigger, defect.rule}) {
      EXPECT_FALSE(text.empty()) << defect.id;
      EXPECT_TRUE(is_one_line(text)) << defect.id << ": " << text;
    }
    EXPECT_TRUE(is_one_line(defect.evidence)) << defect.id << ": " << defect.evidence;  // empty: no report is known
    EXPECT_FALSE(defect.operators.is_empty()) << defect.id;
    EXPECT_TRUE(defect.operators.contains(defect.admitted)) << defect.id;
    EXPECT_FALSE(stages_of(defect).empty()) << defect.id;
    EXPECT_EQ(find_defect(defect.id), &defect);
  }
  EXPECT_EQ(find_defect("pad"), nullptr);
}

TEST(Defects, BreakRulesThatTheDocumentStates) {
  const Result<std::string> page = read_file(QCONFORM_SOURCE_DIRECTORY "/docs/numerics.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().text();
  for (const Defect& defect : defects()) {
    if (defect.rule == "formula") continue;
    EXPECT_THAT(*page, HasSubstr("\n| " + std::string(defect.rule) + " |")) << defect.id;
  }
}

TEST(Defects, CombineWhereTheyReplaceDifferentStages) {
  EXPECT_THAT(stages_of(*find_defect("clamp-before-zp")), ElementsAre("zero_point", "clamp"));
  const Result<DefectModel> pair = pair_of(*find_defect("pad-raw-zero"), *find_defect("half-away"));
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->defects(), ElementsAre(find_defect("pad-raw-zero"), find_defect("half-away")));
  EXPECT_THAT(names_of(pair->stages("QLinearConv")), ElementsAre("pad", "round"));
  const Result<DefectModel> clash = pair_of(*find_defect("half-up"), *find_defect("half-away"));
  ASSERT_FALSE(clash);
  EXPECT_THAT(clash.error().text(), HasSubstr("both replace the stage round"));
  EXPECT_FALSE(pair_of(*find_defect("k-tail"), *find_defect("k-tail")));
}

TEST(Defects, StayOutOfOtherOperators) {
  DefectModel model;
  ASSERT_TRUE(model.add(*find_defect("acc-narrow-i8")));
  EXPECT_THAT(names_of(model.stages("QLinearConv")), IsEmpty());
  EXPECT_THAT(names_of(model.stages("ConvInteger")), ElementsAre("keep"));
}

std::vector<Defect> entries_of_all_tables() {
  std::vector<Defect> entries = common_defects();
  for (const Family* family : families()) {
    if (family->diagnosis.defects == nullptr) continue;
    for (const DefectList& list : family->diagnosis.defects())
      entries.insert(entries.end(), list.defects.begin(), list.defects.end());
  }
  return entries;
}

TEST(Defects, ComputeAnExpressionOrByAFunction) {
  int expressions = 0;
  for (const Defect& entry : entries_of_all_tables()) {
    EXPECT_NE(entry.computes.empty(), entry.replace == nullptr) << entry.id;
    EXPECT_EQ(entry.computes.empty(), entry.slot.empty()) << entry.id;
    if (entry.computes.empty()) continue;
    ++expressions;
    const std::vector<std::string> op_types(entry.operators.begin(), entry.operators.end());
    const auto expression = expression_in(op_types, entry.slot, entry.computes);
    ASSERT_TRUE(expression) << entry.id << ": " << expression.error().text();
    EXPECT_EQ(expression->text(), entry.computes) << entry.id;
    EXPECT_NE(entry.computes, expression->slot().reference) << entry.id;
  }
  EXPECT_GE(expressions, 50);
}

// An entry of a second family, beside one with an expression or with a function.
TEST(Defects, ComputeWhatEachFamilySays) {
  const Defect& both = *find_defect("zp-sub-wraps-8bit");
  EXPECT_EQ(both.expression->text(), "wrap8(x - zero_point)");
  EXPECT_THAT(stages_of(both), ElementsAre("x_difference", "difference"));
  const Defect& half = *find_defect("reciprocal");
  EXPECT_EQ(half.expression, nullptr);
  EXPECT_THAT(stages_of(half), ElementsAre("product", "quotient"));
}

TEST(Defects, AreBackends) {
  const auto arithmetic = RoundingProfile::correctly_rounded;
  const auto backend = backend::select("defect:pad-raw-zero+half-away", arithmetic);
  ASSERT_TRUE(backend);
  EXPECT_EQ((*backend)->info().name, "defect:pad-raw-zero+half-away");
  EXPECT_EQ((*backend)->info().kind, "defect");
  EXPECT_THAT(backend::select("defect:pad-rawzero", arithmetic).error().text(),
              HasSubstr("no defect model \"pad-rawzero\"; did you mean pad-raw-zero"));
  EXPECT_FALSE(backend::select("defect:", arithmetic));
  EXPECT_FALSE(backend::select("defect:k-tail+", arithmetic));
}

TEST(NearNames, AreContainedOrFewEditsAway) {
  const std::vector<std::string_view> names{"scalar", "avx2", "avx512vnni", "neon"};
  EXPECT_THAT(near_names("scaler", names), ElementsAre("scalar"));
  EXPECT_THAT(near_names("avx", names), ElementsAre("avx2", "avx512vnni"));
  EXPECT_THAT(near_names("quite different", names), IsEmpty());
}

// The pipeline without defects is the reference.

void expect_reference(const Case& test_case) {
  const auto modelled = ModelledCase::prepare(test_case);
  if (modelled == nullptr) return;
  for (const RoundingProfile profile : reference::kAllRoundingProfiles) {
    const std::optional<Tensor> output = modelled->run(DefectModel(profile));
    ASSERT_TRUE(output.has_value());
    ASSERT_EQ(*output, modelled->lowered().evaluate(profile)) << test_case.provenance.source << " " << test_case.id;
    if (modelled->op().name != "QLinearConv") return;
  }
}

// A defect is told by one wrong element where it can be: that must be the element that all of them have.
TEST(Pipeline, ComputesAnElementByItselfAsAmongAll) {
  int compared = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Case test_case = random_case(22, i);
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) continue;
    for (const Defect* defect : defects_in(modelled->op().name)) {
      DefectModel model;
      static_cast<void>(model.add(*defect));
      const auto all = modelled->run(model);
      if (!all || all->elements() == 0) continue;
      const auto index = static_cast<std::int64_t>(i) % all->elements();
      const auto alone = modelled->element(model, index);
      if (!alone) break;
      ++compared;
      ASSERT_EQ(*alone, bits_at(*all, index)) << defect->id << " " << test_case.id;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Pipeline, WithoutDefectsIsTheReferenceOnRandomCases) {
  const auto cases = static_cast<std::uint64_t>(testing::scaled(6000));
  for (std::uint64_t i = 0; i < cases; ++i) expect_reference(random_case(20, i));
}

TEST(Pipeline, WithoutDefectsIsTheReferenceOnTheCorpus) {
  auto sources = open_suite("corpus", {});
  ASSERT_TRUE(sources) << sources.error().text();
  for (const auto& source : *sources) {
    for (auto next = source->next(); next && *next; next = source->next()) expect_reference(**next);
  }
}

TEST(Pipeline, TakesEveryExpression) {
  for (const reference::FloatExpression& expression : reference::float_expressions()) {
    Stages stages;
    use_expression(stages, expression);
    const DefectModel model(stages);
    EXPECT_EQ(model.stages("QLinearConv").get(stage::product).expression, &expression);
  }
}

}  // namespace
}  // namespace qconform::diagnose
