// Failures of several causes, taken apart: which defects reproduce the most of them, one cause after the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/diagnose/explain/candidates.h"

namespace qconform::diagnose {

/// Defects that a cause has at most.
inline constexpr std::size_t kMostDefects = 4;

/// A candidate's models: under the policy's own arithmetic first, then under each other one that its defects leave
/// open.
class CandidateModels {
 public:
  CandidateModels(const CandidateTest& test, const DefectSet& candidate);

  /// How the nearest of them stands to the observation: one that reproduces every byte, else one that nothing
  /// contradicts, else the first. Others than the first are asked only where they may be near.
  [[nodiscard]] Match match(const CandidateTest& test, const Observation& observation) const;

 private:
  std::vector<NodeModels> models_;
};

/// The set of `known` defects that reproduces the most of these failures, each bit for bit under some admitted
/// arithmetic; nothing where none reproduces any. A larger set is taken only where it reproduces at least twice as many
/// that no part of it does: so two defects that are not in the same cases are two sets. Of those that reproduce as many
/// the one that contradicts the fewest of `passing`, which other paths of the backend may have computed. `work`: of
/// models, in products, after which no larger sets are tried.
[[nodiscard]] std::optional<DefectSet> most_reproducing(const CandidateTest& test,
                                                        std::span<const Observation* const> failing,
                                                        std::span<const Observation* const> passing,
                                                        std::span<const Defect* const> known, std::uint64_t work);

/// A set of three defects or more that reproduces all of these failures, grown from the nearest smaller ones; nothing
/// where none was found. Not every set is tried.
[[nodiscard]] std::optional<DefectSet> reproducing_all(const CandidateTest& test,
                                                       std::span<const Observation* const> failing,
                                                       std::span<const Defect* const> known, std::uint64_t work);

}  // namespace qconform::diagnose
