#include "harness/cli/report_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>

#include "harness/base/file.h"
#include "harness/base/process.h"
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

void name_commit(const ReportForms& forms, Report& report) {
  if (!forms.commit.empty()) report.environment.judged_commit = forms.commit;
}

}  // namespace

Result<int> deliver(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report,
                    std::string_view comparison) {
  name_commit(forms, report);
  QCONFORM_ASSIGN(const auto files, write_report(out, policy, report, comparison));
  QCONFORM_TRY(write_forms(forms, report, files.text, comparison));
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

namespace {

// Compares with the report that the forms name; where it cannot be compared with, as if there were none.
Result<gate::GateResult> news_of(const std::string& out, const ReportForms& forms, const Report& report) {
  const gate::ReportSide now{(fs::path(out) / campaign::kReportName).string(), report};
  auto compared = gate::compare_campaign(forms.before, now);
  if (compared || !forms.before) return compared;
  say(stderr, "qconform: the report is not compared with that of the campaign before: {}\n",
      shown(compared.error().text()));
  return gate::compare_campaign(std::nullopt, now);
}

// Gives the command the mail on its stdin. It is somebody's program: it may fail or hang, and changes no exit code.
void notify(const std::string& command, const fs::path& mail, const fs::path& json, const std::string& subject) {
  constexpr std::chrono::seconds kPatience{60};
  const std::string whole = fmt::format("{{ {}\n}} < {}", command, shell_word(mail.string()));
  auto started = ChildProcess::start(whole, ChildProcess::Output::logged,
                                     {{"QCONFORM_SUBJECT", subject}, {"QCONFORM_SUMMARY", json.string()}});
  if (!started) return say(stderr, "qconform: --notify: {}\n", shown(started.error().message));
  ChildProcess& child = **started;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::string_view nothing;
  std::string ignored;
  while (!child.status() && std::chrono::steady_clock::now() < end) {
    child.exchange(nothing, ignored, std::chrono::milliseconds(100));
  }
  const auto status = child.status();
  if (status == 0) return;
  const std::string how = status ? "failed" : fmt::format("was ended after {} s", kPatience.count());
  say(stderr, "qconform: --notify: the command {}: {}\n", how, shown_lines(child.log()));
}

Result<void> write_news(const std::string& out, const ReportForms& forms, const gate::GateResult& news) {
  const fs::path mail = fs::path(out) / "summary.txt";
  const fs::path json = fs::path(out) / "summary.json";
  QCONFORM_TRY(write_file(mail, gate::to_mail(news)));
  QCONFORM_TRY(write_file(json, gate::to_json(news)));
  if (!forms.notify.empty()) notify(forms.notify, mail, json, gate::subject_of(news));
  return {};
}

}  // namespace

Result<int> deliver_campaign(const std::string& out, const Policy& policy, const ReportForms& forms, Report& report) {
  name_commit(forms, report);
  QCONFORM_ASSIGN(gate::GateResult news, news_of(out, forms, report));
  for (const gate::ComparedCause& cause : news.causes) report.campaign->causes.push_back(cause.known);
  const std::string comparison = news.baseline.file.empty() ? "" : gate::to_json(news);
  auto code = deliver(out, policy, forms, report, comparison);
  for (const BackendResult& backend : report.backends) {
    print_note(contradiction_text(backend.info.name, backend.contracts));
  }
  if (!code) return code;
  remove_later_findings(out, report.findings.size());
  FILE* const stream = forms.json ? stderr : stdout;
  if (!comparison.empty()) say(stream, "{}", gate::news_text(news, painter(stream)));
  news.current.report = report;  // its findings name their files by now
  QCONFORM_TRY(write_in("--out", out, [&] { return write_news(out, forms, news); }));
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
