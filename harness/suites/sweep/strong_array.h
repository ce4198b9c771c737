// Covering array of strength 4 among some parameters, and a proof of it that is independent of how it was made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/suites/sweep/covering_array.h"
#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

/// The parameters that say where windows lie and how large things are: of every role but `value` and `core`. In their
/// order.
[[nodiscard]] std::vector<std::size_t> shape_parameters(const Model& model);

/// Rows that the model allows and that cover every feasible combination of classes of four of the parameters `among`,
/// which are four or more, ascending; the other parameters are drawn. The same rows on every machine and compiler.
[[nodiscard]] std::vector<Row> strong_array(const Model& model, std::span<const std::size_t> among);

/// As prove_coverage(), of combinations of four of `among`. What excludes the infeasible ones is not told.
[[nodiscard]] Proof prove_strong_coverage(const Model& model, std::span<const std::size_t> among,
                                          std::span<const Row> rows);

/// How many such combinations the rows have, those that the model does not allow left aside.
[[nodiscard]] std::uint64_t covered_strongly(const Model& model, std::span<const std::size_t> among,
                                             std::span<const Row> rows);

}  // namespace qconform::sweep
