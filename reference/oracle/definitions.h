// The quantized operators by definition, on rationals: elements and sums. Tests only.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace qconform::reference::oracle {

// Rounding by definition, on rationals of unlimited size.
//
// Written from the definitions and not from the reference: nothing of reference/numerics is used.

/// The value of a finite float, exactly.
[[nodiscard]] mpq_class exact(double value);

/// Returns 2^exponent.
[[nodiscard]] mpq_class power_of_two(int exponent);

/// Returns the largest integer that is not above the value.
[[nodiscard]] mpz_class floor_of(const mpq_class& value);

/// Round to the nearest integer, ties to even.
[[nodiscard]] mpz_class rne(const mpq_class& value);

/// The distance from the nearest tie (an integer plus one half), in [0, 1/2].
[[nodiscard]] mpq_class distance_from_tie(const mpq_class& value);

/// IEEE rounding to the nearest float32, ties to even: subnormal results, and infinities from
/// overflow, included. A zero, also one from underflow, has the sign of `value`; 0 gives +0.
[[nodiscard]] float rn32(const mpq_class& value);

/// IEEE rounding to the nearest float64, ties to even: subnormal results, and infinities from overflow, included. A
/// zero, also one from underflow, has the sign of `value`; 0 gives +0.
[[nodiscard]] double rn64(const mpq_class& value);

/// The scales of one output channel, finite, y_scale not zero; the zero point and bounds of y.
struct ChannelParameters {
  float x_scale;
  float w_scale;
  float y_scale;
  long zero_point;
  long lo;
  long hi;
};

/// A * x_scale * w_scale / y_scale
[[nodiscard]] mpq_class scaled(std::int64_t accumulator, const ChannelParameters& p);

/// clamp(rne(v) + zero point): rule C19.
[[nodiscard]] long requantize(std::int64_t accumulator, const ChannelParameters& p);

/// clamp(p) to [lo - zero point, hi - zero point], then rne, then + zero point, where
/// p = RN32(RN32(A) * c) and c = RN32(RN32(sx*sw)/sy). Empty where a step overflows.
[[nodiscard]] std::optional<long> requantize_ort_f32(std::int32_t accumulator, const ChannelParameters& p);

/// rne of clamp(RN64(RN64(A * c) + zero point)), c as above. Empty where a step overflows.
[[nodiscard]] std::optional<long> requantize_onnx_reference(std::int32_t accumulator, const ChannelParameters& p);

/// With M = RN64(RN64(sx*sw) / sy) = q * 2^(e-31), q rounded half away from zero to an integer in [2^30, 2^31) in
/// magnitude, 0 for e < -31: h = floor(A*q * 2^(max(e,0)-31) + 1/2), then h / 2^max(-e,0) rounded half away from zero.
[[nodiscard]] long requantize_tflite(std::int32_t accumulator, const ChannelParameters& p);

/// floor(A*q * 2^(e-31) + 1/2), q and e as above.
[[nodiscard]] long requantize_tflite_single_rounding(std::int32_t accumulator, const ChannelParameters& p);

/// clamp(rne(RN32(x / scale)) + zero point): rules Q1, Q2, Q4. x and scale finite, scale not zero.
[[nodiscard]] long quantize(const mpq_class& x, float scale, long zero_point, long lo, long hi);

/// RN32(difference * scale): rule D1, with the sign that rule D5 gives a zero.
[[nodiscard]] float dequantize(std::int64_t difference, float scale);

// Convolution by definition: pad the input, then correlate.

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
