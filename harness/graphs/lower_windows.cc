// Conv, ConvTranspose, AveragePool, MaxPool and the global pools.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/graphs/node_lowering.h"
#include "reference/convolution/geometry.h"

namespace qconform::lowering {

// The attributes of windows, which convolutions and pools share.

/// As the node states them.
[[nodiscard]] reference::ConvolutionAttributes window_attributes(const NodeLowering& node);

/// One value for each of `rank` spatial dimensions.
struct WindowLists {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> output_padding;
  std::vector<std::int64_t> pad_begin;
  std::vector<std::int64_t> pad_end;
};
/// With what is absent filled in; strides and dilations are 1 or more, the others 0 or more, all below 2^31.
[[nodiscard]] std::optional<WindowLists> window_lists(const NodeLowering& node, std::size_t rank);

namespace {

using List = std::vector<std::int64_t>;

std::optional<List> optional_list(const NodeLowering& node, std::string_view name) {
  const auto* list = node.get<List>(name);
  return list == nullptr ? std::nullopt : std::optional(*list);
}

bool read_list(const NodeLowering& node, std::string_view name, std::size_t count, std::int64_t smallest, List& to) {
  const auto* list = node.get<List>(name);
  if (list == nullptr) {
    to.assign(count, smallest);
    return true;
  }
  if (list->size() != count) {
    return node.violate(name, fmt::format("expected {} values, got {}", count, list->size()));
  }
  for (const std::int64_t value : *list) {
    if (value < smallest) return node.violate(name, fmt::format("expected {} or more, got {}", smallest, value));
    if (value >= reference::kMaxAttributeValue) return node.limit(name, fmt::format("{} is not judged", value));
  }
  to = *list;
  return true;
}

}  // namespace

reference::ConvolutionAttributes window_attributes(const NodeLowering& node) {
  return {.auto_pad = node.get_or<std::string>("auto_pad", "NOTSET"),
          .group = node.get_or<std::int64_t>("group", 1),
          .kernel_shape = optional_list(node, "kernel_shape"),
          .strides = optional_list(node, "strides"),
          .dilations = optional_list(node, "dilations"),
          .pads = optional_list(node, "pads")};
}

std::optional<WindowLists> window_lists(const NodeLowering& node, std::size_t rank) {
  const std::string auto_pad = node.get_or<std::string>("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER" && auto_pad != "VALID") {
    node.violate("auto_pad", fmt::format("expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got \"{}\"", auto_pad));
    return std::nullopt;
  }
  WindowLists lists;
  List pads;
  if (!read_list(node, "strides", rank, 1, lists.strides) || !read_list(node, "dilations", rank, 1, lists.dilations) ||
      !read_list(node, "output_padding", rank, 0, lists.output_padding) ||
      !read_list(node, "pads", 2 * rank, 0, pads)) {
    return std::nullopt;
  }
  if (auto_pad != "NOTSET" && std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; })) {
    node.violate("pads", fmt::format("cannot be used together with auto_pad {}", auto_pad));
    return std::nullopt;
  }
  lists.pad_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  lists.pad_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  return lists;
}

// Conv and ConvTranspose.

namespace {

using namespace reference::graph;
using reference::ConvolutionGeometry;
using reference::SpatialAxis;

// The channel of each output element.
std::vector<std::int64_t> channel_index(const ConvolutionGeometry& geometry) {
  return strided({geometry.batch, geometry.output_channels, geometry.output_positions()}, {0, 1, 0});
}

bool check_bias(const NodeLowering& node, std::int64_t channels) {
  if (!node.has(2) || node.shape(2) == Shape{channels}) return true;
  return node.violate("B", fmt::format("expected shape [{}], got {}", channels, shape_text(node.shape(2))));
}

template <typename Taps>
bool emit_sum(const NodeLowering& node, ConvolutionGeometry geometry) {
  if (!check_bias(node, geometry.output_channels)) return false;
  Shape shape = geometry.output_shape();
  const auto elements = node.claim(shape);
  if (!elements) return false;
  WeightedSum sum{.taps = Taps{std::move(geometry)}};
  std::vector<ValueId> operands{node.id(0), node.id(1)};
  if (node.has(2)) {
    sum.c_index = channel_index(std::get<Taps>(sum.taps).geometry);
    operands.push_back(node.id(2));
  }
  node.check_bias_scales(sum, operands, *elements);
  return node.emit(std::move(sum), std::move(operands), std::move(shape));
}

bool lower_conv(const NodeLowering& node) {
  reference::Contract contract;
  auto geometry = resolve_geometry(node.shape(0), node.shape(1), window_attributes(node), contract);
  return node.absorb(std::move(contract)) && emit_sum<ConvolutionTaps>(node, std::move(*geometry));
}

bool check_transposed_shapes(const NodeLowering& node, std::int64_t group) {
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  if (x.size() < 3) return node.violate("X", "expected rank 3 or more, got shape " + shape_text(x));
  if (w.size() != x.size()) return node.violate("W", "expected the rank of X, got shape " + shape_text(w));
  if (w[0] != x[1]) {
    return node.violate("W", fmt::format("expected shape[0] = X.shape[1] = {}, got {}", x[1], w[0]));
  }
  if (group < 1 || x[1] % group != 0) {
    return node.violate("group", fmt::format("expected a divisor of the {} input channels, got {}", x[1], group));
  }
  if (std::find(x.begin(), x.end(), 0) != x.end() || std::find(w.begin(), w.end(), 0) != w.end()) {
    return node.limit("X", "dimensions of 0 are not judged");
  }
  const auto* kernel = node.get<std::vector<std::int64_t>>("kernel_shape");
  if (kernel != nullptr && !std::equal(kernel->begin(), kernel->end(), w.begin() + 2, w.end())) {
    return node.violate("kernel_shape", fmt::format("expected W.shape[2:], got [{}]", fmt::join(*kernel, ", ")));
  }
  return true;
}

// Padding that the output's size asks for; the text of opset 10 puts the odd one at the other side.
bool pad_to_size(const NodeLowering& node, const std::string& auto_pad, std::int64_t full, SpatialAxis& axis) {
  if (axis.output < 1 || axis.output > full) {
    return node.limit("output_shape", fmt::format("{} of at most {} is not judged", axis.output, full));
  }
  const std::int64_t total = full - axis.output;
  if (total % 2 != 0 && !auto_pad.starts_with("SAME")) {
    return node.limit("output_shape", "which side an odd padding goes to is told in two ways");
  }
  if (total % 2 != 0 && node.opset() < 11) return node.limit("auto_pad", "opset 10 leaves open where odd padding goes");
  axis.pad_begin = auto_pad == "SAME_LOWER" ? total - total / 2 : total / 2;
  axis.pad_end = total - axis.pad_begin;
  return true;
}

bool resolve_transposed_axis(const NodeLowering& node, const WindowLists& lists, std::size_t d, SpatialAxis& axis) {
  const std::string auto_pad = node.get_or<std::string>("auto_pad", "NOTSET");
  const auto* sizes = node.get<std::vector<std::int64_t>>("output_shape");
  const std::int64_t added = lists.output_padding[d];
  if (added >= std::max(axis.stride, axis.dilation)) {
    return node.limit("output_padding", fmt::format("{} is not less than the stride or dilation", added));
  }
  const std::int64_t full = axis.stride * (axis.input - 1) + added + axis.kernel_extent();
  if (sizes != nullptr) {
    axis.output = (*sizes)[d];
    if (axis.output < axis.input) return node.limit("output_shape", "less than the input is not judged");
    return pad_to_size(node, auto_pad, full, axis);
  }
  if (auto_pad.starts_with("SAME")) {
    if (node.opset() < 11) return node.limit("auto_pad", "opset 10 leaves open what the size is to match");
    if (added != 0) return node.limit("output_padding", "is not judged beside auto_pad");
    axis.output = axis.input * axis.stride;
    return pad_to_size(node, auto_pad, full, axis);
  }
  axis.pad_begin = lists.pad_begin[d];
  axis.pad_end = lists.pad_end[d];
  axis.output = full - axis.pad_begin - axis.pad_end;
  if (axis.output >= 1) return true;
  return node.limit("pads", fmt::format("leave {} of {} elements", axis.output, full));
}

bool lower_conv_transpose(const NodeLowering& node) {
  const std::int64_t group = node.get_or<std::int64_t>("group", 1);
  if (!check_transposed_shapes(node, group)) return false;
  const Shape& x = node.shape(0);
  const Shape& w = node.shape(1);
  const std::size_t rank = x.size() - 2;
  const auto lists = window_lists(node, rank);
  if (!lists) return false;
  const auto* sizes = node.get<std::vector<std::int64_t>>("output_shape");
  if (sizes != nullptr && sizes->size() != rank) {
    return node.violate("output_shape", fmt::format("expected {} values, got {}", rank, sizes->size()));
  }
  ConvolutionGeometry geometry{
      .batch = x[0], .input_channels = x[1], .output_channels = w[1], .group = group, .axes = {}};
  geometry.output_channels = saturating_product(w[1], group);
  for (std::size_t d = 0; d < rank; ++d) {
    SpatialAxis axis{.input = x[d + 2],
                     .kernel = w[d + 2],
                     .stride = lists->strides[d],
                     .dilation = lists->dilations[d],
                     .pad_begin = 0,
                     .pad_end = 0,
                     .output = 0};
    if (!resolve_transposed_axis(node, *lists, d, axis)) return false;
    geometry.axes.push_back(axis);
  }
  return emit_sum<TransposedTaps>(node, std::move(geometry));
}

using namespace node_types;

constexpr AttributeSignature kConv[] = {{"auto_pad", kStringAttribute}, {"dilations", kIntsAttribute},
                                        {"group", kIntAttribute},       {"kernel_shape", kIntsAttribute},
                                        {"pads", kIntsAttribute},       {"strides", kIntsAttribute}};
constexpr AttributeSignature kConvTranspose[] = {{"auto_pad", kStringAttribute},     {"dilations", kIntsAttribute},
                                                 {"group", kIntAttribute},           {"kernel_shape", kIntsAttribute},
                                                 {"output_padding", kIntsAttribute}, {"output_shape", kIntsAttribute},
                                                 {"pads", kIntsAttribute},           {"strides", kIntsAttribute}};

constexpr NodeOperator conv(std::int64_t since, TypeSet types) {
  return {.name = "Conv",
          .since = since,
          .least_inputs = 2,
          .most_inputs = 3,
          .types = types,
          .attributes = kConv,
          .lower = lower_conv,
          .computes = true};
}
constexpr NodeOperator conv_transpose(std::int64_t since, TypeSet types) {
  return {.name = "ConvTranspose",
          .since = since,
          .least_inputs = 2,
          .most_inputs = 3,
          .types = types,
          .attributes = kConvTranspose,
          .lower = lower_conv_transpose,
          .computes = true};
}

constexpr NodeOperator kConvolutionNodes[] = {conv(1, kFloats), conv(22, kFloats13), conv_transpose(1, kFloats),
                                              conv_transpose(22, kFloats13)};

}  // namespace

std::span<const NodeOperator> convolution_nodes() {
  return kConvolutionNodes;
}

// Pools.

namespace {

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
