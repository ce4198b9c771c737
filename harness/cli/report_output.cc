#include "harness/cli/report_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "harness/base/file.h"
#include "harness/campaign/journal.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/engine/case_files.h"
#include "harness/engine/environment.h"
#include "harness/engine/findings.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"
#include "reports/render/viewer.h"

namespace qconform::cli {
namespace {

Result<void> write_files(const std::filesystem::path& folder, const Policy& policy, Report& report,
                         std::string_view comparison, WrittenReport& files) {
  QCONFORM_TRY(write_findings(folder, policy, report));
  files = {report::to_json(report), folder / campaign::kReportName, {}};
  QCONFORM_TRY(write_file(files.json, files.text));
  if (report::viewer() == nullptr) return {};
  QCONFORM_ASSIGN(const auto page, report::to_html({.report = files.text, .bench = {}, .comparison = comparison}));
  files.page = folder / "report.html";
  return write_file(*files.page, page);
}

}  // namespace

Result<WrittenReport> write_report(const std::string& out, const Policy& policy, Report& report,
                                   std::string_view comparison) {
  WrittenReport files;
  QCONFORM_TRY(write_in("--out", out, [&] { return write_files(out, policy, report, comparison, files); }));
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

namespace {

struct News {
  std::string text;        // for the terminal
  std::string comparison;  // for the page
};

// Returns what is new since the report that the forms name; nothing where they name none.
News news_of(const std::string& out, const ReportForms& forms, const Report& report) {
  if (!forms.before) return {};
  const std::string file = (std::filesystem::path(out) / campaign::kReportName).string();
  const auto comparison = gate::compare(*forms.before, {file, report}, nullptr);
  if (!comparison) return {"not compared: " + comparison.error().text() + "\n", {}};
  return {gate::news_text(*comparison, painter(forms.json ? stderr : stdout)), gate::to_json(*comparison)};
}

}  // namespace

Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  if (!forms.commit.empty()) report.environment.judged_commit = forms.commit;
  const News news = news_of(out, forms, report);
  QCONFORM_ASSIGN(const auto files, write_report(out, policy, report, news.comparison));
  QCONFORM_TRY(write_forms(forms, report, files.text, news.comparison));
  if (forms.json) {
    write_document_text(files.text);
  } else {
    say("{}report {}\n", report::summary(report, {has_colour(stdout), forms.verbose, forms.brief, width_of(stdout)}),
        files.json.string());
    if (files.page) say("page   {}\n", files.page->string());
    say("{}", report::conclusions(report, has_colour(stdout)));
  }
  say(forms.json ? stderr : stdout, "{}", news.text);
  return report.conforms() ? kConforms : kDoesNotConform;
}

namespace {

// Makes the folder that the file is in.
Result<void> write(const char* option, const std::string& path, const std::string& text) {
  QCONFORM_TRY(make_folder(option, std::filesystem::path(path).parent_path()));
  return in_context(option, write_file(path, text));
}

}  // namespace

void add_source_option(CLI::App& command, std::string& source) {
  command.add_option("--source", source,
                     "File of the code under test, FILE or FILE:LINE, where code scanning shows findings (default: the "
                     "plugin's file)");
}

void add_sarif_options(CLI::App& command, std::string& file, std::string& source) {
  command.add_option("--sarif", file, "File for the findings as SARIF 2.1.0, for code scanning");
  add_source_option(command, source);
}

void add_form_options(CLI::App& command, ReportForms& forms) {
  command.add_flag("--json", forms.json, "Print the report as JSON instead of the summary");
  command.add_flag("-v,--verbose", forms.verbose, "Print digests, ties, corner cases, tiers by element and stages too");
  command.add_flag("--brief", forms.brief, "Print a row for each backend and a line for each finding instead")
      ->excludes("--verbose");
  command.add_option("--junit", forms.junit, "File for the report as JUnit XML");
  command.add_option("--markdown", forms.markdown,
                     fmt::format("File for the report as Markdown of at most {} bytes", report::kCommentBytes));
  add_sarif_options(command, forms.sarif, forms.source);
  command.add_option("--html", forms.html, "File for the report as one HTML page, besides report.html in the folder");
  command.add_option("--commit", forms.commit,
                     "Commit of the code under test, for the report (default: what the CI system says)");
}

Result<void> check_forms(const ReportForms& forms) {
  if (forms.html.empty() || report::viewer() != nullptr) return {};
  return fail("--html", fmt::format("this qconform was built without the page: {}", report::why_no_viewer()));
}

Result<void> write_forms(const ReportForms& forms, const Report& report, const std::string& report_json,
                         std::string_view comparison) {
  if (!forms.junit.empty()) QCONFORM_TRY(write("--junit", forms.junit, report::to_junit(report)));
  if (!forms.sarif.empty()) QCONFORM_TRY(write("--sarif", forms.sarif, report::to_sarif(report, {forms.source, {}})));
  if (!forms.markdown.empty()) {
    const std::string text = report::to_markdown(report, report::kCommentBytes);
    QCONFORM_TRY(write("--markdown", forms.markdown, text));
  }
  if (forms.html.empty()) return {};
  QCONFORM_ASSIGN(const auto page, report::to_html({.report = report_json, .bench = {}, .comparison = comparison}));
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
  return make_folder("--out", options.out);
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

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFindingsShown = 4;

// Findings are numbered anew in every report: those of an earlier one with more of them are out of date.
void remove_later_findings(const fs::path& folder, std::size_t count) {
  std::error_code error;
  for (std::size_t number = count + 1;; ++number) {
    const std::string id = "F" + std::to_string(number);
    if (!fs::exists(folder / (id + ".json"), error)) return;
    for (const char* ending : {".json", ".onnx", ".original.json", ".experiment.json", "-related.json"})
      fs::remove(folder / (id + ending), error);
    fs::remove_all(folder / id, error);
  }
}

// `counts`: of each contract what contradicted it; none where no case was run.
std::vector<BackendContract> with_contradictions(std::vector<BackendContract> contracts,
                                                 const std::vector<BackendContract>& counts) {
  for (std::size_t i = 0; i < std::min(contracts.size(), counts.size()); ++i) {
    contracts[i].declined_inside = counts[i].declined_inside;
    contracts[i].taken_outside = counts[i].taken_outside;
    contracts[i].contradiction = counts[i].contradiction;
  }
  return contracts;
}

// Adds the graphs that backends make of the campaign's first graphs, whichever machine computed them.
void add_fusion(const campaign::ReportOptions& options, std::span<const std::unique_ptr<Backend>> backends,
                Report& report) {
  std::uint64_t cases = 0;
  for (const SuiteResult& suite : report.suites) cases += suite.cases;
  GraphSample graphs;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(cases, GraphSample::kMostCases); ++i) {
    graphs.add(options.case_at(i));
  }
  add_rewritings(graphs, false, backends, report);
}

}  // namespace

Report new_campaign_report(const campaign::Identity& identity) {
  PolicyOptions policy;
  policy.profile = identity.profile;
  policy.overflow = identity.overflow;
  return new_report(policy, identity.seed, identity.command);
}

Report campaign_report(const campaign::CampaignSnapshot& snapshot, std::vector<std::unique_ptr<Backend>>& backends,
                       const campaign::ReportOptions& options) {
  Report report = new_campaign_report(snapshot.identity);
  campaign::build_report(snapshot.aggregate, backends, options, report);
  for (const campaign::KnownContracts& known : snapshot.identity.contracts) {
    auto& contracts = report.backends[known.backend].contracts;
    contracts = with_contradictions(described(known.models), contracts);
  }
  // Bounded by their size alone: with a bound on time, equal campaigns could have unequal reports.
  ElementMapsLimits limits;
  limits.seconds = std::numeric_limits<double>::infinity();
  add_element_maps(report, backends, options.judge.policy, limits);
  report.times.total = 0;  // counts the runs of the campaign, not its jobs
  for (const CampaignRun& run : snapshot.result.runs) report.times.total += run.seconds;
  report.campaign = snapshot.result;
  // A campaign that coverage guides has no blocks that another run would repeat.
  if (!report.campaign->engine) {
    report.campaign->timeline = snapshot.aggregate.timeline;
    add_fusion(options, backends, report);
  }
  return report;
}

Result<void> write_campaign_report(const std::string& out, const Policy& policy, Report& report) {
  QCONFORM_TRY(write_report(out, policy, report));
  remove_later_findings(out, report.findings.size());
  return {};
}

Result<int> deliver_campaign(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  auto code = deliver(out, policy, forms, report);
  for (const BackendResult& backend : report.backends) {
    print_note(contradiction_text(backend.info.name, backend.contracts));
  }
  if (code) remove_later_findings(out, report.findings.size());
  return code;
}

std::string brief_findings(const Report& report) {
  std::vector<const Finding*> ordered;
  for (const Finding& finding : report.findings) {
    if (!finding.waiver) ordered.push_back(&finding);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Finding* a, const Finding* b) { return a->cases > b->cases; });
  std::string text;
  for (std::size_t i = 0; i < std::min(ordered.size(), kFindingsShown); ++i) {
    const Finding& finding = *ordered[i];
    text += fmt::format("{}{} in {} {}", i == 0 ? "" : ", ", finding.signature, finding.op_type, finding.cases);
  }
  if (ordered.size() > kFindingsShown) text += fmt::format(", {} more", ordered.size() - kFindingsShown);
  return text;
}

namespace {

constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};

std::atomic<bool> interrupted{false};

}  // namespace

Interruption::Interruption() {
  interrupted = false;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = kSignals[i] == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
    (void)sigaction(kSignals[i], &action, &before_[i]);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) (void)sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interruption::happened() {
  return interrupted;
}

}  // namespace qconform::cli
