// Passes of optimisers that drop nodes, move them, or take a pair of Q and DQ for less than it is.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/model/text.h"
#include "harness/operators/graph/edits.h"
#include "harness/operators/graph/pipeline.h"
#include "reference/numerics/element.h"

namespace qconform::diagnose {
namespace {

constexpr const char* kQ = "QuantizeLinear";
constexpr const char* kDQ = "DequantizeLinear";

// The only reader of a value, where it has that operator and the value is no output.
std::optional<std::size_t> only_reader(const Case& graph, const std::string& value, std::string_view op_type) {
  const auto readers = readers_of(graph, value);
  if (readers.size() != 1 || is_output(graph, value) || graph.nodes[readers[0]].op_type != op_type) return {};
  return readers[0];
}

// One scale and zero point that an optimiser can read.
struct Pair {
  double scale;
  std::int64_t zero_point;
  ElementType type;
};
std::optional<Pair> held_pair(const Case& graph, const Node& node) {
  const Tensor* scale = initializer_of(graph, input_of(node, 1));
  const Tensor* zero_point = initializer_of(graph, input_of(node, 2));
  if (scale == nullptr || scale->type != ElementType::float32 || scale->elements() != 1) return {};
  if (zero_point == nullptr || zero_point->elements() != 1) return {};
  return Pair{static_cast<double>(float_at(*scale, 0)), integer_at(*zero_point, 0), zero_point->type};
}

// Activations.

bool reads_like_symmetric(const Case& graph, std::size_t reader) {
  const Node& q = graph.nodes[reader];
  const Tensor* zero_point = q.op_type == kQ ? initializer_of(graph, input_of(q, 2)) : nullptr;
  const bool is_signed =
      zero_point != nullptr && (zero_point->type == ElementType::int8 || zero_point->type == ElementType::int16);
  return is_signed && zero_point->elements() == 1 && integer_at(*zero_point, 0) == 0;
}

bool reads_with_held_pair(const Case& graph, std::size_t reader) {
  return graph.nodes[reader].op_type == kQ && held_pair(graph, graph.nodes[reader]);
}

// Drops the activations whose readers are all as `suits` says.
Case drop_activations(const Case& graph, std::string_view op_type, bool (*suits)(const Case&, std::size_t reader)) {
  Case result = graph;
  for (const Node& node : graph.nodes) {
    if (node.op_type != op_type || is_output(graph, node.outputs[0])) continue;
    const auto readers = readers_of(graph, node.outputs[0]);
    const bool all =
        std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) { return suits(graph, reader); });
    const auto maker = maker_of(result, node.outputs[0]);
    if (all && maker) result = rewired(result, node.outputs[0], result.nodes[*maker].inputs[0]);
  }
  return result;
}

Case drop_relu(const Case& graph) {
  return drop_activations(graph, "Relu", reads_like_symmetric);
}

Case drop_clip(const Case& graph) {
  return drop_activations(graph, "Clip", reads_with_held_pair);
}

// Pairs. Q1 and DQ1, and Q2 behind them; DQ2 where there is one.
struct TwoPairs {
  std::size_t q1;
  std::size_t dq1;
  std::size_t q2;
  std::optional<std::size_t> dq2;
  Pair first;
  Pair second;
};
std::vector<TwoPairs> two_pairs(const Case& graph) {
  std::vector<TwoPairs> all;
  for (std::size_t q1 = 0; q1 < graph.nodes.size(); ++q1) {
    if (graph.nodes[q1].op_type != kQ) continue;
    const auto dq1 = only_reader(graph, graph.nodes[q1].outputs[0], kDQ);
    const auto q2 = dq1 ? only_reader(graph, graph.nodes[*dq1].outputs[0], kQ) : std::nullopt;
    if (!q2) continue;
    const auto first = held_pair(graph, graph.nodes[q1]);
    const auto again = held_pair(graph, graph.nodes[*dq1]);
    const auto second = held_pair(graph, graph.nodes[*q2]);
    if (!first || !again || !second || first->type != second->type) continue;
    if (first->scale != again->scale || first->zero_point != again->zero_point) continue;
    all.push_back({q1, *dq1, *q2, only_reader(graph, graph.nodes[*q2].outputs[0], kDQ), *first, *second});
  }
  return all;
}

Case drop_first_pairs(const Case& graph) {
  Case result = graph;
  for (const TwoPairs& pairs : two_pairs(graph)) {
    result.nodes[pairs.q2].inputs[0] = result.nodes[pairs.q1].inputs[0];
  }
  return pruned(std::move(result));
}

// Q1 and DQ2 with the range that both pairs have; DQ1 and Q2 go.
Case merge_pairs(const Case& graph) {
  for (const TwoPairs& pairs : two_pairs(graph)) {
    if (!pairs.dq2 || !held_pair(graph, graph.nodes[*pairs.dq2])) continue;
    const auto [first, last] = reference::range_of(pairs.first.type);
    const auto end_of = [&](std::int32_t integer, const Pair& pair) {
      return static_cast<float>(static_cast<double>(integer - pair.zero_point) * pair.scale);
    };
    const float lo = std::max(end_of(first, pairs.first), end_of(first, pairs.second));
    const float hi = std::min(end_of(last, pairs.first), end_of(last, pairs.second));
    const float scale = (hi - lo) / static_cast<float>(last - first);
    if (!(scale > 0)) continue;
    const float zero_point = std::clamp(std::round(static_cast<float>(first) - lo / scale), static_cast<float>(first),
                                        static_cast<float>(last));
    Case result = graph;
    const std::string scale_name = add_initializer(result, make::float32(scale));
    const std::string zero_point_name =
        add_initializer(result, make::integer(pairs.first.type, static_cast<std::int64_t>(zero_point)));
    for (const std::size_t node : {pairs.q1, *pairs.dq2}) {
      result.nodes[node].inputs[1] = scale_name;
      result.nodes[node].inputs[2] = zero_point_name;
    }
    result.nodes[*pairs.dq2].inputs[0] = result.nodes[pairs.q1].outputs[0];
    return pruned(std::move(result));
  }
  return graph;
}

// Q and DQ whose scales have different types: DQ gets the scale of Q.
Case take_scale_of_q(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < result.nodes.size(); ++i) {
    if (result.nodes[i].op_type != kDQ) continue;
    const auto q = maker_of(result, result.nodes[i].inputs[0], kQ);
    const Tensor* of_q = q ? initializer_of(result, result.nodes[*q].inputs[1]) : nullptr;
    const Tensor* own = initializer_of(result, result.nodes[i].inputs[1]);
    if (of_q == nullptr || own == nullptr || of_q->type == own->type || of_q->shape != own->shape) continue;
    if (of_q->type != ElementType::float32 || own->type != ElementType::float16) continue;
    reference::graph::Value value{own->type, own->shape};
    GraphElements scales;
    for (std::int64_t s = 0; s < of_q->elements(); ++s) scales.push_back(static_cast<double>(float_at(*of_q, s)));
    result.nodes[i].inputs[1] = add_initializer(result, tensor_of(value, own->type, {scales, scales}));
  }
  return pruned(std::move(result));
}

// int8 between Q and DQ becomes uint8, for which Q's zero point is moved and DQ's is not.
Case sign_on_one_side(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto dq = graph.nodes[i].op_type == kQ ? only_reader(graph, graph.nodes[i].outputs[0], kDQ) : std::nullopt;
    const auto own = dq ? held_pair(graph, graph.nodes[i]) : std::nullopt;
    const auto behind = dq ? held_pair(graph, graph.nodes[*dq]) : std::nullopt;
    if (!own || !behind || own->type != ElementType::int8 || behind->type != ElementType::int8) continue;
    if (graph.nodes[i].attribute("output_dtype") != nullptr) continue;
    result.nodes[i].inputs[2] = add_initializer(result, make::integer(ElementType::uint8, own->zero_point + 128));
    result.nodes[*dq].inputs[2] = add_initializer(result, make::integer(ElementType::uint8, behind->zero_point & 0xFF));
  }
  return pruned(std::move(result));
}

// Movement.

// The axis that its parameters lie along, if there is one.
std::optional<std::size_t> axis_of(const Node& node, std::size_t rank) {
  const std::int64_t axis = node.get_or<std::int64_t>("axis", 1);
  const std::int64_t counted = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (counted < 0 || counted >= static_cast<std::int64_t>(rank)) return {};
  return static_cast<std::size_t>(counted);
}

// DQ with scales along an axis moves behind a Transpose, and keeps its axis.
Case keep_axis(const Case& graph) {
  Case result = graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& transpose = graph.nodes[i];
    const auto dq =
        transpose.op_type == "Transpose" ? maker_of(graph, transpose.inputs[0], kDQ) : std::optional<std::size_t>();
    const Tensor* q = dq ? initializer_of(graph, graph.nodes[*dq].inputs[0]) : nullptr;
    const Tensor* scale = dq ? initializer_of(graph, graph.nodes[*dq].inputs[1]) : nullptr;
    if (q == nullptr || scale == nullptr || scale->shape.size() != 1) continue;
    const Attribute* order = transpose.attribute("perm");
    const auto axis = axis_of(graph.nodes[*dq], q->shape.size());
    if (!axis || order == nullptr || readers_of(graph, transpose.inputs[0]).size() != 1) continue;
    const auto& perm = std::get<std::vector<std::int64_t>>(order->value);
    if (q->shape[static_cast<std::size_t>(perm[*axis])] != scale->shape[0]) continue;
    std::swap(result.nodes[*dq].op_type, result.nodes[i].op_type);
    std::swap(result.nodes[*dq].attributes, result.nodes[i].attributes);
    std::vector<std::string> parameters(graph.nodes[*dq].inputs.begin() + 1, graph.nodes[*dq].inputs.end());
    result.nodes[*dq].inputs.resize(1);
    result.nodes[i].inputs.insert(result.nodes[i].inputs.end(), parameters.begin(), parameters.end());
  }
  return result;
}

// Keeps a value that is quantized as integers alone: whoever else reads it gets it dequantized.
Case quantize_other_readers(const Case& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& q = graph.nodes[i];
    if (q.op_type != kQ || !held_pair(graph, q)) continue;
    const std::string value = q.inputs[0];
    const auto maker = maker_of(graph, value);
    if (!maker || graph.nodes[*maker].op_type == kDQ) continue;
    if (readers_of(graph, value).size() < 2 && !is_output(graph, value)) continue;
    Case result = graph;
    const std::vector<std::string> parameters(q.inputs.begin() + 1, q.inputs.end());
    // Q and DQ directly behind what computes the value, which the others read as before under a new name.
    std::vector<std::string> inputs{value};
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    const std::string integers = add_node(result, *maker + 1, kQ, inputs, q.attributes);
    inputs[0] = integers;
    const std::string again = add_node(result, *maker + 2, kDQ, std::move(inputs));
    for (std::size_t n = *maker + 3; n < result.nodes.size(); ++n) {
      Node& reader = result.nodes[n];
      const bool is_q = reader.outputs == q.outputs;
      if (!is_q) std::replace(reader.inputs.begin(), reader.inputs.end(), value, again);
    }
    std::replace(result.outputs.begin(), result.outputs.end(), value, again);
    return result;
  }
  return graph;
}

constexpr Defect kRewritings[] = {
    {.id = "relu-dropped",
     .description = "a Relu in front of a Q of signed integers with zero point 0 is dropped",
     .operators = {kGraphSubject},
     .trigger = "a Relu of a negative value that only a Q of signed integers with zero point 0 reads",
     .rule = "formula",
     .evidence = "onnxruntime#11660, onnxruntime#9425",
     .replace = [](Stages& s) { s.set(graph_stage::activations, drop_relu); }},
    {.id = "clip-dropped",
     .description = "a Clip in front of Q is dropped, whatever its bounds",
     .operators = {kGraphSubject},
     .trigger = "a Clip that Q alone reads, with a bound that Q's saturation does not imply",
     .rule = "formula",
     .evidence = "onnxruntime#20187",
     .replace = [](Stages& s) { s.set(graph_stage::activations, drop_clip); }},
    {.id = "double-qdq-removed",
     .description = "of Q, DQ, Q the first two are dropped",
     .operators = {kGraphSubject},
     .trigger = "Q, DQ, Q of one type with other parameters",
     .rule = "formula",
     .evidence = "onnxruntime#25259, onnxruntime#28030",
     .replace = [](Stages& s) { s.set(graph_stage::pairs, drop_first_pairs); }},
    {.id = "double-qdq-merged",
     .description = "Q, DQ, Q, DQ become Q, DQ with the range that both have in common",
     .operators = {kGraphSubject},
     .trigger = "Q, DQ, Q, DQ of one type with other parameters",
     .rule = "formula",
     .evidence = "ONNX Runtime 1.30.0",
     .replace = [](Stages& s) { s.set(graph_stage::pairs, merge_pairs); }},
    {.id = "scale-type-self-compare",
     .description = "a Q and a DQ whose scales differ in type are taken for a pair: DQ has the scale of Q",
     .operators = {kGraphSubject},
     .trigger = "a DQ with a scale of float16 behind a Q with another one of float32",
     .rule = "formula",
     .evidence = "onnxruntime#26456",
     .replace = [](Stages& s) { s.set(graph_stage::pairs, take_scale_of_q); }},
    {.id = "s8u8-one-side",
     .description = "int8 between Q and DQ becomes uint8: Q's zero point is moved by 128, DQ's is not",
     .operators = {kGraphSubject},
     .trigger = "int8 that a Q computes and a DQ alone reads",
     .rule = "formula",
     .replace = [](Stages& s) { s.set(graph_stage::signs, sign_on_one_side); }},
    {.id = "axis-not-moved",
     .description = "a DQ with scales along an axis moves behind a Transpose and keeps its axis",
     .operators = {kGraphSubject},
     .trigger = "scales along an axis that a Transpose puts elsewhere, two axes of one extent",
     .rule = "D7",
     .evidence = "onnxruntime#21793",
     .replace = [](Stages& s) { s.set(graph_stage::movement, keep_axis); }},
    {.id = "q-moved-over-output",
     .description = "a value that Q reads is kept as integers alone: whoever else reads it gets it dequantized",
     .operators = {kGraphSubject},
     .trigger = "a float value that a Q reads, and something else or the caller too",
     .rule = "formula",
     .evidence = "onnxruntime#21319",
     .replace = [](Stages& s) { s.set(graph_stage::movement, quantize_other_readers); }},
};

}  // namespace

std::span<const Defect> rewriting_defects() {
  return kRewritings;
}

}  // namespace qconform::diagnose
