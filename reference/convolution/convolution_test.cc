#include "reference/convolution/convolution.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "harness/tests/test_scale.h"
#include "reference/numerics/integers.h"
#include "reference/oracle/definitions.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {
namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value & 0xFF));
  return result;
}

TEST(Accumulate, EqualsTheDefinition) {
  const int count = testing::scaled(3000);
  oracle::Random random(11);
  int with_padding_windows = 0;
  int grouped = 0;
  int dimensions[5] = {};
  for (int i = 0; i < count; ++i) {
    const oracle::RandomConvolution c = oracle::random_convolution(random);
    const ConvolutionGeometry& g = c.operands.geometry;
    ASSERT_EQ(g.output_shape(), c.expected.shape);
    std::vector<std::int64_t> sums(c.expected.values.size());
    accumulate(c.operands, c.x, c.w, sums);
    ASSERT_EQ(sums, c.expected.values) << "convolution " << i;
    with_padding_windows += c.has_padding_window ? 1 : 0;
    grouped += g.group > 1 ? 1 : 0;
    ++dimensions[g.axes.size()];
  }
  if (count < 100) return;  // too few for shares to mean anything
  EXPECT_GE(with_padding_windows, count / 10);
  EXPECT_GE(grouped, count / 3);
  for (int d = 1; d <= 4; ++d) EXPECT_GE(dimensions[d], count / 10) << d;
}

// x = [1, 2, 3] about 1, w = [10, 20] about 5, one padded position on either side.
TEST(Accumulate, PaddingContributesNothing) {
  ConvolutionOperands o;
  o.geometry = {
      1, 1, 1, 1, {{.input = 3, .kernel = 2, .stride = 1, .dilation = 1, .pad_begin = 1, .pad_end = 1, .output = 4}}};
  o.x_zero_point = 1;
  o.w_zero_point = {5};
  std::vector<std::int64_t> sums(4);
  accumulate(o, bytes({1, 2, 3}), bytes({10, 20}), sums);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{0, 15, 35, 10}));
}

TEST(Accumulate, AWindowInThePaddingIsTheBias) {
  ConvolutionOperands o;
  o.geometry = {
      1, 1, 1, 1, {{.input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 1, .pad_end = 1, .output = 3}}};
  o.x_type = ElementType::int8;
  o.x_zero_point = -128;
  o.w_zero_point = {0};
  o.bias = {-7};
  std::vector<std::int64_t> sums(3);
  accumulate(o, bytes({127}), bytes({255}), sums);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{-7, 255 * 255 - 7, -7}));
}

TEST(Accumulate, NoInputChannelsLeaveTheBias) {
  ConvolutionOperands o;
  o.geometry = {
      1, 0, 2, 1, {{.input = 2, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 2}}};
  o.w_zero_point = {0, 0};
  o.bias = {3, -4};
  std::vector<std::int64_t> sums(4);
  accumulate(o, {}, {}, sums);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{3, 3, -4, -4}));
}

// More output positions than are gathered at a time: what one block leaves behind must not show in the padding of the
// next one.
TEST(Accumulate, TakesPositionsInBlocks) {
  constexpr std::int64_t kLength = 1501;
  ConvolutionOperands o;
  o.geometry = {
      1,
      1,
      1,
      1,
      {{.input = kLength, .kernel = 3, .stride = 1, .dilation = 2, .pad_begin = 2, .pad_end = 2, .output = kLength}}};
  o.x_zero_point = 7;
  o.w_zero_point = {1};
  o.bias = {-5};
  std::vector<std::byte> x(kLength);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * 37 % 251);
  const auto term = [&](std::int64_t at, std::int64_t weight) {
    if (at < 0 || at >= kLength) return std::int64_t{0};
    return (std::to_integer<std::int64_t>(x[static_cast<std::size_t>(at)]) - 7) * weight;
  };
  std::vector<std::int64_t> expected;
  std::vector<std::int64_t> magnitudes;
  for (std::int64_t i = 0; i < kLength; ++i) {
    const std::array terms{term(i - 2, 9), term(i, 1), term(i + 2, -1)};
    expected.push_back(terms[0] + terms[1] + terms[2] - 5);
    magnitudes.push_back(std::abs(terms[0]) + std::abs(terms[1]) + std::abs(terms[2]) + 5);
  }
  std::vector<std::int64_t> sums(kLength);
  accumulate(o, x, bytes({10, 2, 0}), sums);
  EXPECT_EQ(sums, expected);
  accumulate_magnitudes(o, x, bytes({10, 2, 0}), sums);
  EXPECT_EQ(sums, magnitudes);
}

// Sums do not wrap: 33026 products of 255 * 255 are beyond int32 (rule C17).
TEST(Accumulate, IsExactBeyondInt32) {
  constexpr std::int64_t kDepth = 33'026;
  ConvolutionOperands o;
  o.geometry = {1,
                kDepth,
                1,
                1,
                {{.input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1}}};
  o.w_zero_point = {0};
  const std::vector<std::byte> all(kDepth, std::byte{255});
  std::vector<std::int64_t> sums(1);
  accumulate(o, all, all, sums);
  EXPECT_EQ(sums[0], kDepth * 255 * 255);
  EXPECT_GT(sums[0], std::int64_t{0x7FFFFFFF});
}

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

struct ElementCoverage {
  int elements = 0;
  int wrapped = 0;
  int inside = 0;  // not saturated
};

using ElementOracle = std::optional<long> (*)(std::int32_t, const oracle::ChannelParameters&);

std::optional<long> exactly(std::int32_t accumulator, const oracle::ChannelParameters& p) {
  return oracle::requantize(accumulator, p);
}

void expect_equal(const QLinearConv& node, const oracle::RandomConvolution& c, RoundingProfile profile,
                  ElementOracle expected_of, ElementCoverage& coverage) {
  const std::size_t channels = node.w_scale.size();
  const std::size_t per_channel = c.expected.values.size() / channels / static_cast<std::size_t>(c.expected.shape[0]);
  const long lo = node.y_type == ElementType::uint8 ? 0 : -128;
  std::vector<std::byte> y(c.expected.values.size());
  qlinear_conv(node, profile, c.x, c.w, y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t sum = c.expected.values[i];
    const oracle::ChannelParameters p{
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
  ElementCoverage coverage;
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

// Sums of any length, and those whose values lie nearest to a tie; a third of the scales are powers of two, with exact
// ties, and a third of any exponent.
TEST(QLinearConv, SumsAreRequantizedInDoublesAsInIntegers) {
  oracle::Random random(29);
  QLinearConv node;
  node.operands.geometry = {
      1, 1, 1, 1, {{.input = 64, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 64}}};
  const auto draw_scale = [&] {
    if (random.one_in(3)) return std::ldexp(1.0F, static_cast<int>(random.between(-6, 6)));
    return random.one_in(2) ? random.any_float() : random.positive_float(-6, 2);
  };
  for (int i = 0; i < testing::scaled(3000); ++i) {
    node.y_type = random.one_in(2) ? ElementType::uint8 : ElementType::int8;
    node.x_scale = draw_scale();
    node.w_scale = {draw_scale()};
    node.y_scale = draw_scale();
    const Requantization p = node.requantization(0);
    node.y_zero_point = static_cast<std::int32_t>(random.between(p.y_range.lo, p.y_range.hi));
    std::vector<std::int64_t> sums(64);
    for (std::int64_t& sum : sums) {
      const double tie = (static_cast<double>(random.between(-256, 256)) + 0.5) * p.y_scale / p.x_scale / p.w_scale;
      const bool is_sum = std::fabs(tie) < 0x1p46;
      sum = random.one_in(4) || !is_sum ? random.of_any_length(46) : std::llround(tie) + random.between(-1, 1);
    }
    for (const RoundingProfile profile : kAllRoundingProfiles) {
      std::vector<std::byte> y(sums.size());
      requantize_sums(node, profile, sums, y);
      for (std::size_t k = 0; k < y.size(); ++k) {
        ASSERT_EQ(y[k], store8(requantize(profile, wrap_to_int32(sums[k]), node.requantization(0)))) << sums[k];
      }
    }
  }
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

TEST(ConvInteger, EqualsTheDefinition) {
  oracle::Random random(17);
  for (int i = 0; i < testing::scaled(1000); ++i) {
    oracle::RandomConvolution c = oracle::random_convolution(random);
    if (!c.operands.bias.empty()) continue;
    std::vector<std::int32_t> y(c.expected.values.size());
    conv_integer({c.operands}, c.x, c.w, y);
    // These sums are far inside int32.
    ASSERT_EQ(std::vector<std::int64_t>(y.begin(), y.end()), c.expected.values) << "convolution " << i;
  }
}

// 33026 * 255 * 255 = 2^31 + 32002: the first depth at which a sum leaves int32 (rule C17).
TEST(ConvInteger, SumsWrapModulo32Bits) {
  constexpr std::int64_t kDepth = 33'026;
  ConvInteger node;
  node.operands.geometry = {
      1,
      kDepth,
      1,
      1,
      {{.input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1}}};
  node.operands.w_zero_point = {0};
  const std::vector<std::byte> all(kDepth, std::byte{255});
  std::vector<std::int32_t> y(1);
  conv_integer(node, all, all, y);
  EXPECT_EQ(kDepth * 255 * 255, (std::int64_t{1} << 31) + 32'002);
  EXPECT_EQ(y[0], -2'147'483'647 - 1 + 32'002);

  node.operands.w_zero_point = {255};
  const std::vector<std::byte> zeros(kDepth, std::byte{0});
  conv_integer(node, all, zeros, y);
  EXPECT_EQ(y[0], 2'147'483'647 - 32'001);
}

}  // namespace
}  // namespace qconform::reference
