// A graph that is lowered and evaluated while a GraphBuilder writes it down: what stays is lowered once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "harness/core/case.h"
#include "harness/graphs/graph_builder.h"
#include "reference/graph/sets.h"

namespace qconform {

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
