// How a convolution with at most two spatial dimensions is laid out for the micro-kernels.
//
// The input is copied strip by strip: channels last, with its padding, in the packed form of
// micro_kernels.h. The window of an output position then is a fixed set of runs of consecutive elements.
// Nothing is copied once per tap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/convolution/geometry.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// How the images of x and y lie in memory.
enum class ImageLayout : std::uint8_t {
  channels_first,  ///< [batch, channels, spatial...], as ONNX has it
  channels_last,   ///< [batch, spatial..., channels]
};

struct Lowering {
  SpatialAxis rows;     ///< a single row for one-dimensional convolutions
  SpatialAxis columns;  ///< all positions for those where neither window nor stride tells rows apart
  std::int64_t groups;
  std::int64_t group_channels;
  std::int64_t group_pitch;       ///< packed elements from group to group
  std::int64_t pixel_pitch;       ///< packed elements from pixel to pixel
  bool whole_rows;                ///< a run is a kernel row: all its taps and channels; otherwise one tap
  std::int64_t first_column = 0;  ///< outputs before it are left out; only with a single row

  [[nodiscard]] std::int64_t runs() const { return rows.kernel * (whole_rows ? 1 : columns.kernel); }
  /// Stored rows or columns from one output position to the next: axes with a single tap store
  /// nothing that no window touches.
  [[nodiscard]] static std::int64_t stored_stride(const SpatialAxis& axis) {
    return axis.kernel == 1 ? 1 : axis.stride;
  }
  /// Stored rows or columns under the windows of `outputs` positions; outputs >= 1.
  [[nodiscard]] static std::int64_t stored(const SpatialAxis& axis, std::int64_t outputs) {
    return (outputs - 1) * stored_stride(axis) + axis.kernel_extent();
  }
};

/// Output positions [row_begin, row_end) x [column_begin, column_end).
struct StripRange {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t column_begin;
  std::int64_t column_end;

  [[nodiscard]] std::int64_t positions() const { return (row_end - row_begin) * (column_end - column_begin); }
};

/// `gapless`: channels lie together; otherwise each group's are rounded up to whole units.
/// Empty for more than two spatial dimensions, empty kernels, and windows so wide spread that a strip
/// would not fit `max_strip_bytes`.
[[nodiscard]] std::optional<Lowering> lower(const ConvolutionGeometry& geometry,
                                            const ConvolutionMicroKernels& micro_kernels, bool gapless,
                                            std::int64_t max_strip_bytes);

/// Packed elements of a strip.
[[nodiscard]] std::int64_t strip_elements(const Lowering& lowering, const StripRange& range);

/// Divides an image into strips of about `strip_bytes`, at least `least` of them if that is possible.
/// Whole rows each, or parts of the only row.
[[nodiscard]] std::vector<StripRange> divide_into_strips(const Lowering& lowering, int x_bytes,
                                                         std::int64_t strip_bytes, std::int64_t least);

}  // namespace qconform::reference
