// Conv and ConvTranspose.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/graphs/node_operators.h"
#include "harness/graphs/window_attributes.h"

namespace qconform::lowering {
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

}  // namespace qconform::lowering
