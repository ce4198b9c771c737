#include "reference/convolution/band.h"

#include <algorithm>
#include <cstring>

#include "reference/convolution/packed_weights.h"
#include "reference/convolution/transpose.h"

namespace qconform::reference {
namespace {

constexpr int kBlock = 16;           // pixels and channels that are transposed at a time
constexpr std::int64_t kPiece = 64;  // pixels of a row for which all channels are transposed

void copy_flipped(const std::byte* from, std::int64_t count, std::uint8_t flip, std::byte* to) {
  if (flip == 0) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] ^ static_cast<std::byte>(flip);
}

std::int64_t ceil_div(std::int64_t numerator, std::int64_t positive) {
  return (numerator + positive - 1) / positive;
}

// `count` bytes that lie `step` apart; nothing outside x is read.
ByteVector load_up_to_16(std::span<const std::byte> x, std::int64_t from, int count, std::int64_t step) {
  if (step == 1 && from + kBlock <= static_cast<std::int64_t>(x.size())) return load_bytes(x.data() + from);
  std::byte bytes[kBlock] = {};
  for (int i = 0; i < count; ++i) bytes[i] = x[static_cast<std::size_t>(from + i * step)];
  return load_bytes(bytes);
}

}  // namespace

void Band::reserve(std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements * leaves_.x_bytes + 2 * kRowSlack);
  if (memory_.size() >= bytes) return;
  memory_ = AlignedMemory(bytes);
  std::memset(memory_.data(), 0, bytes);
  if (leaves_.x_bytes > 1) line_ = AlignedMemory(static_cast<std::size_t>(elements + kRowSlack));
}

Band::Inside Band::inside_columns(const BandRange& range) const {
  const SpatialAxis& axis = lowering_.columns;
  const std::int64_t step = axis.kernel == 1 ? axis.stride : 1;
  const std::int64_t first = range.column_begin * Lowering::stored_stride(axis);
  const std::int64_t begin = std::max<std::int64_t>(0, ceil_div(axis.pad_begin, step) - first);
  const std::int64_t end = std::min(columns_, ceil_div(axis.input + axis.pad_begin, step) - first);
  return {.begin = begin, .end = end, .from = (first + begin) * step - axis.pad_begin, .step = step};
}

void Band::load(std::span<const std::byte> x, std::int64_t image, const BandRange& range) {
  const SpatialAxis& rows = lowering_.rows;
  reserve(band_elements(lowering_, range));
  columns_ = Lowering::stored(lowering_.columns, range.column_end - range.column_begin);
  const Inside inside = inside_columns(range);
  const std::int64_t step = rows.kernel == 1 ? rows.stride : 1;
  const std::int64_t first = range.row_begin * Lowering::stored_stride(rows);
  const std::int64_t stored = Lowering::stored(rows, range.row_end - range.row_begin);
  const std::int64_t elements = columns_ * lowering_.pixel_pitch;
  const std::int32_t zero_point = x_zero_point_byte(operands_);
  for (std::int64_t row = 0; row < stored; ++row) {
    const std::int64_t from = (first + row) * step - rows.pad_begin;
    std::byte* const to = memory_.data() + row * row_bytes();
    if (leaves_.x_bytes == 1) {
      load_row(x, image, from, inside, to);
    } else {
      load_row(x, image, from, inside, line_.data());
      leaves_.widen(reinterpret_cast<const std::uint8_t*>(line_.data()), elements, 0,
                    static_cast<std::int16_t>(zero_point), reinterpret_cast<std::int16_t*>(to));
    }
  }
}

// Later pixels and rows overwrite what earlier ones wrote too far.
void Band::load_row(std::span<const std::byte> x, std::int64_t image, std::int64_t row, const Inside& inside,
                    std::byte* to) {
  const int padding = x_zero_point_byte(operands_);
  const std::int64_t pitch = lowering_.pixel_pitch;
  if (row < 0 || row >= lowering_.rows.input || inside.begin >= inside.end) {
    std::memset(to, padding, static_cast<std::size_t>(columns_ * pitch));
    return;
  }
  std::memset(to, padding, static_cast<std::size_t>(inside.begin * pitch));
  const std::int64_t channels = lowering_.groups * lowering_.group_channels;
  if (layout_ == ImageLayout::channels_last) {
    copy_channels_last(x.data() + image + row * lowering_.columns.input * channels, inside, to);
  } else {
    copy_channels_first(x, image + row * lowering_.columns.input, inside, to);
  }
  std::memset(to + inside.end * pitch, padding, static_cast<std::size_t>((columns_ - inside.end) * pitch));
}

void Band::copy_channels_last(const std::byte* row, const Inside& inside, std::byte* to) const {
  const Lowering& l = lowering_;
  const std::uint8_t flip = x_flip(operands_);
  const std::int64_t channels = l.groups * l.group_channels;
  const std::byte* from = row + inside.from * channels;
  to += inside.begin * l.pixel_pitch;
  if (l.pixel_pitch == channels && inside.step == 1) {
    copy_flipped(from, (inside.end - inside.begin) * channels, flip, to);
    return;
  }
  for (std::int64_t i = inside.begin; i < inside.end; ++i, from += inside.step * channels, to += l.pixel_pitch) {
    for (std::int64_t g = 0; g < l.groups; ++g) {
      copy_flipped(from + g * l.group_channels, l.group_channels, flip, to + g * l.group_pitch);
    }
  }
}

// Where channels lie without gaps, pieces of a row are written from left to right, in each the
// channels from the last to the first: the surplus of every block is overwritten by its neighbours.
void Band::copy_channels_first(std::span<const std::byte> x, std::int64_t row, const Inside& inside,
                               std::byte* to) const {
  const Lowering& l = lowering_;
  const bool has_gaps = l.group_pitch != l.group_channels;
  const std::int64_t ranges = has_gaps ? l.groups : 1;
  const std::int64_t channels = l.groups * l.group_channels / ranges;
  const std::int64_t plane = l.rows.input * l.columns.input;
  const bool vectorized = inside.step == 1 && leaves_.to_channels_last != nullptr;
  const std::int64_t piece = vectorized ? kPiece : kBlock;
  for (std::int64_t j = inside.begin; j < inside.end; j += piece) {
    const std::int64_t column = inside.from + (j - inside.begin) * inside.step;
    for (std::int64_t range = 0; range < ranges; ++range) {
      for (std::int64_t c = (channels - 1) / kBlock * kBlock; c >= 0; c -= kBlock) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kBlock, channels - c));
        const std::int64_t from = row + (range * channels + c) * plane + column;
        const ChannelBlock block{.from = x.data() + from,
                                 .from_stride = plane,
                                 .to = to + j * l.pixel_pitch + range * l.group_pitch + c,
                                 .to_stride = l.pixel_pitch,
                                 .channels = count,
                                 .pixels = static_cast<int>(std::min(piece, inside.end - j)),
                                 .stored_channels = has_gaps ? count : kBlock,
                                 .flip = x_flip(operands_)};
        vectorized ? leaves_.to_channels_last(&block) : transpose_block(block, x, inside.step);
      }
    }
  }
}

// At most 16 pixels, `step` bytes apart. Reads nothing outside x.
void Band::transpose_block(const ChannelBlock& b, std::span<const std::byte> x, std::int64_t step) {
  const ByteVector flip = ByteVector{} + b.flip;
  const std::int64_t from = b.from - x.data();
  ByteVector block[kBlock];
  for (int c = 0; c < kBlock; ++c) {
    block[c] = c < b.channels ? load_up_to_16(x, from + c * b.from_stride, b.pixels, step) ^ flip : ByteVector{};
  }
  transpose_16x16(block);
  for (int i = 0; i < b.pixels; ++i) {
    if (b.stored_channels == kBlock) {
      store_bytes(b.to + i * b.to_stride, block[i]);
    } else {
      std::memcpy(b.to + i * b.to_stride, &block[i], static_cast<std::size_t>(b.stored_channels));
    }
  }
}

}  // namespace qconform::reference
