// Finds by their values which elements a backend computes wrong, for failures that no model explains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "harness/model/defects/diagnosed_case.h"

namespace qconform::diagnose {

struct WrongValues {
  std::string text;  ///< "y = -128, zero points 0"
  std::uint64_t wrong_there = 0;
  std::uint64_t right_there = 0;
  std::uint64_t right_elsewhere = 0;
};

/// Finds at most three rules that every wrong element keeps: bounds on y, on the rounded value before the zero point is
/// added, and on the zero point, being a tie or near one, the way in which it is to be rounded, and features of the
/// case; one of them at least speaks of the element. Learns from two of three observations: of the others' elements
/// that keep the rules at least kFewestPrecise are wrong. For outputs of integers of at most 16 bits; nothing where no
/// rules are found, and where fewer than eight elements are wrong.
[[nodiscard]] std::optional<WrongValues> wrong_values(std::span<const Observation* const> failing,
                                                      std::span<const Observation* const> passing);

}  // namespace qconform::diagnose
