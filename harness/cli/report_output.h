// Writes and prints the report of commands that judge suites: the folder, and the forms of it that are asked for.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/cli/arguments.h"
#include "harness/report/report.h"

namespace qconform::cli {

struct ReportForms {
  bool json = false;     ///< print the report as JSON instead of the summary
  bool verbose = false;  ///< print more of it
  bool brief = false;    ///< print a row for each backend and a line for each finding
  std::string junit;     ///< files; empty: not written
  std::string markdown;  ///< as for a comment on a pull request
  std::string html;
  std::string commit;  ///< commit of the code under test; empty: what current_environment() found
};

void add_form_options(CLI::App& command, ReportForms& forms);

/// Before anything runs: whether this build has the forms that are asked for.
[[nodiscard]] Result<void> check_forms(const ReportForms& forms);

/// Writes the files that are asked for; `report_json` is the report as JSON.
[[nodiscard]] Result<void> write_forms(const ReportForms& forms, const Report& report, const std::string& report_json);

/// A report of nothing yet: environment, seed, policy, and the command line that makes it again.
[[nodiscard]] Report new_report(const PolicyOptions& policy, std::uint64_t seed, std::vector<std::string> command);

/// Prints the first line, before anything random starts. With `json`, to stderr: stdout is for data.
void print_headline(const Report& report, bool json);

struct WrittenReport {
  std::string text;  ///< text of report.json
  std::filesystem::path json;
  std::optional<std::filesystem::path> page{};  ///< where this build has one
};

/// Writes the findings, report.json and report.html to the folder `out`, which it makes.
[[nodiscard]] Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report);

/// Writes the findings and report.json to the folder `out`, with report.html if this build has the page, and the forms
/// that are asked for; prints the summary, or the report as JSON. Returns the exit code.
[[nodiscard]] Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms,
                                  Report& report);

}  // namespace qconform::cli
