// The evidence of a name as an experiment that a person can repeat.
#pragma once

#include <optional>
#include <span>

#include "harness/diagnose/explain/candidates.h"
#include "harness/report/report.h"

namespace qconform::diagnose {

/// Looks for the second-best name: the one of `known` that reproduces most of the smallest failures and, among those
/// that do as well, most wrong elements. Returns the smallest case that tells it from `named`: the backend answers what
/// `named` computes, and not what the other does. Where no other name has a wrong element, the smallest failure, with
/// none beside. `observed`: cases that the backend was run on. Nothing where none of them shows `named`.
[[nodiscard]] std::optional<SeparatingCase> experiment_on(const CandidateTest& test, const DefectSet& named,
                                                          std::span<const Observation* const> observed,
                                                          std::span<const Defect* const> known);

}  // namespace qconform::diagnose
