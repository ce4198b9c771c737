#include "harness/suites/model_nodes.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/graphs/node_operators.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

constexpr const char* kNotReached = "not reached: the run ended before its case";
constexpr const char* kUnknown = "operator: qconform does not test it";
constexpr const char* kInNoUnit =
    "operator: a model's cases hold it in units from DequantizeLinear to QuantizeLinear alone, and it is in none";
constexpr const char* kInBody = "operator: no units are looked for in the bodies of If, Loop and Scan";
constexpr const char* kInFunction = "operator: no cases are made of a function's nodes";
constexpr const char* kConstant = "constant: it computes a constant, which cases hold instead";

bool is_narrow(ElementType type) {
  if (!is_known(type) || type == ElementType::boolean || type == ElementType::string) return false;
  const std::int64_t bits = bits_of(type);
  return bits == 2 || bits == 4 || bits == 8;
}

bool gives_constants(const onnx::NodeProto& node, const GraphScope& scope) {
  return node.output_size() > 0 &&
         std::all_of(node.output().begin(), node.output().end(),
                     [&](const std::string& name) { return name.empty() || scope.constant(name) != nullptr; });
}

std::string why_in_no_case(const onnx::NodeProto& node, const GraphScope& scope, bool is_outermost, bool in_unit) {
  if (in_unit || find_operator(node.domain(), node.op_type()) != nullptr) return kNotReached;
  if (gives_constants(node, scope)) return kConstant;
  if (lowering::find_node_operator(node.op_type(), kNewestOpset, node.domain()) == nullptr) return kUnknown;
  return is_outermost ? kInNoUnit : kInBody;
}

std::string full_name(const onnx::NodeProto& node) {
  return printable(operator_name(node.domain(), node.op_type()));
}

}  // namespace

bool has_quantized_name(std::string_view op_type) {
  if (op_type == "QuickGelu") return false;
  return op_type.starts_with("Q") || op_type.starts_with("Dequantize") || op_type.starts_with("DynamicQuantize") ||
         op_type.find("Integer") != std::string_view::npos || op_type == "MatMulNBits" ||
         op_type == "GatherBlockQuantized";
}

bool is_quantized_node(const onnx::NodeProto& node, const GraphScope& scope) {
  if (node.op_type() == "Constant") return false;
  const auto holds_narrow_data = [&](const std::string& name) {
    return !name.empty() && is_narrow(scope.facts(name).type);
  };
  return has_quantized_name(node.op_type()) ||
         std::any_of(node.input().begin(), node.input().end(), holds_narrow_data) ||
         std::any_of(node.output().begin(), node.output().end(), holds_narrow_data);
}

ModelNodes::ModelNodes(const onnx::ModelProto& model, const GraphScope& scope, const std::set<std::size_t>& in_units) {
  add(scope, in_units);
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::NodeProto& node : function.node()) {
      nodes_.push_back({full_name(node), has_quantized_name(node.op_type()), kInFunction});
    }
  }
}

void ModelNodes::add(const GraphScope& scope, const std::set<std::size_t>& in_units) {
  const bool is_outermost = nodes_.empty();
  for (const onnx::NodeProto& node : scope.graph().node()) {
    const bool in_unit = is_outermost && in_units.contains(nodes_.size());
    nodes_.push_back(
        {full_name(node), is_quantized_node(node, scope), why_in_no_case(node, scope, is_outermost, in_unit)});
  }
  for (const auto& body : scope.bodies()) add(*body, {});
}

std::uint64_t ModelNodes::quantized() const {
  return static_cast<std::uint64_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Entry& node) { return node.is_quantized; }));
}

void ModelNodes::leave_out(std::size_t position, const std::string& reason) {
  if (position < nodes_.size() && nodes_[position].reason == kNotReached) nodes_[position].reason = reason;
}

NodeCoverage ModelNodes::coverage(const std::vector<std::string>* why_not) const {
  std::vector<std::optional<std::string>> of_cases(nodes_.size());  // empty: judged
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const std::string reason = why_not == nullptr ? "" : i < why_not->size() ? (*why_not)[i] : kNotReached;
    for (const std::size_t position : cases_[i]) {
      if (position >= of_cases.size()) continue;
      auto& known = of_cases[position];
      if (!known || reason.empty()) known = reason;
    }
  }
  NodeCoverage result;
  std::map<std::pair<std::string, std::string>, std::uint64_t> uncovered;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Entry& node = nodes_[i];
    const bool is_covered = of_cases[i] && of_cases[i]->empty();
    result.others += node.is_quantized ? 0 : 1;
    (node.is_quantized ? result.covered : result.others_covered) += is_covered ? 1 : 0;
    if (node.is_quantized && !is_covered) ++uncovered[{node.op_type, of_cases[i].value_or(node.reason)}];
  }
  for (const auto& [part, count] : uncovered) result.uncovered.push_back({part.first, part.second, count});
  std::stable_sort(result.uncovered.begin(), result.uncovered.end(),
                   [](const auto& a, const auto& b) { return a.nodes > b.nodes; });
  return result;
}

std::string ModelNodes::others_text() const {
  constexpr std::size_t kShown = 10;
  std::map<std::string, std::uint64_t> by_name;
  for (const Entry& node : nodes_) by_name[node.op_type] += node.is_quantized ? 0 : 1;
  std::vector<std::pair<std::string, std::uint64_t>> counts(by_name.begin(), by_name.end());
  std::stable_sort(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, counts.size()); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(counts[i].second) + " " + counts[i].first;
  }
  if (counts.size() > kShown) text += ", and " + std::to_string(counts.size() - kShown) + " other operators";
  return text.empty() ? "no nodes" : text;
}

}  // namespace qconform
