// XNNPACK's subgraph interface as a backend: quantized units, each as one node of a subgraph.
#pragma once

#include <tl/expected.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/graphs/case_graph.h"

namespace qconform::libraries::xnn {

// A quantized unit of a graph as XNNPACK sees one: an operator on quantized tensors.

struct QuantizedUnit {
  struct UnitOperand {
    std::size_t input = 0;  ///< position among the case's inputs
    const reference::DequantizeLinear* parameters = nullptr;
  };

  const reference::QuantizeLinear* y = nullptr;
  const reference::graph::Step* compute = nullptr;  ///< null where activations alone stand between
  std::vector<UnitOperand> operands;
  float lowest = -std::numeric_limits<float>::infinity();  ///< the least value that the activations let through
  float highest = std::numeric_limits<float>::infinity();
};

/// The unit that the whole graph is: DequantizeLinear of tensors of the case -> an operator [-> Relu, Clip] ->
/// QuantizeLinear, which is the only output. Pointers lead into `graph`. Or why it is none.
[[nodiscard]] tl::expected<QuantizedUnit, std::string> quantized_unit(const Case& test_case, const GraphProgram& graph);

// The backend.

/// The library is initialized.
[[nodiscard]] std::unique_ptr<Backend> subgraph_backend(BackendInfo info);

}  // namespace qconform::libraries::xnn
