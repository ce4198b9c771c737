#include "reports/read/read_report.h"

#include <fmt/format.h>

#include "harness/core/file.h"
#include "harness/core/version.h"
#include "reports/read/report_fields.h"
#include "reports/render/json_report.h"

namespace qconform::report {
namespace {

constexpr std::string_view kFormat = "qconform-report";
constexpr JsonLimits kLimits{.keys = kReportKeys, .bytes = kReportBytes};

// What the document is, before anything else of it is looked at: a newer one may have any members.
bool read_form(ReportFields& fields, const Json& json) {
  if (!json.is_object()) return fields.refuse("", "expected an object, got " + brief(json));
  for (const char* key : {"format", "version"}) {
    if (!json.contains(key)) return fields.refuse("", fmt::format("misses the key \"{}\": this is no report", key));
  }
  std::string format;
  std::uint64_t version = 0;
  if (!fields.read(json["format"], "format", format) || !fields.read(json["version"], "version", version)) return false;
  if (format != kFormat) return fields.refuse("format", fmt::format("expected \"{}\", got \"{}\"", kFormat, format));
  if (version == kJsonVersion) return true;
  if (version < kJsonVersion) return fields.refuse("version", fmt::format("there is no version {}", version));
  return fields.refuse("version", fmt::format("{}: written by a newer qconform; this one, {}, reads up to version {}",
                                              version, kVersion, kJsonVersion));
}

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

bool ReportFields::read(const Json& value, const std::string& where, Report& out) {
  bool conforms = false;
  if (!record(value, where, ignored("format"), ignored("version"), to("conforms", conforms),
              to("environment", out.environment), to("command", out.command), to("seed", out.seed),
              to("profile", out.profile), to("overflow", out.overflow), to("suites", out.suites),
              to("hazards", out.hazards), to("backends", out.backends), to("findings", out.findings),
              to("seconds", out.times), optional(to("campaign", out.campaign)), optional(ignored("results")))) {
    return false;
  }
  if (value.contains("results") && !results(value["results"], "results", out.backends, out.results.emplace())) {
    return false;
  }
  return conforms == out.conforms() ||
         refuse("conforms", fmt::format("{}, but the backends' verdicts say {}", conforms, out.conforms()));
}

Result<Report> read_report(std::string_view text) {
  const auto json = parse_json(text, kLimits);
  if (!json) return tl::unexpected(json.error());
  ReportFields fields;
  Report report;
  if (!read_form(fields, *json)) return tl::unexpected(*fields.error());
  if (!fields.read(*json, "", report)) return tl::unexpected(with_writer(*fields.error(), *json));
  return report;
}

Result<Report> load_report(const std::filesystem::path& file) {
  const auto text = read_file(file, kReportBytes);
  if (!text) return tl::unexpected(text.error());
  auto report = read_report(*text);
  if (!report) return tl::unexpected(report.error().in(file.string()));
  return report;
}

}  // namespace qconform::report
