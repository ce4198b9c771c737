// Why a backend is wrong on a case: the smallest set of defect models that reproduces its output there
// and on further cases, made to tell the remaining sets apart.
//
// docs/explain.md describes the method and what is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "harness/diagnose/explain/explanation.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::diagnose {

struct ExplainOptions {
  std::uint64_t seed = 1;
  std::uint64_t cases = 1500;  ///< at most, that are generated
  /// At most, of models run on cases, in products (ModelledCase::expense()): a few nanoseconds each. A step
  /// that has begun is not cut short. The answer does not depend on how busy the machine is.
  std::uint64_t work = std::uint64_t{1} << 30;
  /// At most, of models run to learn a model where the known ones do not explain the failure, in products; 0: learns
  /// none.
  std::uint64_t learning_work = std::uint64_t{1} << 30;
  double seconds = 6;  ///< at most, that the backend takes, wall-clock time
  /// Further cases on which the backend fails, small ones where the case in question is large.
  std::vector<Case> neighbours{};
  /// The backend's arithmetic, where it is known (base_arithmetic.h).
  std::optional<Arithmetic> base{};
  /// Cases that tell the backend from the arithmetics nearest to its own: a candidate that is an arithmetic itself has
  /// to have them too.
  std::vector<Case> telling{};
  /// The models that come into question; empty: all of them.
  std::vector<const Defect*> known{};
  /// Whether another cause has this failure, so that nothing is to be learnt from it. May be empty.
  std::function<bool(const Observation&)> is_explained{};
};

/// `observation` is a failure of the backend that `run` runs. What it is refused, or crashes on, says
/// nothing and is left aside.
[[nodiscard]] Explanation explain(std::unique_ptr<Observation> observation, const Runner& run, const Policy& policy,
                                  const ExplainOptions& options = {});

/// The fewest defects of the explanation's first set that reproduce every byte of the failure: a backend may have
/// others too, which do not show there. Nothing where the whole set does not reproduce it.
[[nodiscard]] std::optional<DefectSet> shown_defects(const Explanation& explanation, const Observation& failure,
                                                     const Policy& policy, const ExplainOptions& options = {});

/// Whether an answer shows the defects that `failure` shows: shrinking that holds it does not slip to another defect.
/// Empty, so that it holds nothing, where shown_defects() finds none.
[[nodiscard]] shrink::HasCause same_cause(const Explanation& explanation, const Observation& failure,
                                          const Policy& policy, const ExplainOptions& options = {});

}  // namespace qconform::diagnose
