// QuantizeLinear and DequantizeLinear: as the single operators read them.
#include "harness/graphs/node_operators.h"
#include "harness/operators/linear/linear.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;

// The node alone. x has no bytes: nothing but its type and shape is asked for.
std::optional<Case> alone(const NodeLowering& node, const Operator& known) {
  Case result;
  result.node() = {node.node().op_type, "", node.opset(), node.node().attributes};
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    if (i == 0) {
      result.inputs.emplace_back(Tensor{node.type(0), node.shape(0), {}});
    } else if (!node.has(i)) {
      result.inputs.emplace_back();
    } else {
      const Tensor* tensor = node.stated(i, known.inputs[i].name);
      if (tensor == nullptr) return std::nullopt;
      result.inputs.emplace_back(*tensor);
    }
  }
  return result;
}

bool lower(const NodeLowering& node, const Operator& known) {
  const auto single = alone(node, known);
  if (!single) return false;
  Classification classification = known.classify(*single);
  if (!node.absorb(std::move(classification.contract))) return false;
  if (classification.value_is_open) node.leaves_value_open();
  const Lowered& lowered = *classification.lowered;
  Shape shape = node.shape(0);
  if (!node.claim(shape)) return false;
  if (const auto* quantized = quantize_linear_of(lowered)) {
    node.scales_by(quantized->y_scale);
    return node.emit(Quantize{*quantized}, {node.id(0)}, std::move(shape), lowered.output_type());
  }
  const auto* dequantized = dequantize_linear_of(lowered);
  node.scales_by(dequantized->x_scale);
  return node.emit(Dequantize{*dequantized}, {node.id(0)}, std::move(shape), lowered.output_type());
}

constexpr NodeOperator kQuantizationNodes[] = {
    {.name = "QuantizeLinear",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 3,
     .types = node_types::grown(node_types::kAll, 25),
     .attributes = {},
     .lower = [](const NodeLowering& node) { return lower(node, quantize_linear_operator()); },
     .is_single_operator = true},
    {.name = "DequantizeLinear",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 3,
     .types = node_types::grown(node_types::kAll, 25),
     .attributes = {},
     .lower = [](const NodeLowering& node) { return lower(node, dequantize_linear_operator()); },
     .is_single_operator = true},
};

}  // namespace

std::span<const NodeOperator> quantization_nodes() {
  return kQuantizationNodes;
}

}  // namespace qconform::lowering
