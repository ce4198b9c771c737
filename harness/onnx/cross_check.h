// ONNX's own checker and shape inference as a second opinion on what a case is.
#pragma once

#include <string>
#include <vector>

#include "harness/core/case.h"

namespace qconform {

/// Compares the ONNX library's opinion of a case with classify().
struct CrossCheck {
  /// False when the library is older than the case's opset version, or does not know its domain, or an operator that
  /// find_operator() knows: then there is no second opinion.
  bool comparable = false;
  /// One line each; empty when both agree. A valid case is accepted, with the same output type and
  /// shape. An implementation-defined case may be refused. An invalid case is refused: the library checks
  /// fewer rules, so that differences there are expected (C6, C7, C16 and others).
  std::vector<std::string> differences;
};

/// Runs the library on the case's one-node model; what it throws is caught. For cases out of contract
/// inference runs in a child process (graph_scope.h), because the library may crash on them.
[[nodiscard]] CrossCheck cross_check(const Case& test_case);

}  // namespace qconform
