// Cases of several nodes: how the names of their values fit together, their program, how a reader sees them, and how
// they are written down node by node.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "reference/contract/remark.h"
#include "reference/graph/program.h"
#include "reference/graph/sets.h"

namespace qconform {

// How the names of a case's values must fit together, so that its nodes can be computed one after the other.

/// Checks the names of a case. A node that is judged by itself leaves them out. In a graph, every tensor of the case
/// and every output of a node has a name of its own, which does not begin with "qconform."; a node reads tensors of the
/// case and outputs of nodes before it; the outputs of the graph are computed, each named once; the nodes of a domain
/// have one opset version; at most limits.h allows. The answers recorded are none, or one for each output. Errors name
/// the field, the value, and rule "graph" or "limit".
[[nodiscard]] Result<void> check_wiring(const Case& test_case);

/// Gives a node that is judged by itself its tensors in the order in which it reads them, and leaves the names out; any
/// other case stays as it is.
[[nodiscard]] Case in_own_order(Case test_case);

/// Checks the names of a case that states them, and gives it as check_wiring() wants it. Errors as there.
[[nodiscard]] Result<Case> wired(Case test_case);

// A case of several nodes as a program of the reference: every shape, tap and broadcast decided, nothing computed.

struct GraphProgram {
  reference::graph::Program program;
  std::vector<std::string> names;  ///< by value: the case's; empty where lowering made the value
  std::vector<ElementType> types;  ///< by value, also those that the reference has no name for
  /// A value inside a node that an output shows: elements of that from `first` on.
  struct Shown {
    reference::graph::ValueId value;
    reference::graph::ValueId by;
    std::int64_t first;
  };
  std::vector<Shown> shown;
  std::vector<reference::graph::ValueId> judged;  ///< the outputs, without those that are only shown
  /// A quantization has a scale by which any value is right (rule C21).
  bool value_is_open = false;
};

/// All values of a graph together, the stated ones too, have at most that many elements; lists of taps count as such.
inline constexpr std::int64_t kMaxGraphElements = std::int64_t{1} << 26;

/// Whether it is a quantized operator that graphs alone have, MatMulInteger say: a case of one such node is a graph.
[[nodiscard]] bool is_quantized_graph_operator(std::string_view domain, std::string_view op_type);
/// Whether a node of the operator, on data of 2, 4 or 8 bits, may be a graph by itself.
[[nodiscard]] bool is_graph_operator(std::string_view domain, std::string_view op_type);
/// Whether some domain has an operator of this name that graphs are judged with.
[[nodiscard]] bool is_graph_operator(std::string_view op_type);

/// Lowers a graph, for which check_wiring() holds. On a violation empty, and `contract` says which
/// field ("nodes[2].pads"), value and rule: "operator" for one that is not judged in graphs; "signature" for types,
/// attributes and numbers of inputs; the operator's name for what its text forbids; rules of docs/numerics.md for what
/// the single operators share; "limit" for what is right or open by the text and is not judged, computed shapes and
/// parameters among them. What single operators leave to implementations stays implementation-defined. Nothing larger
/// than kMaxGraphElements is allocated.
[[nodiscard]] std::optional<GraphProgram> lower_graph(const Case& test_case, reference::Contract& contract);

// Cases of several nodes for a reader.

/// Shows a case of several nodes as a graph, whatever is expected of it.
[[nodiscard]] CaseGraph shown_graph(const Case& test_case);

/// Shows a tensor of such a graph, with its data where it has few elements.
[[nodiscard]] CaseGraph::Value shown_value(const std::string& name, const Tensor& tensor);

// A graph written down node by node.

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

/// Lowers and evaluates a graph while a GraphBuilder writes it down: what stays is lowered once.
class GrowingGraph {
 public:
  GrowingGraph();
  ~GrowingGraph();
  GrowingGraph(const GrowingGraph&) = delete;
  GrowingGraph& operator=(const GrowingGraph&) = delete;

  /// Takes in what the builder has now. Call it before the others, with the same builder every time; of its names none
  /// may come back for another value. False where the graph is out of contract, or implementation-defined.
  [[nodiscard]] bool follow(const GraphBuilder& builder);

  // Both take a value that a node computes, once follow() has returned true, and return nothing where it has integers
  // beyond 2^53.

  [[nodiscard]] std::optional<reference::graph::Shape> shape_of(const std::string& name) const;
  /// Returns the bounds that lower_graph() and bounds_of() give the value.
  [[nodiscard]] std::optional<reference::graph::Bounds> bounds_of(const std::string& name, reference::Tier tier);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace qconform
