// The commands of `qconform report`: report.cc has all but `merge` and `matrix`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/cli/command.h"
#include "harness/report/report.h"

namespace qconform::cli {

void add_report_summary(CLI::App& app, Action& action);
void add_report_html(CLI::App& app, Action& action);
void add_report_junit(CLI::App& app, Action& action);
void add_report_markdown(CLI::App& app, Action& action);
void add_report_matrix(CLI::App& app, Action& action);
void add_report_merge(CLI::App& app, Action& action);

/// Largest document that a page shows. A browser has to open it; the JSON of a whole campaign is far smaller.
inline constexpr std::int64_t kMostPageBytes = std::int64_t{256} << 20;

/// Options of commands that read a report and write something made of it.
struct ReportFileOptions {
  std::string report;
  std::string out;  ///< empty: stdout
};

void add_report_file_options(CLI::App& command, ReportFileOptions& options);
[[nodiscard]] Result<Report> chosen_report(const ReportFileOptions& options);
/// Writes the text to the file, or prints it; the exit code says nothing of what the report found.
[[nodiscard]] Result<int> put_text(const std::string& out, std::string_view text);

}  // namespace qconform::cli
