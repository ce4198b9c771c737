// QuantizeLinear and DequantizeLinear, stage by stage.
//
// Both begin with output_type, count, parameter, zero_point_parameter, absent_zero_point, scale, operand.
// QuantizeLinear has precision and saturate beside output_type, and goes on through quotient and the stages that all
// quantizing operators share, or for float outputs through encode; DequantizeLinear through difference, multiply,
// result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/model/defects/defect.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {

using reference::DequantizeLinear;
using reference::FloatFormat;
using reference::QuantizationLayout;
using reference::QuantizeLinear;

/// An element-wise node as the stages see it.
struct LinearPlacement {
  const QuantizationLayout& layout;
  std::span<const std::int64_t> x_shape;
  std::int64_t axis;  ///< as the node states it, or its default
  ElementType x_type;
  ElementType y_type;
};

// Steps of the reference.
Quotient divide(const QuantizeLinear& node, double x, double scale);
double subtract(const DequantizeLinear& node, double x, double zero_point);
std::uint64_t multiply(const DequantizeLinear& node, double x, double zero_point, double difference, double scale);

std::uint64_t encode_quotient(const QuantizeLinear& node, const Quotient& quotient);

// Steps of other implementations.
/// The parameter of an element if this were the axis, the tensor of parameters keeping its shape; an axis that x has
/// not changes nothing, and a negative one is counted from the end.
std::size_t parameter_of_axis(const LinearPlacement& placement, std::int64_t axis, std::int64_t index);
/// The parameter of an element if it belonged to this block, the nearest one where there is none.
std::size_t parameter_of_block(const QuantizationLayout& layout, std::int64_t index, std::int64_t block);
/// The float32 with an int32's bits.
double int32_as_float32(ElementType type, double stated);
/// x*s - zp*s, every operation in y's type.
std::uint64_t multiply_expanded(const DequantizeLinear& node, double x, double zero_point, double difference,
                                double scale);
/// fma(x, s, -zp*s), the product rounded to y's type.
std::uint64_t multiply_fused(const DequantizeLinear& node, double x, double zero_point, double difference,
                             double scale);

namespace stage {

/// The type of y. `without` is what it is without the attribute output_dtype.
inline constexpr Stage<ElementType (*)(ElementType stated, ElementType without)> output_type{
    {"output_type"}, [](ElementType stated, ElementType) { return stated; }};
/// The attributes of these names.
inline constexpr Stage<ElementType (*)(ElementType stated)> precision{{"precision"},
                                                                      [](ElementType stated) { return stated; }};
inline constexpr Stage<bool (*)(bool stated)> saturate{{"saturate"}, [](bool stated) { return stated; }};

/// How many elements of a tensor are computed; the rest holds zero bits.
inline constexpr Stage<std::int64_t (*)(std::int64_t elements)> count{{"count"},
                                                                      [](std::int64_t elements) { return elements; }};
inline constexpr Stage<std::size_t (*)(const LinearPlacement& placement, std::int64_t index)> parameter{
    {"parameter"},
    [](const LinearPlacement& placement, std::int64_t index) { return placement.layout.parameter_of(index); }};
/// The zero point beside a scale.
inline constexpr Stage<std::size_t (*)(std::size_t of_scale)> zero_point_parameter{
    {"zero_point_parameter"}, [](std::size_t of_scale) { return of_scale; }};
/// The zero point of a node that has none.
inline constexpr Stage<std::int32_t (*)(ElementType type)> absent_zero_point{{"absent_zero_point"},
                                                                             [](ElementType) { return 0; }};
/// The value of a scale that is stored as this type.
inline constexpr Stage<double (*)(ElementType type, double stated)> scale{
    {"scale"}, [](ElementType, double stated) { return stated; }};
/// An operand as an arithmetic of this format takes it.
inline constexpr Stage<double (*)(const FloatFormat& format, double value)> operand{
    {"operand"}, [](const FloatFormat&, double value) { return value; }};
inline constexpr Stage<Quotient (*)(const QuantizeLinear& node, double x, double scale)> quotient{{"quotient", kTies},
                                                                                                  divide};
/// The stored quotient, where y is no integer.
inline constexpr Stage<std::uint64_t (*)(const QuantizeLinear& node, const Quotient& quotient)> encode{
    {"encode", {CornerCase::float_overflow}}, encode_quotient};
inline constexpr Stage<double (*)(const DequantizeLinear& node, double x, double zero_point)> difference{{"difference"},
                                                                                                         subtract};
/// The stored product.
inline constexpr Stage<std::uint64_t (*)(const DequantizeLinear& node, double x, double zero_point, double difference,
                                         double scale)>
    multiply{{"multiply"}, diagnose::multiply};
/// The product as an arithmetic of this format returns it.
inline constexpr Stage<std::uint64_t (*)(const FloatFormat& format, std::uint64_t bits)> result{
    {"result"}, [](const FloatFormat&, std::uint64_t bits) { return bits; }};

}  // namespace stage

}  // namespace qconform::diagnose
