// Quantized nodes of a whole model as cases: which are judged, which inputs they get, and why the others are in no
// case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/backends/library.h"
#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/model/draws/draws.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace onnx {
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace qconform {

/// Whether the node is quantized: by its name, or because it takes or gives data of 2, 4 or 8 bits. Constant nodes are
/// data themselves and no quantized nodes.
[[nodiscard]] bool is_quantized_node(const onnx::NodeProto& node, const GraphScope& scope);

/// Every node of a model by its position: those of the outermost graph from 0 on, each body of a node behind the whole
/// graph that it belongs to, and the nodes of functions that were not put in place (inline_functions()) last.
class ModelNodes {
 public:
  /// `scope` knows constants and types. `in_units`: positions of nodes that cases of units may hold.
  ModelNodes(const onnx::ModelProto& model, const GraphScope& scope, const std::set<std::size_t>& in_units);

  struct ModelNode {
    std::string op_type;  ///< with its domain
    bool is_quantized;
    std::string reason;  ///< why no case holds it; for those that cases may hold, that none was made yet
  };
  explicit ModelNodes(std::vector<ModelNode> nodes) : nodes_(std::move(nodes)) {}
  [[nodiscard]] const std::vector<ModelNode>& entries() const { return nodes_; }

  [[nodiscard]] std::uint64_t quantized() const;
  /// The suite's next case holds these nodes.
  void add_case(std::vector<std::size_t> positions) { cases_.push_back(std::move(positions)); }
  /// A case that would hold the node cannot be made. The first reason for a node stays.
  void leave_out(std::size_t position, const std::string& reason);
  /// See Suite::node_coverage().
  [[nodiscard]] NodeCoverage coverage(const std::vector<std::string>* why_not) const;
  /// Operators of nodes that are not quantized, the most frequent first: "53 Conv, 35 Relu"; "no nodes".
  [[nodiscard]] std::string others_text() const;

 private:
  void add(const GraphScope& scope, const std::set<std::size_t>& in_units);

  std::vector<ModelNode> nodes_;
  std::vector<std::vector<std::size_t>> cases_;
};

// One quantized node of a model as a case: what the model holds, and what has to be drawn.

/// Why a node or a unit gives no case.
struct SkippedNode {
  std::string reason;  ///< one line that begins with what is at fault: operator, attribute, type, size, ...
  /// The node at fault, counted among the unit's, where one is.
  std::optional<std::size_t> node = {};
};

/// Returns an error with the rule "skip": there is no case. Suites report a SkippedNode with this reason.
[[nodiscard]] inline tl::unexpected<Error> skip(std::string reason) {
  return fail("", std::move(reason), "skip");
}

/// Operator, attributes, inputs and note of a node whose operator find_operator() knows. Constants
/// come from the model (damaged ones are an error); the data input, and what the model computes at
/// run time, are drawn from `rng` where `computed` does not hold them. Tensors above `max_elements` are not drawn.
/// The recorded output is that of `computed`, if it is there.
[[nodiscard]] Result<std::variant<Case, SkippedNode>> case_from_model_node(
    const onnx::ModelProto& model, const onnx::NodeProto& node, const GraphScope& scope, const ExternalFolder& external,
    const NamedTensors& computed, std::int64_t max_elements, Rng& rng);

// The quantized units of a whole model, as cases of several nodes.
//
// A unit is what a runtime fuses: nodes that compute from quantized data, the nodes that dequantize or quantize what
// they read, and what follows up to the next quantization. It has one of these forms:
//   - a QuantizeLinear, the nodes that compute what it quantizes, and the DequantizeLinear nodes that these read
//   - DynamicQuantizeLinear, an integer product, and the scaling of its sums up to the last Mul or Add
//   - DequantizeLinear and float operators whose result nobody quantizes
//   - any other node of quantized data by itself: MatMulNBits, QLinearAdd, a pool of bytes

struct ModelUnit {
  std::string name;                   ///< name of its node of most work, or that node's operator
  std::size_t anchor = 0;             ///< the quantized node that it is about, as a position in its graph
  const GraphScope* scope = nullptr;  ///< the graph that it belongs to
  std::size_t first_node = 0;         ///< position of the graph's first node, as ModelNodes counts
  std::vector<std::size_t> nodes;     ///< positions of all its nodes in its graph, ascending
  std::vector<std::string> fed;       ///< values that no node of them computes and that are no constants
  std::vector<std::string> outputs;   ///< the last node's first, then others that only nodes outside read

  /// Positions of its nodes as ModelNodes counts.
  [[nodiscard]] std::vector<std::size_t> positions() const;
};

/// Those of the graph and of the bodies of its nodes, in their order. `context`: how many nodes before each unit, and
/// how many behind it, are taken along, the nearest ones first; they belong to operators that graphs are judged with.
[[nodiscard]] std::vector<ModelUnit> units_of(const GraphScope& scope, std::size_t context);

/// Returns the unit about the same node without nodes that no case can hold (positions in its graph); nothing where
/// none is left.
[[nodiscard]] std::optional<ModelUnit> unit_without(const ModelUnit& unit, const std::set<std::size_t>& refused,
                                                    std::size_t context);

/// Returns the names of the values that go into the units and come out of them.
[[nodiscard]] std::set<std::string> values_around(const std::vector<ModelUnit>& units);

/// Returns the names of the values that only nodes of one unit read.
[[nodiscard]] std::set<std::string> values_within(const std::vector<ModelUnit>& units);

/// How much of a unit a case holds.
struct UnitBounds {
  std::int64_t drawn = 0;   ///< elements of a tensor that is drawn, at most
  std::int64_t judged = 0;  ///< elements of a recorded output that are judged, about (model_sample.h); 0: all
};

/// The case: constants come from the model, what is fed and the recorded outputs from `computed`. Quantized data and
/// floats that it does not hold are drawn from `rng`; the note states what is implementation-defined. Skipped: other
/// data, tensors above `bounds`, and what is out of contract or not judged, or where any value is right.
[[nodiscard]] Result<std::variant<Case, SkippedNode>> case_from_unit(const onnx::ModelProto& model,
                                                                     const ModelUnit& unit,
                                                                     const ExternalFolder& external,
                                                                     const NamedTensors& computed,
                                                                     const UnitBounds& bounds, Rng& rng);

}  // namespace qconform
