// A convolution taken apart, so that its relations can put it together differently.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/model/operator.h"
#include "harness/model/relations/relation.h"
#include "reference/convolution/geometry.h"

namespace qconform::relations {

/// A parameter that is one number, or one for each output channel.
template <typename T>
struct PerChannel {
  std::vector<T> values;
  bool is_scalar = true;  ///< one value, not of shape [M]

  [[nodiscard]] T of(std::int64_t channel) const { return values[is_scalar ? 0 : static_cast<std::size_t>(channel)]; }
};

/// QLinearConv or ConvInteger. Change any part, then build().
struct Convolution final : Parts {
  Case frame;  ///< operator, version, attributes; inputs are rebuilt
  bool is_quantized = false;
  reference::ConvolutionGeometry geometry;  ///< the base case's; pads decided
  Grid x;
  Grid w;
  std::int64_t x_zero_point = 0;
  bool states_x_zero_point = true;  ///< ConvInteger may omit it
  PerChannel<std::int64_t> w_zero_point;
  bool states_w_zero_point = true;

  // QLinearConv only.
  float x_scale = 1;
  PerChannel<float> w_scale;
  float y_scale = 1;
  ElementType y_type = ElementType::uint8;
  std::int64_t y_zero_point = 0;
  std::optional<Values> bias;

  std::int64_t group = 1;

  // Explicit attributes. build() writes them in place of the frame's when `restated` is set.
  bool restated = false;
  Values strides;
  Values dilations;
  Values pads;  ///< all begins, then all ends

  [[nodiscard]] bool has_auto_pad() const;
  [[nodiscard]] std::size_t spatial_rank() const { return geometry.axes.size(); }
  /// The case, with `suffix` behind its id.
  [[nodiscard]] Case build(const std::string& suffix) const;
};

/// The parts of a subject; null for other families.
[[nodiscard]] const Convolution* convolution_of(const RelationSubject& subject);

/// Family::relations.take_apart
[[nodiscard]] std::unique_ptr<const Parts> take_convolution_apart(const Case& test_case, const Lowered& lowered);

/// A parameter of a selection of output channels, in a given order.
template <typename T>
[[nodiscard]] PerChannel<T> selected(const PerChannel<T>& parameter, const Values& channels) {
  if (parameter.is_scalar) return parameter;
  PerChannel<T> result{{}, false};
  for (const std::int64_t channel : channels) result.values.push_back(parameter.of(channel));
  return result;
}

/// Gives the convolution the output channels `channels` of its own, in that order: weights and all
/// parameters that belong to channels.
void select_output_channels(Convolution& convolution, const Values& channels);

/// Gives it the input channels `channels` of x, in that order; w is left alone.
void select_input_channels(Convolution& convolution, const Values& channels);

/// Gives it the images `images` of x, in that order.
void select_images(Convolution& convolution, const Values& images);

[[nodiscard]] std::span<const FamilyRelation> signedness_relations();
[[nodiscard]] std::span<const FamilyRelation> padding_relations();
[[nodiscard]] std::span<const FamilyRelation> kernel_relations();
[[nodiscard]] std::span<const FamilyRelation> axis_relations();
[[nodiscard]] std::span<const FamilyRelation> channel_relations();
[[nodiscard]] std::span<const FamilyRelation> batch_relations();
[[nodiscard]] std::span<const FamilyRelation> requantization_relations();  ///< scales and accumulators, too

}  // namespace qconform::relations
