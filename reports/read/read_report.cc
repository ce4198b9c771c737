#include "reports/read/read_report.h"

#include <fmt/format.h>

#include "harness/base/file.h"
#include "harness/core/version.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"

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

}  // namespace qconform::report
