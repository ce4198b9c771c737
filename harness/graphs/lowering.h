// A case of several nodes as a program of the reference: every shape, tap and broadcast decided, nothing computed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "reference/contract/remark.h"
#include "reference/graph/program.h"

namespace qconform {

struct GraphProgram {
  reference::graph::Program program;
  std::vector<std::string> names;  ///< by value: the case's; empty where lowering made the value
  std::vector<ElementType> types;  ///< by value, also those that the reference has no name for
  /// A quantization has a scale by which any value is right (rule C21).
  bool value_is_open = false;
};

/// All values of a graph together, the stated ones too, have at most that many elements; lists of taps count as such.
inline constexpr std::int64_t kMaxGraphElements = std::int64_t{1} << 25;

/// Whether it is a quantized operator that graphs alone have, MatMulInteger say: a case of one such node is a graph.
[[nodiscard]] bool is_quantized_graph_operator(std::string_view domain, std::string_view op_type);
/// Whether some domain has a quantized operator of this name that graphs alone have.
[[nodiscard]] bool is_quantized_graph_operator(std::string_view op_type);

/// Lowers a graph, for which check_wiring() holds. On a violation empty, and `contract` says which
/// field ("nodes[2].pads"), value and rule: "operator" for one that is not judged in graphs; "signature" for types,
/// attributes and numbers of inputs; the operator's name for what its text forbids; rules of docs/numerics.md for what
/// the single operators share; "limit" for what is right or open by the text and is not judged, computed shapes and
/// parameters among them. What single operators leave to implementations stays implementation-defined. Nothing larger
/// than kMaxGraphElements is allocated.
[[nodiscard]] std::optional<GraphProgram> lower_graph(const Case& test_case, reference::Contract& contract);

}  // namespace qconform
