#include "harness/cli/report_output.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <system_error>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/engine/case_files.h"
#include "harness/engine/environment.h"
#include "reports/render/forms.h"
#include "reports/render/node_lines.h"
#include "reports/render/terminal.h"
#include "reports/render/viewer.h"

namespace qconform::cli {

namespace {

Result<void> write_files(const std::filesystem::path& folder, const Policy& policy, Report& report,
                         WrittenReport& files) {
  QCONFORM_TRY(write_findings(folder, policy, report));
  files = {report::to_json(report), folder / "report.json", {}};
  QCONFORM_TRY(write_file(files.json, files.text));
  if (report::viewer() == nullptr) return {};
  QCONFORM_ASSIGN(const auto page, report::to_html({.report = files.text, .bench = {}, .comparison = {}}));
  files.page = folder / "report.html";
  return write_file(*files.page, page);
}

}  // namespace

Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report) {
  WrittenReport files;
  QCONFORM_TRY(write_in("--out", out, [&] { return write_files(out, policy, report, files); }));
  return files;
}

namespace {

std::vector<std::string>& kept_arguments() {
  static std::vector<std::string> arguments;
  return arguments;
}

}  // namespace

void keep_arguments(std::span<char* const> arguments) {
  kept_arguments().assign(arguments.begin() + std::min<std::ptrdiff_t>(1, std::ssize(arguments)), arguments.end());
}

const std::vector<std::string>& given_arguments() {
  return kept_arguments();
}

Report new_report(const PolicyOptions& policy, std::uint64_t seed, std::vector<std::string> command) {
  Report report;
  report.environment = current_environment();
  report.seed = seed;
  report.profile = policy.profile;
  report.overflow = policy.overflow;
  report.command = std::move(command);
  return report;
}

void print_headline(const Report& report, bool json) {
  say(json ? stderr : stdout, "{}", report::headline(report));
  std::fflush(json ? stderr : stdout);
}

Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  if (!forms.commit.empty()) report.environment.judged_commit = forms.commit;
  QCONFORM_ASSIGN(const auto files, write_report(out, policy, report));
  QCONFORM_TRY(write_forms(forms, report, files.text));
  if (forms.json) {
    write_document_text(files.text);
  } else {
    say("{}report {}\n", report::summary(report, {has_colour(stdout), forms.verbose, forms.brief, width_of(stdout)}),
        files.json.string());
    if (files.page) say("page   {}\n", files.page->string());
    say("{}", report::conclusions(report, has_colour(stdout)));
  }
  return report.conforms() ? kConforms : kDoesNotConform;
}

namespace {

// Makes the folder that the file is in.
Result<void> write(const char* option, const std::string& path, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return fail(option, fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  return in_context(option, write_file(path, text));
}

}  // namespace

void add_form_options(CLI::App& command, ReportForms& forms) {
  command.add_flag("--json", forms.json, "Print the report as JSON instead of the summary");
  command.add_flag("-v,--verbose", forms.verbose, "Print digests, ties, corner cases, tiers by element and stages too");
  command.add_flag("--brief", forms.brief, "Print a row for each backend and a line for each finding instead")
      ->excludes("--verbose");
  command.add_option("--junit", forms.junit, "File for the report as JUnit XML");
  command.add_option("--markdown", forms.markdown,
                     fmt::format("File for the report as Markdown of at most {} bytes", report::kCommentBytes));
  command.add_option("--html", forms.html, "File for the report as one HTML page, besides report.html in the folder");
  command.add_option("--commit", forms.commit,
                     "Commit of the code under test, for the report (default: what the CI system says)");
}

Result<void> check_forms(const ReportForms& forms) {
  if (forms.html.empty() || report::viewer() != nullptr) return {};
  return fail("--html", fmt::format("this qconform was built without the page: {}", report::why_no_viewer()));
}

Result<void> write_forms(const ReportForms& forms, const Report& report, const std::string& report_json) {
  if (!forms.junit.empty()) QCONFORM_TRY(write("--junit", forms.junit, report::to_junit(report)));
  if (!forms.markdown.empty()) {
    const std::string text = report::to_markdown(report, report::kCommentBytes);
    QCONFORM_TRY(write("--markdown", forms.markdown, text));
  }
  if (forms.html.empty()) return {};
  QCONFORM_ASSIGN(const auto page, report::to_html({.report = report_json, .bench = {}, .comparison = {}}));
  return write("--html", forms.html, page);
}

namespace {

// A file name from a case's id; the number in front keeps ids apart that differ only in odd characters.
std::string file_stem(std::uint64_t number, const std::string& id) {
  std::string stem;
  for (const char c : id) stem += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '_';
  return fmt::format("{:06}-{}", number, stem.substr(0, 80));
}

std::string ending_of(CaseForm form) {
  switch (form) {
    case CaseForm::json: return ".json";
    case CaseForm::onnx: return ".onnx";
    case CaseForm::onnx_test: break;
  }
  return "";
}

}  // namespace

void add_case_output_options(CLI::App& command, CaseOutput& options) {
  command
      .add_option("--format", options.format,
                  "json: case files; onnx: one-node models, inputs as initializers; "
                  "onnx-test: backend-test folders (model.onnx, test_data_set_0)")
      ->check(CLI::IsMember({"json", "onnx", "onnx-test"}))
      ->capture_default_str();
  command.add_flag("--admissible", options.admissible,
                   "With onnx-test: also test_data_set_0/admissible.json, the set of right values of every element");
  command.add_option("-o,--out", options.out, "Folder to write to")->required();
}

Result<void> prepare(const CaseOutput& options) {
  if (options.admissible && options.format != "onnx-test") {
    return fail("--admissible", fmt::format("needs --format onnx-test, got {}", options.format));
  }
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", options.out, error.message()));
  return {};
}

Result<std::uint64_t> write_cases(Suite& source, const CaseOutput& options, std::uint64_t number,
                                  std::string_view command) {
  ProgressLine line;
  for (std::uint64_t done = 0;; ++done) {
    line.update(fmt::format("{} {}", command, source.name()), done, source.size(), "cases");
    QCONFORM_ASSIGN(auto next, source.next());
    if (!next) return number;
    const CaseForm form = *case_form_named(options.format);
    const auto path = std::filesystem::path(options.out) / (file_stem(number, next->id) + ending_of(form));
    QCONFORM_TRY(write_case(*next, form, path));
    if (options.admissible) QCONFORM_TRY(write_admissible(*next, path));
    ++number;
  }
}

void print_left_out(const Suite& source) {
  for (const auto& [reason, times] : source.skipped()) say("skipped: {} {}\n", shown(reason), times);
  const auto nodes = source.node_coverage();
  if (!nodes) return;
  say("cases hold {} of {} quantized nodes\n", nodes->covered, nodes->quantized());
  for (const UncoveredNodes& part : nodes->uncovered) say("{}\n", report::uncovered_line(part));
}

}  // namespace qconform::cli
