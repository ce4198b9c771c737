// Learns a backend's own arithmetic before its failures are explained: the base on which defects are tried.
#pragma once

#include <optional>
#include <vector>

#include "harness/core/backend.h"
#include "harness/diagnose/explain/candidates.h"

namespace qconform::diagnose {

struct BaseArithmetic {
  /// The arithmetic that identify() found, or that a profile from a file pins, as far as the policy admits it: whatever
  /// it does not admit is a defect. Absent where that is the policy's own arithmetic, or nothing fits.
  std::optional<Arithmetic> arithmetic;
  /// Cases that tell the backend from the arithmetics that come nearest to its own.
  std::vector<Case> telling;
};

/// Asks the backend that `run` runs, unless the policy has a profile from a file. Nothing is learnt of one that crashes
/// or times out again and again, or that takes longer than `seconds` altogether.
[[nodiscard]] BaseArithmetic learn_base(const Runner& run, const Operator& op, const Policy& policy, double seconds);

}  // namespace qconform::diagnose
