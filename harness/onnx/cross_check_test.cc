#include "harness/onnx/cross_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/model/case_builder.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

QLinearConvBuilder convolution() {
  return QLinearConvBuilder()
      .x(make::uint8({1, 2, 4, 4}, std::vector<std::int64_t>(32, 3)))
      .w(make::int8({4, 2, 3, 3}, std::vector<std::int64_t>(72, 1)));
}

TEST(CrossCheck, RandomValidCasesAgree) {
  const int count = testing::scaled(1500);
  int compared = 0;
  for (int index = 0; index < count; ++index) {
    const Case test_case = random_case(20250101, static_cast<std::uint64_t>(index));
    const CrossCheck result = cross_check(test_case);
    // The library that Debian ships knows no opset beyond 17.
    EXPECT_EQ(result.comparable, test_case.node().opset_version <= 13) << test_case.id;
    compared += result.comparable ? 1 : 0;
    EXPECT_THAT(result.differences, IsEmpty()) << test_case.id;
  }
  EXPECT_GT(compared, count / 2);
}

TEST(CrossCheck, NewerOpsetsAreNotComparable) {
  for (const std::int64_t opset : {21, 27, 28, 40}) {
    EXPECT_FALSE(cross_check(convolution().version(opset).build()).comparable) << opset;
  }
  EXPECT_FALSE(cross_check(convolution().domain("com.example").build()).comparable);
}

TEST(CrossCheck, TheLibrarySharesTheseRefusals) {
  for (const Case& test_case :
       {convolution().strides({1}).build(), convolution().dilations({1, 1, 1}).build(),
        convolution().pads({1, 1, 1}).build(), convolution().op_type("QLinearConvolution").build()}) {
    const CrossCheck result = cross_check(test_case);
    EXPECT_TRUE(result.comparable);
    EXPECT_THAT(result.differences, IsEmpty());
  }
}

// The differences that docs/numerics.md names: the library looks at fewer rules.
TEST(CrossCheck, TheLibraryPassesOverTheseRules) {
  EXPECT_THAT(cross_check(convolution().kernel_shape({3, 2}).build()).differences, ElementsAre(HasSubstr("[rule C7]")));
  EXPECT_THAT(cross_check(convolution().dilations({2, 2}).build()).differences, ElementsAre(HasSubstr("[rule C6]")));
}

// On x86 the division traps, on AArch64 it yields 0 and the library goes on.
TEST(CrossCheck, SurvivesTheLibrarysDivisionByZero) {
  const CrossCheck result = cross_check(convolution().strides({0, 0}).build());
  EXPECT_TRUE(result.comparable);
  EXPECT_THAT(result.differences, Each(HasSubstr("[rule C8]")));
}

}  // namespace
}  // namespace qconform
