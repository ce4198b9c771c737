#include "harness/engine/case_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/text.h"

namespace qconform {

void CaseTable::add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends) {
  const std::uint64_t number = cases_++;
  const bool fails = std::any_of(backends.begin(), backends.end(),
                                 [](const CaseResult::OfBackend& of) { return is_failure(of.verdict); });
  if (fails) ++failing_cases_;
  if (!fails && kept_ == RowsKept::failing) return;
  const bool has_room = last_to_go_.size() < most_rows_ / 2;
  const bool stays = fails || (has_room && shows_reason(test_case.subject(), backends));
  std::vector<Row>& rows = stays ? last_to_go_ : first_to_go_;
  if (rows.size() + (stays ? 0 : last_to_go_.size()) >= most_rows_) return;
  rows.emplace_back(number,
                    CaseResult{suite, test_case.id, test_case.subject(), summary_of(test_case), std::move(backends)});
  if (first_to_go_.size() + last_to_go_.size() > most_rows_) first_to_go_.pop_back();
}

// Whether the case is one of the first for which a backend gives its reason.
bool CaseTable::shows_reason(const std::string& op_type, std::span<const CaseResult::OfBackend> backends) {
  bool shows = false;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (backends[i].reason.empty()) continue;
    shows = ++reasons_[{i, op_type, backends[i].reason}] <= kOfEachReason || shows;
  }
  return shows;
}

void CaseTable::rename_findings(const std::map<std::string, std::string>& ids) {
  for (auto& [number, row] : last_to_go_) {
    for (CaseResult::OfBackend& of : row.backends) {
      if (!of.finding.empty()) of.finding = ids.at(of.finding);
    }
  }
}

CaseResults CaseTable::take() {
  CaseResults results{.rows = {}, .cases = cases_, .failing = failing_cases_};
  std::vector<Row> rows;
  rows.reserve(first_to_go_.size() + last_to_go_.size());
  std::merge(std::make_move_iterator(first_to_go_.begin()), std::make_move_iterator(first_to_go_.end()),
             std::make_move_iterator(last_to_go_.begin()), std::make_move_iterator(last_to_go_.end()),
             std::back_inserter(rows), [](const Row& a, const Row& b) { return a.first < b.first; });
  results.rows.reserve(rows.size());
  for (Row& row : rows) results.rows.push_back(std::move(row.second));
  *this = CaseTable(kept_, most_rows_);
  return results;
}

}  // namespace qconform
