// A case of several nodes, lowered to a program and ready to be interpreted.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "harness/core/backend.h"
#include "harness/graphs/lowering.h"
#include "reference/graph/interpreter.h"

namespace qconform::backend {

/// What a backend that takes graphs makes of a case: a refusal of what is out of contract, of what lower_graph() does
/// not judge, of scales by which any value is right (rule C21), and of one node, which `name` does not compute.
[[nodiscard]] std::variant<GraphProgram, outcome::Unsupported, outcome::Rejected> interpretable(const Case& test_case,
                                                                                                const char* name);

class InterpretedGraph final : public PreparedCase {
 public:
  /// `instead`: as interpret() takes it, empty or an entry for each step.
  InterpretedGraph(GraphProgram graph, const reference::graph::Arithmetic& arithmetic,
                   std::vector<reference::graph::StepResult> instead);

  void run(OutputSink& sink) override;

 private:
  GraphProgram graph_;
  reference::graph::Arithmetic arithmetic_;
  std::vector<reference::graph::StepResult> instead_;
};

}  // namespace qconform::backend
