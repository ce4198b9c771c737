// The elements of operands that make up a sum, or a maximum over a window: one small struct for each kind.
//
// Each calls `f(a, b)` for the terms of output element `output`, in row-major order of the window or of the summed
// axis: `a` and `b` are flat indices of the two factors; where there is no second factor, b means nothing. Taps in the
// padding have no term (rule G-Conv: a padded tap is exactly 0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform::reference::graph {

/// Steps through all positions of a few axes, the last one fastest; `f` gets the digits.
template <typename F>
void for_each_position(const std::vector<std::int64_t>& extents, F&& f) {
  std::vector<std::int64_t> digits(extents.size(), 0);
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  while (true) {
    f(digits);
    std::size_t axis = extents.size();
    while (axis > 0 && ++digits[axis - 1] == extents[axis - 1]) digits[--axis] = 0;
    if (axis == 0) return;
  }
}

/// x [N, C, inputs...] and w [M, C/group, kernels...], as Conv has them.
struct ConvolutionTaps {
  ConvolutionGeometry geometry;

  template <typename F>
  void for_each(std::int64_t output, F&& f) const;
};

/// x [N, C, inputs...] and w [C, M/group, kernels...], as ConvTranspose has them: output o takes input i by tap k where
/// o = i * stride + k * dilation - pad_begin. In `geometry`, `output` is y's size, and the channels are x's and y's.
struct TransposedTaps {
  ConvolutionGeometry geometry;

  template <typename F>
  void for_each(std::int64_t output, F&& f) const;
};

/// y[batch, m, n] = sum over k of a[a_batch[batch], m, k] * b[b_batch[batch], k, n], with any strides.
struct MatrixTaps {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t a_row = 0;                ///< distance of neighbours along m in a
  std::int64_t a_inner = 1;              ///< distance of neighbours along k in a
  std::int64_t b_inner = 0;              ///< distance of neighbours along k in b
  std::int64_t b_column = 1;             ///< distance of neighbours along n in b
  std::vector<std::int64_t> a_begin{0};  ///< the first element of each batch
  std::vector<std::int64_t> b_begin{0};

  template <typename F>
  void for_each(std::int64_t output, F&& f) const {
    const auto batch = static_cast<std::size_t>(output / (m * n));
    std::int64_t a = a_begin[batch] + output / n % m * a_row;
    std::int64_t b = b_begin[batch] + output % n * b_column;
    for (std::int64_t i = 0; i < k; ++i, a += a_inner, b += b_inner) f(a, b);
  }

  /// Calls f(row, a, b) for each k of each row of the result: a is the element of the first factor, and b that of the
  /// second in column 0, so that who takes all columns reads the second factor in its order. Rows are counted over all
  /// batches.
  template <typename F>
  void for_each_of_rows(F&& f) const {
    const auto rows = static_cast<std::int64_t>(a_begin.size()) * m;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto batch = static_cast<std::size_t>(row / m);
      std::int64_t a = a_begin[batch] + row % m * a_row;
      std::int64_t b = b_begin[batch];
      for (std::int64_t i = 0; i < k; ++i, a += a_inner, b += b_inner) f(row, a, b);
    }
  }
};

/// The windows of a pool over x [N, C, inputs...]; one channel each. `axes[d].output` is y's size.
struct WindowTaps {
  std::vector<SpatialAxis> axes;

  template <typename F>
  void for_each(std::int64_t output, F&& f) const;
};

/// The elements that a reduction or an interpolation sees together: listed by output element. A second factor, the
/// weights, has an element for each entry of the list.
struct ListedTaps {
  std::vector<std::int64_t> begin{0};  ///< the terms of output i are index[begin[i]] to index[begin[i + 1]]
  std::vector<std::int64_t> index;

  template <typename F>
  void for_each(std::int64_t output, F&& f) const {
    const auto i = static_cast<std::size_t>(output);
    for (auto at = static_cast<std::size_t>(begin[i]); at < static_cast<std::size_t>(begin[i + 1]); ++at) {
      f(index[at], static_cast<std::int64_t>(at));
    }
  }
};

using Taps = std::variant<ConvolutionTaps, TransposedTaps, MatrixTaps, WindowTaps, ListedTaps>;

/// Which elements are there of values whose others nobody needs. Taps count the elements of whole values.
struct TapsPart {
  std::vector<std::int64_t> outputs;  ///< by element of the result: its number in the whole result; empty: itself
  std::vector<std::int32_t> a;  ///< by element of the whole first factor: its place among those there; empty: itself
  std::vector<std::int32_t> b;  ///< the same for the second factor
};

// The rest of this file defines for_each().

namespace detail {

/// Output `position`, in row-major order, as one digit for each axis.
inline void digits_of(std::int64_t position, const std::vector<SpatialAxis>& axes, std::vector<std::int64_t>& digits) {
  digits.resize(axes.size());
  for (std::size_t d = axes.size(); d-- > 0;) {
    digits[d] = position % axes[d].output;
    position /= axes[d].output;
  }
}

/// Calls f(offset within the input's channel, offset within the kernel) for each tap of one window that lies inside the
/// input.
template <typename F>
void taps_inside(const std::vector<SpatialAxis>& axes, const std::vector<std::int64_t>& at, F&& f, std::size_t axis = 0,
                 std::int64_t input = 0, std::int64_t kernel = 0) {
  if (axis == axes.size()) return f(input, kernel);
  const SpatialAxis& a = axes[axis];
  const TapRange range = a.taps_inside(at[axis]);
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const std::int64_t i = at[axis] * a.stride - a.pad_begin + k * a.dilation;
    taps_inside(axes, at, f, axis + 1, input * a.input + i, kernel * a.kernel + k);
  }
}

/// Calls f(offset within the input's channel, offset within the kernel) for each tap of a transposed convolution that
/// an output position gets.
template <typename F>
void taps_onto(const std::vector<SpatialAxis>& axes, const std::vector<std::int64_t>& at, F&& f, std::size_t axis = 0,
               std::int64_t input = 0, std::int64_t kernel = 0) {
  if (axis == axes.size()) return f(input, kernel);
  const SpatialAxis& a = axes[axis];
  for (std::int64_t k = 0; k < a.kernel; ++k) {
    const std::int64_t from = at[axis] + a.pad_begin - k * a.dilation;
    if (from < 0 || from % a.stride != 0 || from / a.stride >= a.input) continue;
    taps_onto(axes, at, f, axis + 1, input * a.input + from / a.stride, kernel * a.kernel + k);
  }
}

/// Returns what `taps` calls its function with at the output position, which is the same for all channels. It stays
/// until the next call in this thread.
template <typename TapsAt>
const std::vector<std::pair<std::int64_t, std::int64_t>>& window_of(TapsAt taps, const std::vector<SpatialAxis>& axes,
                                                                    std::int64_t position) {
  thread_local std::vector<std::int64_t> at;
  thread_local std::vector<std::pair<std::int64_t, std::int64_t>> window;
  digits_of(position, axes, at);
  window.clear();
  taps(at, [](std::int64_t input, std::int64_t tap) { window.emplace_back(input, tap); });
  return window;
}

}  // namespace detail

template <typename F>
void ConvolutionTaps::for_each(std::int64_t output, F&& f) const {
  const std::int64_t positions = geometry.output_positions();
  const std::int64_t channel = output / positions % geometry.output_channels;
  const std::int64_t image = output / positions / geometry.output_channels;
  const std::int64_t depth = geometry.group_input_channels();
  const std::int64_t first = image * geometry.input_channels + channel / geometry.group_output_channels() * depth;
  const std::int64_t inputs = geometry.input_positions();
  const std::int64_t kernel = geometry.kernel_taps();
  const auto& window =
      detail::window_of([&](const auto& at, auto take) { detail::taps_inside(geometry.axes, at, take); }, geometry.axes,
                        output % positions);
  for (std::int64_t c = 0; c < depth; ++c) {
    for (const auto& [input, tap] : window) f((first + c) * inputs + input, (channel * depth + c) * kernel + tap);
  }
}

template <typename F>
void TransposedTaps::for_each(std::int64_t output, F&& f) const {
  const std::int64_t positions = geometry.output_positions();
  const std::int64_t channel = output / positions % geometry.output_channels;
  const std::int64_t image = output / positions / geometry.output_channels;
  const std::int64_t depth = geometry.group_input_channels();
  const std::int64_t width = geometry.group_output_channels();
  const std::int64_t group = channel / width;
  const std::int64_t inputs = geometry.input_positions();
  const std::int64_t kernel = geometry.kernel_taps();
  const auto& window = detail::window_of([&](const auto& at, auto take) { detail::taps_onto(geometry.axes, at, take); },
                                         geometry.axes, output % positions);
  for (std::int64_t c = group * depth; c < (group + 1) * depth; ++c) {
    for (const auto& [input, tap] : window) {
      f((image * geometry.input_channels + c) * inputs + input, (c * width + channel % width) * kernel + tap);
    }
  }
}

template <typename F>
void WindowTaps::for_each(std::int64_t output, F&& f) const {
  std::int64_t positions = 1;
  std::int64_t inputs = 1;
  for (const SpatialAxis& axis : axes) {
    positions *= axis.output;
    inputs *= axis.input;
  }
  thread_local std::vector<std::int64_t> at;
  detail::digits_of(output % positions, axes, at);
  const std::int64_t first = output / positions * inputs;
  detail::taps_inside(axes, at, [&](std::int64_t input, std::int64_t) { f(first + input, std::int64_t{0}); });
}

}  // namespace qconform::reference::graph
