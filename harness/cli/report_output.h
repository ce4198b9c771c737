// Everything that commands leave behind: the report of a run or a campaign in its forms, a part of that report about
// rewritten graphs, and the cases that a command exports; and what ends a run early, with its report.
#pragma once

#include <signal.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/build_report.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/suite.h"
#include "harness/report/report.h"
#include "reports/gate/gate.h"

namespace qconform::cli {

struct ReportForms {
  bool json = false;     ///< print the report as JSON instead of the summary
  bool verbose = false;  ///< print more of it
  bool brief = false;    ///< print a row for each backend and a line for each finding
  std::string junit;     ///< files; empty: not written
  std::string markdown;  ///< as for a comment on a pull request
  std::string html;
  std::string sarif;
  std::string source;  ///< file of the code under test, with a line or without, for SARIF; may be empty
  std::optional<gate::ReportSide> before = {};  ///< an earlier report: what is new since is told
  std::string notify;                           ///< command that a campaign gives its summary; may be empty
  std::string commit;  ///< commit of the code under test; empty: what current_environment() found
};

void add_form_options(CLI::App& command, ReportForms& forms);
void add_source_option(CLI::App& command, std::string& source);
/// `--sarif` and `--source`.
void add_sarif_options(CLI::App& command, std::string& file, std::string& source);

/// Before anything runs: whether this build has the forms that are asked for.
[[nodiscard]] Result<void> check_forms(const ReportForms& forms);

/// Writes the files that are asked for; `report_json` is the report as JSON, `comparison` that of gate::to_json() for
/// the page, or empty.
[[nodiscard]] Result<void> write_forms(const ReportForms& forms, const Report& report, const std::string& report_json,
                                       std::string_view comparison = {});

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

/// Writes the findings, report.json and report.html to the folder `out`, which it makes. `comparison`: as of
/// write_forms().
[[nodiscard]] Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report,
                                                 std::string_view comparison = {});

/// Writes the findings and report.json to the folder `out`, with report.html if this build has the page, and the forms
/// that are asked for; prints the summary, or the report as JSON. `comparison`: that of gate::to_json() for the page,
/// or empty. Returns the exit code.
[[nodiscard]] Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms,
                                  Report& report, std::string_view comparison = {});

// The commands of `qconform report`: run.cc has `matrix`, report.cc the others.

void add_report_summary(CLI::App& app, Action& action);
void add_report_html(CLI::App& app, Action& action);
void add_report_junit(CLI::App& app, Action& action);
void add_report_sarif(CLI::App& app, Action& action);
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

// Makes the report and the files of a campaign from its aggregate, for `fuzz` and `report merge`.

/// Makes an empty report of that campaign.
[[nodiscard]] Report new_campaign_report(const campaign::Identity& identity);

/// Makes a report of the snapshot: what its blocks found, with findings explained and shrunk.
[[nodiscard]] Report campaign_report(const campaign::CampaignSnapshot& snapshot,
                                     std::vector<std::unique_ptr<Backend>>& backends,
                                     const campaign::ReportOptions& options);

/// Writes findings and report.json, and removes what an earlier report of the folder had beyond these.
[[nodiscard]] Result<void> write_campaign_report(const std::string& out, const Policy& policy, Report& report);

/// Writes the report as write_campaign_report() does, and prints the summary as deliver() does; returns the exit code.
[[nodiscard]] Result<int> deliver_campaign(const std::string& out, const Policy& policy, const ReportForms& forms,
                                           Report& report);

/// "pad-raw-zero in QLinearConv 120, crashed in ConvInteger 3": the findings that no waiver covers, the commonest ones,
/// for a progress line.
[[nodiscard]] std::string brief_findings(const Report& report);

// Graphs that backends made of those of a run before they computed them: how many units they fused, and into what.

/// The first graphs of a run, as many as are asked about.
class GraphSample {
 public:
  static constexpr std::size_t kMostCases = 500;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  /// Cases of one node are left aside.
  void add(const Case& test_case);
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;
  std::size_t bytes_ = 0;
};

/// Opens each backend again to show graphs (Backend::without()), and fills BackendResult::fusion, and of findings on
/// graphs Finding::rewritten and what their cure keeps from being rewritten. With `is_expected`, the run was meant for
/// fusion. A backend that does not answer has none. `backends` are those of the report, in its order.
void add_rewritings(const GraphSample& sample, bool is_expected, std::span<const std::unique_ptr<Backend>> backends,
                    Report& report);

// Which release broke what was found.

/// --since RELEASE
void add_since_option(CLI::App& command, std::string& since);

/// Error: no backend is of a library with several releases from `since` on, or there is no such release.
[[nodiscard]] Result<void> check_since(const std::string& since, std::span<const std::unique_ptr<Backend>> backends);

/// Asks each release from `since` to the backend's own about the example of each of its findings that no waiver covers,
/// and fills Finding::history, which says why where a release does not open.
void add_histories(const std::string& since, std::span<const std::unique_ptr<Backend>> backends, const Policy& policy,
                   const backend::SandboxPolicy& sandbox, Report& report);

// Ctrl-C and its like, while something long runs that has a report to write.

/// While one exists, SIGINT, SIGTERM and SIGHUP end what runs after the cases that are under way, with its report. A
/// second SIGINT or SIGTERM ends the program at once; a second SIGHUP does not, since a closed terminal may send two.
/// One at a time.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  [[nodiscard]] static bool happened();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace qconform::cli
