#include "reference/kernels/drivers/tile_writer.h"

#include <algorithm>
#include <cstring>

#include "reference/kernels/drivers/transpose.h"
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

}  // namespace qconform::reference
