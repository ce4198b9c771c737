// The interpreter of graphs as a backend, and a case of several nodes ready to be interpreted.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "harness/core/backend.h"
#include "harness/graphs/case_graph.h"
#include "reference/graph/interpreter.h"

namespace qconform::backend {

/// Returns the program of a graph for a backend called `name`. Refuses cases out of contract, cases that lower_graph()
/// does not judge, scales by which any value is right (rule C21), and cases of one node, which the backend does not
/// compute.
[[nodiscard]] std::variant<GraphProgram, outcome::Unsupported, outcome::Rejected> interpretable(const Case& test_case,
                                                                                                const char* name);

class InterpretedGraph final : public PreparedCase {
 public:
  /// `instead`: as interpret() takes it, empty or an entry for each step.
  InterpretedGraph(GraphProgram graph, const reference::graph::InterpreterArithmetic& arithmetic,
                   std::vector<reference::graph::StepResult> instead);

  void run(OutputSink& sink) override;

 private:
  GraphProgram graph_;
  reference::graph::InterpreterArithmetic arithmetic_;
  std::vector<reference::graph::StepResult> instead_;
};

}  // namespace qconform::backend
