// What `qconform fuzz` draws: blocks of random cases, each with its own mix of features, and between
// them blocks of directed ones.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/suites/drawn.h"

namespace qconform {

/// Case `index` of `seed`: depends on nothing else, and is the same on every machine and compiler.
[[nodiscard]] Case fuzz_case(std::uint64_t seed, std::uint64_t index);

/// The cases of a seed; without a count there is no end.
class FuzzSuite final : public DrawnSuite {
 public:
  FuzzSuite(std::uint64_t seed, std::optional<std::uint64_t> count) : DrawnSuite("fuzz", fuzz_case, seed, count) {}
};

}  // namespace qconform
