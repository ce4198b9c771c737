#include "harness/operators/convolution/sweep_model.h"

#include <algorithm>
#include <array>

namespace qconform::sweep::convolution {
namespace {

constexpr std::size_t kChannelClasses = 11;
constexpr std::size_t kGroupClasses = 4;

// Parameters in the order of Position, classes in the order of their enumerations.
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

bool implies(bool premise, bool conclusion) {
  return !premise || conclusion;
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

}  // namespace qconform::sweep::convolution
