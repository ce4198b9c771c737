#include "reports/render/matrix.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/forms/archive/archive.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

// "onnxruntime" of "onnxruntime:1.14.0@all[Haswell]". A plugin, a process, a defect and what has an alias is a library
// of its own.
std::string library_of(const BackendInfo& info) {
  const bool is_of_library = info.kind == "library" || info.kind == "in-tree";
  if (!is_of_library || !info.specification.empty()) return info.name;
  return info.name.substr(0, info.name.find_first_of(":@["));
}

// Finds where the cause appears and goes, among the backends that have it or a right answer.
void set_span(MatrixRow& row) {
  const MatrixCell* before = nullptr;
  for (const MatrixCell& cell : row.cells) {
    if (cell.state == MatrixState::no_right_answer) continue;
    const bool is_wrong = cell.state == MatrixState::wrong;
    if (before != nullptr && is_wrong && before->state == MatrixState::right && row.since.empty()) {
      row.since = cell.backend;
    }
    if (before != nullptr && !is_wrong && before->state == MatrixState::wrong) row.until = before->backend;
    if (is_wrong) row.until.clear();
    before = &cell;
  }
}

bool is_of(const Finding& finding, const MatrixRow& row) {
  return finding.op_type == row.op_type && finding.kind == row.kind &&
         (finding.signature == row.signature ||
          std::find(row.also.begin(), row.also.end(), finding.signature) != row.also.end());
}

using Cases = std::set<const CaseResult*>;

// The cases that any of the library's backends fails by this cause, as far as the report lists them.
Cases cases_of(const Report& report, const MatrixRow& row) {
  std::set<std::string> findings;
  for (const Finding& finding : report.findings) {
    if (is_of(finding, row)) findings.insert(finding.id);
  }
  Cases cases;
  if (!report.results) return cases;
  for (const CaseResult& result : report.results->rows) {
    for (std::size_t i = 0; i < result.backends.size() && i < report.backends.size(); ++i) {
      if (library_of(report.backends[i].info) == row.library && findings.contains(result.backends[i].finding)) {
        cases.insert(&result);
        break;
      }
    }
  }
  return cases;
}

// A row, with what tells whether another one is the same cause.
struct MatrixCause {
  MatrixRow row;
  Cases cases;
  std::set<std::size_t> backends;  ///< positions in the report of those that have it
};

MatrixCause cause_of(const Report& report, MatrixRow row) {
  MatrixCause cause{std::move(row), {}, {}};
  cause.cases = cases_of(report, cause.row);
  for (const Finding& finding : report.findings) {
    for (std::size_t i = 0; i < report.backends.size(); ++i) {
      const BackendInfo& info = report.backends[i].info;
      if (info.name == finding.backend && library_of(info) == cause.row.library && is_of(finding, cause.row)) {
        cause.backends.insert(i);
      }
    }
  }
  return cause;
}

template <typename Set>
std::size_t common(const Set& a, const Set& b) {
  return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), [&](const auto& e) { return b.contains(e); }));
}

bool is_one_cause(const MatrixCause& a, const MatrixCause& b) {
  if (a.row.library != b.row.library || a.row.op_type != b.row.op_type || a.row.kind != b.row.kind) return false;
  if (common(a.backends, b.backends) > 0) return false;
  const std::size_t both = common(a.cases, b.cases);
  return both > 0 && 2 * both >= std::min(a.cases.size(), b.cases.size());
}

// Its name is that in the newest backend that has it.
void join(MatrixCause& cause, MatrixCause other) {
  if (*other.backends.rbegin() > *cause.backends.rbegin()) std::swap(cause, other);
  cause.row.also.push_back(std::move(other.row.signature));
  cause.row.also.insert(cause.row.also.end(), other.row.also.begin(), other.row.also.end());
  cause.cases.merge(other.cases);
  cause.backends.merge(other.backends);
}

std::vector<MatrixRow> joined(const Report& report, std::vector<MatrixRow> rows) {
  std::vector<MatrixCause> causes;
  for (MatrixRow& row : rows) {
    MatrixCause cause = cause_of(report, std::move(row));
    // With more cases it may be one with a cause that it was not one with before.
    while (true) {
      const auto is_same = [&](const MatrixCause& known) { return is_one_cause(known, cause); };
      const auto same = std::find_if(causes.begin(), causes.end(), is_same);
      if (same == causes.end()) break;
      join(cause, std::move(*same));
      causes.erase(same);
    }
    causes.push_back(std::move(cause));
  }
  rows.clear();
  for (MatrixCause& cause : causes) rows.push_back(std::move(cause.row));
  return rows;
}

// State of a backend that does not have the cause. A refusal is right where the case must be refused.
MatrixState state_of(const BackendResult& backend, std::size_t position, const MatrixRow& row, const Cases& cases) {
  const auto answers = [&](const CaseResult* result) {
    if (position >= result->backends.size()) return false;
    const VerdictKind verdict = result->backends[position].verdict;
    return verdict == VerdictKind::pass || verdict == VerdictKind::vacuous ||
           (row.kind == VerdictKind::not_rejected && verdict == VerdictKind::refused);
  };
  const bool is_right =
      cases.empty() ? backend.has_computed(row.op_type) : std::any_of(cases.begin(), cases.end(), answers);
  return is_right ? MatrixState::right : MatrixState::no_right_answer;
}

void fill(const Report& report, MatrixRow& row) {
  const Cases cases = cases_of(report, row);
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    const BackendResult& backend = report.backends[i];
    if (library_of(backend.info) != row.library) continue;
    MatrixCell cell{.backend = backend.info.name, .state = state_of(backend, i, row, cases)};
    for (const Finding& finding : report.findings) {
      if (finding.backend != backend.info.name || !is_of(finding, row)) continue;
      if (cell.cases == 0) {
        cell.finding = finding.id;
        cell.replay = finding.replay;
      }
      cell.state = MatrixState::wrong;
      cell.cases += finding.cases;
    }
    row.cells.push_back(std::move(cell));
  }
  set_span(row);
}

// How many backends newer than the last that has the cause compute its cases: what stands in the newest comes first.
std::size_t backends_behind(const MatrixRow& row) {
  std::size_t behind = 0;
  for (auto cell = row.cells.rbegin(); cell != row.cells.rend() && cell->state != MatrixState::wrong; ++cell) {
    behind += cell->state == MatrixState::right ? 1 : 0;
  }
  return behind;
}

std::vector<std::string> libraries_of(const Matrix& matrix) {
  std::vector<std::string> libraries;
  for (const MatrixBackend& backend : matrix.backends) {
    if (std::find(libraries.begin(), libraries.end(), backend.library) == libraries.end()) {
      libraries.push_back(backend.library);
    }
  }
  return libraries;
}

// Name that tells a backend apart in the table of its library: "1.14.0", "1.30.0@all", "avx2[Haswell]".
std::string column_of(const MatrixBackend& backend) {
  std::string rest = backend.name.substr(std::min(backend.library.size(), backend.name.size()));
  if (rest.starts_with(':')) return shown(rest.substr(1));
  return shown(backend.version + rest);
}

std::vector<std::string> columns_of(const Matrix& matrix, const std::string& library) {
  std::vector<std::string> columns;
  for (const MatrixBackend& backend : matrix.backends) {
    if (backend.library == library) columns.push_back(column_of(backend));
  }
  return columns;
}

std::string cell_text(const MatrixCell& cell) {
  switch (cell.state) {
    case MatrixState::wrong: return with_thousands(cell.cases);
    case MatrixState::right: return ".";
    default: return "-";
  }
}

std::string cause_text(const MatrixRow& row) {
  const std::string kind(qconform::name_of(row.kind));
  return shown(row.signature == kind || row.signature.starts_with(kind + ":") ? row.signature
                                                                              : kind + ", " + row.signature);
}

// "since 1.14.0, until 1.21.0"; the newest release that has it or nothing says more where it always was.
std::string span_text(const MatrixRow& row) {
  const auto version = [&](const std::string& backend) {
    const std::string rest = backend.substr(std::min(row.library.size(), backend.size()));
    return shown(rest.starts_with(':') ? rest.substr(1) : backend);
  };
  std::vector<std::string> parts;
  if (!row.since.empty()) parts.push_back("since " + version(row.since));
  if (!row.until.empty()) parts.push_back("until " + version(row.until));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The newest backend's line.
const MatrixCell* newest_wrong(const MatrixRow& row) {
  const auto found = std::find_if(row.cells.rbegin(), row.cells.rend(),
                                  [](const MatrixCell& cell) { return cell.state == MatrixState::wrong; });
  return found == row.cells.rend() ? nullptr : &*found;
}

std::string summary_line(const Matrix& matrix, const std::string& library) {
  std::size_t causes = 0;
  std::size_t in_newest = 0;
  for (const MatrixRow& row : matrix.rows) {
    if (row.library != library) continue;
    ++causes;
    in_newest += backends_behind(row) == 0 ? 1 : 0;
  }
  return fmt::format("{}: {} in {}, {} of them in the newest that computes its cases", shown(library),
                     plural(causes, "cause"), plural(columns_of(matrix, library).size(), "backend"), in_newest);
}

}  // namespace

Matrix matrix_of(const Report& report) {
  Matrix matrix{report.profile, report.seed, {}, {}};
  std::map<std::string, std::string> library;
  for (const BackendResult& backend : report.backends) {
    library[backend.info.name] = library_of(backend.info);
    matrix.backends.push_back({backend.info.name, backend.info.version, library[backend.info.name]});
  }
  for (const Finding& finding : report.findings) {
    MatrixRow row{library[finding.backend], finding.op_type, finding.kind, finding.signature, {}, {}, {}, {}};
    if (std::find(matrix.rows.begin(), matrix.rows.end(), row) == matrix.rows.end())
      matrix.rows.push_back(std::move(row));
  }
  matrix.rows = joined(report, std::move(matrix.rows));
  for (MatrixRow& row : matrix.rows) fill(report, row);
  const auto order = [](const MatrixRow& row) { return std::tuple(row.library, row.op_type, backends_behind(row)); };
  std::stable_sort(matrix.rows.begin(), matrix.rows.end(),
                   [&](const MatrixRow& a, const MatrixRow& b) { return order(a) < order(b); });
  return matrix;
}

std::string matrix_json(const Matrix& matrix) {
  return print_json(write_document(description_of(matrix)));
}

namespace {

constexpr std::size_t kCauseWidth = 44;
constexpr std::size_t kNarrowCause = 26;
constexpr std::size_t kSpanWidth = 34;  // "  since 1.14.0, until 1.21.0"

// Some backends of a library, from `begin` to `end` among its own.
struct TablePart {
  std::string library;
  std::vector<std::string> columns;
  std::size_t begin;
  std::size_t end;
  std::size_t cause_width;
};

std::size_t width_of(const std::string& column) {
  return 2 + std::max<std::size_t>(6, column.size());
}

// Parts that fit into `columns`, of a backend each at least.
std::vector<TablePart> parts_of(const Matrix& matrix, const std::string& library, std::size_t columns) {
  TablePart part{library, columns_of(matrix, library), 0, 0, kCauseWidth};
  std::size_t all = 0;
  for (const std::string& column : part.columns) all += width_of(column);
  const bool fits = columns == 0 || 2 + kCauseWidth + all + kSpanWidth <= columns;
  if (!fits) part.cause_width = kNarrowCause;
  std::vector<TablePart> parts;
  while (part.begin < part.columns.size()) {
    std::size_t width = 2 + part.cause_width;
    for (part.end = part.begin; part.end < part.columns.size(); ++part.end) {
      width += width_of(part.columns[part.end]);
      if (!fits && width > columns && part.end > part.begin) break;
    }
    parts.push_back(part);
    part.begin = part.end;
  }
  return parts;
}

std::string part_row(const MatrixRow& row, const TablePart& part, const Painter& paint) {
  std::string text = fmt::format("  {:<{}}", cut_to(cause_text(row), part.cause_width), part.cause_width);
  for (std::size_t i = part.begin; i < std::min(part.end, row.cells.size()); ++i) {
    const std::string cell = fmt::format("{:>{}}", cell_text(row.cells[i]), width_of(part.columns[i]));
    text += row.cells[i].state == MatrixState::wrong ? paint.bad(cell) : cell;
  }
  const std::string span = part.end == part.columns.size() ? span_text(row) : "";
  return text + (span.empty() ? "" : "  " + span) + "\n";
}

std::string part_table(const Matrix& matrix, const TablePart& part, const Painter& paint) {
  std::string text = fmt::format("{:<{}}", shown(part.library), part.cause_width + 2);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    text += fmt::format("{:>{}}", part.columns[i], width_of(part.columns[i]));
  }
  text += "\n";
  std::string op_type;
  for (const MatrixRow& row : matrix.rows) {
    if (row.library != part.library) continue;
    if (row.op_type != op_type) text += shown(op_type = row.op_type) + "\n";
    text += part_row(row, part, paint);
  }
  return text;
}

}  // namespace

std::string matrix_table(const Matrix& matrix, const Painter& paint, std::size_t columns) {
  std::string text;
  for (const std::string& library : libraries_of(matrix)) {
    for (const TablePart& part : parts_of(matrix, library, columns)) {
      text += (text.empty() ? "" : "\n") + part_table(matrix, part, paint);
    }
    text += summary_line(matrix, library) + "\n";
  }
  return text;
}

std::string matrix_markdown(const Matrix& matrix) {
  std::string text;
  for (const std::string& library : libraries_of(matrix)) {
    const std::vector<std::string> columns = columns_of(matrix, library);
    text += fmt::format("{}### {}\n\n{}.\n\n| operator | cause |", text.empty() ? "" : "\n", escaped(library),
                        escaped(summary_line(matrix, library)));
    for (const std::string& column : columns) text += " " + escaped(column) + " |";
    text += " since, until | replay |\n|---|---|";
    for (std::size_t i = 0; i < columns.size(); ++i) text += "--:|";
    text += "---|---|\n";
    for (const MatrixRow& row : matrix.rows) {
      if (row.library != library) continue;
      text += fmt::format("| {} | {} |", escaped(row.op_type), escaped(cause_text(row)));
      for (const MatrixCell& cell : row.cells) text += " " + cell_text(cell) + " |";
      const MatrixCell* newest = newest_wrong(row);
      text += fmt::format(" {} | {} |\n", escaped(span_text(row)),
                          newest == nullptr || newest->replay.empty() ? "" : code(shown_command(newest->replay)));
    }
  }
  return text + fmt::format(
                    "\n\".\": right. \"-\": declines the cases, or fails them for another cause. Numbers: failing "
                    "cases. Profile {}, "
                    "seed {}.\n",
                    escaped(matrix.profile), matrix.seed);
}

}  // namespace qconform::report
