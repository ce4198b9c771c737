#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform {
namespace {

using enum ElementType;
using Types = std::vector<ElementType>;
using Values = std::vector<std::int64_t>;

constexpr std::int64_t kDrawnVersions[] = {10, 10, 13, 13, 13, 13, 19, 21, 21, 23, 24, 25};

ElementType pick(Rng& rng, const Types& types) {
  return types[rng.below(static_cast<std::uint32_t>(types.size()))];
}

// The types of quantized data that a version knows, the usual ones more often.
Types quantized_types(std::int64_t version) {
  Types types{uint8, int8};
  if (version < 19) return types;
  types = {uint8, int8, uint8, int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};
  if (version >= 21) types.insert(types.end(), {uint16, int16, uint4, int4, uint4, int4});
  if (version >= 23) types.insert(types.end(), {float4e2m1, float4e2m1});
  if (version >= 25) types.insert(types.end(), {uint2, int2, uint2, int2});
  return types;
}

// Draws the version, the shapes of x and scale, and the attributes that place scales.
LinearQuantization draw_placement(Rng& rng, bool quantizes) {
  LinearQuantization node{.quantizes = quantizes, .opset_version = rng.pick(kDrawnVersions)};
  const std::int64_t rank = rng.chance(1, 16) ? 0 : rng.between(1, 4);
  for (std::int64_t i = 0; i < rank; ++i)
    node.x.shape.push_back(rng.chance(1, 64) ? 0 : rng.between(1, rank == 1 ? 70 : 9));
  if (node.opset_version < 13 || rank == 0 || rng.chance(1, 2)) return node;
  node.axis = rng.between(-rank, rank - 1);
  const bool is_blocked = node.opset_version >= 21 && node.x.elements() != 0 && !rng.chance(1, 2);
  if (is_blocked) node.block_size = rng.between(1, node.x.shape[*node.dimension()] + 1);
  node.scale.shape = node.parameter_shape();
  // The default is stated in half of the cases.
  if (node.axis == 1 && !rng.chance(1, 2)) node.axis.reset();
  return node;
}

std::int64_t number_of(ElementType type) {
  return static_cast<std::int64_t>(type);
}

// A tensor of a float type, each value rounded to it.
Tensor rounded(ElementType type, Values shape, const std::vector<double>& values) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, tensor.elements())));
  const reference::FloatFormat& format = reference::float_format(type);
  const int width = bits_of(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t bits = type == float32 ? std::bit_cast<std::uint32_t>(static_cast<float>(values[i]))
                                               : encode(format, values[i], reference::Overflow::special);
    reference::store_bits(tensor.bytes, width, static_cast<std::int64_t>(i), bits);
  }
  return tensor;
}

// A positive subnormal number of a type, or the smallest number of float8e8m0.
double subnormal(Rng& rng, ElementType type) {
  const reference::FloatFormat& format = reference::float_format(type);
  if (format.mantissa_bits == 0) return decode(format, 0);
  return decode(format, 1 + rng.below((1U << format.mantissa_bits) - 1));
}

// One in 24 cases has subnormal scales.
Tensor draw_scales(Rng& rng, const Values& shape, ElementType type) {
  const bool are_subnormal = rng.chance(1, 24);
  const bool is_coarse = rng.chance(1, 8);  // so that ties occur in every channel
  Rng own = aside(rng, 3);
  const bool are_large = type == float16 && own.chance(1, 8);
  std::vector<double> scales;
  for (std::int64_t i = 0; i < elements_of(shape); ++i) {
    double scale = are_subnormal ? subnormal(rng, type) : static_cast<double>(random_scale(rng));
    const double power = 1.0 / static_cast<double>(1U << rng.below(12));
    if (!are_subnormal && (is_coarse || type == float8e8m0)) scale = power;
    if (are_large) scale = static_cast<double>(own.between(1 << 14, 65504));
    scales.push_back(scale);
  }
  return rounded(type, shape, scales);
}

// One in 12 has negative scales beside others, which QuantizeLinear gives no meaning (rule Q5).
void negate_some(Rng rng, Tensor& scales) {
  if (scales.type == float8e8m0 || !rng.chance(1, 12)) return;
  const int width = bits_of(scales.type);
  for (std::int64_t i = 0; i < scales.elements(); ++i) {
    if (!rng.chance(1, 2)) continue;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    set_raw_bits_at(scales.bytes, width, i, raw_bits_at(scales.bytes, width, i) | sign);
  }
}

// Scales that spread values in [-2^bits, 2^bits] over an 8-bit range.
Tensor draw_wide_scales(Rng& rng, const Values& shape, int bits) {
  std::vector<double> scales;
  for (std::int64_t i = 0; i < elements_of(shape); ++i) {
    const auto exponent = bits - static_cast<int>(rng.between(6, 8));
    scales.push_back(static_cast<double>(random_float(rng, exponent - 23)));
  }
  return rounded(float32, shape, scales);
}

// In place of float scales, beside a stated precision.
Tensor draw_int32_scales(Rng& rng, const Values& shape) {
  Values values;
  for (std::int64_t i = 0; i < elements_of(shape); ++i) values.push_back(rng.between(1, 1000));
  return make::integers(int32, shape, values);
}

// Zero, either end, or any value of an integer type; 0 for types that take no other.
std::int64_t draw_zero_point(Rng& rng, ElementType type) {
  if (type == uint8 || type == int8) return random_zero_point(rng, type);
  const reference::IntegerRange range = reference::range_of(type);
  if (rng.chance(1, 3)) return 0;
  if (rng.chance(1, 3)) return rng.chance(1, 2) ? range.lo : range.hi;
  return rng.between(range.lo, range.hi);
}

Tensor draw_zero_points(Rng& rng, ElementType type, const Values& shape) {
  const std::int64_t count = elements_of(shape);
  if (!is_integer(type)) return rounded(type, shape, std::vector<double>(static_cast<std::size_t>(count)));
  Values values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(draw_zero_point(rng, type));
  return make::integers(type, shape, values);
}

// How far the values of a quantized type reach, compared with 8 bits.
double reach_of(ElementType type) {
  switch (type) {
    case uint16:
    case int16: return 256;
    case uint4:
    case int4:
    case float4e2m1: return 0x1p-4;
    case uint2:
    case int2: return 0x1p-6;
    case float8e5m2:
    case float8e5m2fnuz: return 64;
    default: return 1;
  }
}

// A value to quantize: mostly within the output range, on exact quarters of a step, so that ties
// occur, or beside them; sometimes far outside, infinite, tiny or a signed zero.
double draw_real(Rng& rng, double scale, double reach) {
  switch (rng.below(16)) {
    case 0:
      return rng.chance(1, 2) ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    case 1: {
      const auto magnitude = static_cast<double>(random_float(rng, static_cast<int>(rng.between(-149 + 23, 104))));
      return rng.chance(1, 2) ? magnitude : -magnitude;
    }
    case 2: {
      const auto tiny = static_cast<std::uint32_t>(rng.chance(1, 8) ? 0 : rng.below(1U << 23));
      return static_cast<double>(std::bit_cast<float>(tiny | (rng.chance(1, 2) ? 1U << 31 : 0U)));
    }
    case 3:
    case 4:
    case 5:
    case 6: {
      // At least steps of one half, for the narrow types too.
      const auto quarters = static_cast<std::int64_t>(700 * reach);
      return static_cast<double>(rng.between(-quarters - 2, quarters + 2)) * 0.25 * scale;
    }
    default: return static_cast<double>(rng.between(-(1 << 19), 1 << 19)) * 0x1p-12 * scale * reach;
  }
}

// Draws a number near which overflow of a float type may begin: the largest number, and half a step or one step above
// it, of either sign.
double draw_border(Rng& rng, ElementType type) {
  const reference::FloatFormat& format = reference::float_format(type);
  const double largest = decode(format, format.largest());
  const double step = largest - decode(format, format.largest() - 1);
  const double border = largest + step * 0.5 * static_cast<double>(rng.between(0, 2));
  return rng.chance(1, 2) ? border : -border;
}

constexpr double kBelowHalf = 0.5 - 0x1p-25;  // the float32 next to one half

// Draws x; its scales have been drawn.
Tensor draw_reals(Rng& rng, const LinearQuantization& node, ElementType type, ElementType y_type) {
  const auto layout = layout_of(node).value();
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(layout.elements()));
  const std::vector<double> scales = numbers_of(node.scale);
  const double reach = reach_of(y_type);
  const bool has_nan = rng.chance(1, 24);
  Rng own = aside(rng, 4);
  Rng borders = aside(rng, 6);
  Rng halves = aside(rng, 9);
  layout.for_each_element([&](std::int64_t, std::size_t parameter) {
    const double scale = scales[parameter];
    double value = draw_real(rng, scale, reach);
    // Steps of a large scale soon leave float16.
    if (type == float16 && scale > 0x1p14 && std::isfinite(value))
      value = static_cast<double>(own.between(-65504, 65504));
    // A half that is added to it in float32 makes it 1.
    if (is_integer(y_type) && halves.chance(1, 24)) value = (halves.chance(1, 2) ? kBelowHalf : -kBelowHalf) * scale;
    if (!is_integer(y_type) && borders.chance(1, 16)) value = draw_border(borders, y_type) * scale;
    values.push_back(has_nan && rng.chance(1, 8) ? std::numeric_limits<double>::quiet_NaN() : value);
  });
  return rounded(type, node.x.shape, values);
}

// Values in [-2^bits, 2^bits].
Tensor draw_int32s(Rng& rng, const Values& shape, int bits) {
  Values values;
  const auto width = std::int64_t{1} << bits;
  Rng own = aside(rng, 5);
  for (std::int64_t i = 0; i < elements_of(shape); ++i) values.push_back(rng.between(-width, width));
  // Has no absolute value in its type.
  if (!values.empty() && own.chance(1, 8)) {
    values[own.below(static_cast<std::uint32_t>(values.size()))] = std::numeric_limits<std::int32_t>::min();
  }
  return make::integers(int32, shape, values);
}

// Any patterns of a type of at most 16 bits.
Tensor draw_patterns(Rng& rng, const Values& shape, ElementType type) {
  if (type == uint8 || type == int8) return random_data8(rng, type, shape, 0);
  Tensor tensor{type, shape, {}};
  const std::int64_t elements = tensor.elements();
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, elements)));
  // Zeros, infinities, NaN and the largest numbers of one float8 type or another.
  static constexpr std::uint64_t kSpecial8[] = {0x00, 0x80, 0x7B, 0x7C, 0xFC, 0x7E, 0x7F, 0xFF};
  const bool is_float8 = bits_of(type) == 8;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = is_float8 && rng.chance(1, 8) ? rng.pick(kSpecial8) : rng.next();
    set_raw_bits_at(tensor.bytes, bits_of(type), i, bits);
  }
  return tensor;
}

// The type of a scale beside float x: a type of its own from version 23 on.
ElementType draw_scale_type(Rng& rng, std::int64_t version, ElementType x_type) {
  if (version < 23) return x_type;
  Types types{float32, float32, float16, bfloat16};
  if (version >= 24) types.push_back(float8e8m0);
  return pick(rng, types);
}

void draw_quantize_attributes(Rng& rng, ElementType y_type, LinearQuantization& node) {
  const bool is_float8 = bits_of(y_type) == 8 && !is_integer(y_type);
  if (is_float8 && rng.chance(1, 2)) node.saturate = rng.between(0, 1);
  if (node.opset_version >= 21 && ((!node.zero_point && y_type != uint8) || rng.chance(1, 4))) {
    node.output_dtype = number_of(y_type);
  }
  if (node.opset_version >= 23 && rng.chance(1, 4)) {
    node.precision = number_of(pick(rng, {float32, float16, bfloat16}));
  }
}

}  // namespace

Case random_quantize_linear(Rng& rng) {
  LinearQuantization node = draw_placement(rng, true);
  const std::int64_t version = node.opset_version;
  const ElementType y_type = pick(rng, quantized_types(version));
  // Beside an int32 x, versions 19 and 21 want an int32 scale, whose meaning is open (rule Q6).
  const bool may_be_int32 = version < 19 || version >= 23;
  Rng own = aside(rng, 7);
  bool has_int32_scale = false;
  if (may_be_int32 && rng.chance(1, 5)) {
    const auto bits = static_cast<int>(rng.between(4, 30));
    node.scale = draw_wide_scales(rng, node.scale.shape, bits);
    node.x = draw_int32s(rng, node.x.shape, bits);
  } else {
    const ElementType x_type = version < 19 ? float32 : pick(rng, {float32, float32, float16, bfloat16});
    node.scale = draw_scales(rng, node.scale.shape, draw_scale_type(rng, version, x_type));
    has_int32_scale = version >= 23 && own.chance(1, 12);
    if (has_int32_scale) node.scale = draw_int32_scales(own, node.scale.shape);
    node.x = draw_reals(rng, node, x_type, y_type);
  }
  // Without a zero point the output is uint8, or from version 21 on what output_dtype says.
  const bool may_omit = y_type == uint8 || version >= 21;
  if (!may_omit || rng.chance(7, 8)) node.zero_point = draw_zero_points(rng, y_type, node.scale.shape);
  draw_quantize_attributes(rng, y_type, node);
  if (has_int32_scale && !node.precision) node.precision = number_of(float32);
  return build_linear(std::move(node));
}

Case random_dequantize_linear(Rng& rng) {
  LinearQuantization node = draw_placement(rng, false);
  const std::int64_t version = node.opset_version;
  const ElementType x_type = rng.chance(1, 5) ? int32 : pick(rng, quantized_types(version));
  const ElementType float_type = version < 19 ? float32 : pick(rng, {float32, float32, float16, bfloat16});
  const ElementType scale_type = version >= 24 && rng.chance(1, 6) ? float8e8m0 : float_type;
  if (version >= 23 && (scale_type == float8e8m0 || rng.chance(1, 3))) {
    node.output_dtype = number_of(pick(rng, {float32, float16, bfloat16}));
  }
  node.scale = draw_scales(rng, node.scale.shape, scale_type);
  negate_some(aside(rng, 8), node.scale);
  if (x_type == int32) {
    node.x = draw_int32s(rng, node.x.shape, static_cast<int>(rng.between(4, 30)));
    return build_linear(std::move(node));
  }
  node.x = draw_patterns(rng, node.x.shape, x_type);
  if (rng.chance(7, 8)) node.zero_point = draw_zero_points(rng, x_type, node.scale.shape);
  return build_linear(std::move(node));
}

}  // namespace qconform
