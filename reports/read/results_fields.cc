// What became of single cases.
#include <fmt/format.h>

#include "reports/read/report_fields.h"

namespace qconform::report {

// Lists that columns hold positions in.
struct ReportFields::ResultNames {
  std::vector<std::string> suites;
  std::vector<std::string> operators;
  std::vector<VerdictKind> verdicts;
  std::vector<reference::Tier> tiers;
};

namespace {

// The name at a position that a column holds; null where there is none.
template <typename T>
const T* named(const std::vector<T>& names, std::uint64_t position) {
  return position < names.size() ? &names[static_cast<std::size_t>(position)] : nullptr;
}

}  // namespace

bool ReportFields::result_rows(const Json& value, const std::string& where, const ResultNames& names,
                               CaseResults& out) {
  std::vector<std::uint64_t> suite;
  std::vector<std::uint64_t> op_type;
  std::vector<std::string> id;
  std::vector<std::string> summary;
  if (!read(value["suite"], json_path(where, "suite"), suite) ||
      !read(value["operator"], json_path(where, "operator"), op_type) ||
      !read(value["id"], json_path(where, "id"), id) || !read(value["summary"], json_path(where, "summary"), summary)) {
    return false;
  }
  if (suite.size() != id.size() || op_type.size() != id.size() || summary.size() != id.size()) {
    return refuse(where, "its columns have different lengths");
  }
  for (std::size_t row = 0; row < id.size(); ++row) {
    const std::string* suite_name = named(names.suites, suite[row]);
    const std::string* operator_name = named(names.operators, op_type[row]);
    if (suite_name == nullptr || operator_name == nullptr) {
      return refuse(where, fmt::format("row {} has a suite or an operator that is not in their lists", row));
    }
    out.rows.push_back({*suite_name, std::move(id[row]), *operator_name, std::move(summary[row]), {}});
  }
  return true;
}

// Rows of what fails, and nothing else, ascending.
bool ReportFields::failures(const Json& value, const std::string& where, std::size_t backend, CaseResults& out) {
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> wrong_elements;
  std::vector<std::string> findings;
  if (!record(value, where, to("row", rows), to("wrong_elements", wrong_elements), to("finding", findings))) {
    return false;
  }
  if (wrong_elements.size() != rows.size() || findings.size() != rows.size()) {
    return refuse(where, "its columns have different lengths");
  }
  std::size_t next = 0;
  for (std::size_t row = 0; row < out.rows.size(); ++row) {
    CaseResult::OfBackend& of = out.rows[row].backends[backend];
    if (!is_failure(of.verdict)) continue;
    if (next == rows.size() || rows[next] != row) {
      return refuse(json_path(where, "row"), fmt::format("misses row {}, whose case fails", row));
    }
    of.wrong_elements = wrong_elements[next];
    of.finding = std::move(findings[next++]);
  }
  return next == rows.size() ||
         refuse(json_path(where, "row"), fmt::format("has row {}, whose case does not fail", rows[next]));
}

bool ReportFields::backend_results(const Json& value, const std::string& where, std::size_t backend,
                                   const ResultNames& names, CaseResults& out) {
  std::string name;
  std::vector<std::uint64_t> verdict;
  if (!record(value, where, to("name", name), to("verdict", verdict), ignored("tier"), ignored("failures"))) {
    return false;
  }
  const Json& tiers = value["tier"];
  if (!array(tiers, json_path(where, "tier"), kMostEntries)) return false;
  if (verdict.size() != out.rows.size() || tiers.size() != out.rows.size()) {
    return refuse(where, "its columns have another length than those of the cases");
  }
  for (std::size_t row = 0; row < out.rows.size(); ++row) {
    CaseResult::OfBackend& of = out.rows[row].backends[backend];
    const VerdictKind* kind = named(names.verdicts, verdict[row]);
    if (kind == nullptr) return refuse(json_path(json_path(where, "verdict"), row), "is not in the list of verdicts");
    of.verdict = *kind;
    if (tiers[row].is_null()) continue;
    const std::string path = json_path(json_path(where, "tier"), row);
    std::uint64_t position = 0;
    if (!read(tiers[row], path, position)) return false;
    const reference::Tier* tier = named(names.tiers, position);
    if (tier == nullptr) return refuse(path, "is not in the list of tiers");
    of.tier = *tier;
  }
  return failures(value["failures"], json_path(where, "failures"), backend, out);
}

bool ReportFields::results(const Json& value, const std::string& where, const std::vector<BackendResult>& backends,
                           CaseResults& out) {
  ResultNames names;
  if (!record(value, where, to("cases", out.cases), to("failing", out.failing), to("suites", names.suites),
              to("operators", names.operators), to("verdicts", names.verdicts), to("tiers", names.tiers),
              ignored("suite"), ignored("operator"), ignored("id"), ignored("summary"), ignored("backends")) ||
      !result_rows(value, where, names, out)) {
    return false;
  }
  const Json& lists = value["backends"];
  const std::string path = json_path(where, "backends");
  if (!array(lists, path, kMostEntries)) return false;
  if (lists.size() != backends.size()) {
    return refuse(path, fmt::format("{} backends, of the report's {}", lists.size(), backends.size()));
  }
  for (CaseResult& row : out.rows) row.backends.resize(backends.size());
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (!backend_results(lists[i], json_path(path, i), i, names, out)) return false;
    if (lists[i]["name"] == backends[i].info.name) continue;
    return refuse(json_path(json_path(path, i), "name"), "expected " + brief(Json(backends[i].info.name)) +
                                                             ", as in the list of backends, got " +
                                                             brief(lists[i]["name"]));
  }
  return true;
}

}  // namespace qconform::report
