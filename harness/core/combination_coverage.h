// What a covering suite covers: the figures that a run reports.
#pragma once

#include <cstdint>
#include <string>

#include "harness/describe/fields.h"

namespace qconform {

/// Of one model: how many combinations of `strength` classes can occur in a case, and how many of
/// them the suite's cases have.
struct CombinationCoverage {
  QC_DESCRIBED(.name = "coverage");
  QC_FIELD(std::string, model, {}, "model");
  QC_FIELD(std::uint64_t, strength, {3}, "strength", .doc = "Classes of how many parameters make a combination.",
           .minimum = 1);
  QC_FIELD(std::uint64_t, parameters, {}, "parameters");
  QC_FIELD(std::uint64_t, classes, {}, "classes", .doc = "Of all parameters together.");
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(std::uint64_t, feasible, {}, "feasible", .doc = "Combinations that can occur in a case.");
  QC_FIELD(std::uint64_t, infeasible, {}, "infeasible", .doc = "Combinations proved to occur in none.");
  QC_FIELD(std::uint64_t, covered, {}, "covered", .doc = "Feasible combinations that the cases have.");

  bool operator==(const CombinationCoverage&) const = default;
};

}  // namespace qconform
