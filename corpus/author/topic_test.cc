#include "corpus/author/topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qconform::author {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConvIntegerBuilder start() {
  return ConvIntegerBuilder()
      .id("vector")
      .note("a note")
      .x(make::uint8({1, 1, 2}, {3, 4}))
      .w(make::int8({1, 1, 1}, {2}));
}

TEST(Topic, RecordsTheAnswer) {
  Topic topic("t.json");
  topic.known(start(), {1, 1, 2}, {6, 8});
  topic.computed(start().id("other"));
  EXPECT_THAT(topic.problems(), IsEmpty());
  ASSERT_EQ(topic.cases().size(), 2U);
  for (const Case& vector : topic.cases()) {
    EXPECT_EQ(vector.recorded_output, make::int32({1, 1, 2}, {6, 8}));
    EXPECT_EQ(vector.expectation, Expectation::valid);
  }
}

TEST(Topic, NoticesAWrongAnswer) {
  Topic topic("t.json");
  topic.known(start(), {1, 1, 2}, {6, 9});
  EXPECT_THAT(topic.problems(), ElementsAre("t.json: vector: the reference computes [1, 1, 2] {6, 8}"));
}

TEST(Topic, NoticesAWrongLane) {
  Topic topic("t.json");
  topic.refused(start());
  topic.computed(start().id("b").group(0));
  EXPECT_THAT(topic.problems(), ElementsAre(HasSubstr("expected lane invalid, the semantics say valid"),
                                            HasSubstr("expected lane valid, the semantics say invalid: group")));
}

TEST(Topic, NoticesAnUnnamedRule) {
  Topic topic("t.json");
  topic.refused(start().group(0).rules({"C7"}));
  EXPECT_THAT(topic.problems(), ElementsAre(HasSubstr("decided by a rule that it does not name: group")));
}

TEST(Topic, RecordsNoAnswerWhereSeveralAreRight) {
  Topic topic("t.json");
  const auto just_below_a_tie = QLinearConvBuilder()
                                    .id("vector")
                                    .note("a note")
                                    .x(make::uint8({1, 1, 1}, {1}))
                                    .w(make::int8({1, 1, 1}, {1}))
                                    .y_scale(0x1p18F)
                                    .bias({16908288});
  topic.computed(just_below_a_tie);
  EXPECT_THAT(topic.problems(), ElementsAre(HasSubstr("more than one answer is right")));
}

TEST(Topic, NoticesWhereFloat32DoesNotDepart) {
  const auto with_sum = [](std::int64_t sum) {
    return QLinearConvBuilder().id(std::to_string(sum)).note("a note").y_scale(0x1p25F).bias({sum - 1});
  };
  Topic topic("t.json");
  topic.open_unlike_float32(with_sum(16777217));
  EXPECT_THAT(topic.problems(), IsEmpty());
  EXPECT_THAT(topic.cases().front().tags, ElementsAre("float32-departs"));
  topic.open_unlike_float32(with_sum(16777216));
  EXPECT_THAT(topic.problems(), ElementsAre(HasSubstr("float32 and exact arithmetic give the same answer")));
}

TEST(Topic, NoticesRepeatedIdsAndMissingNotes) {
  Topic topic("t.json");
  topic.computed(start());
  topic.computed(start());
  topic.computed(start().id("b").note(""));
  EXPECT_THAT(topic.problems(), ElementsAre(HasSubstr("id is not unique"), HasSubstr("expected a note")));
}

TEST(Topic, PatternsCoverTheWholeRange) {
  EXPECT_EQ(pattern(ElementType::uint8, {4}, 250, 3), make::uint8({4}, {250, 253, 0, 3}));
  EXPECT_EQ(pattern(ElementType::int8, {4}, -127, -1), make::int8({4}, {-127, -128, 127, 126}));
}

}  // namespace
}  // namespace qconform::author
