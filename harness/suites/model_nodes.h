// Quantized nodes of a whole model as cases: which are judged, which inputs they get, and why the others are in no
// case.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Whether the operator is quantized by its name, whatever its data: Q* (without QuickGelu, which is of floats),
/// Dequantize*, DynamicQuantize*, *Integer*, MatMulNBits and GatherBlockQuantized, in any domain.
[[nodiscard]] bool has_quantized_name(std::string_view op_type);

/// Whether the node is quantized: by its name, or because it takes or gives data of 2, 4 or 8 bits. Constant nodes are
/// data themselves and no quantized nodes.
[[nodiscard]] bool is_quantized_node(const onnx::NodeProto& node, const GraphScope& scope);

/// Every node of a model by its position: those of the outermost graph from 0 on, each body of a node behind the whole
/// graph that it belongs to, and the nodes of functions last.
class ModelNodes {
 public:
  /// `scope` knows constants and types. `in_units`: positions in the outermost graph that cases of units may hold.
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

// The quantized units of a whole model in QDQ form, as cases of several nodes.
//
// A unit is what a runtime fuses: a QuantizeLinear, the nodes that compute what it quantizes, and the DequantizeLinear
// nodes that these read.

struct ModelUnit {
  std::string name;                  ///< name of the node that QuantizeLinear reads, or its operator
  std::size_t quantize = 0;          ///< the QuantizeLinear, as a position in the graph
  std::vector<std::size_t> nodes;    ///< positions of all its nodes, ascending
  std::vector<std::string> fed;      ///< values that no node of them computes and that are no constants
  std::vector<std::string> outputs;  ///< QuantizeLinear's, and others that only nodes outside read
};

/// Those of the outermost graph, in its order. `context`: how many nodes before each unit, and how many behind it, are
/// taken along, the nearest ones first; they belong to operators that graphs are judged with.
[[nodiscard]] std::vector<ModelUnit> units_of(const GraphScope& scope, std::size_t context);

/// Returns the names of the values that go into the units and come out of them.
[[nodiscard]] std::set<std::string> values_around(const std::vector<ModelUnit>& units);

/// The case: constants come from the model, what is fed and the recorded outputs from `computed`. Quantized data that
/// it does not hold are drawn from `rng`; the note states what is implementation-defined. Skipped: other data, tensors
/// above `max_elements`, and what is out of contract or not judged, or where any value is right.
[[nodiscard]] Result<std::variant<Case, SkippedNode>> case_from_unit(const onnx::ModelProto& model,
                                                                     const ModelUnit& unit, const GraphScope& scope,
                                                                     const ExternalFolder& external,
                                                                     const NamedTensors& computed,
                                                                     std::int64_t max_elements, Rng& rng);

}  // namespace qconform
