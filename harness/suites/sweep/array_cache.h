// Solved arrays with their proofs, kept on disk: finding them takes longer than checking them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/model/sweep/model.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::sweep {

struct SolvedArray {
  std::vector<Row> rows;
  Proof proof;
};

/// Keeps solved arrays in the folder from now on; empty, as it is at first: nowhere. The folder is made when it is
/// needed.
void keep_arrays_in(std::filesystem::path folder);

/// $QCONFORM_CACHE, else $XDG_CACHE_HOME/qconform, else $HOME/.cache/qconform; empty where none of them is set.
[[nodiscard]] std::filesystem::path usual_array_folder();

/// Returns the faults of the folder so far, a sentence each: a damaged file, whose array was solved anew, or a file
/// that could not be written. Nothing is lost by either but time.
[[nodiscard]] std::vector<std::string> array_notes();

/// Covers every feasible combination of `strength` classes: 3, of all parameters, or 4, among shape_parameters(). Read
/// from the folder where it was solved before, by this version of qconform and of the same model; every row read is
/// held against every constraint, and the coverage is counted again. Infeasible combinations are taken from the file,
/// which has a digest.
[[nodiscard]] SolvedArray solved_array(const Model& model, std::size_t strength = 3);

}  // namespace qconform::sweep
