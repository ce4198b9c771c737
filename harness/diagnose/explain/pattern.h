// Finds the places of its outputs in which a backend is wrong, and by how much.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/defects/observation.h"

namespace qconform::diagnose {

/// The narrowest of a list of regions of the output that holds every wrong element.
struct Pattern {
  std::string_view id;           ///< "border"; "everywhere" when no place of the list holds them all
  std::string_view description;  ///< "windows that reach the padding"
  std::uint64_t wrong = 0;       ///< wrong elements, all of them in that place
  std::uint64_t there = 0;       ///< elements in that place
  std::uint64_t elements = 0;    ///< elements of the outputs looked at
};

/// Finds the pattern of all failing observations together. Outputs of a wrong shape have the pattern "shape" when there
/// are no others.
[[nodiscard]] Pattern pattern_of(std::span<const Observation* const> observations);

/// Whether every wrong element of the failing observation lies in the place of that id; "everywhere" and
/// "shape" as in pattern_of().
[[nodiscard]] bool lies_in(const Observation& observation, std::string_view pattern_id);

/// How far wrong elements are from the right values.
struct ErrorDistribution {
  std::uint64_t wrong = 0;
  double lowest = 0;   ///< lowest got - right; NaN counts for neither
  double highest = 0;  ///< highest got - right
  std::uint64_t too_low = 0;
  std::uint64_t too_high = 0;
  std::uint64_t by_one = 0;  ///< off by 1 in either direction
};
[[nodiscard]] ErrorDistribution errors_of(std::span<const Observation* const> observations);

}  // namespace qconform::diagnose
