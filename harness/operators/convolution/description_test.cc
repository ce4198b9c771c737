// Reading a convolution and building it are each other's inverse.
#include "harness/operators/convolution/description.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/model/case_builder.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/suite_cases.h"

namespace qconform {
namespace {

// The computation with its attributes in the order of their names, and without omitted inputs at the end.
Case in_one_form(const Case& test_case) {
  Case result = computation_of(test_case);
  result.id.clear();
  result.node().domain.clear();
  auto& attributes = result.node().attributes;
  std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  while (!result.inputs.empty() && !result.inputs.back()) result.inputs.pop_back();
  return result;
}

class ReadAndBuild : public ::testing::TestWithParam<const char*> {};

TEST_P(ReadAndBuild, AreEachOthersInverse) {
  int read_cases = 0;
  testing::for_each_case(GetParam(), 1000, [&](const Case& test_case) {
    const bool is_convolution = family_of(test_case) == &convolution_family();
    const auto read = read_convolution(test_case);
    ASSERT_EQ(read.has_value(), is_convolution && classify(test_case).lowered != nullptr) << test_case.id;
    if (!read) return;
    ++read_cases;
    const Case built = build_convolution(*read);
    ASSERT_EQ(built, in_one_form(test_case)) << test_case.id;
    ASSERT_EQ(build_convolution(read_convolution(built).value()), built) << test_case.id;
  });
  EXPECT_GT(read_cases, 100);
}

INSTANTIATE_TEST_SUITE_P(, ReadAndBuild, ::testing::Values("corpus", "directed", "random", "sizes"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ConvolutionDescription, StatesTheSizesThatItIsGiven) {
  Convolution convolution;
  const reference::ConvolutionGeometry sizes{2, 4, 6, 2, {{7, 3, 2, 1, 1, 0, 3}, {5, 2, 1, 2, 0, 2, 5}}};
  set_sizes(convolution, sizes);
  EXPECT_EQ(convolution.x.shape, (Convolution::List{2, 4, 7, 5}));
  EXPECT_EQ(convolution.w.shape, (Convolution::List{6, 2, 3, 2}));
  EXPECT_EQ(convolution.strides, (Convolution::List{2, 1}));
  EXPECT_EQ(convolution.dilations, (Convolution::List{1, 2}));
  EXPECT_EQ(convolution.pads, (Convolution::List{1, 0, 0, 2}));
  EXPECT_EQ(geometry_of(convolution)->output_shape(), sizes.output_shape());
  choose_attributes(convolution, [](std::string_view, bool is_default) { return !is_default; });
  EXPECT_FALSE(convolution.kernel_shape);
  EXPECT_EQ(convolution.group, 2);
  EXPECT_EQ(geometry_of(convolution)->output_shape(), sizes.output_shape());
}

TEST(ConvolutionDescription, HasExactSumsByChannel) {
  const auto read = read_convolution(QLinearConvBuilder()
                                         .x(make::uint8({1, 1, 1, 3}, {1, 2, 3}))
                                         .x_zero_point(1)
                                         .w(make::int8({2, 1, 1, 2}, {1, 2, -1, 4}))
                                         .bias({10, 20})
                                         .build());
  ASSERT_TRUE(read);
  const ConvolutionSums sums = exact_sums(*read);
  EXPECT_EQ(sums.values, (std::vector<std::int64_t>{12, 15, 24, 27}));
  EXPECT_EQ(sums.channel_of(1), 0U);
  EXPECT_EQ(sums.channel_of(2), 1U);
  EXPECT_EQ(sums.plane(1)[0], 24);
}

}  // namespace
}  // namespace qconform
