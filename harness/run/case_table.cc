#include "harness/run/case_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/operators/case_text.h"

namespace qconform {

void CaseTable::add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends) {
  const std::uint64_t number = cases_++;
  const bool fails = std::any_of(backends.begin(), backends.end(),
                                 [](const CaseResult::OfBackend& of) { return is_failure(of.verdict); });
  if (fails) ++failing_cases_;
  if (!fails && kept_ == RowsKept::failing) return;
  std::vector<Row>& rows = fails ? failing_ : passing_;
  if (rows.size() + (fails ? 0 : failing_.size()) >= most_rows_) return;
  rows.emplace_back(number,
                    CaseResult{suite, test_case.id, test_case.op_type, summary_of(test_case), std::move(backends)});
  if (passing_.size() + failing_.size() > most_rows_) passing_.pop_back();
}

void CaseTable::rename_findings(const std::map<std::string, std::string>& ids) {
  for (auto& [number, row] : failing_) {
    for (CaseResult::OfBackend& of : row.backends) {
      if (!of.finding.empty()) of.finding = ids.at(of.finding);
    }
  }
}

CaseResults CaseTable::take() {
  CaseResults results{.rows = {}, .cases = cases_, .failing = failing_cases_};
  std::vector<Row> rows;
  rows.reserve(passing_.size() + failing_.size());
  std::merge(std::make_move_iterator(passing_.begin()), std::make_move_iterator(passing_.end()),
             std::make_move_iterator(failing_.begin()), std::make_move_iterator(failing_.end()),
             std::back_inserter(rows), [](const Row& a, const Row& b) { return a.first < b.first; });
  results.rows.reserve(rows.size());
  for (Row& row : rows) results.rows.push_back(std::move(row.second));
  *this = CaseTable(kept_, most_rows_);
  return results;
}

}  // namespace qconform
