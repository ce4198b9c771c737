#include "reference/kernels/drivers/tile_writer.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {
namespace {

// Channels become rows of y.
void to_channels_first(const ChannelBlock& b) {
  for (int p = 0; p < b.pixels; p += kTransposed) {
    ByteVector block[kTransposed];
    for (int i = 0; i < kTransposed; ++i) block[i] = load_bytes(b.from + (p + i) * b.from_stride);
    transpose_16x16(block);
    for (int m = 0; m < b.channels; ++m) {
      if (b.pixels - p >= kTransposed) {
        store_bytes(b.to + m * b.to_stride + p, block[m]);
      } else {
        std::memcpy(b.to + m * b.to_stride + p, &block[m], static_cast<std::size_t>(b.pixels - p));
      }
    }
  }
}

}  // namespace

void store_tile(const SumsTile& at, const std::uint8_t* tile, const OutputPlacement& placement,
                const ConvolutionMicroKernels& micro_kernels, std::byte* y) {
  y += placement.index(at.image, at.first_channel, at.first_position);
  if (placement.layout == ImageLayout::channels_last) {
    for (int p = 0; p < at.positions; ++p) {
      std::memcpy(y + p * placement.position_stride(), tile + p * kPanelChannels,
                  static_cast<std::size_t>(at.channels));
    }
    return;
  }
  for (int m = 0; m < at.channels; m += kTransposed) {
    const ChannelBlock block{.from = reinterpret_cast<const std::byte*>(tile) + m,
                             .from_stride = kPanelChannels,
                             .to = y + m * placement.channel_stride(),
                             .to_stride = placement.channel_stride(),
                             .channels = std::min(kTransposed, at.channels - m),
                             .pixels = at.positions,
                             .stored_channels = kTransposed,
                             .flip = 0};
    micro_kernels.to_channels_first != nullptr ? micro_kernels.to_channels_first(&block) : to_channels_first(block);
  }
}

void store_sums(const SumsTile& tile, const OutputPlacement& placement, std::byte* y) {
  constexpr std::size_t kSize = sizeof(std::int32_t);
  y += static_cast<std::size_t>(placement.index(tile.image, tile.first_channel, tile.first_position)) * kSize;
  const std::int32_t* const sums = tile.sums;
  if (placement.layout == ImageLayout::channels_last) {
    for (int p = 0; p < tile.positions; ++p) {
      std::memcpy(y + static_cast<std::size_t>(p * placement.position_stride()) * kSize, sums + p * tile.stride,
                  static_cast<std::size_t>(tile.channels) * kSize);
    }
    return;
  }
  for (int m = 0; m < tile.channels; ++m) {
    std::int32_t row[kTilePositions];
    for (int p = 0; p < tile.positions; ++p) row[p] = sums[p * tile.stride + m];
    std::memcpy(y + static_cast<std::size_t>(m * placement.channel_stride()) * kSize, row,
                static_cast<std::size_t>(tile.positions) * kSize);
  }
}

void store_lines(const LinesTile& tile, std::byte* y) {
  constexpr std::size_t kSize = sizeof(std::int32_t);
  for (int line = 0; line < tile.lines; ++line) {
    std::memcpy(y + static_cast<std::size_t>(tile.y_begin + line * tile.y_stride) * kSize,
                tile.sums + line * kTilePositions, static_cast<std::size_t>(tile.positions) * kSize);
  }
}

namespace {

// Bounds the memory of located taps; kernels with fewer taps are located once per block.
constexpr std::int64_t kWindowTaps = 512;

std::int64_t floor_div(std::int64_t numerator, std::int64_t positive) {
  const std::int64_t quotient = numerator / positive;
  return quotient - (numerator % positive < 0 ? 1 : 0);
}

}  // namespace

TileGather::TileGather(const ConvolutionGeometry& geometry, std::uint8_t padding)
    : geometry_(geometry),
      padding_(padding),
      channels_(geometry.group_input_channels()),
      channel_size_(geometry.input_positions()),
      taps_(geometry.kernel_taps()),
      shifts_(geometry.axes.size()) {}

void TileGather::select(std::int64_t first, int count) {
  segments_.clear();
  outer_.clear();
  run_ends_.clear();
  const std::size_t outer_axes = geometry_.axes.size() - 1;
  const std::int64_t row_length = geometry_.axes.back().output;
  for (int done = 0; done < count;) {
    const std::int64_t position = first + done;
    const std::int64_t last_index = position % row_length;
    const auto length = static_cast<int>(std::min<std::int64_t>(row_length - last_index, count - done));
    segments_.push_back({.first = done, .count = length, .last_index = last_index});
    std::int64_t rest = position / row_length;
    outer_.resize(outer_.size() + outer_axes);
    for (std::size_t axis = outer_axes; axis-- > 0; rest /= geometry_.axes[axis].output) {
      outer_[outer_.size() - outer_axes + axis] = rest % geometry_.axes[axis].output;
    }
    done += length;
  }
}

void TileGather::gather(const std::byte* x, std::int64_t depth_begin, std::int64_t depth_end, std::uint8_t* rows) {
  std::int64_t depth = depth_begin;
  while (depth < depth_end) {
    const std::int64_t tap = depth / channels_;
    const std::int64_t tap_end = std::min((tap + 1) * channels_, depth_end);
    if (tap < window_begin_ || tap >= window_begin_ + static_cast<std::int64_t>(run_ends_.size())) {
      locate_window(taps_ <= kWindowTaps ? 0 : tap);
    }
    const auto in_window = static_cast<std::size_t>(tap - window_begin_);
    const Run* begin = runs_.data() + (in_window == 0 ? 0 : run_ends_[in_window - 1]);
    const Run* end = runs_.data() + run_ends_[in_window];
    const std::byte* channel = x + (depth - tap * channels_) * channel_size_;
    for (; depth < tap_end; ++depth, channel += channel_size_, rows += kTilePositions) {
      fill_row(channel, begin, end, rows);
    }
  }
}

void TileGather::locate_window(std::int64_t first_tap) {
  window_begin_ = first_tap;
  run_ends_.clear();
  runs_.clear();
  const std::int64_t end = std::min(first_tap + kWindowTaps, taps_);
  for (std::int64_t tap = first_tap; tap < end; ++tap) {
    locate_tap(tap);
    run_ends_.push_back(runs_.size());
  }
}

void TileGather::locate_tap(std::int64_t tap) {
  for (std::size_t a = geometry_.axes.size(); a-- > 0; tap /= geometry_.axes[a].kernel) {
    const SpatialAxis& axis = geometry_.axes[a];
    shifts_[a] = tap % axis.kernel * axis.dilation - axis.pad_begin;
  }
  const std::size_t first_run = runs_.size();
  for (std::size_t segment = 0; segment < segments_.size(); ++segment) locate_segment(segment, first_run);
}

void TileGather::locate_segment(std::size_t segment, std::size_t first_run) {
  const std::size_t outer_axes = geometry_.axes.size() - 1;
  std::int64_t row = 0;  // index of the input row within the channel
  for (std::size_t a = 0; a < outer_axes; ++a) {
    const SpatialAxis& axis = geometry_.axes[a];
    const std::int64_t position = outer_[segment * outer_axes + a] * axis.stride + shifts_[a];
    if (position < 0 || position >= axis.input) return;
    row = row * axis.input + position;
  }
  const SpatialAxis& last = geometry_.axes.back();
  const std::int64_t shift = shifts_[outer_axes];
  const Segment& s = segments_[segment];
  // The output indices i with 0 <= i * stride + shift < input.
  const std::int64_t begin = std::max(-floor_div(shift, last.stride), s.last_index);
  const std::int64_t end = std::min(floor_div(last.input - 1 - shift, last.stride) + 1, s.last_index + s.count);
  if (begin >= end) return;
  const Run run{.first = s.first + static_cast<int>(begin - s.last_index),
                .count = static_cast<int>(end - begin),
                .offset = row * last.input + begin * last.stride + shift};
  // Two rows that neither padding nor stride separates (1x1 kernels, say) are one run.
  if (runs_.size() > first_run && last.stride == 1) {
    Run& previous = runs_.back();
    if (previous.first + previous.count == run.first && previous.offset + previous.count == run.offset) {
      previous.count += run.count;
      return;
    }
  }
  runs_.push_back(run);
}

void TileGather::fill_row(const std::byte* channel, const Run* begin, const Run* end, std::uint8_t* row) const {
  if (begin == end || begin->count < kTilePositions) std::memset(row, padding_, kTilePositions);
  const std::int64_t stride = geometry_.axes.back().stride;
  for (const Run* run = begin; run != end; ++run) {
    const std::byte* from = channel + run->offset;
    if (stride == 1) {
      std::memcpy(row + run->first, from, static_cast<std::size_t>(run->count));
    } else {
      for (int i = 0; i < run->count; ++i) row[run->first + i] = std::to_integer<std::uint8_t>(from[i * stride]);
    }
  }
}

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
