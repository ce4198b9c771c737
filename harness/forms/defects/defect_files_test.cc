// Defects that a user states in a file: how they are read, what they compute, and what is refused.

#include "harness/forms/defects/defect_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::diagnose {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

json defect_of(const std::string& id) {
  return {{"id", id},
          {"description", "w_scale counted within its group"},
          {"operators", json::array({"QLinearConv"})},
          {"stage", "w_scale.index"},
          {"expression", "channel % group_channels"},
          {"trigger", "two groups"},
          {"rules", {"formula", "C19"}},
          {"evidence", "https://example.org/1"}};
}

json file_of(const json& defects) {
  return {{"format", "qconform-defects"}, {"version", 1}, {"defects", defects}};
}

// The error of a file with this content; empty where its defects were added.
std::string error_of(const json& content) {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "mine.json").string();
  std::ofstream(path) << content;
  const auto added = add_defects_of(path);
  if (added) return "";
  const std::string text = added.error().text();
  EXPECT_THAT(text, StartsWith(path + ": "));
  return text.substr(path.size() + 2);
}

// The error where a member of a right defect has this value in place of its own.
std::string error_with(const char* member, const json& value) {
  json defect = defect_of("never-added");
  defect[member] = value;
  const std::string error = error_of(file_of(json::array({defect})));
  EXPECT_EQ(find_defect("never-added"), nullptr);
  return error;
}

TEST(StatedDefects, StandBehindThoseOfQconformAndKeepTheirAddresses) {
  const Defect* first = &defects().front();
  const std::size_t before = defects().size();
  ASSERT_EQ(error_of(file_of({defect_of("stated-one"), defect_of("stated-two")})), "");
  EXPECT_EQ(&defects().front(), first);
  ASSERT_EQ(defects().size(), before + 2);
  const Defect& added = defects()[before];
  EXPECT_EQ(&added, find_defect("stated-one"));
  EXPECT_EQ(added.rule, "formula, C19");
  EXPECT_EQ(added.evidence, "https://example.org/1");
  EXPECT_FALSE(added.is_learnt);
  EXPECT_EQ(added.expression->text(), "channel % group_channels");
  EXPECT_THAT(stages_of(added), ElementsAre("w_scale"));
  EXPECT_EQ(defects_in("QLinearConv").back(), &defects().back());
  EXPECT_NE(defects_in("ConvInteger").back(), &defects().back());
}

TEST(StatedDefects, ComputeWhatIsRightWhereTheirConditionDoesNotHold) {
  json defect = defect_of("under-condition");
  defect["stage"] = "round";
  defect["operators"] = {"QLinearConv", "QuantizeLinear"};
  defect["expression"] = "half_up";
  defect["when"] = "zero_point < 0";
  ASSERT_EQ(error_of(file_of(json::array({defect}))), "");
  const Defect* added = find_defect("under-condition");
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(added->expression->text(), "zero_point < 0 ? half_up : half_even");
  Stages stages;
  added->apply(stages);
  const auto round = stages.get(stage::round);
  EXPECT_EQ(round(quotient_of_float(2.5), -1), 3);
  EXPECT_EQ(round(quotient_of_float(2.5), 0), 2);
}

TEST(StatedDefects, ErrorsNameFieldValueAndRule) {
  EXPECT_EQ(error_with("id", "Half Up"),
            "defects[0].id: expected lower-case letters and digits, in words joined by -, got \"Half Up\"");
  EXPECT_THAT(error_with("id", "half-"), HasSubstr("got \"half-\""));
  EXPECT_EQ(error_with("id", "half-up"), "defects[0].id: expected an id that no other defect has, got \"half-up\"");
  EXPECT_EQ(error_with("description", ""), "defects[0].description: expected 1 or more characters, got \"\"");
  EXPECT_EQ(error_with("trigger", ""), "defects[0].trigger: expected 1 or more characters, got \"\"");
  EXPECT_THAT(error_with("evidence", "two\nlines"), StartsWith("defects[0].evidence: expected one line without"));
  EXPECT_EQ(error_with("operators", json::array()), "defects[0].operators: expected 1 or more, got 0");
  EXPECT_THAT(error_with("operators", {"QLinearConv", "Conv"}),
              AllOf(StartsWith("defects[0].operators[1]: expected one of "), HasSubstr("got \"Conv\"")));
  EXPECT_THAT(error_with("operators", {"QLinearConv", "QLinearConv"}), HasSubstr("each operator once"));
  EXPECT_THAT(error_with("stage", "w_scales"),
              AllOf(StartsWith("defects[0].stage: expected one of image, "), HasSubstr("got \"w_scales\"")));
  EXPECT_EQ(error_with("expression", "chan"),
            "defects[0].expression: w_scale.index: expected a name out of channel, channels, group_channels, groups, a "
            "number or (, got \"chan\"");
  EXPECT_THAT(error_with("expression", "(channel)"), HasSubstr("expected what differs from the right value"));
  EXPECT_THAT(error_with("when", "channel <"), StartsWith("defects[0].when: w_scale.index: expected a name"));
  EXPECT_EQ(error_with("rules", {"C19", "19"}),
            "defects[0].rules[1]: expected a rule of docs/numerics.md, such as C19 or formula, got \"19\"");
  EXPECT_EQ(error_with("rules", json::array()), "defects[0].rules: expected 1 or more, got 0");
  EXPECT_THAT(error_with("triger", "a typing error"), HasSubstr("triger"));
}

TEST(StatedDefects, ErrorsNameStagesThatOperatorsDoNotShare) {
  json defect = defect_of("never-added");
  defect["operators"] = {"QLinearConv", "QuantizeLinear"};
  EXPECT_EQ(error_of(file_of(json::array({defect}))),
            "defects[0].stage: expected one of round, output of QLinearConv and QuantizeLinear, got \"w_scale.index\"");
  defect["operators"] = json::array({"Graph"});
  EXPECT_EQ(error_of(file_of(json::array({defect}))),
            "defects[0].stage: expected no expression for Graph: no stage takes one");
  defect = defect_of("never-added");
  defect["stage"] = "product";
  defect["expression"] = "float16";
  defect["when"] = "1";
  EXPECT_EQ(error_of(file_of(json::array({defect}))),
            "defects[0].when: expected no condition, got \"1\": stage product takes one name alone");
}

TEST(StatedDefects, OfAFileThatIsWrongAreNotThere) {
  const std::size_t before = defects().size();
  const json good = defect_of("good-before-bad");
  EXPECT_THAT(error_of(file_of({good, good})), StartsWith("defects[1].id: expected an id that no other defect has"));
  json bad = defect_of("bad");
  bad["expression"] = "";
  EXPECT_THAT(error_of(file_of({good, bad})), StartsWith("defects[1].expression: "));
  EXPECT_THAT(error_of(file_of(json::array())), StartsWith("defects: expected 1 or more, got 0"));
  EXPECT_THAT(error_of({{"format", "qconform-model"}, {"version", 1}}), HasSubstr("qconform-defects"));
  EXPECT_EQ(defects().size(), before);
  json many = json::array();
  for (std::size_t i = 0; i <= kMostAddedDefects; ++i) many.push_back(defect_of("many-" + std::to_string(i)));
  EXPECT_EQ(error_of(file_of(many)), "defects: expected 1000 at most, got 1001");
  EXPECT_EQ(defects().size(), before);
  EXPECT_FALSE(add_defects_of("no/such.json"));
}

}  // namespace
}  // namespace qconform::diagnose
