// Finds by their values which elements a backend computes wrong, for failures that no model explains.
#pragma once

#include <optional>
#include <span>

#include "harness/diagnose/explain/whereabouts.h"

namespace qconform::diagnose {

/// Finds at most three rules that every wrong element keeps: bounds on y, on the rounded value before the zero point is
/// added, and on the zero point, being a tie or near one, the way in which it is to be rounded, and features of the
/// case; one of them at least speaks of the element. Learns from two of three observations: of the others' elements
/// that keep the rules at least kFewestPrecise are wrong. For outputs of integers of at most 16 bits; nothing where no
/// rules are found, and where fewer than eight elements are wrong.
[[nodiscard]] std::optional<WrongPlace> wrong_values(std::span<const Observation* const> failing,
                                                     std::span<const Observation* const> passing);

}  // namespace qconform::diagnose
