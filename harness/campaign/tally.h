// What blocks of a campaign found. Adding tallies up is associative and commutative but for seconds, so that
// the tally of many blocks is the same whoever ran which of them, and when.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/campaign/case_rows.h"
#include "harness/campaign/course.h"
#include "harness/campaign/failure_key.h"
#include "harness/campaign/sample.h"
#include "harness/core/report.h"

namespace qconform::campaign {

/// A failing case: it can be drawn again from its index.
struct FailingCase {
  std::uint64_t bytes = 0;  ///< of its inputs
  std::uint64_t index = 0;
  Verdict verdict;
};

struct Failures {
  static constexpr std::size_t kSampled = 128;

  std::uint64_t cases = 0;
  std::uint64_t examined = 0;     ///< whose symptom was determined
  std::uint64_t first_block = 0;  ///< the earliest that has one
  FailingCase smallest;           ///< by bytes, then by index
  Sample sample{kSampled};        ///< of the examined ones

  void add(const Failures& other);
};

struct Tally {
  static constexpr std::size_t kSampled = 512;  ///< passing cases of each backend and operator

  SuiteResult suite;
  std::map<std::string, HazardCoverage::ByTypes> hazards;  ///< by op_type
  std::vector<BackendResult> backends;                     ///< in the campaign's order; without info
  std::map<FailureKey, Failures> failures;
  std::map<std::pair<std::size_t, std::string>, Sample> passing;  ///< by backend and op_type
  Course course;
  CaseRows rows;
  StageTimes times;

  /// Both have the same backends, or one of them none at all.
  void add(const Tally& other);
  /// Failing verdicts that no waiver covers.
  [[nodiscard]] std::uint64_t unwaived() const;
};

}  // namespace qconform::campaign
