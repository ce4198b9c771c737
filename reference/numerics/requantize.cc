#include "reference/numerics/requantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

std::int32_t requantize_onnx_reference(std::int32_t accumulator, const Requantization& p) {
  const double scaled = static_cast<double>(accumulator) * static_cast<double>(float_multiplier(p));
  const double shifted = scaled + p.y_zero_point;
  const double lo = p.y_range.lo;
  const double hi = p.y_range.hi;
  double clamped = shifted > lo ? shifted : lo;
  clamped = clamped < hi ? clamped : hi;
  return static_cast<std::int32_t>(round_half_even(clamped));
}

std::int32_t requantize_fixed_point(RoundingProfile profile, std::int32_t accumulator, const Requantization& p) {
  const FixedPointMultiplier multiplier = fixed_point_multiplier(p);
  const std::int32_t rounded = profile == RoundingProfile::tflite ? multiply_rounding_twice(accumulator, multiplier)
                                                                  : multiply_rounding_once(accumulator, multiplier);
  return saturate(std::int64_t{rounded} + p.y_zero_point, p.y_range);
}

}  // namespace

float float_multiplier(const Requantization& p) {
  return ort_f32_multiplier(FloatArithmetic(Subnormals::kept), p.x_scale, p.w_scale, p.y_scale);
}

std::int32_t round_scaled_exactly(std::int64_t accumulator, float x_scale, float w_scale, float y_scale) {
  const ExactScale scale = exact_scale(x_scale, w_scale, y_scale);
  const uint128 numerator = uint128{magnitude_of(accumulator)} * scale.numerator;
  const std::int32_t rounded = round_quotient(numerator, uint128{scale.denominator}, scale.exponent, Ties::to_even);
  return (accumulator < 0) != scale.negative ? -rounded : rounded;
}

std::int32_t requantize(RoundingProfile profile, std::int64_t accumulator, const Requantization& parameters) {
  switch (profile) {
    case RoundingProfile::ort_f32: return evaluate(float_expressions().front(), wrap_to_int32(accumulator), parameters);
    case RoundingProfile::onnx_reference: return requantize_onnx_reference(wrap_to_int32(accumulator), parameters);
    case RoundingProfile::tflite:
    case RoundingProfile::tflite_single_rounding:
      return requantize_fixed_point(profile, wrap_to_int32(accumulator), parameters);
    case RoundingProfile::correctly_rounded: break;
  }
  const std::int32_t rounded =
      round_scaled_exactly(accumulator, parameters.x_scale, parameters.w_scale, parameters.y_scale);
  return saturate(std::int64_t{rounded} + parameters.y_zero_point, parameters.y_range);
}

namespace {

constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};
constexpr std::int64_t kOne = std::int64_t{1} << 31;  // 1 as a mantissa

std::int32_t to_int32(std::int64_t value) {
  return saturate(value, kInt32);
}

}  // namespace

FixedPointMultiplier fixed_point_multiplier(const Requantization& p) {
  return fixed_point_multiplier(static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale) /
                                static_cast<double>(p.y_scale));
}

FixedPointMultiplier fixed_point_multiplier(double multiplier) {
  FixedPointMultiplier result{};
  result.mantissa = static_cast<std::int64_t>(std::round(std::frexp(multiplier, &result.exponent) * 0x1p31));
  if (result.mantissa == kOne || result.mantissa == -kOne) {
    result.mantissa /= 2;
    ++result.exponent;
  }
  if (result.exponent < -31) return {0, 0};
  return result;
}

std::int32_t multiply_rounding_twice(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t left = std::int64_t{1} << std::clamp(multiplier.exponent, 0, 16);
  const std::int64_t product = to_int32(sum * left) * multiplier.mantissa;
  const std::int64_t nudge = product >= 0 ? kOne / 2 : 1 - kOne / 2;
  const std::int64_t high = (product + nudge) / kOne;
  const int shift = std::max(0, -multiplier.exponent);
  const std::int64_t mask = (std::int64_t{1} << shift) - 1;
  const std::int64_t threshold = mask / 2 + (high < 0 ? 1 : 0);
  return to_int32((high >> shift) + ((high & mask) > threshold ? 1 : 0));
}

std::int32_t multiply_rounding_once(std::int32_t sum, const FixedPointMultiplier& multiplier) {
  const std::int64_t product = sum * multiplier.mantissa;
  const int shift = 31 - multiplier.exponent;
  if (shift <= 0) return product == 0 ? 0 : product > 0 ? INT32_MAX : INT32_MIN;
  return to_int32((product + (std::int64_t{1} << (shift - 1))) >> shift);
}

namespace {

constexpr float kSmallestNormal = std::numeric_limits<float>::min();  // 2^-126
// Half way between 2^-126 and the 24-bit number below it, of an unbounded exponent range. The tie
// goes to 2^-126, which is even.
constexpr double kRoundsToSmallestNormal = 0x1p-126 - 0x1p-151;

double wide_multiplier(const FloatOperands& o) {
  // The product is exact: 24 + 24 bits.
  const double product = static_cast<double>(o.f.operand(o.sx)) * static_cast<double>(o.f.operand(o.sw));
  return product / static_cast<double>(o.f.operand(o.sy));
}

float reciprocal(const FloatOperands& o) {
  return o.f.divide(1.0F, o.sy);
}

constexpr FloatExpression kExpressions[] = {
    {"ort-f32", "A * ((sx * sw) / sy)", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.a, ort_f32_multiplier(o.f, o.sx, o.sw, o.sy)); }},
    {"multiplier-sw-by-sy", "A * (sx * (sw / sy))", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.a, o.f.multiply(o.sx, o.f.divide(o.sw, o.sy))); }},
    {"multiplier-sx-by-sy", "A * ((sx / sy) * sw)", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.a, o.f.multiply(o.f.divide(o.sx, o.sy), o.sw)); }},
    {"left-to-right", "((A * sx) * sw) / sy", 4,
     [](const FloatOperands& o) -> double { return o.f.divide(o.f.multiply(o.f.multiply(o.a, o.sx), o.sw), o.sy); }},
    {"w-first", "((A * sw) * sx) / sy", 4,
     [](const FloatOperands& o) -> double { return o.f.divide(o.f.multiply(o.f.multiply(o.a, o.sw), o.sx), o.sy); }},
    {"dequantize-then-divide", "(A * (sx * sw)) / sy", 4,
     [](const FloatOperands& o) -> double { return o.f.divide(o.f.multiply(o.a, o.f.multiply(o.sx, o.sw)), o.sy); }},
    {"sx-by-sy-then-sw", "((A * sx) / sy) * sw", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.f.divide(o.f.multiply(o.a, o.sx), o.sy), o.sw); }},
    {"sw-by-sy-then-sx", "((A * sw) / sy) * sx", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.f.divide(o.f.multiply(o.a, o.sw), o.sy), o.sx); }},
    {"divide-first", "((A / sy) * sx) * sw", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.f.multiply(o.f.divide(o.a, o.sy), o.sx), o.sw); }},
    {"sx-then-sw-by-sy", "(A * sx) * (sw / sy)", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.f.multiply(o.a, o.sx), o.f.divide(o.sw, o.sy)); }},
    {"sw-then-sx-by-sy", "(A * sw) * (sx / sy)", 4,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.f.multiply(o.a, o.sw), o.f.divide(o.sx, o.sy)); }},
    {"divide-by-inverse-multiplier", "A / (sy / (sx * sw))", 4,
     [](const FloatOperands& o) -> double { return o.f.divide(o.a, o.f.divide(o.sy, o.f.multiply(o.sx, o.sw))); }},
    {"multiplier-reciprocal", "A * ((sx * sw) * (1 / sy))", 5,
     [](const FloatOperands& o) -> double {
       return o.f.multiply(o.a, o.f.multiply(o.f.multiply(o.sx, o.sw), reciprocal(o)));
     }},
    {"multiplier-sw-reciprocal", "A * (sx * (sw * (1 / sy)))", 5,
     [](const FloatOperands& o) -> double {
       return o.f.multiply(o.a, o.f.multiply(o.sx, o.f.multiply(o.sw, reciprocal(o))));
     }},
    {"dequantize-then-reciprocal", "(A * (sx * sw)) * (1 / sy)", 5,
     [](const FloatOperands& o) -> double {
       return o.f.multiply(o.f.multiply(o.a, o.f.multiply(o.sx, o.sw)), reciprocal(o));
     }},
    {"left-to-right-reciprocal", "((A * sx) * sw) * (1 / sy)", 5,
     [](const FloatOperands& o) -> double {
       return o.f.multiply(o.f.multiply(o.f.multiply(o.a, o.sx), o.sw), reciprocal(o));
     }},
    {"f64-multiplier-narrowed", "A * f32(f64(sx * sw / sy))", 3,
     [](const FloatOperands& o) -> double { return o.f.multiply(o.a, o.f.narrow(wide_multiplier(o))); }},
    {"f64", "f64(A * (sx * sw / sy))", 0,
     [](const FloatOperands& o) -> double { return static_cast<double>(o.accumulator) * wide_multiplier(o); }},
    {"f64-product-narrowed", "f32(f64(A * (sx * sw / sy)))", 1,
     [](const FloatOperands& o) -> double {
       return o.f.narrow(static_cast<double>(o.accumulator) * wide_multiplier(o));
     }},
    {"f32-multiplier-widened", "f64(A * f32((sx * sw) / sy))", 2,
     [](const FloatOperands& o) -> double {
       const float multiplier = o.f.operand(ort_f32_multiplier(o.f, o.sx, o.sw, o.sy));
       return static_cast<double>(o.accumulator) * static_cast<double>(multiplier);
     }},
    {"f32-product-widened", "f64(A * (f32(sx * sw) / sy))", 1,
     [](const FloatOperands& o) -> double {
       const double product = o.f.operand(o.f.multiply(o.sx, o.sw));
       return static_cast<double>(o.accumulator) * (product / static_cast<double>(o.f.operand(o.sy)));
     }},
};

}  // namespace

float FloatArithmetic::operand(float value) const {
  if (subnormals_ == Subnormals::kept || !(std::fabs(value) < kSmallestNormal)) return value;
  return std::copysign(0.0F, value);
}

float FloatArithmetic::result(float rounded, double wide) const {
  const float magnitude = std::fabs(rounded);
  if (subnormals_ == Subnormals::kept || !(magnitude <= kSmallestNormal)) return rounded;
  const double threshold =
      subnormals_ == Subnormals::flushed_after_rounding ? kRoundsToSmallestNormal : double{kSmallestNormal};
  return std::fabs(wide) < threshold ? std::copysign(0.0F, rounded) : rounded;
}

float FloatArithmetic::multiply(float a, float b) const {
  const float x = operand(a);
  const float y = operand(b);
  return result(x * y, static_cast<double>(x) * static_cast<double>(y));  // the double product is exact
}

float FloatArithmetic::divide(float a, float b) const {
  const float x = operand(a);
  const float y = operand(b);
  // A quotient of 24-bit numbers that is not one of the thresholds, which have 25 bits, differs from
  // it by at least one part in 2^50; rounding to double moves it by less.
  return result(x / y, static_cast<double>(x) / static_cast<double>(y));
}

float FloatArithmetic::narrow(double value) const {
  return result(static_cast<float>(value), value);
}

float ort_f32_multiplier(const FloatArithmetic& f, float x_scale, float w_scale, float y_scale) {
  return f.divide(f.multiply(x_scale, w_scale), y_scale);
}

std::span<const FloatExpression> float_expressions() {
  return kExpressions;
}

std::int32_t evaluate(const FloatExpression& expression, std::int64_t accumulator, const Requantization& p,
                      Subnormals subnormals) {
  const FloatArithmetic arithmetic(subnormals);
  const double product =
      expression.product({arithmetic, accumulator, static_cast<float>(accumulator), p.x_scale, p.w_scale, p.y_scale});
  const double lo = p.y_range.lo - p.y_zero_point;
  const double hi = p.y_range.hi - p.y_zero_point;
  // Written so that NaN (0 * inf, outside the scales' sane domain) ends at lo, as a SIMD maximum
  // with the bound as its second operand does. A float32 product is exact in double.
  double clamped = product > lo ? product : lo;
  clamped = clamped < hi ? clamped : hi;
  return static_cast<std::int32_t>(round_half_even(clamped)) + p.y_zero_point;
}

}  // namespace qconform::reference
