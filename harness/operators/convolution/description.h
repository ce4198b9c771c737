// A QLinearConv or ConvInteger as its node states it, with its tensors: the one form in which the family's engines read
// a case, draw or change its parts, and build a case again. What the reference makes of it, ConvolutionGeometry and
// ConvolutionOperands, has everything decided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "reference/convolution/convolution.h"

namespace qconform {

/// A scale or zero point: one value, or one for each output channel.
template <typename T>
struct ParameterValues {
  std::vector<T> values;
  std::vector<std::int64_t> shape;  ///< [], or another shape of one element: one value; [M]: one for each channel

  ParameterValues(T value) : values{value} {}  // NOLINT(google-explicit-constructor): a number is a parameter
  explicit ParameterValues(std::vector<T> each)
      : values(std::move(each)), shape{static_cast<std::int64_t>(values.size())} {}
  ParameterValues(std::vector<T> all, std::vector<std::int64_t> of_shape)
      : values(std::move(all)), shape(std::move(of_shape)) {}
  ParameterValues& operator=(T value) {
    values.assign(1, value);
    shape.clear();
    return *this;
  }

  [[nodiscard]] bool is_scalar() const { return shape.empty(); }
  [[nodiscard]] T of(std::size_t channel) const { return values[values.size() == 1 ? 0 : channel]; }
  bool operator==(const ParameterValues&) const = default;
};

/// Nothing is checked: members may contradict each other. Lists have one value for each spatial axis.
struct Convolution {
  using List = std::vector<std::int64_t>;

  bool is_quantized = true;  ///< QLinearConv; else ConvInteger
  std::int64_t opset_version = 10;

  // Attributes: nothing where the node does not state them.
  std::optional<std::string> auto_pad;
  std::optional<List> dilations;
  std::optional<std::int64_t> group;
  std::optional<List> kernel_shape;
  std::optional<List> pads;  ///< begins of all axes, then ends
  std::optional<List> strides;

  // Tensors: zero points have the types of theirs. ConvInteger omits a zero point that is not stated, and QLinearConv,
  // which cannot, has 0.
  Tensor x{ElementType::uint8, {}, {}};  ///< [batch, input channels, inputs...]
  std::optional<ParameterValues<std::int64_t>> x_zero_point;
  Tensor w{ElementType::int8, {}, {}};  ///< [output channels, input channels of a group, kernel...]
  std::optional<ParameterValues<std::int64_t>> w_zero_point;

  // QLinearConv alone has these.
  ParameterValues<float> x_scale = 1;
  ParameterValues<float> w_scale = 1;
  ParameterValues<float> y_scale = 1;
  ElementType y_type = ElementType::uint8;
  ParameterValues<std::int64_t> y_zero_point = 0;
  std::optional<std::vector<std::int32_t>> bias;  ///< int32, of shape [its values]

  [[nodiscard]] std::int64_t output_channels() const { return w.shape[0]; }
  [[nodiscard]] std::size_t spatial_rank() const { return x.shape.size() - 2; }
  [[nodiscard]] bool has_auto_pad() const { return auto_pad && *auto_pad != "NOTSET"; }
  [[nodiscard]] std::int64_t x_zero() const { return x_zero_point ? x_zero_point->of(0) : 0; }
  [[nodiscard]] std::int64_t w_zero(std::int64_t channel) const {
    return w_zero_point ? w_zero_point->of(static_cast<std::size_t>(channel)) : 0;
  }
  [[nodiscard]] float w_scale_of(std::int64_t channel) const { return w_scale.of(static_cast<std::size_t>(channel)); }

  bool operator==(const Convolution&) const = default;
};

/// Reads what is within the contract, or implementation-defined; nothing of other cases.
[[nodiscard]] std::optional<Convolution> read_convolution(const Case& test_case);
/// Reads a convolution that classify() has lowered.
[[nodiscard]] Convolution lowered_convolution(const Case& test_case);

/// The case alone, without an id or anything that is said of it. Attributes stand in the order of their names, and no
/// omitted input stands at the end.
[[nodiscard]] Case build_convolution(Convolution convolution);

/// Gives x, w and the attributes the sizes. All attributes are stated then, pads unless there is an auto_pad.
void set_sizes(Convolution& convolution, const reference::ConvolutionGeometry& sizes);

/// Leaves out attributes that set_sizes() has stated: those for which is_stated(name, is_default) is false, asked in
/// the order of their names. kernel_shape is always its default.
template <typename IsStated>
void choose_attributes(Convolution& convolution, IsStated is_stated) {
  const auto choose = [&](std::string_view name, auto& attribute, bool is_default) {
    if (attribute && !is_stated(name, is_default)) attribute.reset();
  };
  const auto are_all = [](const std::optional<Convolution::List>& list, std::int64_t plain) {
    bool all = true;
    if (list) {
      for (const std::int64_t value : *list) all = all && value == plain;
    }
    return all;
  };
  choose("auto_pad", convolution.auto_pad, !convolution.has_auto_pad());
  choose("dilations", convolution.dilations, are_all(convolution.dilations, 1));
  choose("group", convolution.group, convolution.group == 1);
  choose("kernel_shape", convolution.kernel_shape, true);
  choose("pads", convolution.pads, are_all(convolution.pads, 0));
  choose("strides", convolution.strides, are_all(convolution.strides, 1));
}

/// The sizes, with pads and outputs decided; nothing where shapes and attributes do not fit together.
[[nodiscard]] std::optional<reference::ConvolutionGeometry> geometry_of(const Convolution& convolution);

/// All sums, bias included, exactly, in the order of y; and to which channel each belongs.
struct ConvolutionSums {
  std::vector<std::int64_t> values;
  std::size_t positions = 1;
  std::size_t channels = 1;

  [[nodiscard]] std::size_t channel_of(std::size_t index) const { return index / positions % channels; }
  /// One channel of one image.
  [[nodiscard]] std::span<const std::int64_t> plane(std::size_t plane) const {
    return std::span(values).subspan(plane * positions, positions);
  }
};

/// No sums where shapes and attributes do not fit together.
[[nodiscard]] ConvolutionSums exact_sums(const Convolution& convolution);

}  // namespace qconform
