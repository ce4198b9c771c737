#include "harness/model/node_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "harness/model/case_builder.h"
#include "harness/tests/convolution_builder.h"

namespace qconform {
namespace {

using ::testing::Contains;

Case convolution() {
  return QLinearConvBuilder()
      .x(make::uint8({1, 1, 1, 3}, {1, 2, 3}))
      .w(make::int8({1, 1, 1, 3}, {4, 5, 6}))
      .pads({0, 1, 0, 0})
      .build();
}

std::set<std::string> differences_of(const Case& test_case) {
  std::set<std::string> differences;
  for (const NodeChange& change : node_changes(test_case)) {
    Case changed = test_case;
    change(changed);
    differences.insert(difference_text(test_case, changed));
  }
  return differences;
}

TEST(NodeChanges, ChangeOneThingEach) {
  const std::set<std::string> differences = differences_of(convolution());
  for (const char* thing : {"x_zero_point", "y_zero_point", "y_scale", "pads", "the last element of w",
                            "the order of w", "the first element of w", "w"}) {
    EXPECT_THAT(differences, Contains(thing));
  }
  EXPECT_EQ(std::count_if(differences.begin(), differences.end(),
                          [](const std::string& text) { return text.find(" and ") != std::string::npos; }),
            0);
}

TEST(NodeChanges, MoveAPadSoThatTheOutputKeepsItsShape) {
  const Case before = convolution();
  for (const NodeChange& change : node_changes(before)) {
    Case changed = before;
    change(changed);
    const auto* pads = changed.node().get<std::vector<std::int64_t>>("pads");
    if (difference_text(before, changed) != "pads") continue;
    EXPECT_EQ(*pads, (std::vector<std::int64_t>{0, 0, 0, 1}));
  }
}

TEST(DifferenceText, NamesUpToThreeThings) {
  const Case one = convolution();
  Case other = one;
  EXPECT_EQ(difference_text(one, other), "");
  other.inputs[3] = make::int8({1, 1, 1, 3}, {3, 7, 5});
  EXPECT_EQ(difference_text(one, other), "w of the same sum");
  EXPECT_EQ(differing_parts(one, other), "w");
  other.inputs[0] = make::uint8({1, 1, 1, 4}, {1, 2, 3, 4});
  EXPECT_EQ(difference_text(one, other), "the shape of x and w of the same sum");
  other.node().attributes.clear();
  other.inputs[5].reset();
  EXPECT_EQ(difference_text(one, other), "") << "more than three";
}

TEST(AfterText, SaysWhatRunsBefore) {
  Case test_case = convolution();
  EXPECT_EQ(after_text(test_case), "other nodes");
  test_case.before = {convolution()};
  test_case.before[0].inputs[2] = make::uint8({}, {9});
  EXPECT_EQ(after_text(test_case), "a node that differs in x_zero_point alone");
}

}  // namespace
}  // namespace qconform
