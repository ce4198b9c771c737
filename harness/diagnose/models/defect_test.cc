// The list of defects: its documentation, and how models combine.
#include "harness/diagnose/models/defect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/operators/operator.h"

namespace qconform::diagnose {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string operators_text(const OpSet& ops) {
  std::string text;
  for (const Operator& known : operators()) {
    if (ops.contains(known.name)) text += (text.empty() ? "" : ", ") + std::string(known.name);
  }
  return text;
}

std::vector<std::string_view> names_of(const Stages& stages) {
  std::vector<std::string_view> names;
  for (const StageInfo* stage : stages.replaced()) names.push_back(stage->name);
  return names;
}

// The table of docs/defect-models.md.
std::string table() {
  std::string text = "| id | what it computes | operators | shows on | rule | seen in |\n|---|---|---|---|---|---|\n";
  for (const Defect& defect : defects()) {
    std::string operators = operators_text(defect.operators);
    if (!defect.admitted.is_empty()) operators += " (admitted in " + operators_text(defect.admitted) + ")";
    const std::string evidence(defect.evidence.empty() ? "plausible; no report known" : defect.evidence);
    for (const std::string& cell : {"`" + std::string(defect.id) + "`", std::string(defect.description), operators,
                                    std::string(defect.trigger), std::string(defect.rule), evidence}) {
      text += "| ";
      for (const char c : cell) text += c == '|' ? std::string("\\|") : std::string(1, c);
      text += " ";
    }
    text += "|\n";
  }
  return text;
}

TEST(Defects, AreDocumented) {
  const Result<std::string> page = read_file(QCONFORM_SOURCE_DIRECTORY "/docs/defect-models.md", 1 << 20);
  ASSERT_TRUE(page) << page.error().text();
  EXPECT_NE(page->find(table()), std::string::npos) << "docs/defect-models.md lacks this table:\n" << table();
}

TEST(Defects, SayWhatTheyAre) {
  std::set<std::string_view> ids;
  for (const Defect& defect : defects()) {
    EXPECT_TRUE(ids.insert(defect.id).second) << defect.id;
    EXPECT_FALSE(defect.description.empty() || defect.trigger.empty() || defect.rule.empty()) << defect.id;
    EXPECT_FALSE(defect.operators.is_empty()) << defect.id;
    EXPECT_TRUE(defect.operators.contains(defect.admitted)) << defect.id;
    EXPECT_FALSE(stages_of(defect).empty()) << defect.id;
    EXPECT_EQ(find_defect(defect.id), &defect);
  }
  EXPECT_EQ(find_defect("pad"), nullptr);
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
