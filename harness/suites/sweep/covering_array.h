// Strength-3 covering array, and a proof of it that is independent of how it was made.
#pragma once

#include <span>
#include <vector>

#include "harness/core/suite.h"
#include "harness/suites/sweep/model.h"

namespace qconform::sweep {

/// Rows that the model allows and that cover every feasible triple: strength 3. The same rows on
/// every machine and compiler. The model has three parameters or more.
[[nodiscard]] std::vector<Row> covering_array(const Model& model);

struct Proof {
  CombinationCoverage coverage;
  /// Infeasible triples by the first constraint that rules them out alone.
  std::vector<std::uint64_t> excluded_by;
  /// Infeasible triples that only several constraints together rule out.
  std::uint64_t excluded_by_several = 0;
};

/// Counts the triples of all parameters. A triple that a row has is feasible, for the row is its
/// witness; rows that break a constraint do not count. Any other triple is searched for in the space
/// of all rows, exhaustively: found, it is feasible and not covered; not found, it is infeasible.
[[nodiscard]] Proof prove_coverage(const Model& model, std::span<const Row> rows);

/// How many triples of classes the rows have, those that the model does not allow left aside.
[[nodiscard]] std::uint64_t covered_triples(const Model& model, std::span<const Row> rows);

}  // namespace qconform::sweep
