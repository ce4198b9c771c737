#include "harness/operators/linear/hooks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "harness/core/corner_cases/corner_case.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

using reference::FloatFormat;
using reference::QuantizationLayout;

// A float type to which results are rounded.
class FloatOutput {
 public:
  explicit FloatOutput(ElementType type)
      : mantissa_bits_(reference::float_format(type).mantissa_bits),
        smallest_exponent_(reference::float_format(type).smallest_exponent()),
        largest_(reference::decode(reference::float_format(type), reference::float_format(type).largest())) {}

  /// `value`, which is 0 or a normal float64, approximates a result within 2^-50; is_exact tells whether a number of
  /// few bits is it.
  template <typename IsExact>
  void count(double value, CornerCaseCounts& counts, IsExact is_exact) const {
    const double magnitude = std::fabs(value);
    if (magnitude > largest_) counts.add(CornerCase::float_overflow);
    if (value == 0 || !(magnitude <= largest_)) return;
    const auto bits = std::bit_cast<std::uint64_t>(magnitude);
    int dropped = reference::kFloat64.mantissa_bits - mantissa_bits_;
    const int exponent = static_cast<int>(bits >> reference::kFloat64.mantissa_bits) - reference::kFloat64.bias;
    if (exponent < smallest_exponent_) {
      counts.add(CornerCase::subnormal_result);
      dropped += smallest_exponent_ - exponent;
    }
    // A midpoint is half an odd integer in units of the last place: of the bits below, the highest one alone is set.
    // With one bit more than the mantissa has, that is the leading one.
    if (dropped > reference::kFloat64.mantissa_bits + 1) return;
    const std::uint64_t one = std::uint64_t{1} << reference::kFloat64.mantissa_bits;
    const std::uint64_t below = (bits % one + one) & ((std::uint64_t{1} << dropped) - 1);
    if (below == std::uint64_t{1} << (dropped - 1) && is_exact(value)) counts.add(CornerCase::float_midpoint);
  }

 private:
  int mantissa_bits_;
  int smallest_exponent_;
  double largest_;
};

// Counts the corner cases that both operators have by their layout: a size tail, a negative axis, partial blocks.
void count_layout(const QuantizationLayout& layout, std::int64_t axis, CornerCaseCounts& counts) {
  const std::int64_t elements = layout.elements();
  counts.add(CornerCase::size_tail, elements % 4);
  const bool per_tensor = layout.channels == 1 && layout.outer == 1 && !layout.is_blocked();
  if (axis < 0 && !per_tensor) counts.add(CornerCase::negative_axis, elements);
  if (layout.is_blocked()) {
    counts.add(CornerCase::partial_block, layout.outer * layout.inner * (layout.channels % layout.block));
  }
}

void count_packing(ElementType type, std::int64_t elements, CornerCaseCounts& counts) {
  if (const int bits = bits_of(type); bits < 8) counts.add(CornerCase::odd_packed_count, elements % (8 / bits));
}

bool is_subnormal_scale(double scale, ElementType type) {
  // A power of two below float32's normal numbers is subnormal once it is a float.
  const ElementType held = type == ElementType::float8e8m0 ? ElementType::float32 : type;
  if (is_integer(held) || scale == 0) return false;
  return std::fabs(scale) < std::ldexp(1.0, reference::float_format(held).smallest_exponent());
}

// Its reciprocal is no normal number of its type.
bool is_large_half_scale(double scale, ElementType type) {
  return type == ElementType::float16 && std::fabs(scale) > 0x1p14;
}

// By parameter: is it unlike the first one; is its scale subnormal, or large.
struct ParameterTraits {
  bool differs;
  bool subnormal;
  bool large_half;

  [[nodiscard]] bool any() const { return differs || subnormal || large_half; }
};

template <typename ZeroPoint>
std::vector<ParameterTraits> traits_of(const std::vector<double>& scales, const std::vector<ZeroPoint>& zero_points,
                                       ElementType scale_type) {
  std::vector<ParameterTraits> traits(scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    traits[i] = {scales[i] != scales[0] || zero_points[i] != zero_points[0], is_subnormal_scale(scales[i], scale_type),
                 is_large_half_scale(scales[i], scale_type)};
  }
  return traits;
}

void count_traits(const QuantizationLayout& layout, const std::vector<ParameterTraits>& traits,
                  CornerCaseCounts& counts) {
  if (std::none_of(traits.begin(), traits.end(), [](const ParameterTraits& t) { return t.any(); })) return;
  layout.for_each_element([&](std::int64_t, std::size_t parameter) {
    if (traits[parameter].differs) counts.add(CornerCase::parameters_differ);
    if (traits[parameter].subnormal) counts.add(CornerCase::subnormal_scale);
    if (traits[parameter].large_half) counts.add(CornerCase::large_half_scale);
  });
}

// NaN and infinities; whether the value is finite.
bool count_specials(double x, CornerCaseCounts& counts) {
  if (std::isnan(x)) counts.add(CornerCase::nan_input);
  if (std::isinf(x)) counts.add(CornerCase::infinite_input);
  return std::isfinite(x);
}

void count_int32(ElementType type, double x, CornerCaseCounts& counts) {
  if (type != ElementType::int32) return;
  if (static_cast<double>(static_cast<float>(x)) != x) counts.add(CornerCase::int32_beyond_float);
  if (x == -0x1p31) counts.add(CornerCase::int32_lowest);
}

bool is_negative_zero(double value) {
  return value == 0 && std::signbit(value);
}

class QuantizeCornerCases {
 public:
  QuantizeCornerCases(const reference::QuantizeLinear& node, CornerCaseCounts& counts)
      : node_(node),
        counts_(counts),
        ulp_(std::ldexp(1.0, -reference::float_format(division_type(node)).mantissa_bits)) {
    if (!has_integers_) return;
    for (const std::int32_t zero_point : node.y_zero_point)
      ranges_.emplace_back(reference::range_of(node.y_type), zero_point);
  }

  void count(double x, std::size_t parameter) {
    const double scale = node_.y_scale[parameter];
    count_int32(node_.x_type, x, counts_);
    count_specials(x, counts_);
    const double quotient = x / scale;
    if (std::isnan(quotient)) return;
    if (has_integers_) {
      count_integer(x, scale, quotient, ranges_[parameter]);
    } else {
      if (is_negative_zero(quotient)) counts_.add(CornerCase::signed_zero);
      output_.count(quotient, counts_, [&](double middle) { return middle * scale == x; });
    }
  }

 private:
  void count_integer(double x, double scale, double quotient, const RoundingCornerCases& range) {
    range.count_position(quotient, counts_);
    if (!range.shows_rounding(quotient)) return;
    // The middle has few bits, so that its product with the scale is exact.
    const double middle = std::floor(quotient) + 0.5;
    if (middle * scale == x) return range.count_tie(quotient, counts_);
    range.count_near_tie(quotient, ulp_, counts_);
  }

  const reference::QuantizeLinear& node_;
  CornerCaseCounts& counts_;
  double ulp_;
  bool has_integers_ = is_integer(node_.y_type);
  FloatOutput output_{has_integers_ ? ElementType::float32 : node_.y_type};
  std::vector<RoundingCornerCases> ranges_;
};

class DequantizeCornerCases {
 public:
  DequantizeCornerCases(const reference::DequantizeLinear& node, CornerCaseCounts& counts)
      : node_(node), counts_(counts), is_float32_(node.y_type == ElementType::float32) {
    if (has_integers_) half_range_ = std::ldexp(1.0, bits_of(node.x_type) - 1);
  }

  void count(double x, std::size_t parameter) {
    const double scale = node_.x_scale[parameter];
    const double zero_point = node_.x_zero_point[parameter];
    count_int32(node_.x_type, x, counts_);
    if (!count_specials(x, counts_)) return;
    if (is_negative_zero(x)) counts_.add(CornerCase::signed_zero);
    const double difference = x - zero_point;
    if (half_range_ != 0 && (difference < -half_range_ || difference >= half_range_)) {
      counts_.add(CornerCase::wide_difference);
    }
    // 16 bits times 24: exact. int32 x may be rounded twice, and a difference of float8 has up to 32 bits: their
    // products are not called midpoints.
    const bool is_exact = has_integers_ ? node_.x_type != ElementType::int32 : zero_point == 0;
    output_.count(difference * scale, counts_, [&](double) { return is_exact; });
    if (is_exact && is_float32_ && zero_point != 0) count_expanded(x, zero_point, scale);
  }

 private:
  void count_expanded(double x, double zero_point, double scale) {
    const auto s = static_cast<float>(scale);
    const float expanded = static_cast<float>(x) * s - static_cast<float>(zero_point) * s;
    if (expanded != static_cast<float>((x - zero_point) * scale)) counts_.add(CornerCase::expanded_product);
  }

  const reference::DequantizeLinear& node_;
  CornerCaseCounts& counts_;
  bool has_integers_ = is_integer(node_.x_type);
  FloatOutput output_{node_.y_type};
  double half_range_ = 0;  ///< half the range of an integer x; 0 for float x
  bool is_float32_;
};

// `stored`: the type of the quantized tensor, of which a byte may hold several elements.
template <typename ElementCornerCases, typename Node>
void count_corner_cases(const Node& node, ElementType stored, const std::vector<ParameterTraits>& traits,
                        std::int64_t axis, std::span<const std::byte> x, CornerCaseCounts& counts) {
  if (x.empty()) return;
  count_layout(node.layout, axis, counts);
  count_packing(stored, node.layout.elements(), counts);
  count_traits(node.layout, traits, counts);
  ElementCornerCases corner_cases(node, counts);
  for_each_value(node.layout, node.x_type, x,
                 [&](std::int64_t, std::size_t parameter, double value) { corner_cases.count(value, parameter); });
}

}  // namespace

void count_quantize_corner_cases(const reference::QuantizeLinear& node, std::int64_t axis, std::span<const std::byte> x,
                                 CornerCaseCounts& counts) {
  const auto traits = traits_of(node.y_scale, node.y_zero_point, node.scale_type);
  count_corner_cases<QuantizeCornerCases>(node, node.y_type, traits, axis, x, counts);
}

void count_dequantize_corner_cases(const reference::DequantizeLinear& node, std::int64_t axis,
                                   std::span<const std::byte> x, CornerCaseCounts& counts) {
  const auto traits = traits_of(node.x_scale, node.x_zero_point, node.scale_type);
  count_corner_cases<DequantizeCornerCases>(node, node.x_type, traits, axis, x, counts);
}

}  // namespace qconform
