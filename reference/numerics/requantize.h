// From an integer accumulator to a quantized output: QLinearConv's last step (rule C19).
//
//   v = A * x_scale * w_scale / y_scale          (exact rational)
//   y = clamp(rne(v) + y_zero_point, lo, hi)
//
// The zero point is added after rounding. The specification does not say in which arithmetic the
// product is formed, so five answers are pinned by name; see docs/numerics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "reference/numerics/element.h"

namespace qconform::reference {

enum class RoundingProfile : std::uint8_t {
  correctly_rounded,       ///< the exact product, rounded once
  ort_f32,                 ///< c = RN32(RN32(sx*sw)/sy); rne(clamp(RN32(RN32(A)*c)))
  onnx_reference,          ///< c as above; A*c + zero point in double, clipped, then rne
  tflite,                  ///< 31-bit integer multiplier, two roundings
  tflite_single_rounding,  ///< 31-bit integer multiplier, one rounding
};

inline constexpr RoundingProfile kAllRoundingProfiles[] = {RoundingProfile::correctly_rounded, RoundingProfile::ort_f32,
                                                           RoundingProfile::onnx_reference, RoundingProfile::tflite,
                                                           RoundingProfile::tflite_single_rounding};
inline constexpr std::size_t kRoundingProfiles = std::size(kAllRoundingProfiles);

/// The scales and the output's zero point and type for one output channel. Scales are finite and
/// y_scale is not zero; negative scales and zero x_scale or w_scale follow the formula (rule C21).
struct Requantization {
  float x_scale;
  float w_scale;
  float y_scale;
  std::int32_t y_zero_point;
  IntegerRange y_range;
};

/// c = RN32(RN32(sx*sw)/sy): the multiplier of the float profiles, computed once per channel. May be
/// infinite or zero where the scales are extreme.
[[nodiscard]] float float_multiplier(const Requantization& parameters);

/// rne(accumulator * sx * sw / sy), saturated to [-2^13, 2^13] where it is larger: far outside any
/// 8-bit range. Exact for every finite scale and |accumulator| < 2^47.
[[nodiscard]] std::int32_t round_scaled_exactly(std::int64_t accumulator, float x_scale, float w_scale, float y_scale);

/// One output element under `profile`. Under `correctly_rounded` the result is exact for
/// |accumulator| < 2^47; the others first wrap the accumulator to 32 bits, as their
/// namesakes' accumulators do (rule C17).
[[nodiscard]] std::int32_t requantize(RoundingProfile profile, std::int64_t accumulator,
                                      const Requantization& parameters);

// Requantization by a 31-bit integer multiplier and shifts, as TensorFlow Lite, gemmlowp and CMSIS-NN do it: the pinned
// profiles tflite and tflite-single-rounding. TensorFlow Lite's sources are their only description.
//
//   M = x_scale * w_scale / y_scale, in double           = mantissa * 2^(exponent - 31)
//   twice:  h = high half of 2 * (A * 2^max(exponent, 0)) * mantissa, rounded half up
//           y = h / 2^max(-exponent, 0), rounded half away from zero
//   once:   y = (A * mantissa + 2^(30 - exponent)) >> (31 - exponent)         rounded half up

/// |mantissa| in [2^30, 2^31), or 0 where M is below 2^-32; exponent at least -31.
struct FixedPointMultiplier {
  std::int64_t mantissa;
  int exponent;
};

/// M in double, rounded to 31 bits, half away from zero: TensorFlow Lite's QuantizeMultiplier().
[[nodiscard]] FixedPointMultiplier fixed_point_multiplier(const Requantization& parameters);
/// Returns an M that was formed otherwise, finite, rounded to 31 bits, half away from zero.
[[nodiscard]] FixedPointMultiplier fixed_point_multiplier(double multiplier);

/// A * M rounded twice: MultiplyByQuantizedMultiplier(). Where |A * M| is 2^15 and more, what is returned is too, but
/// perhaps another number; the original's behaviour is undefined where A * 2^exponent leaves int32.
[[nodiscard]] std::int32_t multiply_rounding_twice(std::int32_t sum, const FixedPointMultiplier& multiplier);

/// A * M rounded once: the same with TFLITE_SINGLE_ROUNDING. Saturates to int32.
[[nodiscard]] std::int32_t multiply_rounding_once(std::int32_t sum, const FixedPointMultiplier& multiplier);

// The ways in which implementations form A * sx * sw / sy in floating point, by name and bit for bit.
//
// They serve to tell which one an implementation uses, and as the admissible set where the scales
// are so extreme that products overflow or underflow (admissible.h).

/// Says how a processor treats float32 numbers below 2^-126. Flushing replaces subnormal operands and results by zeros
/// of their sign. Processors differ in whether a result counts as too small after it is rounded (x86: MXCSR's FTZ and
/// DAZ) or before (Arm: FPCR's FZ); that decides results just below 2^-126.
enum class Subnormals : std::uint8_t { kept, flushed_after_rounding, flushed_before_rounding };

inline constexpr Subnormals kAllSubnormals[] = {Subnormals::kept, Subnormals::flushed_after_rounding,
                                                Subnormals::flushed_before_rounding};

/// float32 operations, each rounded once to nearest even, under a rule for subnormals. The processor
/// itself must be in its default mode: the flushing is computed, not switched on.
class FloatArithmetic {
 public:
  explicit FloatArithmetic(Subnormals subnormals) : subnormals_(subnormals) {}

  [[nodiscard]] float multiply(float a, float b) const;
  [[nodiscard]] float divide(float a, float b) const;
  /// RN32(value)
  [[nodiscard]] float narrow(double value) const;
  /// `value` as an operand sees it: a subnormal may count as zero.
  [[nodiscard]] float operand(float value) const;

 private:
  // `rounded` = RN32(wide), and `wide` is near enough to the exact result to compare with 2^-126.
  [[nodiscard]] float result(float rounded, double wide) const;

  Subnormals subnormals_;
};

/// One element's operands. `a` is RN32(A).
struct FloatOperands {
  FloatArithmetic f;
  std::int64_t accumulator;
  float a;
  float sx;
  float sw;
  float sy;
};

/// One way to form the product. Every one rounds and saturates alike: clamp the product to
/// [lo - zero point, hi - zero point] (NaN to the lower bound), rne, add the zero point.
struct FloatExpression {
  std::string_view name;     ///< for reports and the command line: ort-f32
  std::string_view formula;  ///< A and every operator round once, to float32; within f64(...) to float64
  int roundings;             ///< to float32, the conversion of A included; double's are left out
  double (*product)(const FloatOperands&);
};

/// All of them; the first is ort-f32, the profile of that name.
[[nodiscard]] std::span<const FloatExpression> float_expressions();

/// The output element that `expression` gives for the accumulator A, |A| < 2^47, not wrapped. Scales
/// as Requantization demands; the result is always inside y_range.
[[nodiscard]] std::int32_t evaluate(const FloatExpression& expression, std::int64_t accumulator,
                                    const Requantization& parameters, Subnormals subnormals = Subnormals::kept);

/// RN32(RN32(sx*sw)/sy)
[[nodiscard]] float ort_f32_multiplier(const FloatArithmetic& f, float x_scale, float w_scale, float y_scale);

}  // namespace qconform::reference
