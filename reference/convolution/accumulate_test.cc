#include "reference/convolution/accumulate.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "harness/tests/test_scale.h"
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

}  // namespace
}  // namespace qconform::reference
