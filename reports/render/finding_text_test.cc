#include "reports/render/finding_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace qconform::report {
namespace {

TEST(FindingText, ListsWhatTwoModelsHaveInCommonOnce) {
  Finding finding;
  finding.diagnosis.emplace();
  finding.diagnosis->defects = {{.id = "a", .stages = "tail_round", .evidence = "OpenCV 4.6.0"},
                                {.id = "b", .stages = "round", .evidence = "OpenCV 4.6.0"}};
  const std::vector<Fact> facts = facts_of(finding);
  const auto text_of = [&](std::string_view label) {
    const auto found = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.label == label; });
    return found == facts.end() ? "" : found->value;
  };
  EXPECT_EQ(text_of("known"), "OpenCV 4.6.0");
  EXPECT_EQ(text_of("look at"), "tail_round, round") << "one is no part of the other";
}

}  // namespace
}  // namespace qconform::report
