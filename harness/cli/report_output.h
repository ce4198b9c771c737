// Writes and prints the report, for `run` and `fuzz`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/policy.h"
#include "harness/cli/report_forms.h"
#include "harness/core/error.h"
#include "harness/core/report.h"

namespace qconform::cli {

/// A report of nothing yet: environment, seed, policy, and the command line that makes it again.
[[nodiscard]] Report new_report(const PolicyOptions& policy, std::uint64_t seed, std::vector<std::string> command);

/// Prints the first line, before anything random starts. With `json`, to stderr: stdout is for data.
void print_headline(const Report& report, bool json);

struct WrittenReport {
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
