#include "reference/oracle/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "reference/oracle/exact.h"

namespace qconform::reference::oracle {
namespace {

template <typename Number>
Number clamp(const Number& value, const Number& lo, const Number& hi) {
  return std::max(lo, std::min(hi, value));
}

std::optional<float> float_multiplier(const OutputParameters& p) {
  const float product = rn32(exact(p.x_scale) * exact(p.w_scale));
  if (std::isinf(product)) return std::nullopt;
  const float multiplier = rn32(exact(product) / exact(p.y_scale));
  if (std::isinf(multiplier)) return std::nullopt;
  return multiplier;
}

}  // namespace

mpq_class scaled(std::int64_t accumulator, const OutputParameters& p) {
  return mpq_class(mpz_class(static_cast<long>(accumulator))) * exact(p.x_scale) * exact(p.w_scale) / exact(p.y_scale);
}

long requantize(std::int64_t accumulator, const OutputParameters& p) {
  const mpz_class shifted = rne(scaled(accumulator, p)) + p.zero_point;
  return clamp<mpz_class>(shifted, p.lo, p.hi).get_si();
}

std::optional<long> requantize_ort_f32(std::int32_t accumulator, const OutputParameters& p) {
  const std::optional<float> multiplier = float_multiplier(p);
  if (!multiplier) return std::nullopt;
  const float product = rn32(exact(rn32(exact(accumulator))) * exact(*multiplier));
  if (std::isinf(product)) return std::nullopt;
  const mpq_class clamped = clamp<mpq_class>(exact(product), p.lo - p.zero_point, p.hi - p.zero_point);
  return rne(clamped).get_si() + p.zero_point;
}

std::optional<long> requantize_onnx_reference(std::int32_t accumulator, const OutputParameters& p) {
  const std::optional<float> multiplier = float_multiplier(p);
  if (!multiplier) return std::nullopt;
  const double product = rn64(exact(accumulator) * exact(*multiplier));
  const double shifted = rn64(exact(product) + p.zero_point);
  return rne(clamp<mpq_class>(exact(shifted), p.lo, p.hi)).get_si();
}

namespace {

mpz_class floor_of(const mpq_class& value) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return result;
}

mpz_class half_up(const mpq_class& value) {
  return floor_of(value + mpq_class(1, 2));
}

mpz_class half_away(const mpq_class& value) {
  return value < 0 ? mpz_class(-half_up(-value)) : half_up(value);
}

mpq_class power_of_two(int exponent) {
  mpz_class power = 1;
  power <<= static_cast<mp_bitcnt_t>(std::abs(exponent));
  return exponent < 0 ? mpq_class(1, power) : mpq_class(power);
}

// q * 2^(exponent - 31)
struct Q31 {
  mpz_class q;
  int exponent;
};

Q31 multiplier_of(const OutputParameters& p) {
  const double m = rn64(exact(rn64(exact(p.x_scale) * exact(p.w_scale))) / exact(p.y_scale));
  if (m == 0) return {0, 0};
  Q31 result{0, std::ilogb(m) + 1};
  result.q = half_away(exact(m) * power_of_two(31 - result.exponent));
  if (abs(result.q) == power_of_two(31)) {
    result.q /= 2;
    ++result.exponent;
  }
  return result.exponent < -31 ? Q31{0, 0} : result;
}

long output(const mpz_class& rounded, const OutputParameters& p) {
  return clamp<mpz_class>(rounded + p.zero_point, p.lo, p.hi).get_si();
}

}  // namespace

long requantize_tflite(std::int32_t accumulator, const OutputParameters& p) {
  const Q31 m = multiplier_of(p);
  const mpz_class high = half_up(accumulator * m.q * power_of_two(std::max(m.exponent, 0) - 31));
  return output(half_away(high * power_of_two(std::min(m.exponent, 0))), p);
}

long requantize_tflite_single_rounding(std::int32_t accumulator, const OutputParameters& p) {
  const Q31 m = multiplier_of(p);
  return output(half_up(accumulator * m.q * power_of_two(m.exponent - 31)), p);
}

long quantize(const mpq_class& x, float scale, long zero_point, long lo, long hi) {
  const mpq_class quotient = x / exact(scale);
  const float rounded = rn32(quotient);
  if (std::isinf(rounded)) return rounded < 0 ? lo : hi;
  const mpz_class shifted = rne(exact(rounded)) + zero_point;
  return clamp<mpz_class>(shifted, lo, hi).get_si();
}

float dequantize(std::int64_t difference, float scale) {
  if (difference == 0 || scale == 0) return (difference < 0) != std::signbit(scale) ? -0.0F : 0.0F;
  return rn32(mpq_class(mpz_class(static_cast<long>(difference))) * exact(scale));
}

}  // namespace qconform::reference::oracle
