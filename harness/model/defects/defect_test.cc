// The list of defects: what it says of each, and how models combine.
#include "harness/model/defects/defect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/model/defects/expression.h"
#include "harness/model/defects/modelled_case.h"
#include "harness/model/family.h"
#include "harness/suites/random.h"
#include "harness/suites/select.h"

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
  const Result<Model> pair = pair_of(*find_defect("pad-raw-zero"), *find_defect("half-away"));
  ASSERT_TRUE(pair);
  EXPECT_THAT(pair->defects(), ElementsAre(find_defect("pad-raw-zero"), find_defect("half-away")));
  EXPECT_THAT(names_of(pair->stages("QLinearConv")), ElementsAre("pad", "round"));
  const Result<Model> clash = pair_of(*find_defect("half-up"), *find_defect("half-away"));
  ASSERT_FALSE(clash);
  EXPECT_THAT(clash.error().text(), HasSubstr("both replace the stage round"));
  EXPECT_FALSE(pair_of(*find_defect("k-tail"), *find_defect("k-tail")));
}

TEST(Defects, StayOutOfOtherOperators) {
  Model model;
  ASSERT_TRUE(model.add(*find_defect("acc-narrow-i8")));
  EXPECT_THAT(names_of(model.stages("QLinearConv")), IsEmpty());
  EXPECT_THAT(names_of(model.stages("ConvInteger")), ElementsAre("keep"));
}

// Entries that say what they compute twice: by an expression and by a function.
std::vector<Defect> entries_with_both() {
  std::vector<Defect> entries;
  const auto add = [&](std::span<const Defect> list) {
    for (const Defect& entry : list) {
      if (!entry.computes.empty() && entry.replace != nullptr) entries.push_back(entry);
    }
  };
  for (const Family* family : families()) {
    if (family->defects == nullptr) continue;
    for (const DefectList& list : family->defects()) add(list.defects);
  }
  add(common_defects());
  return entries;
}

TEST(Defects, ComputeTheSameByExpressionAsByFunction) {
  struct Both {
    Defect entry;
    Expression expression;
    Stages by_function, by_expression;
    int cases = 0, differing = 0;
  };
  std::deque<Both> all;
  for (const Defect& entry : entries_with_both()) {
    const ExpressionSlot* slot = find_slot(*entry.operators.begin(), entry.slot);
    ASSERT_NE(slot, nullptr) << entry.id;
    Both& both = all.emplace_back(Both{entry, *Expression::parse(*slot, entry.computes), {}, {}});
    entry.replace(both.by_function);
    slot->set(both.by_expression, both.expression);
    EXPECT_EQ(both.by_function.replaced(), both.by_expression.replaced()) << entry.id;
    EXPECT_EQ(both.expression.text(), entry.computes) << entry.id;
  }
  const auto look_at = [&](const Case& test_case) {
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return;
    const auto right = modelled->run(Stages());
    for (Both& both : all) {
      if (!both.entry.operators.contains(modelled->op().name)) continue;
      const auto output = modelled->run(both.by_function);
      ASSERT_EQ(modelled->run(both.by_expression), output) << both.entry.id << " on " << test_case.id;
      ++both.cases;
      both.differing += output == right ? 0 : 1;
    }
  };
  for (const char* name : {"corpus", "sweep", "directed"}) {
    auto sources = open_suite(name, {});
    ASSERT_TRUE(sources) << sources.error().text();
    for (const auto& source : *sources) {
      for (auto next = source->next(); next && *next; next = source->next()) look_at(**next);
    }
  }
  for (std::uint64_t i = 0; i < 2000; ++i) look_at(random_case(5, i));
  for (const Both& both : all) {
    std::printf("%-26s %5d cases, %5d differ from the reference\n", std::string(both.entry.id).c_str(), both.cases,
                both.differing);
    EXPECT_GT(both.differing, 0) << both.entry.id;
  }
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

}  // namespace
}  // namespace qconform::diagnose
