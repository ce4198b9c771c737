// The quantized units of a whole model in QDQ form, as cases of several nodes.
//
// A unit is what a runtime fuses: a QuantizeLinear, the nodes that compute what it quantizes, and the DequantizeLinear
// nodes that these read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "harness/backends/library.h"
#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/model/draws/rng.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_proto.h"
#include "harness/suites/model_nodes.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

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
