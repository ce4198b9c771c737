#include "reference/kernels/drivers/lowering.h"

#include <algorithm>

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

}  // namespace qconform::reference
