// Kernels for what models are quantized with apart from Q and DQ: dynamic products, packed weights, recurrent layers.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/pipeline.h"

namespace qconform::diagnose {
namespace {

using Extents = std::vector<std::int64_t>;

std::optional<Extents> shape_of(const Case& graph, const std::string& value) {
  for (std::size_t i = 0; i < graph.input_names.size(); ++i) {
    if (graph.input_names[i] == value) return graph.inputs[i]->shape;
  }
  reference::Contract contract;
  const auto lowered = lower_graph(graph, contract);
  if (!lowered) return std::nullopt;
  const auto found = std::find(lowered->names.begin(), lowered->names.end(), value);
  if (found == lowered->names.end()) return std::nullopt;
  return lowered->program.values[static_cast<std::size_t>(found - lowered->names.begin())].shape;
}

// Adds a node in front of node `before`, whose place is the next one then, and returns the names of its outputs.
std::vector<std::string> insert(Case& graph, std::size_t& before, std::string op_type, std::vector<std::string> inputs,
                                std::size_t outputs, std::vector<Attribute> attributes = {}) {
  const std::string first = add_node(graph, before, std::move(op_type), std::move(inputs), std::move(attributes));
  Node& added = graph.nodes[before++];
  for (std::size_t i = 1; i < outputs; ++i) added.outputs.push_back(first + "." + std::to_string(i));
  return added.outputs;
}

// DynamicQuantizeLinear to the Mul that scales the sums: real is their Cast, and scale is x_scale * w_scale.
struct DynamicProduct {
  std::size_t dynamic;
  std::size_t product;
  std::string real;
  std::string w_scale;
};

std::optional<std::string> other_input(const Node& node, const std::string& input) {
  if (node.inputs.size() != 2) return std::nullopt;
  if (node.inputs[0] == input) return node.inputs[1];
  return node.inputs[1] == input ? std::optional(node.inputs[0]) : std::nullopt;
}

// `real` and `scale` are the factors of a Mul.
std::optional<DynamicProduct> product_of(const Case& graph, const std::string& real, const std::string& scale) {
  const auto cast = maker_of(graph, real, "Cast");
  if (!cast) return std::nullopt;
  const auto product = maker_of(graph, graph.nodes[*cast].inputs[0], "MatMulInteger");
  if (!product) return std::nullopt;
  const auto dynamic = maker_of(graph, graph.nodes[*product].inputs[0], "DynamicQuantizeLinear");
  const auto scales = maker_of(graph, scale, "Mul");
  if (!dynamic || !scales) return std::nullopt;
  const auto w_scale = other_input(graph.nodes[*scales], graph.nodes[*dynamic].outputs[1]);
  if (!w_scale || initializer_of(graph, *w_scale) == nullptr) return std::nullopt;
  return DynamicProduct{*dynamic, *product, real, *w_scale};
}

std::optional<DynamicProduct> dynamic_product(const Case& graph, std::size_t scaled) {
  const Node& mul = graph.nodes[scaled];
  if (mul.op_type != "Mul") return std::nullopt;
  auto found = product_of(graph, mul.inputs[0], mul.inputs[1]);
  return found ? found : product_of(graph, mul.inputs[1], mul.inputs[0]);
}

// (sum * x_scale + b) * w_scale, where the scales of the weights are no row of columns.
Case scale_bias(const Case& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto found = dynamic_product(graph, i);
    if (!found) continue;
    const std::string sum = graph.nodes[i].outputs[0];
    const auto readers = readers_of(graph, sum);
    if (readers.size() != 1 || is_output(graph, sum) || graph.nodes[readers[0]].op_type != "Add") continue;
    const auto bias = other_input(graph.nodes[readers[0]], sum);
    const Tensor* b = bias ? initializer_of(graph, *bias) : nullptr;
    const Tensor* ws = initializer_of(graph, found->w_scale);
    const Tensor* w = initializer_of(graph, graph.nodes[found->product].inputs[1]);
    if (b == nullptr || w == nullptr || w->shape.size() < 2) continue;
    const bool is_row = !b->shape.empty() && b->shape.back() == w->shape.back() && b->elements() == b->shape.back();
    if (!is_row) continue;
    const bool is_matrix = ws->shape.size() == 2 && (ws->shape[0] > 1 || ws->elements() == 1);
    const bool is_row_of_stack = ws->shape.size() == 1 && ws->elements() > 1 && w->shape.size() > 2;
    if (!is_matrix && !is_row_of_stack) continue;
    Case result = graph;
    result.nodes[i].inputs = {found->real, graph.nodes[found->dynamic].outputs[1]};
    const std::string shifted = add_node(result, readers[0], "Add", {sum, *bias});
    Node& last = result.nodes[readers[0] + 1];
    last.op_type = "Mul";
    last.inputs = {shifted, found->w_scale};
    return pruned(std::move(result));
  }
  return graph;
}

// Scales of more axes than the sums have give the result no more of them.
Case lose_rank(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const auto found = dynamic_product(result, i);
    if (!found) continue;
    Tensor ws = *initializer_of(result, found->w_scale);
    const auto sums = shape_of(graph, graph.nodes[found->product].outputs[0]);
    if (!sums || ws.shape.size() <= sums->size()) continue;
    const auto extra = static_cast<std::ptrdiff_t>(ws.shape.size() - sums->size());
    if (std::any_of(ws.shape.begin(), ws.shape.begin() + extra, [](std::int64_t size) { return size != 1; })) continue;
    ws.shape.erase(ws.shape.begin(), ws.shape.begin() + extra);
    const std::string fewer = add_initializer(result, std::move(ws));
    for (Node& node : result.nodes) std::replace(node.inputs.begin(), node.inputs.end(), found->w_scale, fewer);
  }
  result = pruned(std::move(result));
  reference::Contract contract;
  return lower_graph(result, contract) ? result : graph;  // nodes behind it may need the axes
}

// Elements of a parameter for each of `count` columns.
Tensor for_columns(const Tensor& parameter, std::int64_t count) {
  Tensor result{parameter.type, {count}, {}};
  result.bytes.resize(static_cast<std::size_t>(bytes_for(parameter.type, count)));
  const int bits = bits_of(parameter.type);
  for (std::int64_t i = 0; i < count; ++i) {
    set_raw_bits_at(result.bytes, bits, i, raw_bits_at(parameter.bytes, bits, parameter.elements() == 1 ? 0 : i));
  }
  return result;
}

// The product of x, which nobody quantizes, and dequantized weights.
Case drop_quantization(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const auto found = dynamic_product(result, i);
    if (!found || result.nodes[i].opset_version < 13) continue;
    const std::string w_name = result.nodes[found->product].inputs[1];
    const Tensor* w = initializer_of(result, w_name);
    const Tensor* ws = initializer_of(result, found->w_scale);
    const std::string zero_point = input_of(result.nodes[found->product], 3);
    const Tensor* wz = zero_point.empty() ? nullptr : initializer_of(result, zero_point);
    if (w == nullptr || w->shape.size() != 2 || (!zero_point.empty() && wz == nullptr)) continue;
    const std::int64_t columns = w->shape[1];
    const auto is_usual = [&](const Tensor* one) {
      return one == nullptr || one->elements() == 1 || one->shape == Extents{columns};
    };
    if (!is_usual(ws) || !is_usual(wz) || ws->shape.size() > 1) continue;
    const Tensor scales = for_columns(*ws, columns);
    const std::optional<Tensor> points = wz == nullptr ? std::nullopt : std::optional(for_columns(*wz, columns));
    std::vector<std::string> inputs{w_name, add_initializer(result, scales)};
    if (points) inputs.push_back(add_initializer(result, *points));
    const std::string x = result.nodes[found->dynamic].inputs[0];
    const std::string weights =
        add_node(result, i++, "DequantizeLinear", std::move(inputs), {{"axis", std::int64_t{1}}});
    result.nodes[i].op_type = "MatMul";
    result.nodes[i].inputs = {x, weights};
  }
  return pruned(std::move(result));
}

// Every row of x with a scale of its own.
Case quantize_rows(const Case& graph) {
  constexpr std::int64_t kMostRows = 8;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto found = dynamic_product(graph, i);
    if (!found) continue;
    const std::string x = graph.nodes[found->dynamic].inputs[0];
    const auto shape = shape_of(graph, x);
    const Tensor* ws = initializer_of(graph, found->w_scale);
    const Tensor* w = initializer_of(graph, graph.nodes[found->product].inputs[1]);
    if (!shape || shape->size() < 2 || w == nullptr || w->shape.size() != 2) continue;
    if (ws->elements() != 1 && ws->elements() != ws->shape.back()) continue;
    const auto axis = static_cast<std::int64_t>(shape->size()) - 2;
    const std::int64_t rows = (*shape)[static_cast<std::size_t>(axis)];
    if (rows < 2 || rows > kMostRows || ws->shape.size() > shape->size()) continue;
    Case result = graph;
    std::size_t at = i;
    std::vector<std::string> parts;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::string one =
          insert(result, at, "Slice",
                 {x, add_integers(result, {row}), add_integers(result, {row + 1}), add_integers(result, {axis})}, 1)[0];
      const auto q = insert(result, at, "DynamicQuantizeLinear", {one}, 3);
      std::vector<std::string> inputs = graph.nodes[found->product].inputs;
      inputs[0] = q[0];
      if (inputs.size() > 2) inputs[2] = q[2];
      const std::string sum = insert(result, at, "MatMulInteger", std::move(inputs), 1)[0];
      const std::string real = insert(result, at, "Cast", {sum}, 1, {{"to", std::int64_t{1}}})[0];
      const std::string scale = insert(result, at, "Mul", {q[1], found->w_scale}, 1)[0];
      parts.push_back(insert(result, at, "Mul", {real, scale}, 1)[0]);
    }
    result.nodes[at].op_type = "Concat";
    result.nodes[at].inputs = std::move(parts);
    result.nodes[at].attributes = {{"axis", axis}};
    return pruned(std::move(result));
  }
  return graph;
}

// Weights in blocks.

Case ignore_zero_points(const Case& graph) {
  Case result = graph;
  for (Node& node : result.nodes) {
    if (node.op_type == "MatMulNBits" && node.inputs.size() > 3) node.inputs[3].clear();
  }
  return pruned(std::move(result));
}

// The data with an element in each of theirs: bytes that hold several are the same as a type of fewer bits.
Tensor without_packing(const Tensor& data, std::int64_t bits) {
  Tensor result = data;
  if (data.type != ElementType::uint8 || bits != 4) return result;
  result.type = ElementType::uint4;
  result.shape.back() *= 2;
  return result;
}

// Blocks of GatherBlockQuantized that go on from the end of one row to the next.
Case run_blocks_on(const Case& graph) {
  constexpr std::int64_t kBlocks = 21;  // the opset that brought blocks to DequantizeLinear
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    const Node node = result.nodes[i];
    if (node.op_type != "GatherBlockQuantized") continue;
    const Tensor* stated = initializer_of(result, node.inputs[0]);
    const Tensor* scales = initializer_of(result, node.inputs[2]);
    const std::int64_t opset = own_opset(graph);
    if (stated == nullptr || scales == nullptr || !input_of(node, 3).empty() || opset < kBlocks) continue;
    const auto bits = node.get_or<std::int64_t>("bits", 4);
    const auto block = node.get_or<std::int64_t>("block_size", 128);
    const Tensor data = without_packing(*stated, bits);
    const bool is_packed = stated->type == ElementType::uint8;  // less the middle of their range
    const auto rank = static_cast<std::int64_t>(data.shape.size());
    const auto axis = node.get_or<std::int64_t>("quantize_axis", 1);
    if (scales->type != ElementType::float32 || rank == 0 || (axis != rank - 1 && axis != -1)) continue;
    // A block for each element, with the scale of the block that its place among all elements lies in.
    Tensor all{ElementType::float32, data.shape, {}};
    all.bytes.resize(static_cast<std::size_t>(bytes_for(all.type, all.elements())));
    for (std::int64_t e = 0; e < all.elements(); ++e) {
      const std::int64_t at = std::min(e / block, scales->elements() - 1);
      set_raw_bits_at(all.bytes, 32, e, raw_bits_at(scales->bytes, 32, at));
    }
    std::vector<std::string> inputs{add_initializer(result, data), add_initializer(result, std::move(all))};
    if (is_packed) {
      inputs.push_back(add_initializer(result, make::filled(data.type, data.shape, std::int64_t{1} << (bits - 1))));
    }
    const std::string rows = add_node(result, i, "DequantizeLinear", std::move(inputs),
                                      {{"axis", rank - 1}, {"block_size", std::int64_t{1}}});
    result.nodes[++i] = {
        "Gather",    "", opset, {{"axis", node.get_or<std::int64_t>("gather_axis", 0)}}, {rows, node.inputs[1]},
        node.outputs};
  }
  return pruned(std::move(result));
}

// DynamicQuantizeLSTM, forwards: a step has a scale of its own for its part of x.
Case quantize_steps(const Case& graph) {
  constexpr std::int64_t kMostSteps = 8;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node node = graph.nodes[i];
    if (node.op_type != "DynamicQuantizeLSTM" || node.inputs.size() != 12) continue;
    const auto shape = shape_of(graph, node.inputs[0]);
    if (!shape || shape->size() != 3 || (*shape)[0] < 2 || (*shape)[0] > kMostSteps) continue;
    if (node.get_or<std::string>("direction", "forward") != "forward") continue;
    Case result = graph;
    std::size_t at = i;
    std::vector<std::string> inputs = node.inputs;
    std::vector<std::string> parts;
    for (std::int64_t step = 0; step < (*shape)[0]; ++step) {
      const auto begin = add_integers(result, {step});
      const auto end = add_integers(result, {step + 1});
      inputs[0] = insert(result, at, "Slice", {node.inputs[0], begin, end, add_integers(result, {0})}, 1)[0];
      const auto outputs = insert(result, at, node.op_type, inputs, 3, node.attributes);
      result.nodes[at - 1].domain = node.domain;
      result.nodes[at - 1].opset_version = node.opset_version;
      parts.push_back(outputs[0]);
      inputs[5] = outputs[1];
      inputs[6] = outputs[2];
    }
    result.nodes[at] = {"Concat",         "", own_opset(graph), {{"axis", std::int64_t{0}}}, std::move(parts),
                        {node.outputs[0]}};
    for (std::size_t state = 1; state < node.outputs.size(); ++state) {
      if (!node.outputs[state].empty()) result = rewired(std::move(result), node.outputs[state], inputs[4 + state]);
    }
    return pruned(std::move(result));
  }
  return graph;
}

constexpr Defect kOperators[] = {
    {.id = "bias-scaled-by-w",
     .description = "a dynamic product adds the bias before it multiplies by the weights' scales",
     .operators = {kGraphSubject},
     .trigger = "a bias for each column beside scales [1,1] or for each row, or beside a stack of weights",
     .rule = "formula",
     .evidence = "ONNX Runtime 1.30.0, from level extended on",
     .replace = [](Stages& s) { s.set(graph_stage::biases, scale_bias); }},
    {.id = "rank-lost",
     .description = "a dynamic product has the axes of its sums alone",
     .operators = {kGraphSubject},
     .trigger = "scales of the weights with more axes than the sums",
     .rule = "formula",
     .evidence = "ONNX Runtime 1.30.0, from level extended on",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, lose_rank); }},
    {.id = "quantization-dropped",
     .description = "a dynamic product takes x as it is, times dequantized weights",
     .operators = {kGraphSubject},
     .trigger = "a dynamically quantized product of matrices",
     .rule = "formula",
     .evidence = "onnxruntime-qnn#367",
     .replace = [](Stages& s) { s.set(graph_stage::weights, drop_quantization); }},
    {.id = "dql-per-row",
     .description = "DynamicQuantizeLinear in front of a product has a scale for each row",
     .operators = {kGraphSubject},
     .trigger = "a dynamically quantized product of two rows and more",
     .rule = "formula",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, quantize_rows); }},
    {.id = "nbits-zero-ignored",
     .description = "MatMulNBits takes the middle of its range for every zero point",
     .operators = {kGraphSubject},
     .trigger = "zero points of MatMulNBits",
     .rule = "formula",
     .evidence = "hip-ep#609",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, ignore_zero_points); }},
    {.id = "gather-flat-block",
     .description = "blocks of GatherBlockQuantized go on from the end of one row to the next",
     .operators = {kGraphSubject},
     .trigger = "rows that are no whole number of blocks",
     .rule = "formula",
     .evidence = "onnxruntime#32663",
     .replace = [](Stages& s) { s.set(graph_stage::weights, run_blocks_on); }},
    {.id = "lstm-x-by-step",
     .description = "DynamicQuantizeLSTM quantizes x at every step",
     .operators = {kGraphSubject},
     .trigger = "a sequence of two steps and more",
     .rule = "formula",
     .evidence = "onnxruntime#29462",
     .replace = [](Stages& s) { s.set(graph_stage::parameters, quantize_steps); }},
};

}  // namespace

std::span<const Defect> graph_operator_defects() {
  return kOperators;
}

}  // namespace qconform::diagnose
