// Keeps what became of single cases, within a bound.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/case_results.h"

namespace qconform {

enum class RowsKept : std::uint8_t { all, failing };

/// Rows of cases as they are met. When there are more than the bound, those that fail on no backend
/// go first, the latest of them before the others.
class CaseTable {
 public:
  static constexpr std::size_t kMostRows = 20'000;

  explicit CaseTable(RowsKept kept, std::size_t most_rows = kMostRows) : kept_(kept), most_rows_(most_rows) {}

  /// `backends`: what the case came to, in the order of the report's backends.
  void add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends);
  /// Findings have other ids now: each that cases count to, by the one it had.
  void rename_findings(const std::map<std::string, std::string>& ids);
  /// In the order in which the cases were met.
  [[nodiscard]] CaseResults take();

 private:
  RowsKept kept_;
  std::size_t most_rows_;
  /// With its position within the run.
  using Row = std::pair<std::uint64_t, CaseResult>;
  std::vector<Row> passing_;
  std::vector<Row> failing_;
  std::uint64_t cases_ = 0;
  std::uint64_t failing_cases_ = 0;
};

}  // namespace qconform
