// The exact values of a quantized graph, in ball arithmetic: they check the sets of reference/graph/sets.h.
#pragma once

#include <optional>
#include <vector>

#include "reference/graph/program.h"
#include "reference/oracle/ball.h"

namespace qconform::oracle {

/// By element; nothing where there is no number: behind a division by 0, and behind a comparison or a rounding that the
/// balls do not decide.
using Balls = std::vector<std::optional<Ball>>;

/// Every value of the program, by ValueId: the real value of the formula, which each Q rounds once, to integers alone.
[[nodiscard]] std::vector<Balls> exact_values(const reference::graph::Program& program);

/// The sum of the magnitudes of the terms of element `i` of a WeightedSum, bias included.
[[nodiscard]] Ball magnitude_of(const reference::graph::WeightedSum& sum, const std::vector<const Balls*>& operands,
                                std::size_t i);

}  // namespace qconform::oracle
