// Defects of QuantizeLinear and DequantizeLinear.
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/linear_quantization/dequantize_linear.h"

namespace qconform::diagnose {
namespace {

// Rows of a tensor: the coordinate of element `index` in dimension `dimension`.
std::int64_t coordinate(std::span<const std::int64_t> shape, std::size_t dimension, std::int64_t index) {
  for (std::size_t d = shape.size(); --d > dimension;) index /= shape[d];
  return index % shape[dimension];
}

}  // namespace

std::size_t parameter_of_axis(const LinearPlacement& p, std::int64_t axis, std::int64_t index) {
  const QuantizationLayout& layout = p.layout;
  const auto rank = static_cast<std::int64_t>(p.x_shape.size());
  if (layout.parameters() == 1 || axis >= rank || axis < -2 * rank) return layout.parameter_of(index);
  const auto read = static_cast<std::size_t>((axis + 2 * rank) % rank);
  const std::int64_t position = coordinate(p.x_shape, read, index);
  if (!layout.is_blocked()) return static_cast<std::size_t>(position % layout.parameters());
  // The tensor of parameters keeps its shape: that of x, but for the blocks of the stated axis.
  const auto stated = static_cast<std::size_t>((p.axis + rank) % rank);
  std::int64_t parameter = 0;
  for (std::size_t d = 0; d < p.x_shape.size(); ++d) {
    const std::int64_t extent = d == stated ? layout.blocks() : p.x_shape[d];
    const std::int64_t at = coordinate(p.x_shape, d, index);
    parameter = parameter * extent + (d == read ? at / layout.block : at) % extent;
  }
  return static_cast<std::size_t>(parameter);
}

std::size_t parameter_of_block(const QuantizationLayout& layout, std::int64_t index, std::int64_t block) {
  const std::int64_t row = index / layout.inner / layout.channels * layout.blocks() + block;
  const std::int64_t parameter = row * layout.inner + index % layout.inner;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(parameter, 0, layout.parameters() - 1));
}

double int32_as_float32(ElementType type, double stated) {
  return type == ElementType::int32 ? std::bit_cast<float>(static_cast<std::int32_t>(stated)) : stated;
}

std::uint64_t multiply_expanded(const DequantizeLinear& node, double x, double zero_point, double, double scale) {
  const FloatFormat& format = reference::float_format(node.y_type);
  const auto product = [&](double value) {
    return decode(format, multiply(reference::Multiplications(node).first(), node.y_type, value, scale));
  };
  return encode(format, product(x) - product(zero_point), reference::Overflow::special);
}

std::uint64_t multiply_fused(const DequantizeLinear& node, double x, double zero_point, double, double scale) {
  const FloatFormat& format = reference::float_format(node.y_type);
  // The difference is exact in double: both products have 40 bits at most.
  return encode(format, x * scale - rounded_to(format, zero_point * scale), reference::Overflow::special);
}

namespace {

// axis = -k counted from one dimension further left.
std::size_t parameter_off_by_one(const LinearPlacement& p, std::int64_t index) {
  if (p.layout.is_blocked() || p.layout.parameters() == 1 || p.axis >= 0) return p.layout.parameter_of(index);
  const auto rank = static_cast<std::int64_t>(p.x_shape.size());
  const std::int64_t dimension = (p.axis - 1 + 2 * rank) % rank;
  return static_cast<std::size_t>(coordinate(p.x_shape, static_cast<std::size_t>(dimension), index) %
                                  p.layout.parameters());
}

// The second and the third of a byte's four elements quantize those before them anew, with their own parameters.
std::size_t parameter_of_later_in_byte(const LinearPlacement& p, std::int64_t index) {
  constexpr std::int64_t kInAByte = 4;
  constexpr std::int64_t kLast = 2;
  const QuantizationLayout& layout = p.layout;
  const bool is_hit = p.x_type == ElementType::float32 && is_integer(p.y_type) && bits_of(p.y_type) == 2 &&
                      layout.inner == 1 && !layout.is_blocked();
  const std::int64_t in_byte = index % kInAByte;
  if (!is_hit || in_byte >= kLast) return layout.parameter_of(index);
  return layout.parameter_of(std::min(index - in_byte + kLast, layout.elements() - 1));
}

// RN32(x * RN32(1 / scale) + zero point), then to an integer: one operation of a processor that multiplies and adds.
void multiply_and_add(Stages& s) {
  s.set(stage::quotient, [](const QuantizeLinear& node, double x, double scale) {
    if (!is_integer(node.y_type)) return divide(node, x, scale);
    const double reciprocal = 1.0F / static_cast<float>(scale);
    const double product = double{static_cast<float>(x)} * reciprocal;  // exact
    return reference::divide({reference::DivisionMethod::exact, ElementType::float32, "Q1"}, product, 1);
  });
  add_zero_point_in_float32(s);
  s.set(stage::storage_offset, hold_as_int8);
}

// uint8 held as int8, which is 128 less.
std::uint64_t multiply_held_and_fused(const DequantizeLinear& node, double x, double zero_point, double difference,
                                      double scale) {
  const double held = node.x_type == ElementType::uint8 ? 128 : 0;
  return multiply_fused(node, x - held, zero_point - held, difference, scale);
}

// A finite quotient to be stored as `type` without saturation; NaN where it is another one.
double overflowing(const QuantizeLinear& node, const Quotient& quotient, ElementType type) {
  const bool is_meant = node.y_type == type && !node.saturate && quotient.kind == Quotient::Kind::finite;
  return is_meant ? float64_of(quotient) : std::nan("");
}

// 480 is the middle of 448, the largest number, and 512, which would be the next one: NaN has the pattern of 480.
std::uint64_t overflow_above_480(const QuantizeLinear& node, const Quotient& quotient) {
  const double value = overflowing(node, quotient, ElementType::float8e4m3fn);
  if (!(std::fabs(value) <= 480)) return encode_quotient(node, quotient);
  return encode(reference::float_format(node.y_type), value, reference::Overflow::saturate);
}

// The middle of 57344, the largest number, and 65536, which would be the next one: of the NaNs the one of all ones.
std::uint64_t nan_at_61440(const QuantizeLinear& node, const Quotient& quotient) {
  const double value = overflowing(node, quotient, ElementType::float8e5m2);
  if (std::fabs(value) != 61440) return encode_quotient(node, quotient);
  const std::uint64_t sign_bit = reference::float_format(node.y_type).sign_bit();
  return (sign_bit - 1) | (value < 0 ? sign_bit : 0);
}

bool is_subnormal(const FloatFormat& format, double value) {
  return std::isfinite(value) && value != 0 &&
         leading_exponent(reference::ratio_of(value)) < format.smallest_exponent();
}

double flush(const FloatFormat& format, double value) {
  return is_subnormal(format, value) ? std::copysign(0.0, value) : value;
}

void flush_subnormals(Stages& s) {
  s.set(stage::operand, flush);
  s.set(stage::result, [](const FloatFormat& format, std::uint64_t bits) {
    return is_subnormal(format, decode(format, bits)) ? bits & format.sign_bit() : bits;
  });
}

constexpr OpSet kLinear{"QuantizeLinear", "DequantizeLinear"};

constexpr Defect kLinearDefects[] = {
    // Convolutions have these two as well, and say what they are.
    {.id = "zp-sub-wraps-8bit",
     .operators = {"DequantizeLinear"},
     .slot = "difference",
     .computes = "bits == 8 ? wrap8(difference) : difference"},
    {.id = "reciprocal", .operators = {"QuantizeLinear"}, .slot = "quotient", .computes = "reciprocal"},
    {.id = "axis-ignored",
     .description = "the first scale and zero point serve every element",
     .operators = kLinear,
     .trigger = "scales or zero points that differ",
     .rule = "D7",
     .evidence = "tract#2849",
     .corner_cases = {CornerCase::parameters_differ},
     .needs = {"several scales"},
     .slot = "parameter",
     .computes = "0"},
    {.id = "zp-first",
     .description = "the first zero point serves every element, beside scales of their own",
     .operators = kLinear,
     .trigger = "zero points that differ",
     .rule = "D7",
     .evidence = "oneDNN 3.12.1",
     .corner_cases = {CornerCase::parameters_differ},
     .slot = "zero_point.index",
     .computes = "0"},
    {.id = "two-bit-parameters-of-later",
     .description = "2-bit outputs of float x take the parameters of a later element of their byte, the third at most",
     .operators = {"QuantizeLinear"},
     .trigger = "y of 2 bits, scales or zero points of the last axis that differ",
     .rule = "D7",
     .evidence = "ONNX Runtime 1.30.0",
     .corner_cases = {CornerCase::parameters_differ},
     .replace = [](Stages& s) { s.set(stage::parameter, parameter_of_later_in_byte); }},
    {.id = "scale-i32-as-f32",
     .description = "a scale of int32 is read as float32: the number with its bits",
     .operators = {"QuantizeLinear"},
     .trigger = "y_scale int32",
     .rule = "Q6",
     .evidence = "OpenCV 4.6.0",
     .slot = "scale",
     .computes = "int32_read_as_float32"},
    {.id = "zp-absent-128",
     .description = "uint8 without a zero point has 128",
     .operators = kLinear,
     .trigger = "uint8, no zero point",
     .rule = "formula",
     .evidence = "OpenCV 4.10.0",
     .slot = "zero_point.absent",
     .computes = "uint8 ? 128 : 0"},
    {.id = "axis-unread",
     .description = "the attribute axis is not read: axis 1, its default, has the parameters",
     .operators = kLinear,
     .trigger = "an axis other than 1, 2 dimensions or more",
     .rule = "D7",
     .corner_cases = {CornerCase::parameters_differ},
     .slot = "axis",
     .computes = "1"},
    {.id = "block-size-unread",
     .description = "the attribute block_size is not read: each element takes the next parameter, up to the last one",
     .operators = kLinear,
     .trigger = "a block_size above 1",
     .rule = "D7",
     .corner_cases = {CornerCase::parameters_differ},
     .slot = "block",
     .computes = "position"},
    {.id = "output-dtype-unread",
     .description = "the attribute output_dtype is not read: y has the type that it has without",
     .operators = kLinear,
     .trigger = "an output_dtype that decides the type of y",
     .rule = "signature",
     .evidence = "OpenCV 4.6.0",
     .slot = "output_type",
     .computes = "without == float8e8m0 ? stated : without"},
    {.id = "precision-unread",
     .description = "the attribute precision is not read",
     .operators = {"QuantizeLinear"},
     .trigger = "a precision other than the scale's type",
     .rule = "Q3",
     .evidence = "ONNX Runtime 1.30.0",
     .slot = "precision",
     .computes = "none"},
    {.id = "saturate-unread",
     .description = "the attribute saturate is not read: overflow gives the largest number",
     .operators = {"QuantizeLinear"},
     .trigger = "saturate 0, float8 overflow",
     .rule = "Q8",
     .corner_cases = {CornerCase::float_overflow},
     .slot = "saturate",
     .computes = "1"},
    {.id = "quotient-wide",
     .description = "float16 and bfloat16 are divided in float32",
     .operators = {"QuantizeLinear"},
     .trigger = "a division in float16 or bfloat16 that the version demands",
     .rule = "Q3",
     .evidence = "ONNX Runtime 1.30.0",
     .slot = "quotient",
     .computes = "at_least_float32"},
    {.id = "quotient-fused",
     .description = "x * (1 / y_scale) + zero point in float32, rounded once; uint8 as int8 less 128",
     .operators = {"QuantizeLinear"},
     .trigger = "values within a few float32 roundings of a tie, ties with an odd zero point",
     .rule = "Q1",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::tie_odd_zero_point, CornerCase::near_tie_above, CornerCase::near_tie_below},
     .replace = multiply_and_add},
    {.id = "e4m3fn-overflows-late",
     .description = "without saturate, float8e4m3fn up to 480 is 448",
     .operators = {"QuantizeLinear"},
     .trigger = "saturate 0, float8e4m3fn, a quotient above 464 and up to 480",
     .rule = "Q8",
     .evidence = "ONNX Runtime 1.30.0",
     .corner_cases = {CornerCase::float_overflow},
     .replace = [](Stages& s) { s.set(stage::encode, overflow_above_480); }},
    {.id = "e5m2-tie-nan",
     .description = "without saturate, 61440 to float8e5m2 is NaN",
     .operators = {"QuantizeLinear"},
     .trigger = "saturate 0, float8e5m2, a quotient of 61440",
     .rule = "Q8",
     .evidence = "ONNX Runtime 1.30.0",
     .corner_cases = {CornerCase::float_overflow},
     .replace = [](Stages& s) { s.set(stage::encode, nan_at_61440); }},
    {.id = "neg-axis",
     .description = "a negative axis taken for the dimension before it",
     .operators = kLinear,
     .trigger = "a negative axis, 2 dimensions or more",
     .rule = "D7",
     .evidence = "coreai-torch#24",
     .corner_cases = {CornerCase::negative_axis},
     .needs = {"several scales", "axis negative"},
     .replace = [](Stages& s) { s.set(stage::parameter, parameter_off_by_one); }},
    {.id = "blocked-interleave",
     .description = "blocks indexed by position modulo their number",
     .operators = kLinear,
     .trigger = "a block_size, 2 blocks or more",
     .rule = "D7",
     .evidence = "openvino#32918",
     .corner_cases = {CornerCase::parameters_differ},
     .slot = "block",
     .computes = "position % blocks"},
    {.id = "vec4-tail",
     .description = "the last elements of a size that 4 does not divide stay 0",
     .operators = kLinear,
     .trigger = "a number of elements that 4 does not divide",
     .rule = "formula",
     .evidence = "onnxruntime#27706",
     .corner_cases = {CornerCase::size_tail},
     .needs = {"elements % 4 != 0"},
     .slot = "count",
     .computes = "elements / 4 * 4"},
    {.id = "dq-expanded",
     .description = "x * scale - zero_point * scale, each rounded",
     .operators = {"DequantizeLinear"},
     .trigger = "a zero point other than 0, a scale that is no power of two",
     .rule = "D1",
     .corner_cases = {CornerCase::expanded_product},
     .slot = "multiply",
     .computes = "each_times_scale"},
    {.id = "dq-expanded-fused",
     .description = "x * scale - zero_point * scale, the latter rounded and the difference too",
     .operators = {"DequantizeLinear"},
     .trigger = "a zero point other than 0, a scale that is no power of two",
     .rule = "D1",
     .evidence = "OpenVINO 2026.4.1",
     .corner_cases = {CornerCase::expanded_product},
     .slot = "multiply",
     .computes = "fused_times_scale"},
    {.id = "dq-fused",
     .description = "x * scale - zero_point * scale, the latter rounded and the difference too; uint8 as int8 less 128",
     .operators = {"DequantizeLinear"},
     .trigger = "x and zero point apart, a scale that is no power of two",
     .rule = "D1",
     .evidence = "OpenCV 4.6.0",
     .corner_cases = {CornerCase::expanded_product},
     .replace = [](Stages& s) { s.set(stage::multiply, multiply_held_and_fused); }},
    {.id = "product-wide",
     .description = "the product goes through float32 on its way to float16 or bfloat16",
     .operators = {"DequantizeLinear"},
     .trigger = "y float16 or bfloat16, a product that float32 rounds to a tie",
     .rule = "D4",
     .evidence = "ONNX Runtime 1.30.0",
     .corner_cases = {CornerCase::float_midpoint},
     .slot = "multiply",
     .computes = "through_float32"},
    {.id = "denormal-flush",
     .description = "subnormal scales, operands and results flushed to zero",
     .operators = kLinear,
     .trigger = "a subnormal scale or result",
     .rule = "D6",
     .admitted = {"DequantizeLinear"},
     .corner_cases = {CornerCase::subnormal_scale, CornerCase::subnormal_result},
     .replace = flush_subnormals},
};

}  // namespace

std::span<const DefectList> linear_defects() {
  static constexpr DefectList kLists[] = {{DefectTopic::elements, kLinearDefects}};
  return kLists;
}

}  // namespace qconform::diagnose
