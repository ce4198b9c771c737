// Places in an output where kernels tend to be wrong together: borders, tails, ties, ...
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/diagnose/explain/observation.h"

namespace qconform::diagnose {

struct Place {
  std::string_view id;           ///< "border"
  std::string_view description;  ///< "windows that reach the padding"
};

/// All of them; those of other operators are empty.
[[nodiscard]] std::span<const Place> places();

/// For each element of the output the places that it lies in: bit i stands for places()[i]. "One
/// channel" and the like are those of the first wrong element. The shape of the output is right.
[[nodiscard]] std::vector<std::uint64_t> places_of(const Observation& observation);

}  // namespace qconform::diagnose
