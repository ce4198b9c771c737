// Reading a QuantizeLinear or DequantizeLinear and building it are each other's inverse.
#include "harness/operators/linear/description.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/tests/linear_builder.h"
#include "harness/tests/suite_cases.h"

namespace qconform {
namespace {

class ReadAndBuildLinear : public ::testing::TestWithParam<const char*> {};

TEST_P(ReadAndBuildLinear, AreEachOthersInverse) {
  int read_cases = 0;
  testing::for_each_case(GetParam(), 1000, [&](const Case& test_case) {
    const auto read = read_linear(test_case);
    if (!read) return;
    ++read_cases;
    ASSERT_EQ(build_linear(*read, test_case), test_case);
    ASSERT_EQ(read_linear(build_linear(*read)), read) << test_case.id;
  });
  EXPECT_GT(read_cases, 100);
}

INSTANTIATE_TEST_SUITE_P(, ReadAndBuildLinear, ::testing::Values("corpus", "random", "sweep"),
                         [](const auto& test) { return std::string(test.param); });

TEST(LinearDescription, LeavesWhatItDoesNotReadToTheFrame) {
  const Case frame = LinearBuilder::quantize()
                         .id("spoiled")
                         .version(21)
                         .attribute("saturate", std::string("no"))
                         .attribute("output_dtype", std::int64_t{2})
                         .attribute("pads", std::int64_t{1})
                         .zero_point(make::integer(ElementType::uint8, 3))
                         .build();
  LinearQuantization read = read_linear(frame).value();
  EXPECT_FALSE(read.saturate);
  read.output_dtype.reset();
  read.zero_point.reset();
  read.axis = 0;
  const Case built = build_linear(read, frame);
  EXPECT_EQ(built.id, "spoiled");
  EXPECT_EQ(built.inputs.size(), 2U);
  EXPECT_NE(built.attribute("saturate"), nullptr);
  EXPECT_NE(built.attribute("pads"), nullptr);
  EXPECT_EQ(built.attribute("output_dtype"), nullptr);
  EXPECT_EQ(read_linear(built), read);
}

TEST(LinearDescription, PlacesParameters) {
  LinearQuantization node{
      .opset_version = 21, .axis = -1, .block_size = 4, .x = Tensor::zeros(ElementType::float32, {2, 9})};
  EXPECT_EQ(node.dimension(), 1U);
  node.scale.shape = node.parameter_shape();
  EXPECT_EQ(node.scale.shape, (make::Shape{2, 3}));
  EXPECT_EQ(layout_of(node)->parameters(), 6);
  node.axis = 2;
  EXPECT_FALSE(node.dimension());
  EXPECT_FALSE(layout_of(node));
}

}  // namespace
}  // namespace qconform
