#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"
#include "harness/report/report.h"
#include "reports/gate/change.h"
#include "reports/read/read_report.h"
#include "reports/render/bench_document.h"
#include "reports/render/forms.h"
#include "reports/render/matrix.h"
#include "reports/render/viewer.h"

namespace qconform::report {

namespace {

constexpr JsonLimits kReportLimits{.keys = kReportKeys, .bytes = kReportBytes};

// For a script element: nothing in it may look like the element's end. In JSON "<" stands in texts
// alone, where it can be escaped; so can the two line ends that JavaScript knows and JSON does not.
std::string for_script(std::string_view json) {
  struct Escape {
    std::string_view bytes;
    std::string_view text;
  };
  static constexpr Escape kEscapes[] = {{"<", "\\u003c"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}};
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  while (!json.empty()) {
    const auto plain = std::find_if(json.begin(), json.end(), [](char c) { return c == '<' || c == '\xe2'; });
    text.append(json.begin(), plain);
    json.remove_prefix(static_cast<std::size_t>(plain - json.begin()));
    const auto escape = std::find_if(std::begin(kEscapes), std::end(kEscapes),
                                     [&](const Escape& each) { return json.starts_with(each.bytes); });
    const bool is_escaped = escape != std::end(kEscapes);
    const std::string_view bytes = is_escaped ? escape->bytes : json.substr(0, 1);
    text += is_escaped ? escape->text : bytes;
    json.remove_prefix(bytes.size());
  }
  return text;
}

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

// Without the white space between values, which a page has no use for.
std::string compact(const Json& value) {
  return for_script(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<std::string> optional(std::string_view json, std::string_view field, std::string_view format,
                             std::uint64_t version, const JsonLimits& limits) {
  if (json.empty()) return std::string();
  QCONFORM_ASSIGN(const auto value, parsed(json, field, format, version, limits));
  return compact(value);
}

// Nothing where no library has several backends: then the findings say all.
Result<std::string> matrix_of_releases(std::string_view report_json) {
  const auto report = read_report(report_json);
  if (!report) return fail("report", report.error().text());
  const Matrix matrix = matrix_of(*report);
  std::set<std::string_view> libraries;
  for (const MatrixBackend& backend : matrix.backends) libraries.insert(backend.library);
  if (matrix.rows.empty() || libraries.size() == matrix.backends.size()) return std::string();
  QCONFORM_ASSIGN(const auto value,
                  parsed(matrix_json(matrix), "matrix", Matrix::kFormat, Matrix::kVersion, kReportLimits));
  return compact(value);
}

void append(std::span<const std::string_view> parts, std::string& text) {
  for (const std::string_view part : parts) text += part;
}

}  // namespace

Result<std::string> to_html(const PageDocuments& documents) {
  const Viewer* page = viewer();
  if (page == nullptr)
    return fail("viewer", fmt::format("this qconform was built without the page: {}", why_no_viewer()));
  QCONFORM_ASSIGN(const auto report,
                  parsed(documents.report, "report", Report::kFormat, Report::kVersion, kReportLimits));
  QCONFORM_ASSIGN(const auto bench,
                  optional(documents.bench, "bench", BenchDocument::kFormat, BenchDocument::kVersion, {}));
  QCONFORM_ASSIGN(const auto comparison, optional(documents.comparison, "comparison", gate::GateResult::kFormat,
                                                  gate::GateResult::kVersion, kReportLimits));
  std::string matrix;
  if (report.value("backends", Json::array()).size() > 1) {
    QCONFORM_ASSIGN(matrix, matrix_of_releases(documents.report));
  }
  std::string text;
  append(page->begin, text);
  text += compact(report);
  append(page->behind_report, text);
  text += bench;
  append(page->behind_bench, text);
  text += matrix;
  append(page->behind_matrix, text);
  text += comparison;
  append(page->end, text);
  return text;
}

std::string to_json(const Report& report) {
  return print_json(write_document(description_of(report)));
}

}  // namespace qconform::report
