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
#include "harness/model/draws/rng.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_proto.h"

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

  struct Entry {
    std::string op_type;  ///< with its domain
    bool is_quantized;
    std::string reason;  ///< why no case holds it; for those that cases may hold, that none was made yet
  };
  explicit ModelNodes(std::vector<Entry> nodes) : nodes_(std::move(nodes)) {}
  [[nodiscard]] const std::vector<Entry>& entries() const { return nodes_; }

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

  std::vector<Entry> nodes_;
  std::vector<std::vector<std::size_t>> cases_;
};

// One quantized node of a model as a case: what the model holds, and what has to be drawn.

/// Why a node or a unit gives no case.
struct SkippedNode {
  std::string reason;  ///< one line that begins with what is at fault: operator, attribute, type, size, ...
};

/// Operator, attributes, inputs and note of a node whose operator find_operator() knows. Constants
/// come from the model (damaged ones are an error); the data input, and what the model computes at
/// run time, are drawn from `rng` where `computed` does not hold them. Tensors above `max_elements` are not drawn.
/// The recorded output is that of `computed`, if it is there.
[[nodiscard]] Result<std::variant<Case, SkippedNode>> case_from_model_node(
    const onnx::ModelProto& model, const onnx::NodeProto& node, const GraphScope& scope, const ExternalFolder& external,
    const NamedTensors& computed, std::int64_t max_elements, Rng& rng);

}  // namespace qconform
