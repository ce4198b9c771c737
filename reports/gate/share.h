// Whether a share of cases became larger, beyond what chance makes of other cases. Internal to the gate.
#pragma once

#include <cstdint>

namespace qconform::gate {

enum class Trend : std::uint8_t { lower, same, higher };

struct Share {
  std::uint64_t part = 0;
  std::uint64_t whole = 0;  ///< no less than `part`; 0 where there is no whole to speak of
};

/// How improbable a difference has to be to count, where the cases are others than in the baseline.
inline constexpr double kChance = 0.001;

/// Compares two shares. On the same cases, or without a whole, compares the parts as they are. On other cases, uses
/// Fisher's exact test, one-sided: higher or lower only where alike shares would give this with a probability below
/// kChance.
[[nodiscard]] Trend trend(const Share& before, const Share& now, bool same_cases);

/// The probability that of `before.part + now.part` marked cases among all, at least `now.part` fall on the
/// `now.whole` ones by chance.
[[nodiscard]] double chance_of_at_least(const Share& before, const Share& now);

}  // namespace qconform::gate
