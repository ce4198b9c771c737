// Lists the places in a convolution at which expressions may stand (harness/model/defects/expression.h), by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/model/defects/expression.h"
#include "harness/operators/convolution/pipeline.h"

namespace qconform::diagnose {

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
