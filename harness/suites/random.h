// Random valid cases of every operator: shapes, pads, groups, zero points, per-channel scales.
#pragma once

#include <cstdint>

#include "harness/suites/drawn.h"
#include "harness/suites/rng.h"

namespace qconform {

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case random_case(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed.
class RandomSuite final : public DrawnSuite {
 public:
  static constexpr std::uint64_t kDefaultCases = 10000;

  RandomSuite(std::uint64_t seed, std::uint64_t count) : DrawnSuite("random", random_case, seed, count) {}
};

}  // namespace qconform
