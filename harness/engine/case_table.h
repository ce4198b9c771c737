// Keeps the results of single cases, up to a bound.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/verdict.h"

namespace qconform {

enum class RowsKept : std::uint8_t { all, failing };

/// Rows of cases in the order of the run. Beyond the bound it drops the latest first, but keeps those that fail on a
/// backend and the first few of each reason that a backend gives, so that each reason has a case.
class CaseTable {
 public:
  static constexpr std::size_t kMostRows = 20'000;
  static constexpr std::uint64_t kOfEachReason = 8;  ///< by backend and operator, up to half of the bound

  explicit CaseTable(RowsKept kept, std::size_t most_rows = kMostRows) : kept_(kept), most_rows_(most_rows) {}

  /// `backends`: what the case came to, in the order of the report's backends.
  void add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends);
  /// Renames findings: new ids by old ones.
  void rename_findings(const std::map<std::string, std::string>& ids);
  /// In the order of the run.
  [[nodiscard]] CaseResults take();

 private:
  RowsKept kept_;
  std::size_t most_rows_;
  /// With its position within the run.
  using Row = std::pair<std::uint64_t, CaseResult>;
  [[nodiscard]] bool shows_reason(const std::string& op_type, std::span<const CaseResult::OfBackend> backends);

  std::vector<Row> first_to_go_;
  std::vector<Row> last_to_go_;
  /// Cases by backend, operator and reason.
  std::map<std::tuple<std::size_t, std::string, std::string>, std::uint64_t> reasons_;
  std::uint64_t cases_ = 0;
  std::uint64_t failing_cases_ = 0;
};

}  // namespace qconform
