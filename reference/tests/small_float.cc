#include "reference/tests/small_float.h"

#include <algorithm>
#include <cmath>

#include "reference/oracle/definitions.h"

namespace qconform::reference::oracle {
namespace {

std::vector<int> range(int first, int last) {
  std::vector<int> values;
  for (int value = first; value <= last; ++value) values.push_back(value);
  return values;
}

}  // namespace

const std::vector<FormatFacts>& small_formats() {
  static const std::vector<FormatFacts> formats{
      {"float16", ElementType::float16, 5, 10, 15, true, 65504, 0x1p-24, range(0x7C01, 0x7FFF), 0x7C00, true},
      {"bfloat16", ElementType::bfloat16, 8, 7, 127, true, 0x1.FEp127, 0x1p-133, range(0x7F81, 0x7FFF), 0x7F80, true},
      {"float8e4m3fn", ElementType::float8e4m3fn, 4, 3, 7, true, 448, 0x1p-9, {0x7F}, -1, true},
      {"float8e4m3fnuz", ElementType::float8e4m3fnuz, 4, 3, 8, true, 240, 0x1p-10, {0x80}, -1, false},
      {"float8e5m2", ElementType::float8e5m2, 5, 2, 15, true, 57344, 0x1p-16, {0x7D, 0x7E, 0x7F}, 0x7C, true},
      {"float8e5m2fnuz", ElementType::float8e5m2fnuz, 5, 2, 16, true, 57344, 0x1p-17, {0x80}, -1, false},
      {"float4e2m1", ElementType::float4e2m1, 2, 1, 1, true, 6, 0.5, {}, -1, true},
      {"float8e8m0", ElementType::float8e8m0, 8, 0, 127, false, 0x1p127, 0x1p-127, {0xFF}, -1, false},
  };
  return formats;
}

mpq_class definition(const FormatFacts& format, std::uint64_t bits) {
  const int m = format.mantissa_bits;
  const auto mantissa = static_cast<long>(bits & ((1U << m) - 1U));
  const auto exponent = static_cast<int>(bits >> m & ((1U << format.exponent_bits) - 1U));
  const bool negative = format.has_sign && (bits >> (m + format.exponent_bits) & 1U) != 0;
  const bool is_normal = exponent != 0 || !format.has_sign;
  const mpq_class significand = mpq_class(mantissa) * power_of_two(-m) + (is_normal ? 1 : 0);
  const mpq_class value = significand * power_of_two(is_normal ? exponent - format.bias : 1 - format.bias);
  return negative ? mpq_class(-value) : value;
}

NumberLine::NumberLine(const FormatFacts& format) {
  mpq_class below = 0;
  for (std::uint64_t bits = 1; below != mpq_class(format.largest); ++bits) {
    const mpq_class number = definition(format, bits);
    midpoints_.push_back(mpq_class((below + number) / 2).get_d());
    below = number;
  }
  const mpq_class beyond = 2 * mpq_class(format.largest) - definition(format, midpoints_.size() - 1);
  midpoints_.push_back(mpq_class((below + beyond) / 2).get_d());
}

std::uint64_t NumberLine::nearest(double magnitude) const {
  const auto above = std::lower_bound(midpoints_.begin(), midpoints_.end(), magnitude);
  const auto position = static_cast<std::uint64_t>(above - midpoints_.begin());
  const bool is_tie = above != midpoints_.end() && *above == magnitude;
  return is_tie && position % 2 != 0 ? position + 1 : position;
}

std::uint64_t NumberLine::nearest(const mpq_class& magnitude) const {
  const auto above = std::lower_bound(midpoints_.begin(), midpoints_.end(), magnitude,
                                      [](double midpoint, const mpq_class& m) { return mpq_class(midpoint) < m; });
  const auto position = static_cast<std::uint64_t>(above - midpoints_.begin());
  const bool is_tie = above != midpoints_.end() && mpq_class(*above) == magnitude;
  return is_tie && position % 2 != 0 ? position + 1 : position;
}

std::uint64_t expected_pattern(const FormatFacts& format, const NumberLine& line, double value, bool saturate) {
  const auto sign_bit = std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits);
  const std::uint64_t sign = std::signbit(value) ? sign_bit : 0;
  const std::uint64_t largest = line.overflow() - 1;
  const auto nan = static_cast<std::uint64_t>(format.nans.empty() ? -1 : format.nans.front());
  if (std::isnan(value)) return format.nans.empty() ? largest : nan;
  const std::uint64_t position = std::isinf(value) ? line.overflow() : line.nearest(std::fabs(value));
  if (position != line.overflow()) return position == 0 && !format.has_negative_zero ? 0 : sign | position;
  if (saturate || format.nans.empty()) return sign | largest;
  if (format.infinity >= 0) return sign | static_cast<std::uint64_t>(format.infinity);
  return format.has_negative_zero ? sign | nan : nan;
}

const FormatFacts& facts_of(ElementType type) {
  const auto& formats = small_formats();
  return *std::find_if(formats.begin(), formats.end(), [&](const FormatFacts& f) { return f.type == type; });
}

const NumberLine& line_of(ElementType type) {
  static const NumberLine float16(facts_of(ElementType::float16));
  static const NumberLine bfloat16(facts_of(ElementType::bfloat16));
  return type == ElementType::float16 ? float16 : bfloat16;
}

mpq_class rn(ElementType type, const mpq_class& value) {
  if (type == ElementType::undefined) return value;
  if (type == ElementType::float32) return exact(static_cast<double>(rn32(value)));
  if (type == ElementType::float64) return exact(rn64(value));
  const mpq_class magnitude = definition(facts_of(type), line_of(type).nearest(mpq_class(abs(value))));
  return value < 0 ? mpq_class(-magnitude) : magnitude;
}

}  // namespace qconform::reference::oracle
