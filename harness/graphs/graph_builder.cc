#include "harness/graphs/graph_builder.h"

#include <set>
#include <utility>

namespace qconform {

std::string GraphBuilder::input(Tensor tensor) {
  return fed_.emplace_back(Named{"x" + std::to_string(next_++), std::move(tensor)}).name;
}

std::string GraphBuilder::initializer(Tensor tensor) {
  return initializers_.emplace_back(Named{"c" + std::to_string(next_++), std::move(tensor)}).name;
}

std::vector<std::string> GraphBuilder::nodes(std::string op_type, std::vector<std::string> inputs, std::size_t outputs,
                                             std::vector<Attribute> attributes, std::string domain) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs; ++i) names.push_back("v" + std::to_string(next_++));
  const std::int64_t version = domain.empty() ? opset_version_ : 1;
  nodes_.push_back({std::move(op_type), std::move(domain), version, std::move(attributes), std::move(inputs), names});
  return names;
}

std::string GraphBuilder::node(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes,
                               std::string domain) {
  return nodes(std::move(op_type), std::move(inputs), 1, std::move(attributes), std::move(domain)).front();
}

void GraphBuilder::keep(std::size_t nodes, std::size_t initializers) {
  nodes_.resize(nodes);
  initializers_.erase(initializers_.begin() + static_cast<std::ptrdiff_t>(initializers), initializers_.end());
}

Case GraphBuilder::build(std::vector<std::string> outputs) const {
  std::set<std::string> read;
  for (const Node& node : nodes_) read.insert(node.inputs.begin(), node.inputs.end());
  Case result;
  result.nodes = nodes_;
  for (const Named& fed : fed_) {
    result.input_names.push_back(fed.name);
    result.inputs.emplace_back(fed.tensor);
  }
  result.fed_inputs = fed_.size();
  for (const Named& initializer : initializers_) {
    if (!read.contains(initializer.name)) continue;
    result.input_names.push_back(initializer.name);
    result.inputs.emplace_back(initializer.tensor);
  }
  result.outputs = std::move(outputs);
  return result;
}

}  // namespace qconform
