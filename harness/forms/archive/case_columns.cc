// Single cases of a report: rows in C++, columns in JSON.
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/profile.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/operator.h"

namespace qconform {

namespace {

using Positions = std::vector<std::uint64_t>;
using Texts = std::vector<std::string>;

struct FailureColumns {
  QC_DESCRIBED(.doc = "Columns of the cases that fail.");
  QC_FIELD(Positions, row, {}, "row", .doc = "Positions in the columns of all cases, ascending.", .def = "index");
  QC_FIELD(Positions, wrong_elements, {}, "wrong_elements", .def = "index");
  QC_FIELD(Texts, finding, {}, "finding", .doc = "Ids of findings.", .def = "texts");
};

struct ReasonColumns {
  QC_DESCRIBED(.doc = "Columns of the cases that are declined (unsupported) or vacuous.");
  QC_FIELD(Positions, row, {}, "row", .doc = "Positions in the columns of all cases, ascending.", .def = "index");
  QC_FIELD(Positions, reason, {}, "reason", .doc = "Positions in reasons.", .def = "index");
};

constexpr FieldRule kTierPosition{.minimum = 0};

struct BackendColumns {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(Positions, verdict, {}, "verdict", .doc = "Positions in verdicts.", .def = "index");
  QC_FIELD(std::vector<std::optional<std::uint64_t>>, tier, {}, "tier",
           .doc =
               "The strictest tier that every element meets, as a position in tiers; null for none, and for operators "
               "without tiers.",
           .items = &kTierPosition);
  QC_FIELD(FailureColumns, failures, {}, "failures");
  QC_FIELD(ReasonColumns, reasons, {}, "reasons");
};

struct CaseColumns {
  QC_DESCRIBED(
          .name = "results",
          .doc =
              "Single cases: columns of one length. Of a run at most 20,000, where passing ones are left out first, "
              "but for the first eight of each backend, operator and reason; "
              "of a campaign, by the hash of their index, 16 failing cases of each backend, operator, symptom and "
              "waiver, and 32 of each operator that fail nowhere. Absent where coverage guides the campaign.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Of the run, those that are left out included.");
  QC_FIELD(std::uint64_t, failing, {}, "failing", .doc = "Of these, those that fail on some backend, waived or not.");
  QC_FIELD(Texts, suites, {}, "suites", .def = "texts");
  QC_FIELD(Texts, operators, {}, "operators", .def = "texts");
  QC_FIELD(std::vector<VerdictKind>, verdicts, {}, "verdicts");
  QC_FIELD(Texts, tiers, {}, "tiers", .def = "texts");
  QC_FIELD(Texts, reasons, {}, "reasons",
           .doc = "Why cases are declined or vacuous, as in unsupported_reasons and vacuous_reasons.", .def = "texts");
  QC_FIELD(Positions, suite, {}, "suite", .doc = "Positions in suites.", .def = "index");
  QC_FIELD(Positions, op_type, {}, "operator", .doc = "Positions in operators.", .def = "index");
  QC_FIELD(Texts, id, {}, "id", .def = "texts");
  QC_FIELD(Texts, summary, {}, "summary", .doc = "Shapes and attributes, for the reader.", .def = "texts");
  QC_FIELD(std::vector<BackendColumns>, backends, {}, "backends");
};

// Texts by the order in which they are first met. Those that are written alike are one: what is no UTF-8 is replaced
// then, and a reader could not tell them apart.
class NameTable {
 public:
  explicit NameTable(Texts& names) : names_(names) {}

  std::uint64_t position(const std::string& name) {
    std::string written = nlohmann::json(name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const auto [known, is_new] = written_.try_emplace(std::move(written), names_.size());
    if (is_new) names_.push_back(name);
    return known->second;
  }

 private:
  Texts& names_;
  std::map<std::string, std::uint64_t> written_;  ///< with its position
};

void add_backend(const CaseResult::OfBackend& of, std::uint64_t row, std::vector<VerdictKind>& verdicts,
                 NameTable& reasons, BackendColumns& columns) {
  const auto known = std::find(verdicts.begin(), verdicts.end(), of.verdict);
  columns.verdict.push_back(static_cast<std::uint64_t>(known - verdicts.begin()));
  if (known == verdicts.end()) verdicts.push_back(of.verdict);
  columns.tier.push_back(of.tier ? std::optional(static_cast<std::uint64_t>(*of.tier)) : std::nullopt);
  if (!of.reason.empty()) {
    columns.reasons.row.push_back(row);
    columns.reasons.reason.push_back(reasons.position(of.reason));
  }
  if (!is_failure(of.verdict)) return;
  columns.failures.row.push_back(row);
  columns.failures.wrong_elements.push_back(of.wrong_elements);
  columns.failures.finding.push_back(of.finding);
}

CaseColumns columns_of(const CaseResults& results, const std::vector<BackendResult>& backends) {
  CaseColumns columns;
  columns.cases = results.cases;
  columns.failing = results.failing;
  NameTable suites(columns.suites);
  NameTable operators(columns.operators);
  NameTable reasons(columns.reasons);
  for (const reference::Tier tier : reference::kAllTiers) columns.tiers.emplace_back(name_of(tier));
  for (const CaseResult& row : results.rows) {
    columns.suite.push_back(suites.position(row.suite));
    columns.op_type.push_back(operators.position(row.op_type));
    columns.id.push_back(row.id);
    columns.summary.push_back(row.summary);
  }
  for (std::size_t i = 0; i < backends.size(); ++i) {
    BackendColumns& backend = columns.backends.emplace_back();
    backend.name = backends[i].info.name;
    for (std::size_t row = 0; row < results.rows.size(); ++row) {
      add_backend(results.rows[row].backends[i], row, columns.verdicts, reasons, backend);
    }
  }
  return columns;
}

// From columns that were read back to rows. Functions are false after a refusal.
class RowReader {
 public:
  RowReader(Archive& archive, CaseColumns& columns, CaseResults& results)
      : archive_(archive), columns_(columns), results_(results) {}

  void make(const std::vector<BackendResult>& backends) {
    results_ = {.rows = {}, .cases = columns_.cases, .failing = columns_.failing};
    if (!take_cases()) return;
    if (columns_.backends.size() != backends.size()) {
      refuse("backends", fmt::format("{} backends, of the report's {}", columns_.backends.size(), backends.size()));
      return;
    }
    for (std::size_t i = 0; i < backends.size(); ++i) {
      if (!take_backend(i, fmt::format("backends[{}]", i), backends[i].info.name)) return;
    }
  }

 private:
  bool refuse(const std::string& where, const std::string& message) {
    archive_.refuse_member(where, message);
    return false;
  }

  bool take_cases() {
    const std::size_t size = columns_.id.size();
    if (columns_.suite.size() != size || columns_.op_type.size() != size || columns_.summary.size() != size) {
      archive_.refuse("its columns have different lengths");
      return false;
    }
    for (std::size_t row = 0; row < size; ++row) {
      if (columns_.suite[row] >= columns_.suites.size() || columns_.op_type[row] >= columns_.operators.size()) {
        archive_.refuse(fmt::format("row {} has a suite or an operator that is not in their lists", row));
        return false;
      }
      results_.rows.push_back({columns_.suites[columns_.suite[row]], std::move(columns_.id[row]),
                               columns_.operators[columns_.op_type[row]], std::move(columns_.summary[row]),
                               std::vector<CaseResult::OfBackend>(columns_.backends.size())});
    }
    return true;
  }

  bool take_backend(std::size_t backend, const std::string& where, const std::string& name) {
    BackendColumns& columns = columns_.backends[backend];
    if (columns.verdict.size() != results_.rows.size() || columns.tier.size() != results_.rows.size()) {
      return refuse(where, "its columns have another length than those of the cases");
    }
    for (std::size_t row = 0; row < results_.rows.size(); ++row) {
      CaseResult::OfBackend& of = results_.rows[row].backends[backend];
      if (columns.verdict[row] >= columns_.verdicts.size()) {
        return refuse(fmt::format("{}.verdict[{}]", where, row), "is not in the list of verdicts");
      }
      of.verdict = columns_.verdicts[columns.verdict[row]];
      if (!columns.tier[row]) continue;
      const std::string* tier =
          *columns.tier[row] < columns_.tiers.size() ? &columns_.tiers[*columns.tier[row]] : nullptr;
      for (const reference::Tier known : reference::kAllTiers) {
        if (tier != nullptr && *tier == name_of(known)) of.tier = known;
      }
      if (!of.tier) return refuse(fmt::format("{}.tier[{}]", where, row), "is not in the list of tiers");
    }
    if (!take_failures(backend, where + ".failures") || !take_reasons(backend, where + ".reasons")) return false;
    return columns.name == name ||
           refuse(where + ".name",
                  fmt::format("expected \"{}\", as in the list of backends, got \"{}\"", name, columns.name));
  }

  // Rows of what fails, and nothing else, ascending.
  bool take_failures(std::size_t backend, const std::string& where) {
    FailureColumns& columns = columns_.backends[backend].failures;
    if (columns.wrong_elements.size() != columns.row.size() || columns.finding.size() != columns.row.size()) {
      return refuse(where, "its columns have different lengths");
    }
    std::size_t next = 0;
    for (std::size_t row = 0; row < results_.rows.size(); ++row) {
      CaseResult::OfBackend& of = results_.rows[row].backends[backend];
      if (!is_failure(of.verdict)) continue;
      if (next == columns.row.size() || columns.row[next] != row) {
        return refuse(where + ".row", fmt::format("misses row {}, whose case fails", row));
      }
      of.wrong_elements = columns.wrong_elements[next];
      of.finding = std::move(columns.finding[next++]);
    }
    return next == columns.row.size() ||
           refuse(where + ".row", fmt::format("has row {}, whose case does not fail", columns.row[next]));
  }

  // Rows of what states a reason, ascending.
  bool take_reasons(std::size_t backend, const std::string& where) {
    const ReasonColumns& columns = columns_.backends[backend].reasons;
    if (columns.reason.size() != columns.row.size()) return refuse(where, "its columns have different lengths");
    for (std::size_t i = 0; i < columns.row.size(); ++i) {
      const std::uint64_t row = columns.row[i];
      const bool is_next = row < results_.rows.size() && (i == 0 || row > columns.row[i - 1]);
      if (!is_next || !has_reason(results_.rows[row].backends[backend].verdict)) {
        return refuse(fmt::format("{}.row[{}]", where, i), "expected rows that are unsupported or vacuous, ascending");
      }
      if (columns.reason[i] >= columns_.reasons.size()) {
        return refuse(fmt::format("{}.reason[{}]", where, i), "is not in the list of reasons");
      }
      results_.rows[row].backends[backend].reason = columns_.reasons[columns.reason[i]];
    }
    return true;
  }

  Archive& archive_;
  CaseColumns& columns_;
  CaseResults& results_;
};

}  // namespace

void describe_results(Archive& archive, Report& report) {
  CaseColumns columns;
  if (report.results) columns = columns_of(*report.results, report.backends);
  if (!archive.begin_member("results", {}, Presence::omitted, report.results.has_value())) {
    if (archive.fills()) report.results.reset();
    return;
  }
  describe(archive, columns, {});
  if (archive.fills() && archive.is_sound())
    RowReader(archive, columns, report.results.emplace()).make(report.backends);
  archive.end_member();
}

// Corner cases of a report: counts by operator and element types in C++, a list of corner cases with the same in JSON.

namespace {

// The cases and elements of one operator, with these element types, that reach a corner case.
struct CornerCasePlace {
  QC_DESCRIBED();
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, types, {}, "types", .doc = "Element types of data, weights and output, separated by spaces.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .minimum = 1);
  QC_FIELD(std::uint64_t, elements, {}, "elements", .minimum = 1);
};

struct CornerCaseEntry {
  std::vector<CornerCasePlace> by;

  [[nodiscard]] std::uint64_t sum_of(std::uint64_t CornerCasePlace::*member) const {
    std::uint64_t sum = 0;
    for (const CornerCasePlace& place : by) sum += place.*member;
    return sum;
  }

  QC_DESCRIBED(.name = "corner_case");
  QC_FIELD(std::string, id, {}, "id", .pattern = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$");
  QC_LINE(describe_derived(archive, "cases", [&self] { return self.sum_of(&CornerCasePlace::cases); },
                           {.doc = "Cases with an element that reaches it, by value."}));
  QC_LINE(describe_derived(
      archive, "elements", [&self] { return self.sum_of(&CornerCasePlace::elements); },
      {.doc = "Elements that reach it; of the corner cases of int16 sums, windows among those examined."}));
  QC_PART("by", by);
};

std::vector<CornerCaseEntry> entries_of(const CornerCaseCoverage& coverage) {
  std::vector<CornerCaseEntry> entries;
  for (const CornerCaseInfo& info : corner_cases()) {
    if (!coverage.is_applicable(info.corner_case)) continue;
    CornerCaseEntry& entry = entries.emplace_back();
    entry.id = info.id;
    for (const auto& [op_type, by_types] : coverage.by_operator()) {
      for (const auto& [types, totals] : by_types) {
        const CornerCaseTotal& total = totals[static_cast<std::size_t>(info.corner_case)];
        if (total.cases > 0) entry.by.push_back({op_type, types, total.cases, total.elements});
      }
    }
  }
  return entries;
}

void take_entries(Archive& archive, const std::vector<CornerCaseEntry>& entries, CornerCaseCoverage& coverage) {
  CornerCaseCounts listed;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const CornerCaseEntry& entry = entries[i];
    const CornerCaseInfo* info = corner_case_with_id(entry.id);
    if (info == nullptr || listed[info->corner_case] > 0) {
      return archive.refuse_member(fmt::format("[{}].id", i), info == nullptr
                                                                  ? fmt::format("no corner case \"{}\"", entry.id)
                                                                  : fmt::format("\"{}\" is listed twice", entry.id));
    }
    listed.add(info->corner_case);
    for (std::size_t k = 0; k < entry.by.size(); ++k) {
      const CornerCasePlace& place = entry.by[k];
      if (!concerns(*info, place.op_type)) {
        return archive.refuse_member(fmt::format("[{}].by[{}].operator", i, k),
                                     entry.id + " does not concern " + place.op_type);
      }
      CornerCaseCoverage::Totals totals{};
      totals[static_cast<std::size_t>(info->corner_case)] = {place.cases, place.elements};
      coverage.add(place.op_type, place.types, totals);
    }
  }
  // An operator whose cases reached nothing shows by its corner cases being listed.
  for (const std::string_view op_type : operator_names()) {
    const auto is_listed = [&](const CornerCaseInfo& info) {
      return !concerns(info, op_type) || listed[info.corner_case] > 0;
    };
    if (std::all_of(corner_cases().begin(), corner_cases().end(), is_listed)) coverage.note(std::string(op_type));
  }
}

}  // namespace

void describe(Archive& archive, CornerCaseCoverage& coverage, const FieldRule& rule) {
  std::vector<CornerCaseEntry> entries = entries_of(coverage);
  describe(archive, entries, rule);
  if (!archive.fills()) return;
  coverage = {};
  if (archive.is_sound()) take_entries(archive, entries, coverage);
}

}  // namespace qconform
