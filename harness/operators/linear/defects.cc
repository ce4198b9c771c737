// Defects of QuantizeLinear and DequantizeLinear.
#include <cmath>

#include "harness/operators/linear/diagnosis.h"
#include "harness/operators/linear/pipeline.h"
#include "reference/dequantize_linear/multiplication.h"

namespace qconform::diagnose {
namespace {

// Rows of a tensor: the coordinate of element `index` in dimension `dimension`.
std::int64_t coordinate(std::span<const std::int64_t> shape, std::size_t dimension, std::int64_t index) {
  for (std::size_t d = shape.size(); --d > dimension;) index /= shape[d];
  return index % shape[dimension];
}

// axis = -k counted from one dimension further left.
std::size_t parameter_off_by_one(const LinearPlacement& p, std::int64_t index) {
  if (p.layout.is_blocked() || p.layout.parameters() == 1 || p.axis >= 0) return p.layout.parameter_of(index);
  const auto rank = static_cast<std::int64_t>(p.x_shape.size());
  const std::int64_t dimension = (p.axis - 1 + 2 * rank) % rank;
  return static_cast<std::size_t>(coordinate(p.x_shape, static_cast<std::size_t>(dimension), index) %
                                  p.layout.parameters());
}

std::size_t interleaved_parameter(const LinearPlacement& p, std::int64_t index) {
  const QuantizationLayout& layout = p.layout;
  if (!layout.is_blocked()) return layout.parameter_of(index);
  const std::int64_t channel = index / layout.inner % layout.channels;
  const std::int64_t row = index / layout.inner / layout.channels * layout.blocks() + channel % layout.blocks();
  return static_cast<std::size_t>(row * layout.inner + index % layout.inner);
}

// x*s - zp*s, every operation in y's type.
std::uint64_t multiply_expanded(const DequantizeLinear& node, double x, double zero_point, double, double scale) {
  const FloatFormat& format = reference::float_format(node.y_type);
  const auto product = [&](double value) {
    return decode(format, multiply(reference::Multiplications(node).first(), node.y_type, value, scale));
  };
  return encode(format, product(x) - product(zero_point), reference::Overflow::special);
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

std::int32_t wrap_to_int8(double value) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(static_cast<std::int64_t>(value) & 0xFF));
}

constexpr OpSet kLinear{"QuantizeLinear", "DequantizeLinear"};

constexpr Defect kLinearDefects[] = {
    // Convolutions have these two as well, and say what they are.
    {.id = "zp-sub-wraps-8bit",
     .operators = {"DequantizeLinear"},
     .replace =
         [](Stages& s) {
           s.set(stage::difference, [](const DequantizeLinear& node, double x, double zp) {
             const double difference = reference::difference_of(node.x_type, x, zp);
             const bool is_byte = is_integer(node.x_type) && bits_of(node.x_type) == 8;
             return is_byte ? wrap_to_int8(difference) : difference;
           });
         }},
    {.id = "reciprocal",
     .operators = {"QuantizeLinear"},
     .replace =
         [](Stages& s) {
           s.set(stage::quotient, [](const QuantizeLinear& node, double x, double scale) {
             return reference::divide({reference::DivisionMethod::reciprocal, division_type(node), "Q1"}, x, scale);
           });
         }},
    {.id = "axis-ignored",
     .description = "the first scale and zero point serve every element",
     .operators = kLinear,
     .trigger = "scales or zero points that differ",
     .rule = "D7",
     .evidence = "tract#2849",
     .hazards = {Hazard::parameters_differ},
     .replace =
         [](Stages& s) {
           s.set(stage::parameter, [](const LinearPlacement&, std::int64_t) { return std::size_t{0}; });
         }},
    {.id = "neg-axis",
     .description = "a negative axis taken for the dimension before it",
     .operators = kLinear,
     .trigger = "a negative axis, 2 dimensions or more",
     .rule = "D7",
     .evidence = "coreai-torch#24",
     .hazards = {Hazard::negative_axis},
     .replace = [](Stages& s) { s.set(stage::parameter, parameter_off_by_one); }},
    {.id = "blocked-interleave",
     .description = "blocks indexed by position modulo their number",
     .operators = kLinear,
     .trigger = "a block_size, 2 blocks or more",
     .rule = "D7",
     .evidence = "openvino#32918",
     .hazards = {Hazard::parameters_differ},
     .replace = [](Stages& s) { s.set(stage::parameter, interleaved_parameter); }},
    {.id = "vec4-tail",
     .description = "the last elements of a size that 4 does not divide stay 0",
     .operators = kLinear,
     .trigger = "a number of elements that 4 does not divide",
     .rule = "formula",
     .evidence = "onnxruntime#27706",
     .hazards = {Hazard::size_tail},
     .replace = [](Stages& s) { s.set(stage::count, [](std::int64_t elements) { return elements / 4 * 4; }); }},
    {.id = "dq-expanded",
     .description = "x * scale - zero_point * scale, each rounded",
     .operators = {"DequantizeLinear"},
     .trigger = "a zero point other than 0, a scale that is no power of two",
     .rule = "D1",
     .hazards = {Hazard::expanded_product},
     .replace = [](Stages& s) { s.set(stage::multiply, multiply_expanded); }},
    {.id = "denormal-flush",
     .description = "subnormal scales, operands and results flushed to zero",
     .operators = kLinear,
     .trigger = "a subnormal scale or result",
     .rule = "D6",
     .admitted = {"DequantizeLinear"},
     .hazards = {Hazard::subnormal_scale, Hazard::subnormal_result},
     .replace = flush_subnormals},
};

}  // namespace

std::span<const DefectList> linear_defects() {
  static constexpr DefectList kLists[] = {{Topic::elements, kLinearDefects}};
  return kLists;
}

}  // namespace qconform::diagnose
