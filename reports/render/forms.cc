#include "reports/render/forms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <new>
#include <set>
#include <vector>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/version.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"
#include "harness/report/report.h"
#include "reports/gate/gate.h"
#include "reports/render/bench_document.h"
#include "reports/render/matrix.h"
#include "reports/render/terminal.h"
#include "reports/render/viewer.h"

namespace qconform::report {
namespace {

// A report of another release may have members that this one does not know, or lack some.
Error with_writer(Error error, const Json& json) {
  const auto version = json.contains("environment") && json["environment"].is_object()
                           ? json["environment"].value("version", Json())
                           : Json();
  if (version.is_string() && version != kVersion) {
    error.message +=
        fmt::format(" (the report is of qconform {}, this is {})", version.get_ref<const std::string&>(), kVersion);
  }
  return error;
}

}  // namespace

Result<Report> read_report(std::string_view text) {
  constexpr JsonLimits kLimits{.keys = kReportKeys, .bytes = kReportBytes};
  QCONFORM_ASSIGN(const auto json, parse_json(text, kLimits));
  const auto read = [&]() -> Result<Report> {
    QCONFORM_ASSIGN(Report report, read_document<Report>(json));
    QCONFORM_TRY(validate(report));
    return report;
  };
  return read().map_error([&](Error error) { return with_writer(std::move(error), json); });
}

Result<Report> load_report(const std::filesystem::path& file) {
  QCONFORM_ASSIGN(const auto text, read_file(file, kReportBytes));
  return in_context(file.string(), read_report(text));
}

namespace {

constexpr JsonLimits kReportLimits{.keys = kReportKeys, .bytes = kReportBytes};

Result<Json> parsed(std::string_view json, std::string_view field, std::string_view format, std::uint64_t version,
                    const JsonLimits& limits) {
  const auto fault = [&](const std::string& message) { return fail(std::string(field), message); };
  QCONFORM_ASSIGN(auto value, in_context(std::string(field), parse_json(json, limits)));
  if (!value.is_object() || value.value("format", Json()) != format) {
    return fault(fmt::format("expected \"format\": \"{}\"", format));
  }
  const auto stated = value.value("version", Json());
  if (!stated.is_number_unsigned() || stated < 1 || stated > version) {
    return fault(fmt::format("version {}: this qconform reads 1 to {}", stated.dump(), version));
  }
  return value;
}

Result<Json> optional(std::string_view json, std::string_view field, std::string_view format, std::uint64_t version,
                      const JsonLimits& limits) {
  if (json.empty()) return Json();
  return parsed(json, field, format, version, limits);
}

// Nothing where no library has several backends: then the findings say all.
Result<Json> matrix_of_releases(std::string_view report_json) {
  const auto report = read_report(report_json);
  if (!report) return fail("report", report.error().text());
  const Matrix matrix = matrix_of(*report);
  std::set<std::string_view> libraries;
  for (const MatrixBackend& backend : matrix.backends) libraries.insert(backend.library);
  if (matrix.rows.empty() || libraries.size() == matrix.backends.size()) return Json();
  return parsed(matrix_json(matrix), "matrix", Matrix::kFormat, Matrix::kVersion, kReportLimits);
}

// The text is deflated because findings say much in the same words. Base64 has no "<", which could end the element that
// holds it.
std::string packed(const Json& documents) {
  const std::string text = documents.dump(-1, ' ', false, Json::error_handler_t::replace);
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(),
                Z_BEST_COMPRESSION) != Z_OK) {
    throw std::bad_alloc();  // The room is enough, so that nothing else can fail.
  }
  bytes.resize(size);
  return base64(bytes);
}

void append(std::span<const std::string_view> parts, std::string& text) {
  for (const std::string_view part : parts) text += part;
}

}  // namespace

Result<std::string> to_html(const PageDocuments& documents) {
  const Viewer* page = viewer();
  if (page == nullptr)
    return fail("viewer", fmt::format("this qconform was built without the page: {}", why_no_viewer()));
  Json json;
  QCONFORM_ASSIGN(json["report"], parsed(documents.report, "report", Report::kFormat, Report::kVersion, kReportLimits));
  QCONFORM_ASSIGN(json["bench"],
                  optional(documents.bench, "bench", BenchDocument::kFormat, BenchDocument::kVersion, {}));
  QCONFORM_ASSIGN(json["comparison"], optional(documents.comparison, "comparison", gate::GateResult::kFormat,
                                               gate::GateResult::kVersion, kReportLimits));
  if (json["report"].value("backends", Json::array()).size() > 1) {
    QCONFORM_ASSIGN(json["matrix"], matrix_of_releases(documents.report));
  }
  std::string text;
  append(page->begin, text);
  text += packed(json);
  append(page->end, text);
  return text;
}

std::string to_json(const Report& report) {
  return print_json(write_document(description_of(report)));
}

namespace {

std::size_t waived_findings(const Report& report) {
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [](const Finding& f) { return !!f.waiver; }));
}

// "**qconform: does not conform**: avx2" and how much was looked at.
std::string verdict_lines(const Report& report) {
  std::vector<std::string> failing;
  std::uint64_t judged = 0;
  for (const BackendResult& backend : report.backends) {
    judged += backend.cases();
    if (backend.decides && !backend.conforms()) failing.push_back(escaped(shortened(backend.info.name, 60)));
  }
  constexpr std::size_t kNamed = 8;
  const std::size_t others = failing.size() > kNamed ? failing.size() - kNamed : 0;
  failing.resize(std::min(failing.size(), kNamed));
  std::string text = fmt::format("### qconform: {}\n\n", conclusion_text(report));
  if (!failing.empty()) {
    text += fmt::format("Failing: {}{}\n\n", fmt::join(failing, ", "),
                        others > 0 ? fmt::format(" and {} more", others) : "");
  }
  for (const std::string& line : share_lines(report)) text += escaped(line) + "\n\n";
  const Environment& environment = report.environment;
  if (!environment.judged_commit.empty()) {
    text += fmt::format("Your commit {}, judged by qconform {}.\n\n", code(environment.judged_commit),
                        escaped(environment.version));
  }
  const std::size_t waived = waived_findings(report);
  return text + fmt::format("{} judged on {}, profile {}, seed {}: {}{}\n", plural(judged, "answer"),
                            plural(report.backends.size(), "backend"), escaped(report.profile), report.seed,
                            plural(report.findings.size() - waived, "finding"),
                            waived > 0 ? fmt::format(", {} more waived", waived) : "");
}

constexpr std::string_view kTableHead =
    "\n| backend | operator | cases | right | wrong | waived | refused | declined | vacuous | tier |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n";

std::string table_row(const BackendResult& backend, const std::string& op_type, const OperatorResult& result) {
  const std::uint64_t failing = result.failing();
  const std::uint64_t waived = result.waived_failing();
  const auto tier = result.tiers.common.strictest();
  const std::string reached = result.tiers.elements() == 0 ? "" : tier ? std::string(name_of(*tier)) : "none";
  return fmt::format("| {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", escaped(backend.info.name),
                     backend.decides ? "" : " (does not count)", escaped(op_type), with_thousands(result.cases()),
                     with_thousands(result.count(VerdictKind::pass)),
                     failing > waived ? fmt::format("**{}**", with_thousands(failing - waived)) : "0",
                     with_thousands(waived), with_thousands(result.count(VerdictKind::refused)),
                     with_thousands(result.count(VerdictKind::unsupported)),
                     with_thousands(result.count(VerdictKind::vacuous)), escaped(reached));
}

std::string relations_row(const BackendResult& backend) {
  std::uint64_t held = 0;
  std::uint64_t broken = 0;
  for (const RelationResult& relation : backend.relations) {
    held += relation.held;
    broken += relation.broken + relation.failed;
  }
  return fmt::format("| {} | relations | {} | {} | {} | 0 | | | | |\n", escaped(backend.info.name),
                     with_thousands(held + broken), with_thousands(held),
                     broken > 0 ? fmt::format("**{}**", with_thousands(broken)) : "0");
}

constexpr std::string_view kLayersHead =
    "\n| layer | name | state | share | finding |\n"
    "|--:|---|---|---|---|\n";

std::string first_wrong_line(const ModelRun& run) {
  const auto first = run.first_wrong();
  if (!first) return fmt::format("\nNone of {} is wrong.\n", plural(run.layers.size(), "layer"));
  return fmt::format("\nFirst wrong layer: {} of {}, {}.\n", *first + 1, run.layers.size(),
                     code(run.layers[static_cast<std::size_t>(*first)].id));
}

// The first wrong layer of a whole model, and each that is wrong.
void add_layers(const ModelRun& run, LimitedText& text) {
  constexpr std::size_t kShown = 20;
  text.add(first_wrong_line(run));
  bool has_head = false;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    const ModelLayerResult& layer = run.layers[i];
    if (!layer.is_wrong() || ++wrong > kShown) continue;
    const std::string row =
        fmt::format("| {} | {} | {} | {} | {} |\n", i + 1, escaped(layer.id),
                    kLayerStates[static_cast<std::size_t>(layer.state)], share_text(layer), escaped(layer.finding));
    text.add(has_head ? row : std::string(kLayersHead) + row);
    has_head = true;
  }
  if (wrong > kShown) text.add(fmt::format("\nand {} more\n", wrong - kShown));
}

}  // namespace

std::string to_markdown(const Report& report, std::size_t limit) {
  LimitedText text(verdict_lines(report), limit);
  if (report.model) add_layers(*report.model, text);
  bool has_head = false;
  const auto add_row = [&](const std::string& row) {
    text.add(has_head ? row : std::string(kTableHead) + row);
    has_head = true;
  };
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) add_row(table_row(backend, op_type, result));
    if (!backend.relations.empty()) add_row(relations_row(backend));
  }
  bool is_first = true;
  for (const Finding& finding : report.findings) {
    if (finding.waiver) continue;
    text.add((is_first ? "\n" : "") + finding_markdown(finding));
    is_first = false;
  }
  for (const BackendResult& backend : report.backends) {
    for (const auto& [op_type, result] : backend.operators) {
      if (result.undetermined == 0) continue;
      text.add(fmt::format("\n{} on {}: {}.\n", escaped(op_type), escaped(backend.info.name),
                           undetermined_text(result.undetermined)));
    }
  }
  return text.close("rows and findings", "see report.json");
}

namespace {

std::size_t longest_run(std::string_view text, char c) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char got : text) {
    run = got == c ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

// With spaces for line ends and tabs, and what else controls a terminal as text.
std::string in_one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return shown(line);
}

// A finding's own words are short; what a library prints need not be.
constexpr std::size_t kLongestFact = 2000;
constexpr std::size_t kLongestHead = 300;

}  // namespace

std::string shortened(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80) --longest;
  return std::string(text.substr(0, longest)) + "...";
}

std::string escaped_html(std::string_view text) {
  std::string result;
  for (const char c : in_one_line(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kMarkup = R"(\`*_[]|~$)";
  std::string result;
  for (const char c : escaped_html(text)) {
    if (kMarkup.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string code(std::string_view text) {
  const std::string line = in_one_line(text);
  const std::string fence(longest_run(line, '`') + 1, '`');
  const bool touches = line.empty() || line.front() == '`' || line.back() == '`';
  const std::string space = touches ? " " : "";
  // In tables a bar ends the cell even inside of code.
  std::string result;
  for (const char c : line) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return fence + space + result + space + fence;
}

std::string code_block(std::string_view text) {
  const std::string fence(std::max<std::size_t>(3, longest_run(text, '`') + 1), '`');
  return fmt::format("{}\n{}\n{}\n", fence, shown_lines(text), fence);
}

namespace {

// The last two dimensions of an output where it is worst, "#" for wrong elements; empty where there is nothing to see.
std::string picture_of(const ElementMap& map) {
  constexpr std::int64_t kMostRows = 24;
  constexpr std::int64_t kMostColumns = 64;
  const TensorBox& box = map.got;
  const std::size_t rank = box.extent.size();
  if (rank == 0 || map.worst.size() != rank || map.wrong.size() < 2) return {};
  const std::int64_t columns = box.extent[rank - 1];
  const std::int64_t rows = rank > 1 ? box.extent[rank - 2] : 1;
  std::int64_t plane = 0;
  for (std::size_t d = 0; d + 2 < rank; ++d) plane = plane * box.extent[d] + map.worst[d] - box.begin[d];
  std::string text;
  for (std::int64_t row = 0; row < std::min(rows, kMostRows); ++row) {
    for (std::int64_t column = 0; column < std::min(columns, kMostColumns); ++column) {
      const auto at = static_cast<std::size_t>((plane * rows + row) * columns + column);
      if (at >= map.wrong.size()) return {};
      text += map.wrong[at] ? '#' : '.';
    }
    text += columns > kMostColumns ? "...\n" : "\n";
  }
  if (rows > kMostRows) return text + "...";
  text.pop_back();
  return text;
}

}  // namespace

std::string finding_markdown(const Finding& finding) {
  std::string facts;
  for (const Fact& fact : facts_of(finding)) {
    if (fact.label == "replay" || fact.value.empty()) continue;
    facts += fmt::format("- **{}** {}\n", fact.label, escaped(shortened(fact.value, kLongestFact)));
  }
  const std::string head = fmt::format("{} {}{} in {} on {}: {}", finding.id, name_of(finding.kind),
                                       subject_of(finding), finding.op_type, finding.backend, cases_text(finding));
  std::string text =
      fmt::format("<details><summary>{}</summary>\n\n{}", escaped_html(shortened(head, kLongestHead)), facts);
  const auto& map = finding.representative && finding.representative->element_map ? finding.representative->element_map
                                                                                  : finding.element_map;
  if (const std::string picture = map ? picture_of(*map) : ""; !picture.empty())
    text += "\nWrong elements of an output, its last two dimensions:\n\n" + code_block(picture);
  if (!finding.replay.empty()) text += "\n" + code_block(shown_command(finding.replay));
  return text + "\n</details>\n";
}

void LimitedText::add(const std::string& piece) {
  if (left_out_ > 0 || text_.size() + piece.size() + kClosingBytes > limit_) {
    ++left_out_;
    return;
  }
  text_ += piece;
}

std::string LimitedText::close(const std::string& noun, const std::string& where) const {
  if (left_out_ == 0) return text_;
  return text_ + fmt::format("\n{} more {}: {}\n", left_out_, noun, where);
}

}  // namespace qconform::report
