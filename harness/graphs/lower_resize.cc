// Resize, where the text leaves no choice: nearest where no rounding of a coordinate decides, linear where the
// coordinates have no rounding.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

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
    node.violate("coordinate_transformation_mode", fmt::format("\"{}\" is none at opset {}", mode, node.opset()));
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

struct ResizeTap {
  std::int64_t position;
  double weight;
};

// Returns the taps of each output position of an axis, one or two.
std::optional<std::vector<std::vector<ResizeTap>>> linear_taps(const NodeLowering& node, Coordinates coordinates,
                                                               const ResizedAxis& axis) {
  std::vector<std::vector<ResizeTap>> taps;
  taps.reserve(static_cast<std::size_t>(axis.output));
  for (std::int64_t i = 0; i < axis.output; ++i) {
    const auto ways = axis.is_same() ? std::array<double, 4>{} : originals(coordinates, axis, i);
    if (std::any_of(ways.begin(), ways.end(), [&](double x) { return x != ways[0]; })) {
      node.limit("scales", fmt::format("the weights of {} of {} depend on rounding", i, axis.output));
      return std::nullopt;
    }
    const double last = static_cast<double>(axis.input - 1);
    const double x = axis.is_same() ? static_cast<double>(i) : std::clamp(ways[0], 0.0, last);
    const auto low = static_cast<std::int64_t>(std::floor(x));
    const double weight = x - std::floor(x);
    taps.push_back(weight == 0 ? std::vector<ResizeTap>{{low, 1}}
                               : std::vector<ResizeTap>{{low, 1 - weight}, {low + 1, weight}});
  }
  return taps;
}

struct WeightedTaps {
  ListedTaps taps;
  std::vector<double> weights;
};

// One more axis, the last one so far.
WeightedTaps with_axis(const WeightedTaps& all, const std::vector<std::vector<ResizeTap>>& axis, std::int64_t extent) {
  WeightedTaps wider;
  for (std::size_t i = 0; i + 1 < all.taps.begin.size(); ++i) {
    for (const std::vector<ResizeTap>& taps : axis) {
      for (auto at = static_cast<std::size_t>(all.taps.begin[i]); at < static_cast<std::size_t>(all.taps.begin[i + 1]);
           ++at) {
        for (const ResizeTap& tap : taps) {
          wider.taps.index.push_back(all.taps.index[at] * extent + tap.position);
          wider.weights.push_back(all.weights[at] * tap.weight);
        }
      }
      wider.taps.begin.push_back(static_cast<std::int64_t>(wider.taps.index.size()));
    }
  }
  return wider;
}

bool emit_linear(const NodeLowering& node, Coordinates coordinates, const std::vector<ResizedAxis>& axes, Shape shape) {
  using enum ElementType;
  const ElementType type = node.type(0);
  if (type != float32 && !is_16bit_float(type)) {
    return node.limit("X", name_of(type) + " is not judged beside mode linear");
  }
  std::vector<std::vector<std::vector<ResizeTap>>> taps;
  std::int64_t count = 1;
  for (const ResizedAxis& axis : axes) {
    auto found = linear_taps(node, coordinates, axis);
    if (!found) return false;
    std::int64_t sum = 0;
    for (const auto& some : *found) sum += static_cast<std::int64_t>(some.size());
    count = saturating_product(count, sum);
    taps.push_back(std::move(*found));
  }
  if (!node.claim_taps(count)) return false;
  WeightedTaps all{{{0, 1}, {0}}, {1}};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) all = with_axis(all, taps[axis], axes[axis].input);
  for (const double weight : all.weights) {
    if (static_cast<float>(weight) != weight) return node.limit("scales", "the weights are no float32 numbers");
  }
  node.rounds();
  const Shape listed{static_cast<std::int64_t>(all.weights.size())};
  const ValueId weights = node.add_stated(float32, listed, std::move(all.weights));
  return node.emit(WeightedSum{.taps = std::move(all.taps)}, {node.id(0), weights}, std::move(shape));
}

bool check_choices(const NodeLowering& node, const std::string& mode) {
  if (mode != "nearest" && mode != "linear" && (mode != "cubic" || node.opset() < 11)) {
    return node.violate("mode", fmt::format("\"{}\" is none at opset {}", mode, node.opset()));
  }
  if (mode == "cubic") return node.limit("mode", "cubic is not judged");
  for (const char* name : {"antialias", "exclude_outside"}) {
    if (node.get_or<std::int64_t>(name, 0) != 0) return node.limit(name, "is not judged");
  }
  const std::string nearest_mode = node.get_or<std::string>("nearest_mode", "floor");
  if (nearest_mode != "round_prefer_floor" && nearest_mode != "round_prefer_ceil" && nearest_mode != "floor" &&
      nearest_mode != "ceil") {
    return node.violate("nearest_mode", fmt::format("\"{}\" is none", nearest_mode));
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
  return mode == "nearest" ? emit_nearest(node, *coordinates, *axes, std::move(shape))
                           : emit_linear(node, *coordinates, *axes, std::move(shape));
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
