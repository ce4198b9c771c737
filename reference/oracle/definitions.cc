#include "reference/oracle/definitions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <utility>

namespace qconform::reference::oracle {
namespace {

struct BinaryFormat {
  int precision;          // bits of the significand, the leading one included
  int smallest_exponent;  // the least exponent of a normal number's leading bit
  int largest_exponent;
};

constexpr BinaryFormat kFloat32{24, -126, 127};
constexpr BinaryFormat kFloat64{53, -1022, 1023};

// The exponent of the leading bit of a positive number: 2^e <= value < 2^(e+1).
int leading_exponent(const mpq_class& value) {
  auto exponent = static_cast<int>(mpz_sizeinbase(value.get_num_mpz_t(), 2)) -
                  static_cast<int>(mpz_sizeinbase(value.get_den_mpz_t(), 2));
  while (power_of_two(exponent) > value) --exponent;
  while (power_of_two(exponent + 1) <= value) ++exponent;
  return exponent;
}

double round_to(const BinaryFormat& format, const mpq_class& value) {
  if (value == 0) return 0.0;
  const mpq_class magnitude = abs(value);
  const int leading = std::max(leading_exponent(magnitude), format.smallest_exponent);
  const int unit = leading - (format.precision - 1);
  const mpz_class units = rne(magnitude / power_of_two(unit));
  const bool overflows = units * power_of_two(unit) >= power_of_two(format.largest_exponent + 1);
  const double rounded = overflows ? std::numeric_limits<double>::infinity() : std::ldexp(units.get_d(), unit);
  return value < 0 ? -rounded : rounded;
}

}  // namespace

mpq_class power_of_two(int exponent) {
  const mpz_class magnitude = mpz_class(1) << static_cast<unsigned>(std::abs(exponent));
  return exponent >= 0 ? mpq_class(magnitude) : mpq_class(mpz_class(1), magnitude);
}

mpz_class floor_of(const mpq_class& value) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return result;
}

mpq_class exact(double value) {
  return mpq_class(value);
}

mpz_class rne(const mpq_class& value) {
  const mpq_class shifted = value + mpq_class(1, 2);
  mpz_class below;
  mpz_fdiv_q(below.get_mpz_t(), shifted.get_num_mpz_t(), shifted.get_den_mpz_t());
  // A tie makes `shifted` an integer: the upper of the two neighbours.
  const bool is_tie = shifted.get_den() == 1;
  if (is_tie && mpz_odd_p(below.get_mpz_t()) != 0) --below;
  return below;
}

mpq_class distance_from_tie(const mpq_class& value) {
  mpz_class below;
  mpz_fdiv_q(below.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
  return abs(value - below - mpq_class(1, 2));
}

float rn32(const mpq_class& value) {
  return static_cast<float>(round_to(kFloat32, value));
}

double rn64(const mpq_class& value) {
  return round_to(kFloat64, value);
}

namespace {

template <typename Number>
Number clamp(const Number& value, const Number& lo, const Number& hi) {
  return std::max(lo, std::min(hi, value));
}

std::optional<float> float_multiplier(const ChannelParameters& p) {
  const float product = rn32(exact(p.x_scale) * exact(p.w_scale));
  if (std::isinf(product)) return std::nullopt;
  const float multiplier = rn32(exact(product) / exact(p.y_scale));
  if (std::isinf(multiplier)) return std::nullopt;
  return multiplier;
}

}  // namespace

mpq_class scaled(std::int64_t accumulator, const ChannelParameters& p) {
  return mpq_class(mpz_class(static_cast<long>(accumulator))) * exact(p.x_scale) * exact(p.w_scale) / exact(p.y_scale);
}

long requantize(std::int64_t accumulator, const ChannelParameters& p) {
  const mpz_class shifted = rne(scaled(accumulator, p)) + p.zero_point;
  return clamp<mpz_class>(shifted, p.lo, p.hi).get_si();
}

std::optional<long> requantize_ort_f32(std::int32_t accumulator, const ChannelParameters& p) {
  const std::optional<float> multiplier = float_multiplier(p);
  if (!multiplier) return std::nullopt;
  const float product = rn32(exact(rn32(exact(accumulator))) * exact(*multiplier));
  if (std::isinf(product)) return std::nullopt;
  const mpq_class clamped = clamp<mpq_class>(exact(product), p.lo - p.zero_point, p.hi - p.zero_point);
  return rne(clamped).get_si() + p.zero_point;
}

std::optional<long> requantize_onnx_reference(std::int32_t accumulator, const ChannelParameters& p) {
  const std::optional<float> multiplier = float_multiplier(p);
  if (!multiplier) return std::nullopt;
  const double product = rn64(exact(accumulator) * exact(*multiplier));
  const double shifted = rn64(exact(product) + p.zero_point);
  return rne(clamp<mpq_class>(exact(shifted), p.lo, p.hi)).get_si();
}

namespace {

mpz_class half_up(const mpq_class& value) {
  return floor_of(value + mpq_class(1, 2));
}

mpz_class half_away(const mpq_class& value) {
  return value < 0 ? mpz_class(-half_up(-value)) : half_up(value);
}

// q * 2^(exponent - 31)
struct Q31 {
  mpz_class q;
  int exponent;
};

Q31 multiplier_of(const ChannelParameters& p) {
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

long output(const mpz_class& rounded, const ChannelParameters& p) {
  return clamp<mpz_class>(rounded + p.zero_point, p.lo, p.hi).get_si();
}

}  // namespace

long requantize_tflite(std::int32_t accumulator, const ChannelParameters& p) {
  const Q31 m = multiplier_of(p);
  const mpz_class high = half_up(accumulator * m.q * power_of_two(std::max(m.exponent, 0) - 31));
  return output(half_away(high * power_of_two(std::min(m.exponent, 0))), p);
}

long requantize_tflite_single_rounding(std::int32_t accumulator, const ChannelParameters& p) {
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

namespace {

using Index = std::vector<std::int64_t>;

std::size_t position(const Index& shape, const Index& index) {
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < index.size(); ++i) flat = flat * shape[i] + index[i];
  return static_cast<std::size_t>(flat);
}

std::int64_t& at(IntegerTensor& tensor, const Index& index) {
  return tensor.values[position(tensor.shape, index)];
}

std::int64_t at(const IntegerTensor& tensor, const Index& index) {
  return tensor.values[position(tensor.shape, index)];
}

// Calls `visit` for every index of a tensor of that shape.
template <typename Visit>
void for_each_index(const Index& shape, const Visit& visit, Index prefix = {}) {
  if (prefix.size() == shape.size()) {
    visit(prefix);
    return;
  }
  prefix.push_back(0);
  for (std::int64_t i = 0; i < shape[prefix.size() - 1]; ++i) {
    prefix.back() = i;
    for_each_index(shape, visit, prefix);
  }
}

IntegerTensor filled(Index shape, std::int64_t value) {
  std::size_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= static_cast<std::size_t>(dimension);
  return {std::move(shape), std::vector<std::int64_t>(elements, value)};
}

IntegerTensor padded(const IntegerTensor& x, const std::vector<AxisRule>& axes, std::int64_t padding) {
  Index shape = x.shape;
  for (std::size_t a = 0; a < axes.size(); ++a) shape[a + 2] += axes[a].pad_begin + axes[a].pad_end;
  IntegerTensor result = filled(shape, padding);
  for_each_index(x.shape, [&](const Index& from) {
    Index to = from;
    for (std::size_t a = 0; a < axes.size(); ++a) to[a + 2] += axes[a].pad_begin;
    at(result, to) = at(x, from);
  });
  return result;
}

}  // namespace

std::int64_t count_windows(std::int64_t length, std::int64_t extent, std::int64_t stride) {
  std::int64_t count = 0;
  for (std::int64_t start = 0; start + extent <= length; start += stride) ++count;
  return count;
}

SamePadding same_padding(std::int64_t input, std::int64_t extent, std::int64_t stride, bool upper) {
  const std::int64_t output = count_windows(input, 1, stride);
  std::int64_t total = 0;
  while (count_windows(input + total, extent, stride) < output) ++total;
  const std::int64_t half = total / 2;
  return upper ? SamePadding{output, half, total - half} : SamePadding{output, total - half, half};
}

IntegerTensor convolve(const IntegerTensor& x, const IntegerTensor& w, std::int64_t group,
                       const std::vector<AxisRule>& axes, std::int64_t x_zero_point,
                       const std::vector<std::int64_t>& w_zero_point, const std::vector<std::int64_t>& bias) {
  const IntegerTensor input = padded(x, axes, x_zero_point);
  Index shape{x.shape[0], w.shape[0]};
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::int64_t extent = (w.shape[a + 2] - 1) * axes[a].dilation + 1;
    shape.push_back(count_windows(input.shape[a + 2], extent, axes[a].stride));
  }
  IntegerTensor sums = filled(shape, 0);
  for_each_index(shape, [&](const Index& out) {
    const auto m = static_cast<std::size_t>(out[1]);
    // Output channels come in `group` equal runs; each sees its own run of the input channels.
    const std::int64_t first_channel = out[1] / (w.shape[0] / group) * w.shape[1];
    std::int64_t sum = bias[m];
    Index tap_shape = w.shape;
    tap_shape[0] = 1;
    for_each_index(tap_shape, [&](const Index& tap) {
      Index from{out[0], first_channel + tap[1]};
      for (std::size_t a = 0; a < axes.size(); ++a) {
        from.push_back(out[a + 2] * axes[a].stride + tap[a + 2] * axes[a].dilation);
      }
      Index weight = tap;
      weight[0] = out[1];
      sum += (at(input, from) - x_zero_point) * (at(w, weight) - w_zero_point[m]);
    });
    at(sums, out) = sum;
  });
  return sums;
}

}  // namespace qconform::reference::oracle
