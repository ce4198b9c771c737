// Writes and prints the report of commands that judge suites, and the cases that a command exports.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/core/suite.h"
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

/// Keeps the arguments that this process was given, for the reports that it writes.
void keep_arguments(std::span<char* const> arguments);
/// The kept arguments, without the program's name.
[[nodiscard]] const std::vector<std::string>& given_arguments();

/// Prints the first line, before anything random starts. With `json`, to stderr: stdout is for data.
void print_headline(const Report& report, bool json);

struct WrittenReport {
  std::string text;  ///< text of report.json
  std::filesystem::path json;
  std::optional<std::filesystem::path> page{};  ///< set where this build has the page
};

/// Writes the findings, report.json and report.html to the folder `out`, which it makes.
[[nodiscard]] Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report);

/// Writes the findings and report.json to the folder `out`, with report.html if this build has the page, and the forms
/// that are asked for; prints the summary, or the report as JSON. Returns the exit code.
[[nodiscard]] Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms,
                                  Report& report);

// The commands of `qconform report`: report.cc has all but `merge` and `matrix`.

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

// Writes cases as files into a folder.

struct CaseOutput {
  std::string format = "json";
  std::string out;          ///< folder
  bool admissible = false;  ///< backend-test folders get the right values, too
};

void add_case_output_options(CLI::App& command, CaseOutput& options);

/// Makes the folder.
[[nodiscard]] Result<void> prepare(const CaseOutput& options);

/// Writes the source's cases, the first as number `number`; returns the number after the last.
[[nodiscard]] Result<std::uint64_t> write_cases(Suite& source, const CaseOutput& options, std::uint64_t number,
                                                std::string_view command);

/// Prints what the source has met and made no case of, with the reasons, a line each.
void print_left_out(const Suite& source);

}  // namespace qconform::cli
