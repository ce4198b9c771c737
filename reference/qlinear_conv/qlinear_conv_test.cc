#include "reference/qlinear_conv/qlinear_conv.h"

#include <gtest/gtest.h>

#include "harness/tests/test_scale.h"
#include "reference/oracle/quantization.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {
namespace {

// The value modulo 2^32 in [-2^31, 2^31), by definition.
std::int32_t modulo(std::int64_t value) {
  constexpr std::int64_t kModulus = std::int64_t{1} << 32;
  std::int64_t residue = value % kModulus;
  if (residue < 0) residue += kModulus;
  return static_cast<std::int32_t>(residue >= kModulus / 2 ? residue - kModulus : residue);
}

QLinearConv random_node(oracle::Random& random, const ConvolutionOperands& operands) {
  QLinearConv node;
  node.operands = operands;
  node.y_type = random.one_in(2) ? ElementType::uint8 : ElementType::int8;
  const bool biased = !operands.bias.empty();
  node.x_scale = random.positive_float(-6, 0);
  for (std::int64_t m = 0; m < operands.geometry.output_channels; ++m)
    node.w_scale.push_back(random.positive_float(-6, 0));
  // A bias may have any 32 bits: without a matching y scale every output would be saturated.
  node.y_scale = biased ? random.positive_float(14, 18) : random.positive_float(-2, 4);
  node.y_zero_point = node.y_type == ElementType::uint8 ? static_cast<std::int32_t>(random.between(0, 255))
                                                        : static_cast<std::int32_t>(random.between(-128, 127));
  return node;
}

struct Coverage {
  int elements = 0;
  int wrapped = 0;
  int inside = 0;  // not saturated
};

using ElementOracle = std::optional<long> (*)(std::int32_t, const oracle::OutputParameters&);

std::optional<long> exactly(std::int32_t accumulator, const oracle::OutputParameters& p) {
  return oracle::requantize(accumulator, p);
}

void expect_equal(const QLinearConv& node, const oracle::RandomConvolution& c, RoundingProfile profile,
                  ElementOracle expected_of, Coverage& coverage) {
  const std::size_t channels = node.w_scale.size();
  const std::size_t per_channel = c.expected.values.size() / channels / static_cast<std::size_t>(c.expected.shape[0]);
  const long lo = node.y_type == ElementType::uint8 ? 0 : -128;
  std::vector<std::byte> y(c.expected.values.size());
  qlinear_conv(node, profile, c.x, c.w, y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t sum = c.expected.values[i];
    const oracle::OutputParameters p{
        node.x_scale, node.w_scale[i / per_channel % channels], node.y_scale, node.y_zero_point, lo, lo + 255};
    const std::optional<long> expected = expected_of(modulo(sum), p);
    ASSERT_TRUE(expected.has_value());
    ASSERT_EQ(std::to_integer<int>(y[i]), static_cast<int>(*expected & 0xFF)) << "element " << i << ", sum " << sum;
    ++coverage.elements;
    if (modulo(sum) != sum) ++coverage.wrapped;
    if (*expected != p.lo && *expected != p.hi) ++coverage.inside;
  }
}

TEST(QLinearConv, EqualsTheDefinitionUnderEveryProfile) {
  const int count = testing::scaled(600);
  oracle::Random random(13);
  Coverage coverage;
  for (int i = 0; i < count; ++i) {
    const oracle::RandomConvolution c = oracle::random_convolution(random);
    const QLinearConv node = random_node(random, c.operands);
    SCOPED_TRACE("convolution " + std::to_string(i));
    ASSERT_NO_FATAL_FAILURE(expect_equal(node, c, RoundingProfile::correctly_rounded, exactly, coverage));
    ASSERT_NO_FATAL_FAILURE(expect_equal(node, c, RoundingProfile::ort_f32, oracle::requantize_ort_f32, coverage));
    ASSERT_NO_FATAL_FAILURE(
        expect_equal(node, c, RoundingProfile::onnx_reference, oracle::requantize_onnx_reference, coverage));
  }
  if (count < 100) return;  // too few for shares to mean anything
  EXPECT_GE(coverage.inside, coverage.elements / 10);
  EXPECT_GE(coverage.wrapped, coverage.elements / 100);
}

// Two output channels that differ in scale, zero point and bias only.
TEST(QLinearConv, ParametersBelongToTheirChannel) {
  QLinearConv node;
  node.operands.geometry = {
      1, 1, 2, 1, {{.input = 2, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 2}}};
  node.operands.w_zero_point = {0, 3};
  node.operands.bias = {0, 100};
  node.x_scale = 0.5F;
  node.w_scale = {1.0F, 0.25F};
  node.y_scale = 1.0F;
  node.y_zero_point = 10;
  const std::vector<std::byte> x{std::byte{4}, std::byte{20}};
  const std::vector<std::byte> w{std::byte{5}, std::byte{5}};
  std::vector<std::byte> y(4);
  qlinear_conv(node, RoundingProfile::correctly_rounded, x, w, y);
  // 4*5/2 + 10; 20*5/2 + 10; rne((4*2 + 100)/8 = 13.5) + 10; rne((20*2 + 100)/8 = 17.5) + 10
  EXPECT_EQ(y, (std::vector<std::byte>{std::byte{20}, std::byte{60}, std::byte{24}, std::byte{28}}));
}

}  // namespace
}  // namespace qconform::reference
