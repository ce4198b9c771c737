// The quantized operators' element rules by definition, on rationals. Tests only.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>

namespace qconform::reference::oracle {

/// The scales of one output channel, finite, y_scale not zero; the zero point and bounds of y.
struct OutputParameters {
  float x_scale;
  float w_scale;
  float y_scale;
  long zero_point;
  long lo;
  long hi;
};

/// A * x_scale * w_scale / y_scale
[[nodiscard]] mpq_class scaled(std::int64_t accumulator, const OutputParameters& p);

/// clamp(rne(v) + zero point): rule C19.
[[nodiscard]] long requantize(std::int64_t accumulator, const OutputParameters& p);

/// clamp(p) to [lo - zero point, hi - zero point], then rne, then + zero point, where
/// p = RN32(RN32(A) * c) and c = RN32(RN32(sx*sw)/sy). Empty where a step overflows.
[[nodiscard]] std::optional<long> requantize_ort_f32(std::int32_t accumulator, const OutputParameters& p);

/// rne of clamp(RN64(RN64(A * c) + zero point)), c as above. Empty where a step overflows.
[[nodiscard]] std::optional<long> requantize_onnx_reference(std::int32_t accumulator, const OutputParameters& p);

/// With M = RN64(RN64(sx*sw) / sy) = q * 2^(e-31), q rounded half away from zero to an integer in [2^30, 2^31) in
/// magnitude, 0 for e < -31: h = floor(A*q * 2^(max(e,0)-31) + 1/2), then h / 2^max(-e,0) rounded half away from zero.
[[nodiscard]] long requantize_tflite(std::int32_t accumulator, const OutputParameters& p);

/// floor(A*q * 2^(e-31) + 1/2), q and e as above.
[[nodiscard]] long requantize_tflite_single_rounding(std::int32_t accumulator, const OutputParameters& p);

/// clamp(rne(RN32(x / scale)) + zero point): rules Q1, Q2, Q4. x and scale finite, scale not zero.
[[nodiscard]] long quantize(const mpq_class& x, float scale, long zero_point, long lo, long hi);

/// RN32(difference * scale): rule D1, with the sign that rule D5 gives a zero.
[[nodiscard]] float dequantize(std::int64_t difference, float scale);

}  // namespace qconform::reference::oracle
