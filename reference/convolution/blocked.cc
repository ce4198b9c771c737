#include "reference/convolution/blocked.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "reference/convolution/tile_gather.h"

namespace qconform::reference {
namespace {

// Output channels that share one gathered tile. Bounds the sums to what a second-level cache holds.
constexpr std::int64_t kBlockChannels = 256;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// Working memory of one run.
struct BlockedConvolution::Tile {
  alignas(64) std::uint8_t rows[kTileDepth * kTilePositions];
  alignas(64) std::int16_t panels[kTileDepth * kTilePositions];
  alignas(64) std::int32_t sums[kBlockChannels * kTilePositions];
};

// What is computed from one selection of the gather: some channels of one group of one image.
struct BlockedConvolution::Block {
  TileGather& gather;
  int positions;
  std::int64_t first_channel;
  std::int64_t channels;
};

BlockedConvolution::BlockedConvolution(const ConvolutionOperands& operands, std::span<const std::byte> w,
                                       const ConvolutionLeaves& leaves)
    : operands_(operands), leaves_(leaves), padded_depth_(round_up(operands.geometry.depth(), leaves.depth_unit)) {
  pack_weights(w);
}

void BlockedConvolution::pack_weights(std::span<const std::byte> w) {
  const ConvolutionGeometry& g = operands_.geometry;
  if (g.output_channels == 0 || padded_depth_ == 0) return;
  w_.resize(static_cast<std::size_t>(g.output_channels * padded_depth_), 0);
  const std::int64_t group_channels = g.group_output_channels();
  for (std::int64_t group = 0; group < g.group; ++group) {
    for (std::int64_t m = 0; m < group_channels; m += leaves_.channel_tile) {
      const std::int64_t channels = std::min<std::int64_t>(leaves_.channel_tile, group_channels - m);
      pack_channels(w, group * group_channels + m, channels);
    }
  }
}

void BlockedConvolution::pack_channels(std::span<const std::byte> w, std::int64_t first_channel,
                                       std::int64_t channels) {
  const ConvolutionGeometry& g = operands_.geometry;
  const std::int64_t input_channels = g.group_input_channels();
  const std::int64_t taps = g.kernel_taps();
  const std::int64_t unit = leaves_.depth_unit;
  std::int16_t* const panel = w_.data() + first_channel * padded_depth_;
  for (std::int64_t m = 0; m < channels; ++m) {
    const std::int32_t zero_point = operands_.w_zero_point[static_cast<std::size_t>(first_channel + m)];
    const std::byte* const channel = w.data() + (first_channel + m) * g.depth();
    for (std::int64_t depth = 0; depth < g.depth(); ++depth) {
      const std::byte weight = channel[depth % input_channels * taps + depth / input_channels];
      panel[(depth / unit * channels + m) * unit + depth % unit] =
          static_cast<std::int16_t>(load8(operands_.w_type, weight) - zero_point);
    }
  }
}

void BlockedConvolution::run(const std::byte* x, const RowWriter& writer) const {
  const ConvolutionGeometry& g = operands_.geometry;
  const std::int64_t positions = g.output_positions();
  const std::int64_t group_channels = g.group_output_channels();
  const std::int64_t group_size = g.group_input_channels() * g.input_positions();
  if (g.batch == 0 || group_channels == 0 || positions == 0) return;
  // Uninitialized: small nodes touch little of it.
  const std::unique_ptr<Tile> tile(new Tile);
  TileGather gather(g, std::to_integer<std::uint8_t>(store8(operands_.x_zero_point)));
  for (std::int64_t first = 0; first < positions; first += kTilePositions) {
    const auto count = static_cast<int>(std::min<std::int64_t>(kTilePositions, positions - first));
    gather.select(first, count);
    for (std::int64_t n = 0; n < g.batch; ++n) {
      for (std::int64_t channel = 0; channel < g.output_channels;) {
        const std::int64_t group = channel / group_channels;
        const std::int64_t channels = std::min(kBlockChannels, (group + 1) * group_channels - channel);
        const Block block{.gather = gather, .positions = count, .first_channel = channel, .channels = channels};
        run_channels(x + (n * g.group + group) * group_size, block, *tile);
        for (std::int64_t m = 0; m < channels; ++m) {
          writer.write(static_cast<std::size_t>(channel + m), tile->sums + m * kTilePositions, count,
                       (n * g.output_channels + channel + m) * positions + first);
        }
        channel += channels;
      }
    }
  }
}

// All sums of one block into tile.sums, kTilePositions apart.
void BlockedConvolution::run_channels(const std::byte* x, const Block& block, Tile& tile) const {
  for (std::int64_t m = 0; m < block.channels; ++m) {
    const std::int32_t bias =
        operands_.bias.empty() ? 0 : operands_.bias[static_cast<std::size_t>(block.first_channel + m)];
    std::fill_n(tile.sums + m * kTilePositions, kTilePositions, bias);
  }
  const bool is_signed = operands_.x_type == Integer8::int8;
  const auto flip = static_cast<std::uint8_t>(is_signed ? 0x80 : 0);
  const auto offset = static_cast<std::int16_t>(operands_.x_zero_point + (is_signed ? 128 : 0));
  const std::int64_t depth = operands_.geometry.depth();
  for (std::int64_t begin = 0; begin < depth; begin += kTileDepth) {
    const auto rows = static_cast<int>(std::min<std::int64_t>(kTileDepth, depth - begin));
    const int units = (rows + leaves_.depth_unit - 1) / leaves_.depth_unit;
    block.gather.gather(x, begin, begin + rows, tile.rows);
    // Rows that complete the last unit meet weights of zero, so they need values, but no certain ones.
    std::memset(tile.rows + rows * kTilePositions, 0,
                static_cast<std::size_t>((units * leaves_.depth_unit - rows) * kTilePositions));
    for (int p = 0; p < block.positions; p += leaves_.position_tile) {
      leaves_.pack(tile.rows + p, units, flip, offset, tile.panels + p * units * leaves_.depth_unit);
    }
    sum_tile(block, begin, units, tile);
  }
}

// Panels outside, channels inside: a panel of x stays in the first-level cache while w streams by.
void BlockedConvolution::sum_tile(const Block& block, std::int64_t depth_begin, int units, Tile& tile) const {
  for (int p = 0; p < block.positions; p += leaves_.position_tile) {
    const std::int16_t* const panel = tile.panels + p * units * leaves_.depth_unit;
    for (std::int64_t m = 0; m < block.channels; m += leaves_.channel_tile) {
      const std::int64_t channels = std::min<std::int64_t>(leaves_.channel_tile, block.channels - m);
      const std::int16_t* const w = w_.data() + (block.first_channel + m) * padded_depth_ + depth_begin * channels;
      leaves_.multiply(w, panel, units, static_cast<int>(channels), tile.sums + m * kTilePositions + p, kTilePositions);
    }
  }
}

}  // namespace qconform::reference
