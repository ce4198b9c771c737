// What a covering suite covers: the figures that a run reports.
#pragma once

#include <cstdint>
#include <string>

namespace qconform {

/// Of one model: how many combinations of `strength` classes can occur in a case, and how many of
/// them the suite's cases have.
struct CombinationCoverage {
  std::string model;
  std::uint64_t strength = 3;
  std::uint64_t parameters = 0;
  std::uint64_t classes = 0;  ///< of all parameters together
  std::uint64_t cases = 0;
  std::uint64_t feasible = 0;
  std::uint64_t infeasible = 0;  ///< proved to occur in no case
  std::uint64_t covered = 0;     ///< of the feasible ones

  bool operator==(const CombinationCoverage&) const = default;
};

}  // namespace qconform
