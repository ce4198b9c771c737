// Graphs written down node by node: names are made up on the way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"

namespace qconform {

class GraphBuilder {
 public:
  /// Nodes of ONNX's own domain have this opset version.
  explicit GraphBuilder(std::int64_t opset_version) : opset_version_(opset_version) {}

  /// Adds a tensor that is fed, or an initializer; returns its name.
  std::string input(Tensor tensor);
  std::string initializer(Tensor tensor);
  /// Adds a node and returns the name of its output. "" is an omitted input. Nodes of other domains have version 1.
  std::string node(std::string op_type, std::vector<std::string> inputs, std::vector<Attribute> attributes = {},
                   std::string domain = {});
  /// Adds a node of several outputs and returns their names.
  std::vector<std::string> nodes(std::string op_type, std::vector<std::string> inputs, std::size_t outputs,
                                 std::vector<Attribute> attributes = {}, std::string domain = {});

  [[nodiscard]] std::int64_t opset_version() const { return opset_version_; }
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] std::size_t tensor_count() const { return fed_.size() + initializers_.size(); }
  /// Takes back the nodes and initializers that were added since the counts were these.
  void keep(std::size_t nodes, std::size_t initializers);
  [[nodiscard]] std::size_t initializer_count() const { return initializers_.size(); }

  struct Named {
    std::string name;
    Tensor tensor;
  };
  [[nodiscard]] const std::vector<Node>& added_nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Named>& fed() const { return fed_; }
  [[nodiscard]] const std::vector<Named>& initializers() const { return initializers_; }

  /// The graph with these outputs. Initializers that no node reads are left out.
  [[nodiscard]] Case build(std::vector<std::string> outputs) const;

 private:
  std::int64_t opset_version_;
  std::vector<Node> nodes_;
  std::vector<Named> fed_;
  std::vector<Named> initializers_;
  std::size_t next_ = 0;
};

}  // namespace qconform
