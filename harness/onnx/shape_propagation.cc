#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "harness/base/process.h"
#include "harness/core/limits.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"
#include "reference/convolution/geometry.h"

// A macro of <sys/mman.h>, which a source may include that is compiled together with this one.
#undef MAP_TYPE
#include <onnx/shape_inference/implementation.h>

namespace qconform {

Result<void> infer_shapes_isolated(onnx::ModelProto& model, InferenceErrors errors) {
  const auto infer = [&]() -> Result<std::string> {
    const onnx::ShapeInferenceOptions options(false, errors == InferenceErrors::report ? 1 : 0, false);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
    return message_bytes(model);
  };
  QCONFORM_ASSIGN(const auto bytes, run_forked("shape inference", {}, infer));
  onnx::ModelProto inferred;
  QCONFORM_TRY(parse_message(bytes, inferred));
  model.Swap(&inferred);
  return {};
}

namespace {

/// A node with the shapes of its inputs.
struct ShapedNodeView {
  const onnx::NodeProto& node;
  const GraphScope& scope;

  [[nodiscard]] std::optional<PartialShape> shape(int input) const {
    if (input >= node.input_size() || node.input(input).empty()) return std::nullopt;
    return scope.facts(node.input(input)).shape;
  }
};

reference::ConvolutionAttributes window_attributes(const onnx::NodeProto& node) {
  reference::ConvolutionAttributes attributes;
  if (const onnx::AttributeProto* auto_pad = find_attribute(node, "auto_pad")) attributes.auto_pad = auto_pad->s();
  attributes.group = int_attribute(node, "group", 1);
  attributes.kernel_shape = ints_attribute(node, "kernel_shape");
  attributes.strides = ints_attribute(node, "strides");
  attributes.dilations = ints_attribute(node, "dilations");
  attributes.pads = ints_attribute(node, "pads");
  return attributes;
}

PartialShape partial(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

std::optional<PartialShape> same_as_first(const ShapedNodeView& view) {
  return view.shape(0);
}

/// Two shapes side by side, as NumPy broadcasts them. A dimension known on one side only is taken
/// from there unless it is 1, which the other side may widen.
std::optional<PartialShape> broadcast(const std::optional<PartialShape>& a, const std::optional<PartialShape>& b) {
  if (!a || !b) return std::nullopt;
  PartialShape result(std::max(a->size(), b->size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto from_end = [&](const PartialShape& shape) -> std::optional<std::int64_t> {
      return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
    };
    const std::optional<std::int64_t> x = from_end(*a);
    const std::optional<std::int64_t> y = from_end(*b);
    std::optional<std::int64_t>& out = result[result.size() - 1 - i];
    if (x && y) {
      if (*x != *y && *x != 1 && *y != 1) return std::nullopt;
      out = *x == 1 ? *y : *x;
    } else if ((x && *x != 1) || (y && *y != 1)) {
      out = x ? *x : *y;
    }
  }
  return result;
}

std::optional<PartialShape> binary(const ShapedNodeView& view) {  // a, a_scale, a_zp, b, ...
  return broadcast(view.shape(0), view.shape(3));
}

std::optional<PartialShape> where(const ShapedNodeView& view) {  // condition, x, x_scale, x_zp, y, ...
  return broadcast(view.shape(0), broadcast(view.shape(1), view.shape(4)));
}

std::optional<PartialShape> convolution(const ShapedNodeView& view, int w_input) {
  const auto x = view.shape(0);
  const auto w = full_shape(view.shape(w_input));
  if (!x || !w || x->size() != w->size() || x->size() < 3) return std::nullopt;
  PartialShape result(x->size());
  result[0] = (*x)[0];
  result[1] = (*w)[0];
  const auto full = full_shape(x);
  if (!full) return result;
  reference::Contract contract;
  const auto geometry = reference::resolve_geometry(*full, *w, window_attributes(view.node), contract);
  if (!geometry) return std::nullopt;
  return partial(geometry->output_shape());
}

std::optional<PartialShape> qlinear_conv(const ShapedNodeView& view) {
  return convolution(view, 3);
}

std::optional<PartialShape> plain_convolution(const ShapedNodeView& view) {
  return convolution(view, 1);
}

/// The windows of a pooling are those of a convolution that keeps the channels. Rounding up is
/// rounding down with stride - 1 more at the end.
std::optional<PartialShape> average_pool(const ShapedNodeView& view) {
  const auto x = full_shape(view.shape(0));
  reference::ConvolutionAttributes attributes = window_attributes(view.node);
  if (!x || x->size() < 3 || !attributes.kernel_shape) return std::nullopt;
  if (int_attribute(view.node, "channels_last", 0) != 0) return std::nullopt;
  const std::size_t rank = x->size() - 2;
  if (attributes.kernel_shape->size() != rank) return std::nullopt;
  attributes.group = 1;
  attributes.dilations.reset();
  if (int_attribute(view.node, "ceil_mode", 0) != 0 && attributes.strides && attributes.auto_pad == "NOTSET") {
    if (!attributes.pads) attributes.pads.emplace(2 * rank, 0);
    if (attributes.pads->size() != 2 * rank || attributes.strides->size() != rank) return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t& pad = (*attributes.pads)[rank + i];
      if (__builtin_add_overflow(pad, (*attributes.strides)[i] - 1, &pad)) return std::nullopt;
    }
  }
  std::vector<std::int64_t> w{(*x)[1], (*x)[1]};
  w.insert(w.end(), attributes.kernel_shape->begin(), attributes.kernel_shape->end());
  if (std::any_of(w.begin(), w.end(), [](std::int64_t size) { return size < 0; })) return std::nullopt;
  reference::Contract contract;
  const auto geometry = reference::resolve_geometry(*x, w, attributes, contract);
  if (!geometry) return std::nullopt;
  return partial(geometry->output_shape());
}

std::optional<PartialShape> global_average_pool(const ShapedNodeView& view) {
  auto shape = view.shape(0);
  if (!shape || shape->size() < 3) return std::nullopt;
  const bool channels_last = int_attribute(view.node, "channels_last", 0) != 0;
  const std::size_t first = channels_last ? 1 : 2;
  const std::size_t end = channels_last ? shape->size() - 1 : shape->size();
  for (std::size_t i = first; i < end; ++i) (*shape)[i] = 1;
  return shape;
}

std::optional<PartialShape> concat(const ShapedNodeView& view) {  // y_scale, y_zp, then x, x_scale, x_zp of each
  auto result = view.shape(2);
  if (!result) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(result->size());
  std::int64_t axis = int_attribute(view.node, "axis", rank);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  std::optional<std::int64_t>& total = (*result)[static_cast<std::size_t>(axis)];
  for (int input = 5; input < view.node.input_size(); input += 3) {
    const auto shape = view.shape(input);
    if (!shape || shape->size() != result->size()) return std::nullopt;
    const auto size = (*shape)[static_cast<std::size_t>(axis)];
    if (!total || !size) {
      total.reset();
    } else if (__builtin_add_overflow(*total, *size, &*total) || *total > limits::kElements) {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<PartialShape> matrix_product(const std::optional<PartialShape>& a, const std::optional<PartialShape>& b) {
  if (!a || !b || a->size() < 2 || b->size() < 2) return std::nullopt;
  const PartialShape batches_a(a->begin(), a->end() - 2);
  const PartialShape batches_b(b->begin(), b->end() - 2);
  auto result = broadcast(batches_a, batches_b);
  if (!result) return std::nullopt;
  result->push_back((*a)[a->size() - 2]);
  result->push_back(b->back());
  return result;
}

std::optional<PartialShape> qlinear_matmul(const ShapedNodeView& view) {
  return matrix_product(view.shape(0), view.shape(3));
}

std::optional<PartialShape> matmul(const ShapedNodeView& view) {
  return matrix_product(view.shape(0), view.shape(1));
}

std::optional<PartialShape> qgemm(const ShapedNodeView& view) {  // a, a_scale, a_zp, b, ...
  const auto a = view.shape(0);
  const auto b = view.shape(3);
  if (!a || !b || a->size() != 2 || b->size() != 2) return std::nullopt;
  const bool transposed_a = int_attribute(view.node, "transA", 0) != 0;
  const bool transposed_b = int_attribute(view.node, "transB", 0) != 0;
  return PartialShape{(*a)[transposed_a ? 1 : 0], (*b)[transposed_b ? 0 : 1]};
}

struct ShapeRule {
  std::string_view op_type;
  std::optional<PartialShape> (*shape)(const ShapedNodeView&);
  int typed_like;  // the input that has the output's type; -1: none has
};

constexpr auto kRules = std::to_array<ShapeRule>({
    {"QuantizeLinear", same_as_first, 2},
    {"DequantizeLinear", same_as_first, 1},
    {"QLinearLeakyRelu", same_as_first, 0},
    {"QLinearSigmoid", same_as_first, 0},
    {"QLinearSoftmax", same_as_first, 0},
    {"QLinearAdd", binary, 0},
    {"QLinearMul", binary, 0},
    {"QLinearWhere", where, 1},
    {"QLinearConcat", concat, 2},
    {"QLinearAveragePool", average_pool, 0},
    {"QLinearGlobalAveragePool", global_average_pool, 0},
    {"QLinearConv", qlinear_conv, 7},
    {"ConvInteger", plain_convolution, -1},
    {"Conv", plain_convolution, 0},
    {"FusedConv", plain_convolution, 0},
    {"QLinearMatMul", qlinear_matmul, 7},
    {"MatMulIntegerToFloat", matmul, 2},
    {"DynamicQuantizeMatMul", matmul, 0},
    {"QMoE", same_as_first, 0},
    {"QGemm", qgemm, 8},  // y is of floats without y_scale and y_zero_point
    {"Gelu", same_as_first, 0},
    {"FastGelu", same_as_first, 0},
    {"QuickGelu", same_as_first, 0},
});

}  // namespace

std::optional<std::int64_t> window_extent(const onnx::NodeProto& node, std::int64_t kernel, std::size_t axis) {
  const auto dilations = ints_attribute(node, "dilations");
  const std::int64_t dilation = dilations && axis < dilations->size() ? (*dilations)[axis] : 1;
  std::int64_t reach = 0;
  if (kernel < 0 || dilation < 1 || __builtin_mul_overflow(kernel - 1, dilation, &reach)) return std::nullopt;
  if (reach >= limits::kElements) return std::nullopt;
  return reach + 1;
}

bool window_exceeds_input(const onnx::NodeProto& node, const GraphScope& scope) {
  const std::string& type = node.op_type();
  const bool is_convolution = type == "QLinearConv" || type == "ConvInteger" || type == "Conv" || type == "FusedConv";
  if (!is_convolution) return false;
  const ShapedNodeView view{node, scope};
  const auto x = full_shape(view.shape(0));
  const auto w = full_shape(view.shape(type == "QLinearConv" ? 3 : 1));
  if (!x || !w) return false;
  reference::Contract contract;
  static_cast<void>(reference::resolve_geometry(*x, *w, window_attributes(node), contract));
  return contract.violation && contract.violation->rule == "C6";
}

ValueFacts facts_of_output(const onnx::NodeProto& node, const GraphScope& scope) {
  const std::string& domain = node.domain();
  if (!domain.empty() && domain != "ai.onnx" && domain != "com.microsoft") return {};
  for (const ShapeRule& rule : kRules) {
    if (rule.op_type != node.op_type()) continue;
    ValueFacts facts;
    facts.shape = rule.shape(ShapedNodeView{node, scope});
    const bool typed = rule.typed_like >= 0 && rule.typed_like < node.input_size();
    if (typed) facts.type = scope.facts(node.input(rule.typed_like)).type;
    return facts;
  }
  return {};
}

namespace {

constexpr int kMaxRounds = 16;
constexpr std::size_t kKeptBytes = 4096;

/// Drops the values of weights, which inference does not look at. Small tensors stay: they hold
/// shapes, axes and paddings.
void strip(onnx::TensorProto& tensor) {
  if (tensor.ByteSizeLong() <= kKeptBytes) return;
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_string_data();
}

void strip(onnx::GraphProto& graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) strip(tensor);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) strip(*attribute.mutable_t());
      if (attribute.has_g()) strip(*attribute.mutable_g());
      for (onnx::GraphProto& body : *attribute.mutable_graphs()) strip(body);
    }
  }
}

/// Our rules over the nodes in their order, which ONNX requires to be topological.
bool apply_rules(GraphScope& scope) {
  bool changed = false;
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (node.output_size() > 0) changed |= scope.learn(node.output(0), facts_of_output(node, scope));
  }
  for (const auto& body : scope.bodies()) changed |= apply_rules(*body);
  return changed;
}

void spread(const onnx::ModelProto& model, GraphScope& scope) {
  for (int round = 0; round < kMaxRounds; ++round) {
    onnx::ModelProto trial = model;
    scope.write_to(*trial.mutable_graph());
    bool changed = infer_shapes_isolated(trial).has_value() && scope.learn_from(trial.graph());
    changed |= apply_rules(scope);
    if (!changed) return;
  }
}

bool windows_fit(const GraphScope& scope) {
  const auto& nodes = scope.graph().node();
  return std::none_of(nodes.begin(), nodes.end(),
                      [&](const onnx::NodeProto& node) { return window_exceeds_input(node, scope); }) &&
         std::all_of(scope.bodies().begin(), scope.bodies().end(), [](const auto& body) { return windows_fit(*body); });
}

/// Whether all windows fit when the first dimension is that large.
bool fits(std::int64_t first_dimension, const onnx::ModelProto& model, GraphScope& scope) {
  scope.assume_first_dimension(first_dimension);
  spread(model, scope);
  return windows_fit(scope);
}

}  // namespace

void propagate_shapes(const onnx::ModelProto& model, GraphScope& scope) {
  constexpr std::int64_t kSizes[] = {4, 16, 64, 256, 1024, 4096};
  onnx::ModelProto small = model;
  strip(*small.mutable_graph());
  spread(small, scope);
  if (!scope.assumed_first_dimension() || windows_fit(scope)) return;
  if (!fits(*std::rbegin(kSizes), small, scope)) {  // another dimension is at fault
    static_cast<void>(fits(kAssumedBatch, small, scope));
    return;
  }
  for (const std::int64_t size : kSizes) {
    if (fits(size, small, scope)) return;
  }
}

}  // namespace qconform
