#include "harness/operators/linear/sweep_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/model/text.h"
#include "reference/numerics/small_float.h"
#include "reference/quantize_linear/division.h"

namespace qconform::sweep {
namespace {

using reference::FloatFormat;

// Within the range of every type of x and of every type to divide in.
constexpr double kLargestValue = 60000;

const FloatFormat& format_of(ElementType type) {
  return reference::float_format(element_of(type));
}

// The quotients that y holds without saturating, before the zero point is added.
struct Interval {
  double lo;
  double hi;
};

Interval interval_of(const reference::QuantizeLinear& node, std::size_t parameter) {
  if (!is_integer(node.y_type)) {
    const FloatFormat& format = reference::float_format(node.y_type);
    const double largest = decode(format, format.largest());
    return {-largest, largest};
  }
  const reference::IntegerRange range = range_of(node.y_type);
  return {static_cast<double>(range.lo - node.y_zero_point[parameter]),
          static_cast<double>(range.hi - node.y_zero_point[parameter])};
}

// Whether a finite quotient is the middle between two neighbouring values of y.
bool is_tie(const reference::QuantizeLinear& node, double quotient) {
  if (is_integer(node.y_type)) return std::fabs(quotient) < 0x1p30 && quotient - std::floor(quotient) == 0.5;
  const FloatFormat& format = reference::float_format(node.y_type);
  const double magnitude = std::fabs(quotient);
  const std::uint64_t bits = encode(format, magnitude, reference::Overflow::saturate);
  const double nearest = decode(format, bits);
  if (nearest == magnitude) return false;
  if (nearest > magnitude) return bits > 0 && (nearest + decode(format, bits - 1)) / 2 == magnitude;
  return bits < format.largest() && (nearest + decode(format, bits + 1)) / 2 == magnitude;
}

std::uint8_t class_of_quotient(const reference::QuantizeLinear& node, double x, std::size_t parameter) {
  const reference::Divisions divisions(node, reference::Latitude::onnx);
  const reference::Quotient quotient = divide(divisions.first(), x, node.y_scale[parameter]);
  if (quotient.kind != reference::Quotient::Kind::finite) return kSaturating;
  const double value = rounded_to(reference::float_format(reference::Element::float64), quotient.value);
  const auto [lo, hi] = interval_of(node, parameter);
  const double half = is_integer(node.y_type) ? 0.5 : 0;
  if (value < lo - half || value > hi + half) return kSaturating;
  return is_tie(node, value) ? kTies : kOrdinary;
}

std::uint8_t class_of_element(const reference::QuantizeLinear& node, ElementType type, std::uint64_t bits,
                              std::size_t parameter) {
  const double x = number_of_bits(type, bits);
  if (std::isnan(x)) return kNan;
  if (std::isinf(x)) return kInfinite;
  const bool subnormal =
      !is_integer(type) && x != 0 && std::fabs(x) < std::ldexp(1.0, format_of(type).smallest_exponent());
  return subnormal ? std::uint8_t{kSubnormal} : class_of_quotient(node, x, parameter);
}

double draw_within(Rng& rng, const reference::QuantizeLinear& node, const Interval& interval) {
  if (!is_integer(node.y_type)) {
    // A value of y, and a little less.
    const FloatFormat& format = reference::float_format(node.y_type);
    const std::uint64_t bits = rng.below(static_cast<std::uint32_t>(format.largest() + 1));
    const double value = decode(format, bits) * static_cast<double>(rng.between(97, 128)) / 128;
    return rng.chance(1, 2) && !std::isnan(value) ? -value : value;
  }
  // Most values of wide types are large: half of them are drawn near 0.
  const double step = rng.chance(1, 2) ? 1.0 : 1.0 / 16;
  const double share = static_cast<double>(rng.between(0, 4096)) / 4096 * step;
  return std::clamp(rng.chance(1, 2) ? interval.lo * share : interval.hi * share, interval.lo, interval.hi);
}

double draw_tie(Rng& rng, const reference::QuantizeLinear& node, const Interval& interval) {
  if (is_integer(node.y_type)) {
    const double lo = std::max(interval.lo, -40.0);
    const double hi = std::min(interval.hi, 40.0);
    return static_cast<double>(rng.between(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi) - 1)) + 0.5;
  }
  const FloatFormat& format = reference::float_format(node.y_type);
  const std::uint64_t bits = rng.below(static_cast<std::uint32_t>(format.largest()));
  const double middle = (decode(format, bits) + decode(format, bits + 1)) / 2;
  return rng.chance(1, 2) ? -middle : middle;
}

double draw_beyond(Rng& rng, const Interval& interval) {
  const double width = interval.hi - interval.lo;
  const double beyond = 1 + width * static_cast<double>(rng.between(1, 256)) / 256;
  return rng.chance(1, 2) ? interval.hi + beyond : interval.lo - beyond;
}

std::uint64_t draw_bits(Rng& rng, const reference::QuantizeLinear& node, ElementType type, std::uint8_t values,
                        std::size_t parameter) {
  const FloatFormat* format = is_integer(type) ? nullptr : &format_of(type);
  const double sign = rng.chance(1, 2) ? -1 : 1;
  switch (values) {
    case kNan: return encode(*format, std::numeric_limits<double>::quiet_NaN(), reference::Overflow::special);
    case kInfinite:
      return encode(*format, sign * std::numeric_limits<double>::infinity(), reference::Overflow::special);
    case kSubnormal: {
      const auto fraction = static_cast<std::uint64_t>(rng.between(1, (std::int64_t{1} << format->mantissa_bits) - 1));
      return fraction | (sign < 0 ? format->sign_bit() : 0);
    }
    default: break;
  }
  const Interval interval = interval_of(node, parameter);
  const double quotient = values == kTies         ? draw_tie(rng, node, interval)
                          : values == kSaturating ? draw_beyond(rng, interval)
                                                  : draw_within(rng, node, interval);
  const bool narrow = type == ElementType::float16 || division_type(node) == reference::Element::float16;
  const double most = narrow ? kLargestValue : 0x1p30;
  return bits_of_number(type, std::clamp(quotient * node.y_scale[parameter], -most, most));
}

}  // namespace

std::uint64_t bits_of_number(ElementType type, double value) {
  if (!is_integer(type)) return encode(format_of(type), value, reference::Overflow::saturate);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(value + 0.5))) & 0xFFFFFFFFU;
}

double number_of_bits(ElementType type, std::uint64_t bits) {
  if (!is_integer(type)) return decode(format_of(type), bits);
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}

void draw_quantized_values(Rng& rng, const reference::QuantizeLinear& node, std::uint8_t values, Tensor& x) {
  const std::int64_t elements = x.elements();
  x.bytes.resize(static_cast<std::size_t>(bytes_for(x.type, elements)));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint8_t wanted = i % 2 == 0 ? values : std::uint8_t{kOrdinary};
    const std::size_t parameter = node.layout.parameter_of(i);
    std::uint64_t chosen = 0;  // 0 is ordinary everywhere
    for (int attempt = 0; attempt < 64; ++attempt) {
      const std::uint64_t bits = draw_bits(rng, node, x.type, wanted, parameter);
      if (class_of_element(node, x.type, bits, parameter) != wanted) continue;
      chosen = bits;
      break;
    }
    set_raw_bits_at(x.bytes, bits_of(x.type), i, chosen);
  }
}

std::uint8_t quantized_values_class(const reference::QuantizeLinear& node, const Tensor& x) {
  std::uint8_t last = kOrdinary;
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::uint64_t bits = raw_bits_at(x.bytes, bits_of(x.type), i);
    last = std::max(last, class_of_element(node, x.type, bits, node.layout.parameter_of(i)));
  }
  return last;
}

}  // namespace qconform::sweep
