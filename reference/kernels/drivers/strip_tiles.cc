#include "reference/kernels/drivers/strip_tiles.h"

#include <algorithm>
#include <cstring>

#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/tile_writer.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

constexpr SpatialAxis kSingleRow{
    .input = 1, .kernel = 1, .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1};

// One tap that meets every input once, in order.
bool is_pointwise(const SpatialAxis& axis) {
  return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
}

// Stored pixels of the narrowest strip, one row or some positions of the only one; `limit` + 1 for
// more than `limit`.
std::int64_t smallest_strip_pixels(const Lowering& l, std::int64_t limit) {
  const std::int64_t outputs =
      l.rows.output == 1 ? std::min<std::int64_t>(l.columns.output, kTilePositions) : l.columns.output;
  const std::int64_t columns = Lowering::stored(l.columns, std::max<std::int64_t>(1, outputs));
  const std::int64_t rows = Lowering::stored(l.rows, 1);
  return columns > limit / rows ? limit + 1 : rows * columns;
}

}  // namespace

std::optional<Lowering> lower(const ConvolutionGeometry& g, const ConvolutionMicroKernels& micro_kernels, bool gapless,
                              std::int64_t max_strip_bytes) {
  if (g.axes.empty() || g.axes.size() > 2 || g.depth() == 0 || g.input_positions() == 0) return std::nullopt;
  Lowering l{.rows = g.axes.size() == 2 ? g.axes[0] : kSingleRow,
             .columns = g.axes.back(),
             .groups = g.group,
             .group_channels = g.group_input_channels(),
             .group_pitch = 0,
             .pixel_pitch = 0,
             .whole_rows = false,
             .first_column = 0};
  if (is_pointwise(l.rows) && is_pointwise(l.columns)) {
    l.columns.input *= l.rows.input;
    l.columns.output *= l.rows.output;
    l.rows = kSingleRow;
  }
  l.whole_rows = g.group == 1 && (l.columns.dilation == 1 || l.columns.kernel == 1);
  const std::int64_t unit = gapless || l.whole_rows ? 1 : micro_kernels.unit;
  l.group_pitch = (l.group_channels + unit - 1) / unit * unit;
  l.pixel_pitch = l.groups * l.group_pitch;
  if (smallest_strip_pixels(l, max_strip_bytes) > max_strip_bytes / (l.pixel_pitch * micro_kernels.x_bytes))
    return std::nullopt;
  return l;
}

std::int64_t strip_elements(const Lowering& l, const StripRange& range) {
  return Lowering::stored(l.rows, range.row_end - range.row_begin) *
         Lowering::stored(l.columns, range.column_end - range.column_begin) * l.pixel_pitch;
}

std::vector<StripRange> divide_into_strips(const Lowering& l, int x_bytes, std::int64_t strip_bytes,
                                           std::int64_t least) {
  const bool by_columns = l.rows.output == 1;
  const std::int64_t first = by_columns ? l.first_column : 0;
  const std::int64_t length = (by_columns ? l.columns.output : l.rows.output) - first;
  const std::int64_t granule = by_columns ? kTilePositions : 1;
  const SpatialAxis& divided = by_columns ? l.columns : l.rows;
  const std::int64_t across = by_columns ? Lowering::stored(l.rows, 1) : Lowering::stored(l.columns, l.columns.output);
  const std::int64_t fixed = divided.kernel_extent() - Lowering::stored_stride(divided);
  const std::int64_t fitting = strip_bytes / (across * l.pixel_pitch * x_bytes);
  std::int64_t step = std::max(granule, (fitting - fixed) / Lowering::stored_stride(divided));
  step = std::min(step, std::max<std::int64_t>(1, (length + least - 1) / least));
  step = std::max<std::int64_t>(granule, step / granule * granule);
  // Strips of equal size.
  const std::int64_t count = (length + step - 1) / step;
  step = ((length + count - 1) / count + granule - 1) / granule * granule;
  std::vector<StripRange> strips;
  for (std::int64_t begin = first; begin < first + length; begin += step) {
    const std::int64_t end = std::min(begin + step, first + length);
    strips.push_back(by_columns ? StripRange{0, 1, begin, end} : StripRange{begin, end, 0, l.columns.output});
  }
  return strips;
}

namespace {

constexpr std::int64_t kStripBytes = std::int64_t{1} << 18;  // a part of a second-level cache

}  // namespace

void StripTiles::load(std::span<const std::byte> x, std::int64_t image, const StripRange& range) {
  const ConvolutionGeometry& g = operands_.geometry;
  image_ = image;
  first_position_ = range.row_begin * lowering_.columns.output + range.column_begin;
  strip_.load(x, image * g.input_channels * g.input_positions(), range);
  const Grid grid{.first = strip_.row(0),
                  .row_bytes = Lowering::stored_stride(lowering_.rows) * strip_.row_bytes(),
                  .column_bytes = Lowering::stored_stride(lowering_.columns) * strip_.pixel_bytes(),
                  .rows = range.row_end - range.row_begin,
                  .columns = range.column_end - range.column_begin};
  if (grid == grid_) return;
  grid_ = grid;
  rows_.resize(static_cast<std::size_t>(range.positions()));
  const std::byte** row = rows_.data();
  for (std::int64_t i = 0; i < grid.rows; ++i, row += grid.columns) {
    const std::byte* const first = grid.first + i * grid.row_bytes;
    for (std::int64_t column = 0; column < grid.columns; ++column) row[column] = first + column * grid.column_bytes;
  }
}

void StripTiles::locate_runs(std::int64_t group, std::vector<std::int64_t>& offsets) const {
  offsets.clear();
  const std::int64_t taps = lowering_.whole_rows ? 1 : lowering_.columns.kernel;
  const std::int64_t tap_bytes = lowering_.columns.dilation * lowering_.pixel_pitch * micro_kernels_.x_bytes;
  const std::int64_t group_bytes = group * lowering_.group_pitch * micro_kernels_.x_bytes;
  for (std::int64_t row = 0; row < lowering_.rows.kernel; ++row) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      offsets.push_back(row * lowering_.rows.dilation * strip_.row_bytes() + tap * tap_bytes + group_bytes);
    }
  }
}

StripWork divide_work(const Lowering& lowering, const ConvolutionMicroKernels& micro_kernels, std::int64_t images,
                      int threads, std::int64_t divisible) {
  const std::int64_t least = (threads + images - 1) / images;
  StripWork work{.strips = divide_into_strips(lowering, micro_kernels.x_bytes, kStripBytes, least)};
  const auto count = static_cast<std::int64_t>(work.strips.size());
  work.parts = std::clamp<std::int64_t>((least + count - 1) / count, 1, std::max<std::int64_t>(1, divisible));
  return work;
}

namespace {

void copy_flipped(const std::byte* from, std::int64_t count, std::uint8_t flip, std::byte* to) {
  if (flip == 0) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  const ByteVector flips = ByteVector{} + flip;
  std::int64_t i = 0;
  for (; i + kTransposed <= count; i += kTransposed) store_bytes(to + i, load_bytes(from + i) ^ flips);
  for (; i < count; ++i) to[i] = from[i] ^ static_cast<std::byte>(flip);
}

// `count` bytes that lie `step` apart; nothing outside x is read.
ByteVector load_up_to_16(std::span<const std::byte> x, std::int64_t from, int count, std::int64_t step) {
  if (step == 1 && from + kTransposed <= static_cast<std::int64_t>(x.size())) return load_bytes(x.data() + from);
  std::byte bytes[kTransposed] = {};
  for (int i = 0; i < count; ++i) bytes[i] = x[static_cast<std::size_t>(from + i * step)];
  return load_bytes(bytes);
}

}  // namespace

void RowStrip::reserve(std::int64_t elements) {
  const auto bytes = static_cast<std::size_t>(elements * micro_kernels_.x_bytes + 2 * kRowSlack);
  if (memory_.size() >= bytes) return;
  memory_ = AlignedMemory(bytes);
  std::memset(memory_.data(), 0, bytes);
  if (micro_kernels_.x_bytes > 1) line_ = AlignedMemory(static_cast<std::size_t>(elements + kRowSlack));
}

RowStrip::Inside RowStrip::inside(const SpatialAxis& axis, std::int64_t first_output, std::int64_t stored) {
  const std::int64_t step = axis.kernel == 1 ? axis.stride : 1;
  const std::int64_t first = first_output * Lowering::stored_stride(axis);
  const std::int64_t begin = std::clamp<std::int64_t>(ceil_div(axis.pad_begin, step) - first, 0, stored);
  const std::int64_t end = std::clamp<std::int64_t>(ceil_div(axis.input + axis.pad_begin, step) - first, begin, stored);
  return {.stored = stored, .begin = begin, .end = end, .from = (first + begin) * step - axis.pad_begin, .step = step};
}

// Whether x itself has the packed form: bytes, channels last, no padding, whole units.
bool RowStrip::can_stay(const Inside& rows, const Inside& columns) const {
  const Lowering& l = lowering_;
  const std::int64_t run = l.group_channels * (l.whole_rows ? l.columns.kernel : 1);
  return layout_ == ImageLayout::channels_last && micro_kernels_.x_bytes == 1 &&
         x_flip(operands_, micro_kernels_) == 0 && l.whole_rows && run % micro_kernels_.unit == 0 &&
         !has_padding(rows, columns);
}

bool RowStrip::has_padding(const Inside& rows, const Inside& columns) {
  return rows.begin > 0 || rows.end < rows.stored || columns.begin > 0 || columns.end < columns.stored;
}

// Whether the stored pixels of a row are consecutive bytes of x.
bool RowStrip::has_whole_rows(const Inside& columns) const {
  return layout_ == ImageLayout::channels_last && lowering_.group_pitch == lowering_.group_channels &&
         columns.step == 1;
}

// Whether the strip is consecutive bytes of x in their order.
bool RowStrip::is_one_piece(const Inside& rows, const Inside& columns) const {
  return has_whole_rows(columns) && !has_padding(rows, columns) && rows.step == 1 &&
         (rows.stored == 1 || columns.stored == lowering_.columns.input);
}

void RowStrip::widen(const std::byte* from, std::int64_t count, std::uint8_t flip, std::byte* to) const {
  micro_kernels_.widen(reinterpret_cast<const std::uint8_t*>(from), count, flip,
                       static_cast<std::int16_t>(packed_x_zero_point(operands_, micro_kernels_)),
                       reinterpret_cast<std::int16_t*>(to));
}

// Whole blocks from where they are, the rest from where more may be read.
void RowStrip::widen_piece(const std::byte* from, std::int64_t count, std::byte* to) {
  const std::uint8_t flip = x_flip(operands_, micro_kernels_);
  const std::int64_t whole = count / kTransposed * kTransposed;
  widen(from, whole, flip, to);
  std::memcpy(line_.data(), from + whole, static_cast<std::size_t>(count - whole));
  widen(line_.data(), count - whole, flip, to + whole * micro_kernels_.x_bytes);
}

// Each row from where it is. Padding is 0, the difference of the zero point from itself, and comes last, because pieces
// are written beyond their ends.
void RowStrip::widen_rows(const std::byte* from, const Inside& rows, const Inside& columns) {
  const std::int64_t channels = lowering_.pixel_pitch;
  std::byte* to = memory_.data();
  for (std::int64_t row = 0; row < rows.stored; ++row, to += row_bytes_) {
    const bool is_inside = row >= rows.begin && row < rows.end;
    const std::int64_t begin = is_inside ? columns.begin : 0;
    const std::int64_t end = is_inside ? columns.end : 0;
    if (is_inside) {
      widen_piece(from, (end - begin) * channels, to + begin * pixel_bytes_);
      from += rows.step * lowering_.columns.input * channels;
    }
    std::memset(to, 0, static_cast<std::size_t>(begin * pixel_bytes_));
    std::memset(to + end * pixel_bytes_, 0, static_cast<std::size_t>((columns.stored - end) * pixel_bytes_));
  }
}

void RowStrip::load(std::span<const std::byte> x, std::int64_t image, const StripRange& range) {
  const Lowering& l = lowering_;
  const Inside rows = inside(l.rows, range.row_begin, Lowering::stored(l.rows, range.row_end - range.row_begin));
  const Inside columns =
      inside(l.columns, range.column_begin, Lowering::stored(l.columns, range.column_end - range.column_begin));
  if (can_stay(rows, columns)) {
    first_ = x.data() + image + (rows.from * l.columns.input + columns.from) * l.pixel_pitch;
    pixel_bytes_ = columns.step * l.pixel_pitch;
    row_bytes_ = rows.step * l.columns.input * l.pixel_pitch;
    return;
  }
  reserve(strip_elements(l, range));
  first_ = memory_.data();
  pixel_bytes_ = l.pixel_pitch * micro_kernels_.x_bytes;
  row_bytes_ = columns.stored * pixel_bytes_;
  if (micro_kernels_.x_bytes == 2 && has_whole_rows(columns)) {
    const std::byte* const from = x.data() + image + (rows.from * l.columns.input + columns.from) * l.pixel_pitch;
    is_one_piece(rows, columns) ? widen_piece(from, rows.stored * columns.stored * l.pixel_pitch, memory_.data())
                                : widen_rows(from, rows, columns);
    return;
  }
  std::byte* const to = micro_kernels_.x_bytes == 1 ? memory_.data() : line_.data();
  if (rows.begin < rows.end && columns.begin < columns.end) {
    if (layout_ == ImageLayout::channels_last) {
      copy_channels_last(x, image, rows, columns, to);
    } else {
      copy_channels_first(x, image, rows, columns, to);
    }
  }
  fill_padding(rows, columns, to);
  if (micro_kernels_.x_bytes == 1) return;
  widen(to, rows.stored * columns.stored * l.pixel_pitch, 0, memory_.data());
}

// Comes last, because blocks of channels are written beyond their ends.
void RowStrip::fill_padding(const Inside& rows, const Inside& columns, std::byte* to) const {
  const int padding = packed_x_zero_point(operands_, micro_kernels_);
  const std::int64_t pitch = lowering_.pixel_pitch;
  for (std::int64_t row = 0; row < rows.stored; ++row, to += columns.stored * pitch) {
    if (row < rows.begin || row >= rows.end || columns.begin == columns.end) {
      std::memset(to, padding, static_cast<std::size_t>(columns.stored * pitch));
    } else {
      std::memset(to, padding, static_cast<std::size_t>(columns.begin * pitch));
      std::memset(to + columns.end * pitch, padding, static_cast<std::size_t>((columns.stored - columns.end) * pitch));
    }
  }
}

void RowStrip::copy_channels_last(std::span<const std::byte> x, std::int64_t image, const Inside& rows,
                                  const Inside& columns, std::byte* to) const {
  const Lowering& l = lowering_;
  const std::uint8_t flip = x_flip(operands_, micro_kernels_);
  const std::int64_t channels = l.groups * l.group_channels;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const std::int64_t input_row = rows.from + (row - rows.begin) * rows.step;
    const std::byte* from = x.data() + image + (input_row * l.columns.input + columns.from) * channels;
    std::byte* pixel = to + (row * columns.stored + columns.begin) * l.pixel_pitch;
    if (l.pixel_pitch == channels && columns.step == 1) {
      copy_flipped(from, (columns.end - columns.begin) * channels, flip, pixel);
      continue;
    }
    for (std::int64_t i = columns.begin; i < columns.end; ++i) {
      for (std::int64_t g = 0; g < l.groups; ++g) {
        copy_flipped(from + g * l.group_channels, l.group_channels, flip, pixel + g * l.group_pitch);
      }
      from += columns.step * channels;
      pixel += l.pixel_pitch;
    }
  }
}

// Sixteen channels at a time, from the last to the first, so that few planes are read at once. Where
// channels lie without gaps, the surplus of every block is overwritten by its right neighbours.
void RowStrip::copy_channels_first(std::span<const std::byte> x, std::int64_t image, const Inside& rows,
                                   const Inside& columns, std::byte* to) const {
  const Lowering& l = lowering_;
  const bool has_gaps = l.group_pitch != l.group_channels;
  const std::int64_t ranges = has_gaps ? l.groups : 1;
  const std::int64_t channels = l.groups * l.group_channels / ranges;
  const std::int64_t plane = l.rows.input * l.columns.input;
  for (std::int64_t range = 0; range < ranges; ++range) {
    for (std::int64_t c = (channels - 1) / kTransposed * kTransposed; c >= 0; c -= kTransposed) {
      const auto count = static_cast<int>(std::min<std::int64_t>(kTransposed, channels - c));
      const ChannelBlock block{.from = x.data() + image + (range * channels + c) * plane,
                               .from_stride = plane,
                               .to = to + range * l.group_pitch + c,
                               .to_stride = l.pixel_pitch,
                               .channels = count,
                               .pixels = 0,
                               .stored_channels = has_gaps ? count : kTransposed,
                               .flip = x_flip(operands_, micro_kernels_)};
      if (is_contiguous(rows, columns)) {
        copy_rows(block, rows, columns);
        continue;
      }
      for (std::int64_t row = rows.begin; row < rows.end; ++row) copy_row(x, block, row, rows, columns);
    }
  }
}

// Whether the rows that lie in the input do so without gaps, and micro-kernels can take them at once.
bool RowStrip::is_contiguous(const Inside& rows, const Inside& columns) const {
  return micro_kernels_.to_channels_last != nullptr && rows.step == 1 && columns.step == 1 &&
         columns.end - columns.begin == lowering_.columns.input;
}

void RowStrip::copy_rows(const ChannelBlock& image, const Inside& rows, const Inside& columns) const {
  ChannelBlock block = image;
  block.from += rows.from * lowering_.columns.input;
  block.to += (rows.begin * columns.stored + columns.begin) * lowering_.pixel_pitch;
  block.pixels = static_cast<int>((rows.end - rows.begin) * lowering_.columns.input);
  block.row_pixels = static_cast<int>(lowering_.columns.input);
  block.row_gap = (columns.stored - lowering_.columns.input) * lowering_.pixel_pitch;
  micro_kernels_.to_channels_last(&block);
}

void RowStrip::copy_row(std::span<const std::byte> x, const ChannelBlock& image, std::int64_t row, const Inside& rows,
                        const Inside& columns) const {
  const std::int64_t input_row = rows.from + (row - rows.begin) * rows.step;
  const bool vectorized = columns.step == 1 && micro_kernels_.to_channels_last != nullptr;
  const std::int64_t piece = vectorized ? columns.end - columns.begin : kTransposed;
  for (std::int64_t j = columns.begin; j < columns.end; j += piece) {
    const std::int64_t column = columns.from + (j - columns.begin) * columns.step;
    ChannelBlock block = image;
    block.from += input_row * lowering_.columns.input + column;
    block.to += (row * columns.stored + j) * lowering_.pixel_pitch;
    block.pixels = static_cast<int>(std::min(piece, columns.end - j));
    vectorized ? micro_kernels_.to_channels_last(&block) : transpose_block(block, x, columns.step);
  }
}

// At most 16 pixels, `step` bytes apart. Reads nothing outside x.
void RowStrip::transpose_block(const ChannelBlock& b, std::span<const std::byte> x, std::int64_t step) {
  const ByteVector flip = ByteVector{} + b.flip;
  const std::int64_t from = b.from - x.data();
  ByteVector block[kTransposed];
  for (int c = 0; c < kTransposed; ++c) {
    block[c] = c < b.channels ? load_up_to_16(x, from + c * b.from_stride, b.pixels, step) ^ flip : ByteVector{};
  }
  transpose_16x16(block);
  for (int i = 0; i < b.pixels; ++i) {
    if (b.stored_channels == kTransposed) {
      store_bytes(b.to + i * b.to_stride, block[i]);
    } else {
      std::memcpy(b.to + i * b.to_stride, &block[i], static_cast<std::size_t>(b.stored_channels));
    }
  }
}

}  // namespace qconform::reference
