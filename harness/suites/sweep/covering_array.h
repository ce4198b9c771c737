// Covering arrays of strength 3 and 4, and a proof of them that is independent of how they were made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/core/suite.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {

/// The combinations that an array covers: classes of every `strength` of the parameters `among` together.
struct Combinations {
  std::size_t strength;            ///< 3 or 4
  std::vector<std::size_t> among;  ///< ascending, `strength` of them or more
};

/// The parameters that say where windows lie and how large things are: geometry and extents. In their order.
[[nodiscard]] std::vector<std::size_t> shape_parameters(const Model& model);

/// Returns the combinations of strength 3 among all parameters, or of strength 4 among shape_parameters().
[[nodiscard]] Combinations combinations_of(const Model& model, std::size_t strength = 3);

/// Rows that the model allows and that cover every feasible one of the combinations; parameters that are not among
/// those are drawn. The same rows on every machine and compiler.
[[nodiscard]] std::vector<Row> covering_array(const Model& model, const Combinations& combinations);
/// Covers the combinations of strength 3. The model has three parameters or more.
[[nodiscard]] std::vector<Row> covering_array(const Model& model);

struct Proof {
  CombinationCoverage coverage;
  /// Infeasible combinations by the first constraint that rules them out alone.
  std::vector<std::uint64_t> excluded_by;
  /// Infeasible combinations that only several constraints together rule out.
  std::uint64_t excluded_by_several = 0;
};

/// Counts what the rows cover, without the search for combinations that they lack: all but `feasible` and `infeasible`.
/// Rows that break a constraint do not count.
[[nodiscard]] CombinationCoverage coverage_of(const Model& model, const Combinations& combinations,
                                              std::span<const Row> rows);

/// Counts the combinations. One that a row has is feasible, for the row is its witness; rows that break a constraint do
/// not count. Any other one is searched for in the space of all rows, exhaustively: found, it is feasible and not
/// covered; not found, it is infeasible.
[[nodiscard]] Proof prove_coverage(const Model& model, const Combinations& combinations, std::span<const Row> rows);
/// Counts the combinations of strength 3.
[[nodiscard]] Proof prove_coverage(const Model& model, std::span<const Row> rows);

// Solved arrays with their proofs, kept on disk: finding them takes longer than checking them.

struct SolvedArray {
  std::vector<Row> rows;
  Proof proof;
};

/// Covers every feasible combination of `strength` classes: 3, of all parameters, or 4, among shape_parameters(). Read
/// from cache::folder() where it was solved before, by this version of qconform and of the same model; every row read
/// is held against every constraint. The counts are taken from the file, which has a digest.
[[nodiscard]] SolvedArray solved_array(const Model& model, std::size_t strength = 3);

}  // namespace qconform::sweep
