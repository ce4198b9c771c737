// The reference as a pipeline of named stages. A defect model replaces some of them.
//
// A convolution runs through
//   dilations, pads, auto_pad                                  where the windows lie
//   image, group_base, locate, weight_tap                      which element belongs to which tap
//   pad, x_zero_point, x_difference, w_value, w_zero_point     the factors of one product
//   accumulate, correction, empty_window, bias, keep           the sum
// and QLinearConv then through w_scale, product and the output stages round, zero_point, clamp.
// QuantizeLinear has count, parameter, operand, quotient and the output stages; DequantizeLinear count,
// parameter, operand, difference, multiply, result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/convolution/geometry.h"
#include "reference/dequantize_linear/dequantize_linear.h"
#include "reference/numerics/float_expressions.h"
#include "reference/numerics/small_float.h"
#include "reference/qlinear_conv/qlinear_conv.h"
#include "reference/quantize_linear/division.h"

namespace qconform::diagnose {

using reference::ConvolutionAttributes;
using reference::ConvolutionGeometry;
using reference::ConvolutionOperands;
using reference::DequantizeLinear;
using reference::FloatFormat;
using reference::Integer8;
using reference::IntegerRange;
using reference::QLinearConv;
using reference::QuantizationLayout;
using reference::QuantizeLinear;
using reference::Quotient;
using reference::Requantization;

inline constexpr std::int64_t kInPadding = -1;

/// What a stage of the geometry may ask.
struct StatedGeometry {
  const ConvolutionAttributes& attributes;
  std::span<const std::int64_t> x_shape;
};

/// Changes a resolved geometry. Returns false when the changed one has no output.
using GeometryStage = bool (*)(ConvolutionGeometry& geometry, const StatedGeometry& stated);

/// The taps of one output element: channel by channel, each in row-major order of the kernel.
struct Window {
  const ConvolutionOperands& operands;
  std::span<const std::int32_t> x;             ///< as read; padded taps as the stage `pad` has them
  std::span<const std::int32_t> x_difference;  ///< x less its zero point
  std::span<const std::int32_t> w;             ///< as read
  std::int32_t x_zero_point;                   ///< in force for this window
  std::int32_t w_zero_point;                   ///< likewise

  [[nodiscard]] std::int64_t product(std::size_t k) const {
    return std::int64_t{x_difference[k]} * (w[k] - w_zero_point);
  }
};

struct ConvolutionStages {
  GeometryStage dilations;
  GeometryStage pads;
  GeometryStage auto_pad;
  /// The image of x that image n of y is computed from.
  std::int64_t (*image)(std::int64_t n);
  /// The first input channel of a group.
  std::int64_t (*group_base)(const ConvolutionGeometry& geometry, std::int64_t group);
  /// The offset of a position within a channel's plane, or kInPadding. One coordinate for each axis, of
  /// any value.
  std::int64_t (*locate)(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position);
  /// Which of a channel's weights tap number `tap` uses.
  std::int64_t (*weight_tap)(const ConvolutionGeometry& geometry, std::int64_t tap);
  /// The value of a padded tap; `zero_point` is in force.
  std::int32_t (*pad)(const ConvolutionOperands& operands, std::int32_t zero_point);
  std::int32_t (*x_zero_point)(const ConvolutionOperands& operands, bool touches_padding);
  std::int32_t (*x_difference)(std::int32_t x, std::int32_t zero_point);
  std::int32_t (*w_value)(Integer8 type, std::byte stored);
  std::int32_t (*w_zero_point)(const ConvolutionOperands& operands, std::int64_t channel);
  std::int64_t (*accumulate)(const Window& window);
  /// Added to the sum.
  std::int64_t (*correction)(const Window& window);
  /// The sum of a window wholly in padding; `previous` is the sum before it in the same plane, or 0.
  std::int64_t (*empty_window)(std::int64_t sum, std::int64_t previous);
  /// Added to the sum; 0 without a bias.
  std::int64_t (*bias)(const ConvolutionOperands& operands, std::int64_t channel);
  /// The sum as the accumulator's type holds it.
  std::int64_t (*keep)(std::int64_t sum);
};

struct RequantizationStages {
  float (*w_scale)(const QLinearConv& node, std::int64_t channel);
  /// accumulator * sx * sw / sy
  Quotient (*product)(std::int64_t accumulator, const Requantization& parameters,
                      const reference::FloatExpression* expression);
  const reference::FloatExpression* expression;  ///< for a product in floating point; belongs to `product`
};

/// The integers that shape an output element.
struct OutputParameters {
  std::int32_t zero_point;
  IntegerRange range;
  std::int64_t bias;  ///< of QLinearConv's channel; 0 for other operators
};

/// From a scaled value to an integer; the low bits of what `clamp` returns are stored.
struct OutputStages {
  std::int64_t (*round)(const Quotient& value, std::int32_t zero_point);
  std::int64_t (*zero_point)(std::int64_t rounded, const OutputParameters& parameters);
  std::int64_t (*clamp)(std::int64_t value, IntegerRange range);
};

/// The output stages in their order: the integer whose low bits are stored.
[[nodiscard]] inline std::int64_t finish(const OutputStages& stages, const Quotient& value,
                                         const OutputParameters& parameters) {
  const std::int64_t rounded = stages.round(value, parameters.zero_point);
  return stages.clamp(stages.zero_point(rounded, parameters), parameters.range);
}

/// An element-wise node as the stages see it.
struct LinearPlacement {
  const QuantizationLayout& layout;
  std::span<const std::int64_t> x_shape;
  std::int64_t axis;  ///< as the node states it, or its default
};

struct LinearStages {
  /// How many elements of a tensor are computed; the rest holds zero bits.
  std::int64_t (*count)(std::int64_t elements);
  std::size_t (*parameter)(const LinearPlacement& placement, std::int64_t index);
  /// An operand as an arithmetic of this format takes it.
  double (*operand)(const FloatFormat& format, double value);
  Quotient (*quotient)(const QuantizeLinear& node, double x, double scale);
  double (*difference)(const DequantizeLinear& node, double x, double zero_point);
  /// The stored product.
  std::uint64_t (*multiply)(const DequantizeLinear& node, double x, double zero_point, double difference, double scale);
  /// The product as an arithmetic of this format returns it.
  std::uint64_t (*result)(const FloatFormat& format, std::uint64_t bits);
};

struct Stages {
  ConvolutionStages convolution;
  RequantizationStages requantization;
  OutputStages output;
  LinearStages linear;
};

/// Nothing replaced: under `profile` these stages equal the reference bit for bit.
[[nodiscard]] Stages reference_stages(reference::RoundingProfile profile);

/// A product in one of the named floating-point expressions.
void use_expression(Stages& stages, const reference::FloatExpression& expression);

/// Names of the stages in which the two differ, in the order of the pipeline.
[[nodiscard]] std::vector<std::string_view> replaced_stages(const Stages& stages, const Stages& original);

/// `value` as its two neighbouring integers: magnitudes, not beyond 2^40, where every output is
/// saturated. NaN counts as 0.
struct Neighbours {
  std::int64_t sign;  ///< 1 or -1
  std::int64_t lower;
  std::int64_t nearest;  ///< ties to even
  bool is_tie;

  [[nodiscard]] std::int64_t even() const { return sign * nearest; }
  /// At a tie the odd neighbour, else the nearest integer.
  [[nodiscard]] std::int64_t odd() const { return is_tie ? sign * (2 * lower + 1 - nearest) : even(); }
};
[[nodiscard]] Neighbours neighbours_of(const Quotient& value);

/// A number formed in floating point, as the requantization's clamp takes it: NaN ends at the lower
/// bound.
[[nodiscard]] Quotient quotient_of_float(double value);

}  // namespace qconform::diagnose
