#include "harness/operators/convolution/sweep_model.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

namespace qconform::sweep::convolution {

namespace {

constexpr std::size_t kChannelClasses = 11;
constexpr std::size_t kGroupClasses = 4;

// Parameters in the order of ConvolutionPosition, classes in the order of their enumerations.
std::vector<Parameter> parameters() {
  const std::vector<std::string> channels{
      "1",       "2 or 3",        "4 mod 8",         "8 mod 16",       "16 mod 32",       "multiple of 32",
      "2 mod 4", "1 over 4 or 8", "1 over 16 or 32", "1 under 4 or 8", "1 under 16 or 32"};
  return {
      {"operator", {"QLinearConv", "ConvInteger"}, 0, ParameterRole::core},
      {"x type", {"uint8", "int8"}, 0, ParameterRole::core},
      {"w type", {"uint8", "int8"}, 0, ParameterRole::core},
      {"y type", {"uint8", "int8", "int32"}, 0, ParameterRole::core},
      {"spatial rank", {"1", "2", "3", "4"}, 1, ParameterRole::core},
      // On every axis, but for "5 or more", which speaks of the last one.
      {"kernel", {"1", "even", "3", "uneven", "5 or more"}, 0, ParameterRole::geometry},
      // "beyond the kernel": larger than the dilated kernel on some axis, so that input is skipped.
      {"stride", {"1", "2", "3", "uneven", "beyond the kernel"}, 0, ParameterRole::geometry},
      {"dilation", {"1", "2", "3", "uneven"}, 0, ParameterRole::geometry},
      // "end only": all begins are 0. "beyond the kernel": windows wholly in the padding.
      {"pads", {"none", "symmetric", "asymmetric", "end only", "beyond the kernel"}, 0, ParameterRole::geometry},
      {"auto_pad", {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, 0, ParameterRole::extent},
      {"group", {"1", "some", "depthwise", "depth multiplier"}, 0, ParameterRole::geometry},
      {"C", channels, 3, ParameterRole::extent},
      {"M", channels, 3, ParameterRole::extent},
      {"batch", {"1", "2", "3 or more"}, 0, ParameterRole::extent},
      {"x zero point", {"low end", "middle", "high end", "other", "omitted"}, 1},
      {"w parameters", {"per tensor", "per channel"}},
      {"w zero point", {"low end", "middle", "high end", "other", "omitted", "distinct"}, 0, ParameterRole::core},
      {"y zero point", {"low end", "middle", "high end", "other", "none"}, 1},
      {"scales", {"ordinary", "powers of two", "near tie", "tiny", "huge", "none"}},
      {"w scale", {"common", "distinct", "none"}},
      {"bias", {"none", "ordinary", "odd beyond 2^24"}},
      {"data", {"uniform", "ends"}},
      {"output width",
       {"1", "3", "4", "5", "7", "8", "9", "15", "16", "17", "31", "32", "33"},
       2,
       ParameterRole::extent},
      {"attributes", {"where not default", "all stated"}},
  };
}

std::vector<Constraint> operator_constraints() {
  return {
      {"y is int32 for ConvInteger alone",
       {kOperator, kYType},
       [](const Row& r) { return (r[kOperator] == kConvInteger) == (r[kYType] == kInt32); }},
      {"ConvInteger has no y zero point, QLinearConv has one",
       {kOperator, kYZeroPoint},
       [](const Row& r) { return (r[kOperator] == kConvInteger) == (r[kYZeroPoint] == kOmitted); }},
      {"ConvInteger has no scales, QLinearConv has them",
       {kOperator, kScales},
       [](const Row& r) { return (r[kOperator] == kConvInteger) == (r[kScales] == kNoScales); }},
      {"ConvInteger has no w scale, QLinearConv has one",
       {kOperator, kWScale},
       [](const Row& r) { return (r[kOperator] == kConvInteger) == (r[kWScale] == kNoWScale); }},
      {"ConvInteger has no bias",
       {kOperator, kBias},
       [](const Row& r) { return implies(r[kOperator] == kConvInteger, r[kBias] == kNoBias); }},
      {"QLinearConv requires an x zero point",
       {kOperator, kXZeroPoint},
       [](const Row& r) { return implies(r[kOperator] == kQLinearConv, r[kXZeroPoint] != kOmitted); }},
      {"QLinearConv requires a w zero point",
       {kOperator, kWZeroPoint},
       [](const Row& r) { return implies(r[kOperator] == kQLinearConv, r[kWZeroPoint] != kOmitted); }},
  };
}

std::vector<Constraint> geometry_constraints() {
  return {
      {"one axis is not uneven",
       {kRank, kKernel, kStride, kDilation},
       [](const Row& r) {
         return r[kRank] > 0 ||
                (r[kKernel] != kUneven && r[kStride] != kStrideUneven && r[kDilation] != kDilationUneven);
       }},
      {"a kernel of 1 has a stride of 1, or one beyond itself",
       {kKernel, kStride},
       [](const Row& r) {
         return implies(r[kKernel] == kPointwise, r[kStride] == kStride1 || r[kStride] == kStrideBeyond);
       }},
      {"pads of a kernel of 1 are beyond it",
       {kKernel, kPads},
       [](const Row& r) { return implies(r[kKernel] == kPointwise, r[kPads] == kNoPads || r[kPads] == kPadsBeyond); }},
      {"auto_pad excludes pads",
       {kAutoPad, kPads},
       [](const Row& r) { return implies(r[kAutoPad] != kNotSet, r[kPads] == kNoPads); }},
      {"with pads beyond the kernel, one axis of stride 1 has two outputs or more",
       {kRank, kPads, kStride, kWidth},
       [](const Row& r) {
         return r[kRank] > 0 || r[kPads] != kPadsBeyond || r[kStride] != kStride1 || kWidths[r[kWidth]] > 1;
       }},
  };
}

std::vector<Constraint> parameter_constraints() {
  return {
      {"group divides C and M",
       {kGroup, kInputChannels, kOutputChannels},
       [](const Row& r) { return !channels_of(r[kGroup], r[kInputChannels], r[kOutputChannels]).empty(); }},
      {"distinct w zero points are per channel",
       {kWParameters, kWZeroPoint},
       [](const Row& r) { return implies(r[kWZeroPoint] == kDistinct, r[kWParameters] == kPerChannel); }},
      {"an omitted w zero point has no channels",
       {kWParameters, kWZeroPoint},
       [](const Row& r) { return implies(r[kWZeroPoint] == kOmitted, r[kWParameters] == kPerTensor); }},
      {"distinct w scales are per channel",
       {kWParameters, kWScale},
       [](const Row& r) { return implies(r[kWScale] == kDistinctScales, r[kWParameters] == kPerChannel); }},
      {"distinct w zero points are of two channels or more",
       {kOutputChannels, kWZeroPoint},
       [](const Row& r) { return implies(r[kWZeroPoint] == kDistinct, r[kOutputChannels] != kOneChannel); }},
      {"distinct w scales are of two channels or more",
       {kOutputChannels, kWScale},
       [](const Row& r) { return implies(r[kWScale] == kDistinctScales, r[kOutputChannels] != kOneChannel); }},
      // All sums have one sign if the operands less their zero points have.
      {"sums of one sign need a bias to leave the end of y's range that they saturate at",
       {kOperator, kXZeroPoint, kWZeroPoint, kYZeroPoint, kBias},
       [](const Row& r) {
         const auto sign = [](std::uint8_t zero_point) {
           return zero_point == kLow ? 1 : zero_point == kHigh ? -1 : 0;
         };
         const int sums = sign(r[kXZeroPoint]) * sign(r[kWZeroPoint]);
         return r[kOperator] == kConvInteger || r[kBias] != kNoBias || sums == 0 || sums != -sign(r[kYZeroPoint]);
       }},
  };
}

// Not much beyond the widest vectors' 32 lanes; a depth multiplier goes twice as far.
constexpr std::int64_t kMostChannels = 49;
constexpr std::int64_t kMostMultiplied = 98;

using ChannelTable = std::array<std::vector<Channels>, kGroupClasses * kChannelClasses * kChannelClasses>;

std::size_t table_index(std::uint8_t group, std::uint8_t input, std::uint8_t output) {
  return (group * kChannelClasses + input) * kChannelClasses + output;
}

ChannelTable tabulate_channels() {
  ChannelTable table;
  for (std::int64_t c = 1; c <= kMostChannels; ++c) {
    for (std::int64_t group = 1; group <= c; ++group) {
      if (c % group != 0) continue;
      for (std::int64_t m = group; m <= (group == c ? kMostMultiplied : kMostChannels); m += group) {
        if (group == 1 && m > kMostChannels) break;
        const Channels channels{group, c, m};
        table[table_index(group_class(channels), channel_class(c), channel_class(m))].push_back(channels);
      }
    }
  }
  for (auto& list : table) {
    std::stable_sort(list.begin(), list.end(), [](const Channels& a, const Channels& b) {
      return a.input * a.output * b.group < b.input * b.output * a.group;
    });
  }
  return table;
}

}  // namespace

std::uint8_t channel_class(std::int64_t channels) {
  if (channels == 1) return kOneChannel;
  if (channels <= 3) return 1;
  switch (channels % 4) {
    case 0: return channels % 32 == 0 ? 5 : channels % 16 == 0 ? 4 : channels % 8 == 0 ? 3 : 2;
    case 1: return (channels - 1) % 16 == 0 ? 8 : 7;
    case 2: return 6;
    default: return (channels + 1) % 16 == 0 ? 10 : 9;
  }
}

void set_channels(reference::ConvolutionGeometry& sizes, const Channels& channels) {
  sizes.group = channels.group;
  sizes.input_channels = channels.input;
  sizes.output_channels = channels.output;
}

GroupClass group_class(const Channels& channels) {
  if (channels.group == 1) return kOneGroup;
  if (channels.group < channels.input) return kSomeGroups;
  return channels.output == channels.group ? kDepthwise : kDepthMultiplier;
}

const std::vector<Channels>& channels_of(std::uint8_t group, std::uint8_t input, std::uint8_t output) {
  static const ChannelTable table = tabulate_channels();
  return table[table_index(group, input, output)];
}

const Model& model() {
  static const Model built = [] {
    Model model{"convolutions", parameters(), operator_constraints()};
    for (const auto& more : {geometry_constraints(), parameter_constraints()}) {
      model.constraints.insert(model.constraints.end(), more.begin(), more.end());
    }
    return model;
  }();
  return built;
}

namespace {

using reference::SpatialAxis;
using Axes = std::vector<SpatialAxis>;

template <typename Predicate>
bool all(const Axes& axes, Predicate predicate) {
  return std::all_of(axes.begin(), axes.end(), predicate);
}
template <typename Predicate>
bool any(const Axes& axes, Predicate predicate) {
  return std::any_of(axes.begin(), axes.end(), predicate);
}

std::uint8_t kernel_class(const Axes& axes) {
  if (axes.back().kernel >= 5) return kLarge;
  if (all(axes, [](const SpatialAxis& a) { return a.kernel == 1; })) return kPointwise;
  if (all(axes, [](const SpatialAxis& a) { return a.kernel % 2 == 0; })) return kEven;
  return all(axes, [](const SpatialAxis& a) { return a.kernel == 3; }) ? kThree : kUneven;
}

// 0, 1 or 2 for 1, 2, 3 or more on every axis; 3 for uneven.
std::uint8_t steps_class(const Axes& axes, std::int64_t SpatialAxis::*step) {
  const std::int64_t first = axes[0].*step;
  if (any(axes, [&](const SpatialAxis& a) { return a.*step != first; })) return 3;
  return static_cast<std::uint8_t>(std::min<std::int64_t>(first, 3) - 1);
}

std::uint8_t stride_class(const Axes& axes) {
  const bool beyond = any(axes, [](const SpatialAxis& a) { return a.stride > a.kernel_extent(); });
  return beyond ? std::uint8_t{kStrideBeyond} : steps_class(axes, &SpatialAxis::stride);
}

std::uint8_t pads_class(const Axes& axes) {
  if (all(axes, [](const SpatialAxis& a) { return a.pad_begin == 0 && a.pad_end == 0; })) return kNoPads;
  if (any(axes, [](const SpatialAxis& a) { return std::max(a.pad_begin, a.pad_end) >= a.kernel_extent(); })) {
    return kPadsBeyond;
  }
  if (all(axes, [](const SpatialAxis& a) { return a.pad_begin == a.pad_end; })) return kSymmetric;
  return all(axes, [](const SpatialAxis& a) { return a.pad_begin == 0; }) ? kEndOnly : kAsymmetric;
}

std::int64_t step_of(Rng& rng, std::uint8_t step_class, std::size_t axis, std::size_t odd_one) {
  if (step_class < 3) return step_class + 1;
  return axis == odd_one ? rng.between(2, 3) : 1;
}

// A kernel whose extent is `least` or more, of the class.
std::int64_t draw_kernel(Rng& rng, std::uint8_t kernel, bool last, bool odd_one, std::int64_t dilation,
                         std::int64_t least) {
  const auto reaches = [&](std::int64_t k) { return (k - 1) * dilation + 1 >= least; };
  switch (kernel) {
    case kPointwise: return 1;
    case kEven: return reaches(2) && rng.chance(3, 4) ? 2 : 4;
    case kThree: return 3;
    // The odd one has 3, the others 2 or, where that is too little, 4.
    case kUneven: return odd_one ? 3 : reaches(2) ? 2 : 4;
    default: return last ? rng.between(5, 7) : reaches(2) ? 2 : 3;
  }
}

// The strides that are not beyond the kernel must not be by accident.
std::int64_t least_extent(std::uint8_t stride, bool odd_stride) {
  switch (stride) {
    case kStride2: return 2;
    case kStride3: return 3;
    case kStrideUneven: return odd_stride ? 3 : 1;
    default: return 1;
  }
}

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Pads below the kernel's extent, which is 2 or more; `first`: on the axis that must have them. `behind`: those beyond
// it.
Pads draw_pads(Rng& rng, std::uint8_t pads, std::int64_t extent, bool first, bool behind) {
  const std::int64_t most = extent - 1;
  switch (pads) {
    case kSymmetric: {
      const std::int64_t pad = rng.between(first ? 1 : 0, most);
      return {pad, pad};
    }
    case kEndOnly: return {0, rng.between(first ? 1 : 0, most)};
    case kAsymmetric: {
      const std::int64_t begin = rng.between(first ? 1 : 0, most);
      const std::int64_t end = rng.between(0, most);
      return {begin, end == begin && first ? begin - 1 : end};
    }
    case kPadsBeyond: {
      if (!first) return {};
      const Pads before{extent + rng.between(0, 1), rng.between(0, 1)};
      return behind ? Pads{before.end, before.begin} : before;
    }
    default: return {};
  }
}

// The input that gives the axis its output, with up to stride - 1 elements that no window begins at.
std::int64_t input_for(const SpatialAxis& axis, bool same, std::int64_t slack) {
  if (same) return (axis.output - 1) * axis.stride + 1 + slack;
  return (axis.output - 1) * axis.stride + axis.kernel_extent() - axis.pad_begin - axis.pad_end + slack;
}

// Sets pads and input; false when these pads leave no input.
bool place(Rng& rng, std::uint8_t pads_class, bool same, bool first, bool pads_behind, SpatialAxis& axis) {
  const Pads pads = draw_pads(rng, pads_class, axis.kernel_extent(), first, pads_behind);
  axis.pad_begin = pads.begin;
  axis.pad_end = pads.end;
  axis.input = input_for(axis, same, rng.between(0, axis.stride - 1));
  return axis.input >= 1;
}

Axes draw_once(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  const std::size_t rank = row[kRank] + std::size_t{1};
  const auto count = static_cast<std::uint32_t>(rank);
  const std::size_t odd_stride = rng.below(count);
  const std::size_t odd_dilation = rng.below(count);
  const std::size_t odd_kernel = rng.below(count);
  const std::size_t padded = rng.below(count);
  const bool same = row[kAutoPad] == kSameUpper || row[kAutoPad] == kSameLower;
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool last = i + 1 == rank;
    SpatialAxis axis{};
    axis.dilation = step_of(rng, row[kDilation], i, odd_dilation);
    const std::int64_t least = least_extent(row[kStride], i == odd_stride);
    axis.kernel = draw_kernel(rng, row[kKernel], last, i == odd_kernel, axis.dilation, least);
    const bool beyond = row[kStride] == kStrideBeyond;
    axis.stride = !beyond           ? step_of(rng, row[kStride], i, odd_stride)
                  : i == odd_stride ? axis.kernel_extent() + rng.between(1, 2)
                                    : rng.between(1, 2);
    axis.output = last ? kWidths[row[kWidth]] : rng.between(1, std::clamp<std::int64_t>(positions, 1, 4));
    if (!last) positions /= axis.output;
    const bool placed = place(rng, row[kPads], same, i == padded, pads_behind, axis);
    if (!placed) return {};
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

void classify_axes(const Axes& axes, Row& row) {
  row[kRank] = static_cast<std::uint8_t>(axes.size() - 1);
  row[kKernel] = kernel_class(axes);
  row[kStride] = stride_class(axes);
  row[kDilation] = steps_class(axes, &SpatialAxis::dilation);
  row[kPads] = pads_class(axes);
  const auto* const width = std::find(std::begin(kWidths), std::end(kWidths), axes.back().output);
  row[kWidth] = static_cast<std::uint8_t>(width - std::begin(kWidths));
}

Axes draw_axes(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  // Most draws succeed; a few have more padding than windows, or another class by chance.
  for (int attempt = 0; attempt < 10000; ++attempt) {
    // A little more room when it turns out that none is too little.
    const Axes axes = draw_once(rng, row, attempt < 16 ? positions : std::max<std::int64_t>(positions, 4), pads_behind);
    if (axes.empty()) continue;
    Row found(row);
    classify_axes(axes, found);
    if (found == row) return axes;
  }
  assert(false && "the model allows classes that no geometry has");
  return {};
}

}  // namespace qconform::sweep::convolution
