#include "reference/kernels/drivers/strip_tiles.h"

namespace qconform::reference {
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

}  // namespace qconform::reference
