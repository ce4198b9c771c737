// Draws the cases of `qconform fuzz` for backends that take less than everything.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/model/sweep/contract.h"
#include "harness/suites/inside.h"

namespace qconform {

/// Cases that follow each other and lie inside one contract, or are fuzz_case()'s: a turn of its directed and random
/// blocks.
inline constexpr std::uint64_t kFuzzTurn = 512;

class FuzzWithin {
 public:
  /// `contracts`: for each backend, what it takes of each of sweep::plans(), in their order. Contracts that take
  /// nothing or everything add nothing, and equal ones count once.
  explicit FuzzWithin(const std::vector<std::vector<sweep::Contract>>& contracts);

  /// Case `index` of `seed`: depends on nothing else but the contracts. Of four turns three lie inside the contracts,
  /// one after the other; the fourth is fuzz_case()'s, for what the contracts may be wrong about and what the models
  /// lack.
  [[nodiscard]] Case at(std::uint64_t seed, std::uint64_t index) const;

 private:
  std::vector<std::unique_ptr<Inside>> contracts_;
};

// Random and directed cases inside what a backend takes: drawn with the features that its contract wants, and dropped
// where they lie outside all the same.

/// Most cases of the suites `directed within` and `random within`.
inline constexpr std::uint64_t kDirectedWithin = 1000;
inline constexpr std::uint64_t kRandomWithin = 1000;

/// `contracts`: what is taken of each of sweep::plans(), in their order. Cases that aim for corner cases in turn; a
/// corner case that no draw gets to is given up after a few turns. Depends on seed and contracts alone; names of cases
/// have a digest of the contracts.
[[nodiscard]] std::unique_ptr<Suite> directed_within(std::string name, std::vector<sweep::Contract> contracts,
                                                     std::uint64_t seed);

/// Random cases. Ends early where hardly any draw is taken.
[[nodiscard]] std::unique_ptr<Suite> random_within(std::string name, std::vector<sweep::Contract> contracts,
                                                   std::uint64_t seed);

}  // namespace qconform
