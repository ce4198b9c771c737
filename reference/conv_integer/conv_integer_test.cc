#include "reference/conv_integer/conv_integer.h"

#include <gtest/gtest.h>

#include "harness/tests/test_scale.h"
#include "reference/oracle/random_convolution.h"

namespace qconform::reference {
namespace {

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
