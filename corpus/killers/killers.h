// The killers: few cases, on which every model of a defect is wrong. A run begins with them
// (corpus/killers/killers.json).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/diagnose/audit/audit.h"

namespace qconform::killers {

/// A model of a defect in an operator, on data of some types: kernels of their own compute each. A backend that takes
/// few types is to meet killers too.
struct Target {
  std::uint32_t mutant = 0;  ///< number in MutantTable::mutants()
  std::string types;  ///< "uint8 int8": of data and weights; empty of graphs, and of elementwise nodes of rare types

  auto operator<=>(const Target&) const = default;
};

/// The types that targets of the case's operator tell apart.
[[nodiscard]] std::string types_of(const Case& test_case);

/// Draws cases from the suites of a run, and from those of a campaign, and chooses few small ones that kill each mutant
/// on all types of data on which a case kills it. The same program gives the same cases.
[[nodiscard]] Result<std::vector<Case>> solve();

/// Returns the mutants that the default profile does not admit and that no case of the file kills, as "half-away in
/// QLinearConv". Errors: of the file.
[[nodiscard]] Result<std::vector<std::string>> survivors(const std::filesystem::path& file);

}  // namespace qconform::killers
