// The evidence on a backend that is gathered while its failure is explained.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/model/defects/observation.h"

namespace qconform::diagnose {

/// The case in question first.
using Evidence = std::vector<std::unique_ptr<Observation>>;

/// Observations that are failures.
[[nodiscard]] std::vector<const Observation*> failures_of(const Evidence& evidence);

/// The observations, those first that contradict wrong candidates at the least expense: failures, then
/// by their work.
[[nodiscard]] std::vector<const Observation*> in_testing_order(const Evidence& evidence);

}  // namespace qconform::diagnose
