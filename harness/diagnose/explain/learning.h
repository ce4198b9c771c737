// Learns what a backend does where no model of a known defect fits: an expression in place of one of the reference's,
// found by trying all of them, smallest first, on what was observed, and then on cases made to tell apart those that
// are left.
//
// docs/explain.md ("Learning a model") describes the language and what is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/probes.h"

namespace qconform::diagnose {

struct Learning {
  /// Models (learnt_model.h) that reproduce every byte of every observation, three failing ones or more, and of cases
  /// that were generated when they were known; the smallest expression first. Several where no generated case tells
  /// them apart. Empty: none was found.
  std::vector<DefectSet> candidates;
  /// There is one, and every other expression of its size was tried and is contradicted.
  bool is_certain = false;
  std::uint64_t tried = 0;   ///< expressions run on a case
  std::uint64_t agreed = 0;  ///< cases generated when the candidates were known, where they differ from the reference
};

struct LearningOptions {
  std::uint64_t work;  ///< work of models, in products: ModelledCase::expense()
  /// Whether something else has this failure, so that nothing is to be learnt from it. May be empty.
  std::function<bool(const Observation&)> is_explained;
};

/// `observe` runs the backend on a case and adds what comes of it to `evidence`; null where that says nothing.
[[nodiscard]] Learning learn(const Operator& op, const Evidence& evidence, Probes& probes, const CandidateTest& test,
                             const std::function<const Observation*(Case)>& observe, const LearningOptions& options);

}  // namespace qconform::diagnose
