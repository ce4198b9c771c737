// The diagnosis of QLinearConv and ConvInteger: the functions that Family has for it, and what they share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/defects/expression.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/pipeline.h"

namespace qconform::diagnose {

[[nodiscard]] std::optional<Tensor> run_convolution(const Case& test_case, const Lowered& lowered,
                                                    const Stages& stages);
void use_requantization(RoundingProfile profile, Stages& stages);
[[nodiscard]] std::span<const DefectList> convolution_defects();
[[nodiscard]] std::span<const ExpressionSlot> convolution_slots();
[[nodiscard]] std::vector<Arithmetic> requantization_arithmetics(const Operator& known, const Policy& policy);
/// Whether products of scales over- or underflow, so that the answer by one of these arithmetics can be far from that
/// by another; false for operators that do not requantize.
[[nodiscard]] bool requantizations_diverge(const Lowered& lowered);
/// Whether the policy admits what an implementation computes that makes the choice so; of QLinearConv alone.
[[nodiscard]] bool admits_requantization(const Choice& choice, const Variant& variant, const Policy& policy);
[[nodiscard]] const FeatureList& convolution_case_features();
[[nodiscard]] std::vector<CaseSize> convolution_sizes(const Case& test_case);
[[nodiscard]] std::optional<Case> draw_convolution_like(const Case& test_case, std::span<const std::int64_t> sizes,
                                                        Rng& rng);
[[nodiscard]] std::vector<Coordinate> convolution_coordinates(const Lowered& lowered);
/// Whether some axis has another number than the first; false without axes.
[[nodiscard]] bool axes_differ(std::span<const reference::SpatialAxis> axes,
                               std::int64_t reference::SpatialAxis::*number);
void place_in_convolution(const Lowered& lowered, std::span<Element> elements);
[[nodiscard]] std::vector<Choice> convolution_choices();
[[nodiscard]] std::vector<Experiment> convolution_experiments();
[[nodiscard]] std::optional<Profile> profile_of_requantization(const Pin& pin);

/// Names the layouts for which a kernel may have code of its own; each leaves out those before it.
namespace layout {
inline constexpr std::string_view pointwise = "1x1";  ///< one group, one tap
inline constexpr std::string_view windows = "windows";
inline constexpr std::string_view groups = "groups";
inline constexpr std::string_view depthwise = "depthwise";
inline constexpr std::string_view multiplied = "depthwise-multiplier";  ///< several outputs of each input channel
}  // namespace layout
inline constexpr std::array kLayouts{layout::pointwise, layout::windows, layout::groups, layout::depthwise,
                                     layout::multiplied};
[[nodiscard]] std::string_view layout_of_convolution(const Lowered& lowered);

/// Draws a case for the experiment on QLinearConv's requantization, with scales and sums solved for ties and near ties.
[[nodiscard]] Case draw_requantization(Rng& rng, const ProbeForm& form, const CandidatePairs& pairs);

[[nodiscard]] std::span<const Defect> geometry_defects();
[[nodiscard]] std::span<const Defect> sum_defects();
[[nodiscard]] std::span<const Defect> requantization_defects();

/// Sets the output size of every axis by its pads; false when a window does not fit.
bool resize_all(ConvolutionGeometry& geometry);
/// Whether auto_pad is SAME_UPPER or SAME_LOWER.
[[nodiscard]] bool is_same(const StatedGeometry& stated);
/// The pads that SAME adds in all, negative where a window is shorter than the stride.
[[nodiscard]] std::int64_t same_total(std::int64_t input, std::int64_t extent, std::int64_t stride);
/// Sets the pads of both sides as SAME_LOWER, or else SAME_UPPER, divides them.
void split_padding(reference::SpatialAxis& axis, std::int64_t total, const StatedGeometry& stated);

/// Sets stage::bias and stage::keep: the sum and the bias are rounded to float32 and added there.
void add_bias_in_float32(Stages& stages);

/// Whether OpenCV has a kernel of its own for it: depthwise 3x3 along long rows, with a pad of one at most.
[[nodiscard]] bool has_depthwise_rows(const ConvolutionGeometry& geometry);
/// Whether that kernel computes the output in this column by itself.
[[nodiscard]] bool is_alone_in_row(const reference::SpatialAxis& axis, std::int64_t column);

inline constexpr OpSet kConvolutions{"QLinearConv", "ConvInteger"};

// The places in a convolution at which expressions may stand (harness/model/defects/expression.h), by part.

[[nodiscard]] std::span<const ExpressionSlot> geometry_slots();
[[nodiscard]] std::span<const ExpressionSlot> sum_slots();

/// The context of a slot's own stage.
template <typename Context>
[[nodiscard]] const Context& as(const StageContext& context) {
  return static_cast<const Context&>(context);
}

/// The output channel at hand, for slots of indices of what channels have.
struct ChannelContext : StageContext {
  std::int64_t channel;
  const ConvolutionGeometry* geometry;
};
inline constexpr Variable kChannelVariables[] = {
    {"channel", [](const StageContext& c, std::int64_t) { return as<ChannelContext>(c).channel; }},
    {"channels", [](const StageContext& c, std::int64_t) { return as<ChannelContext>(c).geometry->output_channels; }},
    {"group_channels",
     [](const StageContext& c, std::int64_t) { return as<ChannelContext>(c).geometry->group_output_channels(); }},
    {"groups", [](const StageContext& c, std::int64_t) { return as<ChannelContext>(c).geometry->group; }}};

/// An index among `size`, or the right one where there is none of that number.
[[nodiscard]] inline std::size_t index_or(std::int64_t right, std::int64_t index, std::size_t size) {
  const bool is_there = index >= 0 && index < static_cast<std::int64_t>(size);
  return static_cast<std::size_t>(is_there ? index : right);
}

}  // namespace qconform::diagnose
