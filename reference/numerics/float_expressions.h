// The ways in which implementations form A * sx * sw / sy in floating point, by name and bit for bit.
//
// They serve to tell which one an implementation uses, and as the admissible set where the scales
// are so extreme that products overflow or underflow (admissible.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/numerics/requantize.h"

namespace qconform::reference {

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
