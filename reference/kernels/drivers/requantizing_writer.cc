#include "reference/kernels/drivers/requantizing_writer.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace qconform::reference {

namespace {

// Returns the largest magnitude that a channel's sums can have, bias included.
double largest_sum(const ConvolutionOperands& o, std::span<const std::byte> w, std::size_t channel) {
  const IntegerRange x_range = range_of(o.x_type);
  const std::int64_t largest_x = std::max(x_range.hi - o.x_zero_point, o.x_zero_point - x_range.lo);
  const auto depth = static_cast<std::size_t>(o.geometry.depth());
  std::int64_t sum = 0;
  for (const std::byte byte : w.subspan(channel * depth, depth)) {
    sum += std::abs(load8(o.w_type, byte) - o.w_zero_point[channel]);
  }
  const std::int64_t bias = o.bias.empty() ? 0 : o.bias[channel];
  return static_cast<double>(sum * largest_x + std::abs(bias));
}

}  // namespace

PreparedRequantization::PreparedRequantization(const QLinearConv& node, RoundingProfile profile,
                                               std::span<const std::byte> w,
                                               const ElementwiseMicroKernels& micro_kernels)
    : profile_(profile),
      row_(micro_kernels.requantize_row[static_cast<std::size_t>(profile)]),
      tile_(micro_kernels.requantize_tile[static_cast<std::size_t>(profile)]) {
  const auto channels = static_cast<std::size_t>(node.operands.geometry.output_channels);
  for (std::size_t m = 0; m < channels; ++m) {
    exact_.push_back(node.requantization(m));
    fast_.push_back(fast_requantization(exact_.back()));
    fixed_point_ = fixed_point_ && takes_fixed_point(fast_.back(), largest_sum(node.operands, w, m));
  }
}

void PreparedRequantization::assign_lane(std::int64_t lane, std::int64_t channel) {
  const auto at = static_cast<std::size_t>(lane);
  // Micro-kernels take whole vectors, so that the arrays reach beyond the last lane in use.
  const std::size_t size = at + kPanelChannels;
  if (multiplier_.size() < size) {
    multiplier_.resize(size);
    fixed_multiplier_.resize(size);
    needs_exact_from_.resize(size, 1);
    exact_multiplier_.resize(size);
    wide_needs_exact_from_.resize(size, 1);
  }
  const FastRequantization& fast = fast_[static_cast<std::size_t>(channel)];
  multiplier_[at] = profile_ == RoundingProfile::correctly_rounded ? fast.narrow_multiplier : fast.float_multiplier;
  fixed_multiplier_[at] = fast.narrow_multiplier * static_cast<float>(kFixedOne);
  needs_exact_from_[at] = fast.narrow_needs_exact_from;
  exact_multiplier_[at] = fast.multiplier;
  wide_needs_exact_from_[at] = fast.needs_exact_from;
}

std::uint8_t PreparedRequantization::exactly(std::int64_t channel, std::int32_t sum) const {
  return std::to_integer<std::uint8_t>(store8(requantize(profile_, sum, exact_[static_cast<std::size_t>(channel)])));
}

void PreparedRequantization::tile(const SumsTile& t, int lanes, std::uint8_t* y, std::int64_t y_stride) const {
  if (tile_ == nullptr) {
    tile_by_rows(t, y, y_stride);
    return;
  }
  const RequantizeChannels parameters = channels(t.first_lane);
  std::uint64_t needs_exact[kTilePositions];
  const int whole = (t.channels + lanes - 1) / lanes * lanes;
  if (tile_(t.sums, t.stride, t.positions, whole, &parameters, y, y_stride, needs_exact)) {
    replace_by_exact(t, needs_exact, y, y_stride);
  }
}

RequantizeChannels PreparedRequantization::channels(std::int64_t first_lane) const {
  const FastRequantization& any = fast_.front();
  return {.multiplier = multiplier_.data() + first_lane,
          .needs_exact_from = needs_exact_from_.data() + first_lane,
          .exact_multiplier = exact_multiplier_.data() + first_lane,
          .wide_needs_exact_from = wide_needs_exact_from_.data() + first_lane,
          .zero_point = any.zero_point,
          .lo = any.lo,
          .hi = any.hi,
          .fixed_multiplier = fixed_point_ ? fixed_multiplier_.data() + first_lane : nullptr};
}

void PreparedRequantization::replace_by_exact(const SumsTile& t, const std::uint64_t* needs_exact, std::uint8_t* y,
                                              std::int64_t y_stride) const {
  for (int p = 0; p < t.positions; ++p) {
    for (std::uint64_t rest = needs_exact[p]; rest != 0; rest &= rest - 1) {
      const int m = std::countr_zero(rest);
      if (m < t.channels) y[p * y_stride + m] = exactly(t.first_channel + m, t.sums[p * t.stride + m]);
    }
  }
}

void PreparedRequantization::replace_by_exact(const LinesTile& t, const std::uint64_t* needs_exact,
                                              std::uint8_t* y) const {
  for (int line = 0; line < t.lines; ++line) {
    for (std::uint64_t rest = needs_exact[line]; rest != 0; rest &= rest - 1) {
      const int p = std::countr_zero(rest);
      if (p >= t.positions) break;
      const std::int64_t channel = t.first_channel + line * t.channel_step;
      y[line * t.y_stride + p] = exactly(channel, t.sums[line * kTilePositions + p]);
    }
  }
}

void PreparedRequantization::tile_by_rows(const SumsTile& t, std::uint8_t* y, std::int64_t y_stride) const {
  for (int m = 0; m < t.channels; ++m) {
    std::int32_t sums[kTilePositions] = {};
    std::uint8_t bytes[kTilePositions];
    for (int p = 0; p < t.positions; ++p) sums[p] = t.sums[p * t.stride + m];
    row(t.first_channel + m, sums, t.positions, bytes);
    for (int p = 0; p < t.positions; ++p) y[p * y_stride + m] = bytes[p];
  }
}

void PreparedRequantization::row(std::int64_t channel, const std::int32_t* sums, int count, std::uint8_t* y) const {
  if (row_ == nullptr) {
    for (int i = 0; i < count; ++i) y[i] = exactly(channel, sums[i]);
    return;
  }
  std::uint64_t needs_exact = row_(sums, (count + 7) / 8 * 8, &fast_[static_cast<std::size_t>(channel)], y);
  for (; needs_exact != 0; needs_exact &= needs_exact - 1) {
    const int i = std::countr_zero(needs_exact);
    y[i] = exactly(channel, sums[i]);
  }
}

void RequantizingWriter::write(const SumsTile& tile) const {
  const bool whole_vectors = tile.channels % micro_kernels_.lanes == 0;
  if (placement_.layout == ImageLayout::channels_last && whole_vectors) {
    std::byte* const y = y_ + placement_.index(tile.image, tile.first_channel, tile.first_position);
    requantization_.tile(tile, micro_kernels_.lanes, reinterpret_cast<std::uint8_t*>(y), placement_.position_stride());
    return;
  }
  alignas(64) std::uint8_t bytes[kTilePositions * kPanelChannels];
  requantization_.tile(tile, micro_kernels_.lanes, bytes, kPanelChannels);
  store_tile(tile, bytes, placement_, micro_kernels_, y_);
}

template <typename Multiply>
void RequantizingWriter::write_requantized(const SumsTile& tile, Multiply multiply) const {
  constexpr int kDirect = 8;  // micro-kernels store channels by eight
  alignas(64) std::uint8_t bytes[kTilePositions * kPanelChannels];
  std::uint64_t needs_exact[kTilePositions];
  const RequantizeChannels parameters = requantization_.channels(tile.first_lane);
  RequantizedOutput out{.parameters = &parameters,
                        .y = bytes,
                        .y_stride = kPanelChannels,
                        .channels = static_cast<int>(tile.stride),
                        .needs_exact = needs_exact};
  const bool is_direct = placement_.layout == ImageLayout::channels_last && tile.channels % kDirect == 0 &&
                         tile.stride - tile.channels <= kDirect;
  if (is_direct) {
    out.y = reinterpret_cast<std::uint8_t*>(y_ + placement_.index(tile.image, tile.first_channel, tile.first_position));
    out.y_stride = placement_.position_stride();
    out.channels = tile.channels;
  }
  if (multiply(&out)) requantization_.replace_by_exact(tile, needs_exact, out.y, out.y_stride);
  if (!is_direct) store_tile(tile, bytes, placement_, micro_kernels_, y_);
}

void RequantizingWriter::write_products(const ConvolutionMicroKernels& micro_kernels,
                                        std::span<const PanelProduct> products, const SumsTile& tile) const {
  const auto multiply = micro_kernels.multiply_requantized[static_cast<std::size_t>(requantization_.profile())];
  if (multiply == nullptr) {
    TileWriter::write_products(micro_kernels, products, tile);
    return;
  }
  write_requantized(tile, [&](RequantizedOutput* out) {
    bool any = false;
    std::uint64_t needs_exact[kTilePositions];
    std::uint64_t* const all = out->needs_exact;
    out->needs_exact = needs_exact;
    for (const PanelProduct& product : products) {
      if (!multiply(&product, out)) continue;
      for (int p = 0; p < kTilePositions; ++p) all[p] = (any ? all[p] : 0) | needs_exact[p];
      any = true;
    }
    return any;
  });
}

void RequantizingWriter::write_products(const DepthwiseBlock& block, const DepthwiseProduct& product,
                                        const SumsTile& tile) const {
  const auto multiply = block.multiply_requantized[static_cast<std::size_t>(requantization_.profile())];
  if (multiply == nullptr) {
    TileWriter::write_products(block, product, tile);
    return;
  }
  write_requantized(tile, [&](const RequantizedOutput* out) { return multiply(&product, out); });
}

template <typename Multiply>
void RequantizingWriter::write_requantized(const LinesTile& tile, Multiply multiply) const {
  std::uint64_t needs_exact[kTilePositions];
  const RequantizeChannels parameters = requantization_.channels(tile.first_channel);
  auto* const y = reinterpret_cast<std::uint8_t*>(y_);
  const RequantizedOutput out{.parameters = &parameters,
                              .y = y + tile.y_begin,
                              .y_stride = tile.y_stride,
                              .channels = tile.positions,
                              .needs_exact = needs_exact,
                              .y_end = y + tile.y_end};
  if (multiply(&out)) requantization_.replace_by_exact(tile, needs_exact, out.y);
}

void RequantizingWriter::write_lines(const LineMicroKernels& micro_kernels, const PanelProduct& product,
                                     const LinesTile& tile) const {
  const auto multiply = micro_kernels.multiply_requantized[static_cast<std::size_t>(requantization_.profile())];
  write_requantized(tile, [&](const RequantizedOutput* out) { return multiply(&product, out); });
}

void RequantizingWriter::write_lines(const LineMicroKernels& micro_kernels, const PlaneProduct& product,
                                     const LinesTile& tile) const {
  const auto multiply = micro_kernels.multiply_plane_requantized[static_cast<std::size_t>(requantization_.profile())];
  write_requantized(tile, [&](const RequantizedOutput* out) { return multiply(&product, out); });
}

}  // namespace qconform::reference
