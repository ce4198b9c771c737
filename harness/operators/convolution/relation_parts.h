// A convolution taken apart, so that its relations can put it together differently.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "harness/model/operator.h"
#include "harness/model/relations/relation.h"
#include "harness/operators/convolution/description.h"

namespace qconform::relations {

/// A convolution, and the sizes that it has with pads and outputs decided.
struct ConvolutionParts final : Parts {
  Case frame;  ///< id, and what is said of the case
  Convolution stated;
  reference::ConvolutionGeometry sizes;

  [[nodiscard]] bool has_auto_pad() const { return stated.has_auto_pad(); }
  [[nodiscard]] std::size_t spatial_rank() const { return sizes.axes.size(); }
  /// The convolution with other sizes, all of them stated and no auto_pad; bytes of x and w are left as they are.
  [[nodiscard]] Convolution resized(const reference::ConvolutionGeometry& to) const;
  /// The case of another convolution, with `suffix` behind its id.
  [[nodiscard]] Case derive(Convolution derived, std::string_view suffix) const;
};

/// The parts of a subject; null for other families.
[[nodiscard]] const ConvolutionParts* convolution_of(const RelationSubject& subject);

/// Family::relations.take_apart
[[nodiscard]] std::unique_ptr<const Parts> take_convolution_apart(const Case& test_case, const Lowered& lowered);

/// Gives the convolution the output channels `channels` of its own, in that order: weights and all
/// parameters that belong to channels.
void select_output_channels(Convolution& convolution, const Values& channels);

/// Gives it the input channels `channels` of x, in that order; w is left alone.
void select_input_channels(Convolution& convolution, const Values& channels);

/// Gives it the images `images` of x, in that order.
void select_images(Convolution& convolution, const Values& images);

/// Whether some tap may lie in padding.
[[nodiscard]] bool has_pads(const reference::ConvolutionGeometry& sizes);

[[nodiscard]] std::span<const FamilyRelation> signedness_relations();
[[nodiscard]] std::span<const FamilyRelation> padding_relations();
[[nodiscard]] std::span<const FamilyRelation> kernel_relations();
[[nodiscard]] std::span<const FamilyRelation> axis_relations();
[[nodiscard]] std::span<const FamilyRelation> channel_relations();
[[nodiscard]] std::span<const FamilyRelation> batch_relations();
[[nodiscard]] std::span<const FamilyRelation> requantization_relations();  ///< scales and accumulators, too

}  // namespace qconform::relations
