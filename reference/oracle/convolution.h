// Convolution by definition: pad the input, then correlate. Tests only.
#pragma once

#include <cstdint>
#include <vector>

namespace qconform::reference::oracle {

/// A tensor of integers in row-major order.
struct IntegerTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;
};

/// One spatial dimension's attributes, padding decided.
struct AxisRule {
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
};

/// Holds the output size and the padding that SAME_UPPER or SAME_LOWER gives one dimension.
struct SamePadding {
  std::int64_t output;
  std::int64_t begin;
  std::int64_t end;
};

/// Windows of `extent` that fit into `length` elements, one every `stride`: counted, not computed.
[[nodiscard]] std::int64_t count_windows(std::int64_t length, std::int64_t extent, std::int64_t stride);

/// SAME_*: one window for every stride that starts within the input, and the least padding with
/// which they all fit (rules C2, C3); an odd element goes to the end (UPPER) or the beginning.
[[nodiscard]] SamePadding same_padding(std::int64_t input, std::int64_t extent, std::int64_t stride, bool upper);

/// sum over channels and taps of (x - x_zero_point) * (w - w_zero_point[m]), plus bias[m]. The input
/// is first copied into a tensor that is x_zero_point everywhere else (rule C1).
[[nodiscard]] IntegerTensor convolve(const IntegerTensor& x, const IntegerTensor& w, std::int64_t group,
                                     const std::vector<AxisRule>& axes, std::int64_t x_zero_point,
                                     const std::vector<std::int64_t>& w_zero_point,
                                     const std::vector<std::int64_t>& bias);

}  // namespace qconform::reference::oracle
