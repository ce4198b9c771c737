// The tile code of the amx kernels on an emulation of the tile instructions, so that its packing, its
// tails and its order are tested on processors without AMX. The instructions themselves are not.
#include "reference/kernels/amx_product.h"

#include <gtest/gtest.h>

#include <cstring>

#include "reference/kernels/drivers/drivers.h"
#include "reference/tests/kernel_cases.h"

namespace qconform::reference {
namespace {

// TILELOADD, TILESTORED and TDPBUSD as Intel's manual defines them, with 8 tiles of 16 rows of 64 bytes.
struct EmulatedTiles {
  static inline bool configured = false;
  static inline std::uint8_t tiles[8][16][64];

  static void configure() { configured = true; }
  static void release() { configured = false; }
  template <int t>
  static void load(const void* from, std::int64_t stride) {
    ASSERT_TRUE(configured);
    for (int row = 0; row < 16; ++row) {
      std::memcpy(tiles[t][row], static_cast<const std::byte*>(from) + row * stride, 64);
    }
  }
  template <int t>
  static void store(void* to, std::int64_t stride) {
    ASSERT_TRUE(configured);
    for (int row = 0; row < 16; ++row) std::memcpy(static_cast<std::byte*>(to) + row * stride, tiles[t][row], 64);
  }
  template <int sums, int x, int w>
  static void dot() {
    ASSERT_TRUE(configured);
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 16; ++column) {
        std::uint32_t sum;
        std::memcpy(&sum, tiles[sums][row] + 4 * column, sizeof sum);
        for (int k = 0; k < 64; ++k) {
          const auto weight = static_cast<std::int8_t>(tiles[w][k / 4][4 * column + k % 4]);
          sum += static_cast<std::uint32_t>(std::int32_t{tiles[x][row][k]} * weight);
        }
        std::memcpy(tiles[sums][row] + 4 * column, &sum, sizeof sum);
      }
    }
  }
};

void subtract_products(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                       const std::int32_t* x_sums, const std::int32_t* w_zero_points) {
  for (int p = 0; p < positions; ++p) {
    for (int m = 0; m < vectors * kTileChannels; ++m) {
      const auto product = static_cast<std::uint32_t>(x_sums[p]) * static_cast<std::uint32_t>(w_zero_points[m]);
      std::int32_t& sum = sums[p * sums_stride + m];
      sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) - product);
    }
  }
}

constexpr ConvolutionMicroKernels kEmulated = {.x_bytes = 1,
                                               .signed_x = false,
                                               .group = 4,
                                               .unit = 64,
                                               .lanes = 16,
                                               .max_vectors = 4,
                                               .multiply = multiply_by_tiles<EmulatedTiles>,
                                               .multiply_requantized = {},
                                               .takes_output_index = false,
                                               .widen = nullptr,
                                               .subtract_products = subtract_products,
                                               .depthwise = {},
                                               .to_channels_last = nullptr,
                                               .to_channels_first = nullptr};

TEST(AmxProduct, EqualsTheReferenceOnEmulatedTiles) {
  const int cases = testing::scaled(300);
  for (int i = 0; i < cases; ++i) {
    testing::SplitMixRandom random(static_cast<std::uint64_t>(i) + 9'000'000);
    const ConvInteger node{testing::random_operands(random)};
    SCOPED_TRACE("case " + std::to_string(i) + ": " + testing::describe(node.operands));
    const ConvolutionGeometry& g = node.operands.geometry;
    const auto x = testing::random_bytes(random, g.batch * g.input_channels * g.input_positions(), 0);
    const auto w = testing::random_bytes(random, g.output_channels * g.depth(), 0);
    const testing::ExpectedOutput expected = testing::expected_sums(node, x, w);
    std::vector<std::byte> y(expected.bytes.size(), std::byte{0xAA});
    prepare_blocked_conv_integer(node, ImageLayout::channels_first, w, kEmulated)->run(x, y);
    ASSERT_TRUE(testing::equal(y, expected));
    EXPECT_FALSE(EmulatedTiles::configured);
  }
}

}  // namespace
}  // namespace qconform::reference
