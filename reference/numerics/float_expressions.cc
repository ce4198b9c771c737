#include "reference/numerics/float_expressions.h"

#include <cmath>
#include <limits>

#include "reference/numerics/round.h"

namespace qconform::reference {
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
