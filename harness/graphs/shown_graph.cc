#include "harness/graphs/shown_graph.h"

#include <algorithm>

#include "harness/graphs/lowering.h"
#include "harness/graphs/wiring.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

CaseGraph::Node shown_node(const Node& node) {
  CaseGraph::Node result{
      .op_type = node.op_type, .domain = node.domain, .attributes = {}, .inputs = node.inputs, .outputs = node.outputs};
  for (const Attribute& attribute : node.attributes)
    result.attributes[attribute.name] = attribute_text(attribute.value);
  return result;
}

std::vector<CaseGraph::Value> computed_values(const Case& test_case) {
  reference::Contract contract;
  const auto lowered = check_wiring(test_case) ? lower_graph(test_case, contract) : std::nullopt;
  if (!lowered) return {};
  std::vector<CaseGraph::Value> result;
  for (std::size_t i = 0; i < lowered->names.size(); ++i) {
    const std::string& name = lowered->names[i];
    const bool is_stated =
        std::find(test_case.input_names.begin(), test_case.input_names.end(), name) != test_case.input_names.end();
    if (name.empty() || is_stated) continue;
    result.push_back({name, name_of(lowered->types[i]), lowered->program.values[i].shape, {}});
  }
  return result;
}

}  // namespace

CaseGraph::Value shown_value(const std::string& name, const Tensor& tensor) {
  CaseGraph::Value result{.name = name, .type = name_of(tensor.type), .shape = tensor.shape, .data = {}};
  const std::int64_t elements = tensor.elements();
  for (std::int64_t i = 0; elements <= CaseGraph::kMostElements && i < elements; ++i) {
    result.data.push_back(element_text(tensor, i));
  }
  return result;
}

CaseGraph shown_graph(const Case& test_case) {
  CaseGraph result;
  for (const Node& node : test_case.nodes) result.nodes.push_back(shown_node(node));
  for (std::size_t i = 0; i < test_case.inputs.size() && i < test_case.input_names.size(); ++i) {
    if (const Tensor* tensor = test_case.input(i)) {
      auto& values = i < test_case.fed_inputs ? result.inputs : result.initializers;
      values.push_back(shown_value(test_case.input_names[i], *tensor));
    }
  }
  result.computed = computed_values(test_case);
  result.outputs = test_case.outputs;
  return result;
}

}  // namespace qconform
