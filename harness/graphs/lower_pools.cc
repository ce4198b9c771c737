// AveragePool, MaxPool and the global pools.
#include <fmt/format.h>

#include <algorithm>

#include "harness/graphs/node_operators.h"
#include "harness/graphs/window_attributes.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using reference::SpatialAxis;

// The window that ceil_mode adds to those that lie within the padded input.
bool add_last_window(const NodeLowering& node, SpatialAxis& axis) {
  const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  if ((padded - axis.kernel_extent()) % axis.stride == 0) return true;
  if (axis.output * axis.stride < axis.input + axis.pad_begin) {
    ++axis.output;
    return true;
  }
  if (node.opset() >= 22) return true;  // it would start in the padding at the end, and is ignored
  return node.limit("ceil_mode", "whether a window that starts in the padding counts is open before opset 22");
}

bool check_windows(const NodeLowering& node, const SpatialAxis& axis) {
  for (std::int64_t position = 0; position < axis.output; ++position) {
    const auto range = axis.taps_inside(position);
    if (range.begin >= range.end) return node.limit("pads", "a window lies in the padding");
  }
  return true;
}

std::optional<std::vector<SpatialAxis>> read_windows(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  const auto* kernel = node.get<std::vector<std::int64_t>>("kernel_shape");
  if (kernel == nullptr) return node.signature("kernel_shape", "is required"), std::nullopt;
  if (x.size() < 3) return node.violate("X", "expected rank 3 or more, got shape " + shape_text(x)), std::nullopt;
  if (kernel->size() != x.size() - 2 || std::any_of(kernel->begin(), kernel->end(), [](auto k) { return k < 1; })) {
    node.violate("kernel_shape", fmt::format("expected {} values of 1 or more", x.size() - 2));
    return std::nullopt;
  }
  // The windows of a convolution with one channel.
  Shape plane{1, 1};
  plane.insert(plane.end(), x.begin() + 2, x.end());
  Shape weights{1, 1};
  weights.insert(weights.end(), kernel->begin(), kernel->end());
  auto attributes = window_attributes(node);
  attributes.kernel_shape.reset();
  const bool ceil_mode = node.get_or<std::int64_t>("ceil_mode", 0) != 0;
  if (ceil_mode && attributes.auto_pad != "NOTSET") {
    return node.limit("ceil_mode", "is not judged beside auto_pad"), std::nullopt;
  }
  reference::Contract contract;
  auto geometry = resolve_geometry(plane, weights, attributes, contract);
  if (!geometry && ceil_mode && contract.violation->rule == "C6") contract.violation->rule = "limit";
  if (!node.absorb(std::move(contract))) return std::nullopt;
  for (SpatialAxis& axis : geometry->axes) {
    if (ceil_mode && !add_last_window(node, axis)) return std::nullopt;
  }
  return std::move(geometry->axes);
}

Shape pooled_shape(const Shape& x, const std::vector<SpatialAxis>& axes) {
  Shape shape{x[0], x[1]};
  for (const SpatialAxis& axis : axes) shape.push_back(axis.output);
  return shape;
}

bool check_pool(const NodeLowering& node, const std::vector<SpatialAxis>& axes) {
  if (!node.claim(pooled_shape(node.shape(0), axes))) return false;
  return std::all_of(axes.begin(), axes.end(), [&](const SpatialAxis& axis) { return check_windows(node, axis); });
}

// How many elements each window is divided by, for the positions of one channel.
std::optional<std::vector<std::int32_t>> divisors_of(const NodeLowering& node, const std::vector<SpatialAxis>& axes) {
  const bool counts_padding = node.get_or<std::int64_t>("count_include_pad", 0) != 0;
  std::vector<std::int32_t> divisors{1};
  for (const SpatialAxis& axis : axes) {
    std::vector<std::int32_t> wider;
    wider.reserve(divisors.size() * static_cast<std::size_t>(axis.output));
    const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
    if (counts_padding && (axis.output - 1) * axis.stride + axis.kernel_extent() > padded) {
      node.limit("count_include_pad", "is not judged where ceil_mode adds a window that leaves the padding");
      return std::nullopt;
    }
    for (const std::int32_t divisor : divisors) {
      for (std::int64_t position = 0; position < axis.output; ++position) {
        const auto range = axis.taps_inside(position);
        const std::int64_t taps = counts_padding ? axis.kernel : range.end - range.begin;
        wider.push_back(divisor * static_cast<std::int32_t>(taps));
      }
    }
    divisors.swap(wider);
  }
  for (const std::int32_t divisor : divisors) node.multiplies_by(divisor);
  return divisors;
}

bool emit_average(const NodeLowering& node, std::vector<SpatialAxis> axes) {
  if (!check_pool(node, axes)) return false;
  const auto divisors = divisors_of(node, axes);
  if (!divisors) return false;
  Shape shape = pooled_shape(node.shape(0), axes);
  WeightedSum sum{.taps = WindowTaps{std::move(axes)}, .has_factor = false};
  const std::int64_t channels = shape[0] * shape[1];
  sum.divisor.reserve(divisors->size() * static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < channels; ++i) sum.divisor.insert(sum.divisor.end(), divisors->begin(), divisors->end());
  return node.emit(std::move(sum), {node.id(0)}, std::move(shape));
}

bool emit_maximum(const NodeLowering& node, std::vector<SpatialAxis> axes) {
  if (!check_pool(node, axes)) return false;
  Shape shape = pooled_shape(node.shape(0), axes);
  return node.emit(Extreme{.taps = WindowTaps{std::move(axes)}}, {node.id(0)}, std::move(shape));
}

bool lower_average_pool(const NodeLowering& node) {
  auto axes = read_windows(node);
  return axes && emit_average(node, std::move(*axes));
}

bool lower_max_pool(const NodeLowering& node) {
  if (node.node().outputs.size() > 1 && !node.node().outputs[1].empty()) {
    return node.limit("outputs", "Indices are not judged");
  }
  auto axes = read_windows(node);
  return axes && emit_maximum(node, std::move(*axes));
}

// One window over the whole input.
std::optional<std::vector<SpatialAxis>> whole_window(const NodeLowering& node) {
  const Shape& x = node.shape(0);
  if (x.size() < 2) return node.violate("X", "expected rank 2 or more, got shape " + shape_text(x)), std::nullopt;
  std::vector<SpatialAxis> axes;
  for (std::size_t d = 2; d < x.size(); ++d) {
    axes.push_back(
        {.input = x[d], .kernel = x[d], .stride = 1, .dilation = 1, .pad_begin = 0, .pad_end = 0, .output = 1});
  }
  return axes;
}

bool lower_global_average(const NodeLowering& node) {
  auto axes = whole_window(node);
  return axes && emit_average(node, std::move(*axes));
}

bool lower_global_maximum(const NodeLowering& node) {
  auto axes = whole_window(node);
  return axes && emit_maximum(node, std::move(*axes));
}

using namespace node_types;

constexpr AttributeSignature kAverage[] = {
    {"auto_pad", kStringAttribute},   {"ceil_mode", kIntAttribute}, {"count_include_pad", kIntAttribute},
    {"kernel_shape", kIntsAttribute}, {"pads", kIntsAttribute},     {"strides", kIntsAttribute},
    {"dilations", kIntsAttribute}};
constexpr auto kAverage10 = std::span(kAverage).first(6);
constexpr AttributeSignature kMaximum[] = {{"auto_pad", kStringAttribute}, {"ceil_mode", kIntAttribute},
                                           {"dilations", kIntsAttribute},  {"kernel_shape", kIntsAttribute},
                                           {"pads", kIntsAttribute},       {"storage_order", kIntAttribute},
                                           {"strides", kIntsAttribute}};

constexpr NodeOperator average(std::int64_t since, TypeSet types, std::span<const AttributeSignature> attributes) {
  return {.name = "AveragePool",
          .since = since,
          .least_inputs = 1,
          .most_inputs = 1,
          .types = types,
          .attributes = attributes,
          .lower = lower_average_pool,
          .computes = true};
}
constexpr NodeOperator maximum(std::int64_t since, TypeSet types) {
  return {.name = "MaxPool",
          .since = since,
          .least_inputs = 1,
          .most_inputs = 1,
          .types = types,
          .attributes = kMaximum,
          .lower = lower_max_pool,
          .most_outputs = 2};
}
constexpr NodeOperator global(std::string_view name, std::int64_t since, TypeSet types,
                              bool (*lower)(const NodeLowering&)) {
  return {.name = name,
          .since = since,
          .least_inputs = 1,
          .most_inputs = 1,
          .types = types,
          .attributes = {},
          .lower = lower,
          .computes = true};
}

constexpr NodeOperator kPoolNodes[] = {
    average(10, kFloats, kAverage10),
    average(19, kFloats, kAverage),
    average(22, kFloats13, kAverage),
    maximum(10, kFloats),
    maximum(12, kFloats.with({int8, uint8})),
    maximum(22, kFloats13.with({int8, uint8})),
    global("GlobalAveragePool", 1, kFloats, lower_global_average),
    global("GlobalAveragePool", 22, kFloats13, lower_global_average),
    global("GlobalMaxPool", 1, kFloats, lower_global_maximum),
    global("GlobalMaxPool", 22, kFloats13, lower_global_maximum),
};

}  // namespace

std::span<const NodeOperator> pool_nodes() {
  return kPoolNodes;
}

}  // namespace qconform::lowering
