// QLinearConv and ConvInteger, stage by stage.
//
// A convolution runs through
//   dilations, pads, auto_pad, same_side                       where the windows lie
//   image, group_base, locate, weight_tap                      which element belongs to which tap
//   pad, x_zero_point, x_difference, w_value, w_zero_point     the factors of one product
//   accumulate, correction, empty_window, bias, keep           the sum
// and QLinearConv then through w_scale, product, vector_tail and the stages that all quantizing operators share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/model/defects/defect.h"
#include "reference/convolution/convolution.h"
#include "reference/convolution/geometry.h"
#include "reference/numerics/requantize.h"

namespace qconform::diagnose {

using reference::ConvolutionAttributes;
using reference::ConvolutionGeometry;
using reference::ConvolutionOperands;
using reference::QLinearConv;
using reference::Requantization;

inline constexpr std::int64_t kInPadding = -1;

/// Holds the attributes and the shape that a stage of the geometry may ask for.
struct StatedGeometry {
  const ConvolutionAttributes& attributes;
  std::span<const std::int64_t> x_shape;
};

/// The taps of one output element: channel by channel, each in row-major order of the kernel.
struct Window {
  const ConvolutionOperands& operands;
  std::span<const std::int32_t> x;             ///< as read; padded taps as the stage `pad` has them
  std::span<const std::int32_t> x_difference;  ///< x less its zero point
  std::span<const std::int32_t> w;             ///< as read
  std::int32_t x_zero_point;                   ///< in force for this window
  std::int32_t w_zero_point;                   ///< in force for this window

  [[nodiscard]] std::int64_t product(std::size_t k) const {
    return std::int64_t{x_difference[k]} * (w[k] - w_zero_point);
  }
  [[nodiscard]] std::int64_t sum() const;
};

/// accumulator * sx * sw / sy
struct Product {
  Quotient (*form)(std::int64_t accumulator, const Requantization& parameters,
                   const reference::FloatExpression* expression);
  const reference::FloatExpression* expression = nullptr;  ///< for a product in floating point; belongs to `form`

  [[nodiscard]] Quotient operator()(std::int64_t accumulator, const Requantization& parameters) const {
    return form(accumulator, parameters, expression);
  }
};

// Steps of the reference that a stage cannot say in a line.
bool keep_geometry(ConvolutionGeometry& geometry, const StatedGeometry& stated);
std::int64_t locate_in_input(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position,
                             std::int64_t tap);
std::int64_t bias_of(const ConvolutionOperands& operands, std::int64_t channel);
std::int64_t wrap_sum(std::int64_t sum);
Quotient exact_product(std::int64_t accumulator, const Requantization& parameters, const reference::FloatExpression*);
/// Multiplies in integers, by reference/numerics/requantize.h.
Quotient product_rounded_twice(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*);
Quotient product_rounded_once(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*);

inline constexpr SmallSet<CornerCase> kLongSums{CornerCase::float_accumulation, CornerCase::pair_saturation,
                                                CornerCase::tap_sum_wrap};

namespace stage {

/// Changes a resolved geometry. Returns false when the changed one has no output.
using Geometry = Stage<bool (*)(ConvolutionGeometry& geometry, const StatedGeometry& stated)>;

inline constexpr Geometry dilations{{"dilations"}, keep_geometry};
inline constexpr Geometry pads{{"pads"}, keep_geometry};
inline constexpr Geometry auto_pad{{"auto_pad"}, keep_geometry};
/// The side that has the odd element of a total that auto_pad gives.
inline constexpr Geometry same_side{{"same_side"}, keep_geometry};
/// The image of x that image n of y is computed from.
inline constexpr Stage<std::int64_t (*)(std::int64_t n)> image{{"image"}, [](std::int64_t n) { return n; }};
/// The first input channel of a group.
inline constexpr Stage<std::int64_t (*)(const ConvolutionGeometry& geometry, std::int64_t group)> group_base{
    {"group_base"},
    [](const ConvolutionGeometry& geometry, std::int64_t group) { return group * geometry.group_input_channels(); }};
/// The offset of a position within a channel's plane, or kInPadding. One coordinate for each axis, of
/// any value. What lies behind the plane is in the next channel, and behind x in the padding.
inline constexpr Stage<std::int64_t (*)(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position,
                                        std::int64_t tap)>
    locate{{"locate"}, locate_in_input};
/// The number, among a channel's weights, of the weight that tap number `tap` uses.
inline constexpr Stage<std::int64_t (*)(const ConvolutionGeometry& geometry, std::int64_t tap)> weight_tap{
    {"weight_tap"}, [](const ConvolutionGeometry&, std::int64_t tap) { return tap; }};
/// The value of a padded tap; `zero_point` is in force.
inline constexpr Stage<std::int32_t (*)(const ConvolutionOperands& operands, std::int32_t zero_point)> pad{
    {"pad"}, [](const ConvolutionOperands&, std::int32_t zp) { return zp; }};
inline constexpr Stage<std::int32_t (*)(const ConvolutionOperands& operands, bool touches_padding)> x_zero_point{
    {"x_zero_point"}, [](const ConvolutionOperands& operands, bool) { return operands.x_zero_point; }};
inline constexpr Stage<std::int32_t (*)(std::int32_t x, std::int32_t zero_point)> x_difference{
    {"x_difference"}, [](std::int32_t x, std::int32_t zp) { return x - zp; }};
inline constexpr Stage<std::int32_t (*)(const ConvolutionOperands& operands, std::byte stored)> w_value{
    {"w_value"},
    [](const ConvolutionOperands& operands, std::byte stored) { return reference::load8(operands.w_type, stored); }};
inline constexpr Stage<std::int32_t (*)(const ConvolutionOperands& operands, std::int64_t channel)> w_zero_point{
    {"w_zero_point"}, [](const ConvolutionOperands& operands, std::int64_t channel) {
      return operands.w_zero_point[static_cast<std::size_t>(channel)];
    }};
inline constexpr Stage<std::int64_t (*)(const Window& window)> accumulate{
    {"accumulate", kLongSums}, [](const Window& window) { return window.sum(); }};
/// Added to the sum.
inline constexpr Stage<std::int64_t (*)(const Window& window)> correction{
    {"correction"}, [](const Window&) { return std::int64_t{0}; }};
/// The sum of a window wholly in padding; `previous` is the sum before it in the same plane, or 0.
inline constexpr Stage<std::int64_t (*)(std::int64_t sum, std::int64_t previous)> empty_window{
    {"empty_window"}, [](std::int64_t sum, std::int64_t) { return sum; }};
/// The sum with the bias, if there is one.
inline constexpr Stage<std::int64_t (*)(std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel)>
    bias{{"bias", {CornerCase::float_accumulation}},
         [](std::int64_t sum, const ConvolutionOperands& operands, std::int64_t channel) {
           return sum + bias_of(operands, channel);
         }};
/// The sum as the accumulator's type holds it.
inline constexpr Stage<std::int64_t (*)(std::int64_t sum)> keep{{"keep", {CornerCase::int32_wrap}}, wrap_sum};

inline constexpr Stage<float (*)(const QLinearConv& node, std::int64_t channel)> w_scale{
    {"w_scale"},
    [](const QLinearConv& node, std::int64_t channel) { return node.w_scale[static_cast<std::size_t>(channel)]; }};
inline constexpr Stage<Product> product{{"product", kTies}, {exact_product}};
/// Whether the output at a position of its plane is rounded by `tail_round`.
inline constexpr Stage<bool (*)(const ConvolutionGeometry& geometry, std::int64_t position)> vector_tail{
    {"vector_tail"}, [](const ConvolutionGeometry&, std::int64_t) { return false; }};

}  // namespace stage

/// A product in one of the named floating-point expressions.
void use_expression(Stages& stages, const reference::FloatExpression& expression);

}  // namespace qconform::diagnose
