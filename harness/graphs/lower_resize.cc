// Resize: nearest where no rounding of a coordinate decides, linear and cubic with weights that lie between those of
// the ways in which implementations compute coordinates.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "harness/graphs/node_lowering.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using List = std::vector<std::int64_t>;

struct ResizedAxis {
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::optional<float> scale;  // absent: output / input

  [[nodiscard]] bool is_same() const { return input == output && (!scale || *scale == 1); }
};

enum class Coordinates { half_pixel, pytorch_half_pixel, asymmetric, align_corners, tf_half_pixel_for_nn };

// In one of the ways in which implementations compute it.
template <typename T>
T original(Coordinates mode, const ResizedAxis& axis, std::int64_t position, bool by_reciprocal) {
  const auto x = static_cast<T>(position);
  const auto in = static_cast<T>(axis.input);
  const auto out = static_cast<T>(axis.output);
  const T scale = axis.scale ? static_cast<T>(*axis.scale) : out / in;
  const auto unscaled = [&](T at) { return by_reciprocal ? at * (T{1} / scale) : at / scale; };
  constexpr auto kHalf = static_cast<T>(0.5);
  switch (mode) {
    case Coordinates::pytorch_half_pixel:
      if (axis.output <= 1) return 0;
      [[fallthrough]];
    case Coordinates::half_pixel: return unscaled(x + kHalf) - kHalf;
    case Coordinates::asymmetric: return unscaled(x);
    case Coordinates::tf_half_pixel_for_nn: return unscaled(x + kHalf);
    case Coordinates::align_corners: break;
  }
  if (axis.input == 1) return 0;  // of one output too, which others leave open
  return by_reciprocal ? x * ((in - 1) / (out - 1)) : x * (in - 1) / (out - 1);
}

std::array<double, 4> originals(Coordinates mode, const ResizedAxis& axis, std::int64_t position) {
  return {original<float>(mode, axis, position, false), original<float>(mode, axis, position, true),
          original<double>(mode, axis, position, false), original<double>(mode, axis, position, true)};
}

std::optional<Coordinates> read_coordinates(const NodeLowering& node) {
  if (node.opset() < 11) return Coordinates::asymmetric;
  const std::string mode = node.get_or<std::string>("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return Coordinates::half_pixel;
  if (mode == "pytorch_half_pixel") return Coordinates::pytorch_half_pixel;
  if (mode == "asymmetric") return Coordinates::asymmetric;
  if (mode == "align_corners") return Coordinates::align_corners;
  if (mode == "tf_half_pixel_for_nn" && node.opset() < 13) return Coordinates::tf_half_pixel_for_nn;
  const bool is_known = mode == "tf_crop_and_resize" || (mode == "half_pixel_symmetric" && node.opset() >= 19);
  if (is_known) {
    node.limit("coordinate_transformation_mode", mode + " is not judged");
  } else {
    node.violate("coordinate_transformation_mode",
                 fmt::format("expected a mode of opset {}, got \"{}\"", node.opset(), mode));
  }
  return std::nullopt;
}

bool scale_axis(const NodeLowering& node, float scale, ResizedAxis& axis) {
  if (!(scale > 0)) return node.violate("scales", fmt::format("expected positive scales, got {}", scale));
  const float narrow = std::floor(static_cast<float>(axis.input) * scale);
  const double wide = std::floor(static_cast<double>(axis.input) * scale);
  if (narrow != wide || !(wide < 0x1p31)) {
    return node.limit("scales", fmt::format("the size of {} elements by {} is open", axis.input, scale));
  }
  axis.scale = scale;
  axis.output = static_cast<std::int64_t>(wide);
  return true;
}

// The axes that scales and sizes are about, in their order.
std::optional<std::vector<std::size_t>> resized_axes(const NodeLowering& node) {
  const std::size_t rank = node.shape(0).size();
  const auto* stated = node.get<List>("axes");
  return node.axes(stated != nullptr ? *stated : counted(static_cast<std::int64_t>(rank)), rank, "axes");
}

bool has_elements(const NodeLowering& node, std::size_t input) {
  return node.has(input) && elements_of(node.shape(input)) != 0;
}

bool read_sizes(const NodeLowering& node, const std::vector<std::size_t>& axes, std::vector<ResizedAxis>& resized) {
  const auto sizes = node.integers(3, "sizes");
  if (!sizes) return false;
  if (sizes->size() != axes.size()) {
    return node.violate("sizes", fmt::format("expected {} values, got {}", axes.size(), sizes->size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if ((*sizes)[i] < 1) return node.violate("sizes", fmt::format("expected 1 or more, got {}", (*sizes)[i]));
    resized[axes[i]].output = (*sizes)[i];
  }
  return true;
}

bool read_scales(const NodeLowering& node, const std::vector<std::size_t>& axes, std::size_t input,
                 std::vector<ResizedAxis>& resized) {
  if (node.type(input) != ElementType::float32) return node.signature("scales", "expected element type float");
  const Tensor* scales = node.stated(input, "scales");
  if (scales == nullptr) return false;
  if (scales->elements() != static_cast<std::int64_t>(axes.size())) {
    return node.violate("scales", fmt::format("expected {} values, got {}", axes.size(), scales->elements()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!scale_axis(node, float_at(*scales, static_cast<std::int64_t>(i)), resized[axes[i]])) return false;
  }
  return true;
}

std::optional<std::vector<ResizedAxis>> read_resized_axes(const NodeLowering& node) {
  std::vector<ResizedAxis> resized;
  for (const std::int64_t extent : node.shape(0)) {
    if (extent == 0) return node.limit("X", "dimensions of 0 are not judged"), std::nullopt;
    resized.push_back({extent, extent, {}});
  }
  const auto axes = resized_axes(node);
  if (!axes) return std::nullopt;
  const std::size_t scales = node.opset() < 11 ? 1 : 2;
  const bool has_scales = has_elements(node, scales);
  if (has_scales == has_elements(node, 3)) {
    return node.violate("scales", "expected one of scales and sizes"), std::nullopt;
  }
  const bool is_read = has_scales ? read_scales(node, *axes, scales, resized) : read_sizes(node, *axes, resized);
  if (!is_read) return std::nullopt;
  return resized;
}

double nearest(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

std::optional<List> nearest_positions(const NodeLowering& node, Coordinates coordinates, const ResizedAxis& axis) {
  if (axis.is_same()) return counted(axis.input);
  const std::string stated = node.get_or<std::string>("nearest_mode", "round_prefer_floor");
  const std::string mode = node.opset() < 11 ? "floor" : stated;
  List positions;
  positions.reserve(static_cast<std::size_t>(axis.output));
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const auto ways = originals(coordinates, axis, i);
    const double chosen = nearest(mode, ways[0]);
    const bool is_one = std::all_of(ways.begin(), ways.end(), [&](double x) { return nearest(mode, x) == chosen; });
    // Nobody says what nearest is at opset 10, and for fewer elements implementations differ.
    const bool is_told = node.opset() >= 11 || axis.output >= axis.input || ways[0] == chosen;
    if (!is_one || !is_told) {
      node.limit("scales", fmt::format("which element is nearest to {} of {} is open", i, axis.output));
      return std::nullopt;
    }
    positions.push_back(std::clamp(static_cast<std::int64_t>(chosen), std::int64_t{0}, axis.input - 1));
  }
  return positions;
}

bool emit_nearest(const NodeLowering& node, Coordinates coordinates, const std::vector<ResizedAxis>& axes,
                  Shape shape) {
  std::vector<List> positions;
  for (const ResizedAxis& axis : axes) {
    auto found = nearest_positions(node, coordinates, axis);
    if (!found) return false;
    positions.push_back(std::move(*found));
  }
  return node.emit_move(std::move(shape), gathered(node.shape(0), positions));
}

// An element of an axis, and its share in one output position; the share is a range where coordinates are rounded.
struct ResizeTap {
  std::int64_t position;
  double low;
  double high;

  [[nodiscard]] bool is_exact() const { return low == high && static_cast<float>(low) == low; }
};
using TapsOfPosition = std::vector<ResizeTap>;

/// How neighbours are weighed.
struct Interpolation {
  bool is_cubic = false;
  double a = -0.75;  // cubic_coeff_a
};

// The weights around x, by position.
std::map<std::int64_t, double> weights_around(double x, const Interpolation& way, std::int64_t last) {
  std::map<std::int64_t, double> weights;
  const auto add = [&](std::int64_t position, double weight) {
    if (weight != 0) weights[std::clamp<std::int64_t>(position, 0, last)] += weight;
  };
  if (!way.is_cubic) x = std::clamp(x, 0.0, static_cast<double>(last));
  const auto low = static_cast<std::int64_t>(std::floor(x));
  const double t = x - std::floor(x);
  if (!way.is_cubic) {
    add(low, 1 - t);
    add(low + 1, t);
    return weights;
  }
  const double a = way.a;
  const auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  add(low - 1, far(1 + t));
  add(low, near(t));
  add(low + 1, near(1 - t));
  add(low + 2, far(2 - t));
  return weights;
}

// By all ways to compute the coordinate. Those that differ, and weights that float32 rounds, stand for others: formulas
// with a few roundings more, whose coordinates lie that far off.
TapsOfPosition taps_of_position(const std::array<double, 4>& coordinates, const Interpolation& way, std::int64_t last) {
  std::map<std::int64_t, std::pair<double, double>> ranges;
  std::map<std::int64_t, std::size_t> seen;
  for (const double x : coordinates) {
    for (const auto& [position, weight] : weights_around(x, way, last)) {
      const auto [range, is_new] = ranges.emplace(position, std::pair(weight, weight));
      range->second.first = std::min(range->second.first, weight);
      range->second.second = std::max(range->second.second, weight);
      ++seen[position];
    }
  }
  TapsOfPosition taps;
  for (const auto& [position, range] : ranges) {
    const bool is_sure = seen[position] == coordinates.size();
    taps.push_back({position, is_sure ? range.first : std::min(range.first, 0.0),
                    is_sure ? range.second : std::max(range.second, 0.0)});
  }
  if (std::all_of(taps.begin(), taps.end(), [](const ResizeTap& tap) { return tap.is_exact(); })) return taps;
  const double roundings = way.is_cubic ? 32 : 4;
  const double slack = std::ldexp(roundings * std::max(1.0, std::fabs(coordinates[0])), -24);
  for (ResizeTap& tap : taps) {
    tap.low -= slack;
    tap.high += slack;
  }
  return taps;
}

std::vector<TapsOfPosition> taps_of_axis(Coordinates coordinates, const Interpolation& way, const ResizedAxis& axis) {
  std::vector<TapsOfPosition> taps;
  taps.reserve(static_cast<std::size_t>(axis.output));
  for (std::int64_t i = 0; i < axis.output; ++i) {
    taps.push_back(axis.is_same() ? TapsOfPosition{{i, 1, 1}}
                                  : taps_of_position(originals(coordinates, axis, i), way, axis.input - 1));
  }
  return taps;
}

struct WeightedTaps {
  ListedTaps taps;
  std::vector<double> low;
  std::vector<double> high;
};

// One more axis, the last one so far.
WeightedTaps with_axis(const WeightedTaps& all, const std::vector<TapsOfPosition>& axis, std::int64_t extent) {
  WeightedTaps wider;
  for (std::size_t i = 0; i + 1 < all.taps.begin.size(); ++i) {
    for (const TapsOfPosition& taps : axis) {
      for (auto at = static_cast<std::size_t>(all.taps.begin[i]); at < static_cast<std::size_t>(all.taps.begin[i + 1]);
           ++at) {
        for (const ResizeTap& tap : taps) {
          const auto [low, high] = std::minmax(
              {all.low[at] * tap.low, all.low[at] * tap.high, all.high[at] * tap.low, all.high[at] * tap.high});
          wider.taps.index.push_back(all.taps.index[at] * extent + tap.position);
          wider.low.push_back(low);
          wider.high.push_back(high);
        }
      }
      wider.taps.begin.push_back(static_cast<std::int64_t>(wider.taps.index.size()));
    }
  }
  return wider;
}

// The weights as a value: ranges allow for the rounding of products of several axes' weights and of sums by axis.
std::optional<ValueId> stated_weights(const NodeLowering& node, WeightedTaps& all) {
  constexpr double kRoundings = 8.0 / 0x1p24;
  const Shape listed{static_cast<std::int64_t>(all.low.size())};
  bool is_exact = true;
  for (std::size_t i = 0; i < all.low.size(); ++i) {
    is_exact = is_exact && ResizeTap{0, all.low[i], all.high[i]}.is_exact();
  }
  for (std::size_t i = 0; !is_exact && i < all.low.size(); ++i) {
    const double room = kRoundings * std::max(std::fabs(all.low[i]), std::fabs(all.high[i]));
    all.low[i] = static_cast<double>(static_cast<float>(all.low[i] - room));
    all.high[i] = static_cast<double>(static_cast<float>(all.high[i] + room));
  }
  const ValueId low = node.add_stated(ElementType::float32, listed, std::move(all.low));
  if (is_exact) return low;
  const ValueId high = node.add_stated(ElementType::float32, listed, std::move(all.high));
  return node.compute(Elementwise{.function = Function::either}, {low, high}, listed, ElementType::float32);
}

bool emit_weighted(const NodeLowering& node, Coordinates coordinates, const Interpolation& way,
                   const std::vector<ResizedAxis>& axes, Shape shape) {
  using enum ElementType;
  const ElementType type = node.type(0);
  if (type != float32 && !is_16bit_float(type)) {
    return node.limit("X", name_of(type) + " is not judged beside modes linear and cubic");
  }
  std::vector<std::vector<TapsOfPosition>> taps;
  std::int64_t count = 1;
  for (const ResizedAxis& axis : axes) {
    taps.push_back(taps_of_axis(coordinates, way, axis));
    std::int64_t sum = 0;
    for (const TapsOfPosition& some : taps.back()) sum += static_cast<std::int64_t>(some.size());
    count = saturating_product(count, sum);
  }
  if (!node.claim_taps(saturating_product(count, 2))) return false;
  WeightedTaps all{{{0, 1}, {0}}, {1}, {1}};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) all = with_axis(all, taps[axis], axes[axis].input);
  node.rounds();
  const auto weights = stated_weights(node, all);
  if (!weights) return false;
  return node.emit(WeightedSum{.taps = std::move(all.taps)}, {node.id(0), *weights}, std::move(shape));
}

bool check_choices(const NodeLowering& node, const std::string& mode) {
  if (mode != "nearest" && mode != "linear" && (mode != "cubic" || node.opset() < 11)) {
    return node.violate("mode", fmt::format("expected a mode of opset {}, got \"{}\"", node.opset(), mode));
  }
  for (const char* name : {"antialias", "exclude_outside"}) {
    if (node.get_or<std::int64_t>(name, 0) != 0) return node.limit(name, "is not judged");
  }
  const std::string nearest_mode = node.get_or<std::string>("nearest_mode", "floor");
  if (nearest_mode != "round_prefer_floor" && nearest_mode != "round_prefer_ceil" && nearest_mode != "floor" &&
      nearest_mode != "ceil") {
    return node.violate(
        "nearest_mode",
        fmt::format("expected round_prefer_floor, round_prefer_ceil, floor or ceil, got \"{}\"", nearest_mode));
  }
  const std::string policy = node.get_or<std::string>("keep_aspect_ratio_policy", "stretch");
  return policy == "stretch" || node.limit("keep_aspect_ratio_policy", policy + " is not judged");
}

bool lower_resize(const NodeLowering& node) {
  const std::string mode = node.get_or<std::string>("mode", "nearest");
  if (!check_choices(node, mode)) return false;
  const auto coordinates = read_coordinates(node);
  if (!coordinates) return false;
  const auto axes = read_resized_axes(node);
  if (!axes) return false;
  Shape shape;
  for (const ResizedAxis& axis : *axes) {
    if (*coordinates == Coordinates::align_corners && axis.output == 1 && axis.input != 1) {
      return node.limit("coordinate_transformation_mode", "align_corners of one element is open");
    }
    shape.push_back(axis.output);
  }
  if (!node.claim(shape)) return false;
  if (mode == "nearest") return emit_nearest(node, *coordinates, *axes, std::move(shape));
  const Interpolation way{mode == "cubic", static_cast<double>(node.get_or<float>("cubic_coeff_a", -0.75F))};
  return emit_weighted(node, *coordinates, way, *axes, std::move(shape));
}

using namespace node_types;

// In the order in which versions added them.
constexpr AttributeSignature kResizeAttributes[] = {{"mode", kStringAttribute},
                                                    {"coordinate_transformation_mode", kStringAttribute},
                                                    {"cubic_coeff_a", kFloatAttribute},
                                                    {"exclude_outside", kIntAttribute},
                                                    {"extrapolation_value", kFloatAttribute},
                                                    {"nearest_mode", kStringAttribute},
                                                    {"antialias", kIntAttribute},
                                                    {"axes", kIntsAttribute},
                                                    {"keep_aspect_ratio_policy", kStringAttribute}};

constexpr NodeOperator resize(std::int64_t since, TypeSet types, std::size_t least, std::size_t most,
                              std::size_t attributes) {
  return {.name = "Resize",
          .since = since,
          .least_inputs = least,
          .most_inputs = most,
          .types = types,
          .attributes = std::span(kResizeAttributes).first(attributes),
          .lower = lower_resize,
          .like_first = 1};
}

constexpr NodeOperator kResizeNodes[] = {resize(10, kAll, 2, 2, 1), resize(11, kAll, 3, 4, 6),
                                         resize(13, kAll13, 1, 4, 6), resize(18, kAll13, 1, 4, 9)};

}  // namespace

std::span<const NodeOperator> resize_nodes() {
  return kResizeNodes;
}

}  // namespace qconform::lowering
