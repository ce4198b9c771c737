#include "harness/cli/report_output.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/engine/environment.h"
#include "harness/engine/finding_files.h"
#include "reports/render/html.h"
#include "reports/render/json_report.h"
#include "reports/render/terminal.h"
#include "reports/render/viewer.h"

namespace qconform::cli {

Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report) {
  const std::filesystem::path folder(out);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", out, error.message()));
  QCONFORM_TRY(write_findings(folder, policy, report));
  WrittenReport files{folder / "report.json"};
  const std::string json = report::to_json(report);
  QCONFORM_TRY(write_file(files.json, json));
  if (report::viewer() == nullptr) return files;
  QCONFORM_ASSIGN(const auto page, report::to_html(json, ""));
  files.page = folder / "report.html";
  QCONFORM_TRY(write_file(*files.page, page));
  return files;
}

Report new_report(const PolicyOptions& policy, std::uint64_t seed, std::vector<std::string> command) {
  Report report;
  report.environment = current_environment();
  report.seed = seed;
  report.counting = Report::kCounting;
  report.profile = policy.profile;
  report.overflow = policy.overflow;
  report.command = std::move(command);
  return report;
}

void print_headline(const Report& report, bool json) {
  fmt::print(json ? stderr : stdout, "{}", report::headline(report));
  std::fflush(json ? stderr : stdout);
}

Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  QCONFORM_ASSIGN(const auto files, write_report(out, policy, report));
  const std::string json = report::to_json(report);
  QCONFORM_TRY(write_forms(forms, report, json));
  if (forms.json) {
    fmt::print("{}", json);
  } else {
    fmt::print("{}report {}\n", report::summary(report, {has_colour(stdout), forms.verbose, forms.brief}),
               files.json.string());
    if (files.page) fmt::print("page   {}\n", files.page->string());
  }
  return report.conforms() && !report.is_disputed() ? kConforms : kDoesNotConform;
}

}  // namespace qconform::cli
