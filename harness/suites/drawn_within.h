// Random and directed cases inside what a backend takes: drawn with the features that its contract wants, and dropped
// where they lie outside all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"
#include "harness/model/sweep/contract.h"

namespace qconform {

/// Most cases of the suites `directed within` and `random within`.
inline constexpr std::uint64_t kDirectedWithin = 1000;
inline constexpr std::uint64_t kRandomWithin = 1000;

/// `contracts`: what is taken of each of sweep::plans(), in their order. Cases that aim for hazards in turn; a hazard
/// that no draw gets to is given up after a few turns. Depends on seed and contracts alone; names of cases have a
/// digest of the contracts.
[[nodiscard]] std::unique_ptr<Suite> directed_within(std::string name, std::vector<sweep::Contract> contracts,
                                                     std::uint64_t seed);

/// Random cases. Ends early where hardly any draw is taken.
[[nodiscard]] std::unique_ptr<Suite> random_within(std::string name, std::vector<sweep::Contract> contracts,
                                                   std::uint64_t seed);

}  // namespace qconform
