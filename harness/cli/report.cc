#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/campaign/journal.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "reports/gate/baseline.h"
#include "reports/gate/gate.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

void add_report(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "report", "Make other forms of the report of a run, or one report of the shards of a campaign");
  command->footer(
      "example: qconform report markdown build/reports/run/report.json -o summary.md\n"
      "Exit code: 0 whatever the report says, 2 wrong use or a file that cannot be read; of merge that of the "
      "campaign.");
  command->require_subcommand(1);
  add_report_summary(*command, action);
  add_report_html(*command, action);
  add_report_junit(*command, action);
  add_report_sarif(*command, action);
  add_report_markdown(*command, action);
  add_report_matrix(*command, action);
  add_report_merge(*command, action);
}

void add_report_file_options(CLI::App& command, ReportFileOptions& options) {
  command.add_option("REPORT", options.report, "report.json of a run")->required();
  command.add_option("-o,--out", options.out, "File to write (default: stdout)");
}

Result<Report> chosen_report(const ReportFileOptions& options) {
  return report::load_report(options.report);
}

Result<int> put_text(const std::string& out, std::string_view text) {
  if (out.empty()) {
    write_document_text(text);
    return kConforms;
  }
  QCONFORM_TRY(write_file(out, text));
  return kConforms;
}

namespace {

struct SummaryOptions : ReportFileOptions {
  bool json = false;
  bool verbose = false;
  bool brief = false;
};

Result<int> run_summary(const SummaryOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  if (options.json) return put_text(options.out, report::to_json(report));
  report::SummaryStyle style{false, options.verbose, options.brief};
  if (!options.out.empty()) {
    return put_text(options.out,
                    report::headline(report) + report::summary(report, style) + report::conclusions(report, false));
  }
  style.colour = has_colour(stdout);
  style.columns = width_of(stdout);
  say("{}{}{}", report::headline(report), report::summary(report, style), report::conclusions(report, style.colour));
  return kConforms;
}

}  // namespace

void add_report_summary(CLI::App& app, Action& action) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* command = app.add_subcommand("summary", "What the run printed");
  command->footer("example: qconform report summary build/reports/run/report.json");
  add_report_file_options(*command, *options);
  command->add_flag("-v,--verbose", options->verbose, "Digests, ties, corner cases, tiers by element and stages too");
  command->add_flag("--brief", options->brief, "A row for each backend and a line for each finding instead")
      ->excludes("--verbose");
  command->add_flag("--json", options->json, "The report as JSON again, which checks it");
  when_chosen(*command, action, std::move(options), &run_summary);
}

namespace {

struct HtmlOptions {
  std::string report;
  std::string bench;
  std::string compare;
  std::string out;
};

// Compares the report with the baseline as the gate does, with the waivers that the run was made with; empty where no
// baseline is named.
Result<std::string> comparison_of(const HtmlOptions& options) {
  if (options.compare.empty()) return std::string();
  gate::ReportSide baseline{.file = options.compare, .report = {}};
  gate::ReportSide current{.file = options.report, .report = {}};
  QCONFORM_ASSIGN(baseline.report, in_context("--compare", report::load_report(baseline.file)));
  QCONFORM_ASSIGN(current.report, report::load_report(current.file));
  QCONFORM_ASSIGN(const auto comparison,
                  in_context("--compare", gate::compare(std::move(baseline), std::move(current), nullptr)));
  return gate::to_json(comparison);
}

Result<int> run_html(const HtmlOptions& options) {
  QCONFORM_ASSIGN(const auto report, read_file(options.report, kMostPageBytes));
  QCONFORM_ASSIGN(const auto bench,
                  options.bench.empty() ? Result<std::string>() : read_file(options.bench, kMostPageBytes));
  QCONFORM_ASSIGN(const auto comparison, comparison_of(options));
  const auto page = report::to_html({.report = report, .bench = bench, .comparison = comparison});
  if (!page) {
    const std::string& field = page.error().field;
    if (field == "viewer") return tl::unexpected(page.error());
    return fail(field == "bench" ? options.bench : options.report, page.error().message, page.error().rule);
  }
  QCONFORM_TRY(write_file(options.out, *page));
  return kConforms;
}

}  // namespace

void add_report_html(CLI::App& app, Action& action) {
  auto options = std::make_shared<HtmlOptions>();
  CLI::App* command = app.add_subcommand(
      "html",
      "One HTML file that works offline: findings, element maps, coverage, cases; with --compare, what changed");
  command->footer(
      "example: qconform report html build/reports/run/report.json --bench build/reports/bench/bench.json -o "
      "report.html");
  command->add_option("REPORT", options->report, "report.json of a run or a campaign")->required();
  command->add_option("--bench", options->bench, "bench.json of `qconform bench`, for a comparison of speed");
  command->add_option(
      "--compare", options->compare,
      "report.json of a baseline: the page says what is new, gone and stayed since, and what got worse");
  command->add_option("-o,--out", options->out, "File to write")->required();
  when_chosen(*command, action, std::move(options), &run_html);
}

namespace {

Result<int> run_junit(const ReportFileOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  return put_text(options.out, report::to_junit(report));
}

}  // namespace

void add_report_junit(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportFileOptions>();
  CLI::App* command = app.add_subcommand("junit", "JUnit XML, for CI systems that show tests");
  command->footer("example: qconform report junit build/reports/run/report.json -o junit.xml");
  add_report_file_options(*command, *options);
  when_chosen(*command, action, std::move(options), &run_junit);
}

namespace {

struct SarifFileOptions : ReportFileOptions {
  std::string source;
};

Result<int> run_sarif(const SarifFileOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  return put_text(options.out, report::to_sarif(report, {options.source, {}}));
}

}  // namespace

void add_report_sarif(CLI::App& app, Action& action) {
  auto options = std::make_shared<SarifFileOptions>();
  CLI::App* command = app.add_subcommand("sarif", "SARIF 2.1.0, for code scanning");
  command->footer("example: qconform report sarif build/reports/run/report.json --source src/mine.c -o qconform.sarif");
  add_report_file_options(*command, *options);
  add_source_option(*command, options->source);
  when_chosen(*command, action, std::move(options), &run_sarif);
}

namespace {

struct MarkdownOptions : ReportFileOptions {
  std::size_t limit = report::kCommentBytes;
};

Result<int> run_markdown(const MarkdownOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  return put_text(options.out, report::to_markdown(report, options.limit));
}

}  // namespace

void add_report_markdown(CLI::App& app, Action& action) {
  auto options = std::make_shared<MarkdownOptions>();
  CLI::App* command = app.add_subcommand("markdown", "Markdown, for a comment on a pull request or a job's summary");
  command->footer("example: qconform report markdown build/reports/run/report.json --limit 1048576 -o summary.md");
  add_report_file_options(*command, *options);
  command
      ->add_option(
          "--limit", options->limit,
          "Most bytes to write; the file counts what does not fit. GitHub cuts comments at 65536 characters and "
          "summaries of jobs at 1048576 bytes")
      ->check(CLI::Range(report::kLeastMarkdownBytes, std::size_t{1} << 30))
      ->capture_default_str();
  when_chosen(*command, action, std::move(options), &run_markdown);
}

namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> inputs;
  std::string out;
  SandboxOptions workers;  ///< only what is this machine's own affair
  bool explain = true;
  bool shrink = true;
  ReportForms forms;
};

// Finds the journal in a folder, or beside a report; any other input is the journal itself.
Result<fs::path> journal_of(const std::string& input) {
  const fs::path path(input);
  std::error_code error;
  if (!fs::exists(path, error)) return fail(input, "there is no such file or folder");
  fs::path journal = path;
  if (fs::is_directory(path, error)) journal = path / campaign::kJournalName;
  if (path.extension() == ".json") journal = path.parent_path() / campaign::kJournalName;
  if (fs::exists(journal, error)) return journal;
  return fail(input, fmt::format("has no {}: merging reads the journals of campaigns (qconform fuzz --out), which hold "
                                 "what their reports are made of",
                                 campaign::kJournalName));
}

Result<std::vector<fs::path>> journals_of(const MergeOptions& options) {
  std::set<fs::path> journals;
  for (const std::string& input : options.inputs) {
    QCONFORM_ASSIGN(auto journal, journal_of(input));
    journals.insert(fs::weakly_canonical(journal));
  }
  return std::vector<fs::path>(journals.begin(), journals.end());
}

Result<int> build_report(const MergeOptions& options, const campaign::CampaignSnapshot& merged) {
  const campaign::Identity& identity = merged.identity;
  QCONFORM_TRY(use_defects(identity.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy({identity.profile, identity.overflow}));
  SandboxOptions workers = sandbox_from(identity.sandbox);
  workers.arm64_program = options.workers.arm64_program;
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(workers));
  QCONFORM_ASSIGN(const auto waivers, chosen_waivers({.file = identity.waivers}, ""));
  auto backends = backend::select_all(identity.backends, arithmetic_of(policy.profile), sandbox);
  if (!backends) {
    Error error = backends.error();
    error.message +=
        "; merging explains and shrinks findings with the backends of the campaign: merge on a machine that has them";
    return tl::unexpected(error);
  }
  ProgressLine line;
  const campaign::ReportOptions report_options{
      .judge = {policy, waivers ? &*waivers : nullptr, options.explain && identity.explain},
      .case_at = merged.case_at,
      .shrink = options.shrink,
      .suite = identity.suite_name(),
      .progress = told_on(line)};
  Report report = campaign_report(merged, *backends, report_options);
  line.clear();
  return deliver_campaign(options.out, policy, options.forms, report);
}

Result<int> merge(const MergeOptions& options) {
  QCONFORM_TRY(check_forms(options.forms));
  QCONFORM_ASSIGN(const auto journals, journals_of(options));
  const fs::path out(options.out);
  QCONFORM_TRY(make_folder("--out", out));
  QCONFORM_ASSIGN(auto merged, campaign::merge(journals, out / campaign::kJournalName));
  for (const std::string& remark : merged.remarks) say(stderr, "qconform: {}\n", shown(remark));
  return build_report(options, merged.snapshot);
}

}  // namespace

void add_report_merge(CLI::App& app, Action& action) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = app.add_subcommand("merge", "Put the shards of a campaign together");
  command->footer(
      "example: qconform report merge shards/* -o merged\n"
      "Reads the journals of `qconform fuzz --shard I/N --out DIR`. Order and repetition make no difference, and\n"
      "a merged folder can be merged again.\n"
      "Exit code: 0 every backend conforms, waived findings aside, 1 one does not, 2 wrong use, or shards that do not\n"
      "belong to one campaign. Shards must agree in --isolation, --timeout, --memory-limit, --guard and\n"
      "--threads-check; merging confirms and shrinks findings under the same options.");
  command->add_option("inputs", options->inputs, "Folders of campaigns, their reports or their journals")->required();
  command->add_option("-o,--out", options->out, "Folder for the journal, the report and the cases of its findings")
      ->required();
  add_arm64_option(*command, options->workers);
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by symptom, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Do not shrink the cases of findings");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &merge);
}

namespace {

struct GateOptions {
  std::string baseline;
  std::string report;
  std::string waivers;
  std::string stored;  ///< file for the report as a baseline; empty: none
  std::string bench_baseline;
  std::string bench;
  double slower = 5;
  std::string junit;
  std::string markdown;
  std::string link;  ///< address of the report, for Markdown; may be empty
  std::string html;
  std::string sarif;
  std::string source;
  bool annotate = false;
  std::size_t limit = report::kCommentBytes;
  bool json = false;
};

Result<void> add_speed(const GateOptions& options, const std::optional<gate::Speeds>& stored, const gate::Speeds& now,
                       gate::GateResult& comparison) {
  if (options.bench_baseline.empty() && !stored)
    return fail("--bench", "the baseline has no speeds: name its bench.json with --bench-baseline");
  QCONFORM_ASSIGN(const auto before, options.bench_baseline.empty()
                                         ? Result<gate::Speeds>(*stored)
                                         : in_context("--bench-baseline", gate::load_speeds(options.bench_baseline)));
  QCONFORM_ASSIGN(auto changes, gate::compare_speed(before, now, options.slower / 100));
  for (gate::Change& change : changes) comparison.changes.push_back(std::move(change));
  std::stable_sort(comparison.changes.begin(), comparison.changes.end(),
                   [](const gate::Change& a, const gate::Change& b) { return a.effect < b.effect; });
  return {};
}

// Writes the forms that were asked for and says where they are.
Result<void> write_forms(const GateOptions& options, const gate::GateResult& comparison) {
  const auto write = [&](const char* form, const std::string& file, const std::string& text) -> Result<void> {
    if (file.empty()) return {};
    QCONFORM_TRY(write_file(file, text));
    say(stderr, "{} {}\n", form, file);
    return {};
  };
  QCONFORM_TRY(write("junit", options.junit, gate::to_junit(comparison)));
  QCONFORM_TRY(write("markdown", options.markdown, gate::to_markdown(comparison, options.limit, options.link)));
  QCONFORM_TRY(write("sarif", options.sarif, gate::to_sarif(comparison, options.source)));
  if (options.html.empty()) return {};
  QCONFORM_ASSIGN(const auto report, read_file(options.report, kMostPageBytes));
  QCONFORM_ASSIGN(const auto bench,
                  options.bench.empty() ? Result<std::string>() : read_file(options.bench, kMostPageBytes));
  QCONFORM_ASSIGN(
      const auto page,
      in_context("--html",
                 report::to_html({.report = report, .bench = bench, .comparison = gate::to_json(comparison)})));
  return write("page", options.html, page);
}

Result<int> compare_with_baseline(const GateOptions& options, gate::ReportSide current,
                                  const std::optional<gate::Speeds>& speeds) {
  gate::ReportSide baseline{.file = options.baseline, .report = {}};
  QCONFORM_ASSIGN(auto stored, in_context("--baseline", gate::load_baseline(baseline.file)));
  baseline.report = std::move(stored.report);
  QCONFORM_ASSIGN(const auto waivers, chosen_waivers({.file = options.waivers}, ""));
  QCONFORM_ASSIGN(auto comparison,
                  gate::compare(std::move(baseline), std::move(current), waivers ? &*waivers : nullptr));
  if (speeds) QCONFORM_TRY(add_speed(options, stored.speeds, *speeds, comparison));
  if (!speeds && stored.speeds) {
    gate::Change change;
    change.what = "speeds-not-compared";
    change.text = "the baseline has speeds, the new report none: give its bench.json with --bench";
    comparison.changes.push_back(std::move(change));
  }
  if (options.json) {
    write_document_text(gate::to_json(comparison));
  } else {
    say("{}", gate::to_text(comparison, painter()));
  }
  if (options.annotate) say("{}", gate::to_annotations(comparison, options.source));
  QCONFORM_TRY(write_forms(options, comparison));
  return comparison.passes() ? kConforms : kDoesNotConform;
}

Result<int> run_gate(const GateOptions& options) {
  if (options.baseline.empty() && options.stored.empty())
    return fail("gate", "expected --baseline FILE to compare with, or --store-baseline FILE");
  ReportForms forms;
  forms.html = options.html;
  QCONFORM_TRY(check_forms(forms));
  gate::ReportSide current{.file = options.report, .report = {}};
  QCONFORM_ASSIGN(current.report, report::load_report(current.file));
  std::optional<gate::Speeds> speeds;
  if (!options.bench.empty()) {
    QCONFORM_ASSIGN(speeds, in_context("--bench", gate::load_speeds(options.bench)));
  }
  const std::string stored =
      options.stored.empty() ? "" : gate::baseline_text(current.report, speeds ? &*speeds : nullptr);
  int code = kConforms;
  if (!options.baseline.empty()) {
    QCONFORM_ASSIGN(code, compare_with_baseline(options, std::move(current), speeds));
  }
  if (options.stored.empty()) return code;
  if (code != kConforms) {
    say(stderr, "{} is not stored: the gate fails. Without --baseline it is stored all the same\n",
        shown(options.stored));
    return code;
  }
  QCONFORM_TRY(in_context("--store-baseline", write_file(options.stored, stored)));
  say(stderr, "baseline {}\n", shown(options.stored));
  return code;
}

}  // namespace

void add_gate(CLI::App& app, Action& action) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = app.add_subcommand("gate", "Compare a report with a baseline: what got worse");
  command->footer(
      "example: qconform gate --store-baseline ci/baseline.json build/reports/run/report.json\n"
      "example: qconform gate --baseline ci/baseline.json build/reports/run/report.json --markdown summary.md\n"
      "A new finding, a wider one and fewer tests are worse: docs/gate.md.\n"
      "Exit code: 0 nothing got worse, 1 something did, or a waiver expired, 2 wrong use, a file that cannot be read, "
      "or reports that cannot be compared.");
  CLI::Option* baseline = command->add_option(
      "--baseline", options->baseline, "Baseline to compare with: what --store-baseline wrote, or a report.json");
  command->add_option("--store-baseline", options->stored,
                      "File for the baseline of this report, and of --bench: counts, findings and speeds, a line each");
  command->add_option("REPORT", options->report, "report.json of the change")->required();
  command->add_option("--waivers", options->waivers,
                      "File of known discrepancies that do not count, or none (default: the waivers of the run; "
                      "docs/formats.md)");
  CLI::Option* now = command->add_option("--bench", options->bench, "bench.json of the change");
  command
      ->add_option("--bench-baseline", options->bench_baseline,
                   "bench.json to compare with (default: the speeds in the baseline)")
      ->needs(now);
  command
      ->add_option(
          "--slower", options->slower,
          "Percent by which a layer, or the mean of all, gets worse if it is that much slower relative to the other "
          "backends in all but 1 of 1000 bootstrap resamples")
      ->check(CLI::Range(0.0, 99.0))
      ->needs(now)
      ->capture_default_str();
  command->add_option("--junit", options->junit, "File for JUnit XML")->needs(baseline);
  command->add_option("--markdown", options->markdown, "File for Markdown")->needs(baseline);
  command->add_option("--link", options->link, "Address of the report or the job, for the Markdown")->needs(baseline);
  add_sarif_options(*command, options->sarif, options->source);
  CLI::Option* json = command->add_flag("--json", options->json, "Print the comparison as JSON")->needs(baseline);
  command
      ->add_flag("--annotate", options->annotate, "Print what got worse as workflow commands of GitHub too (::error)")
      ->needs(baseline)
      ->excludes(json);
  command->add_option("--html", options->html, "File for the page of the change's report, with what changed")
      ->needs(baseline);
  command->add_option("--limit", options->limit, "Most bytes of Markdown")
      ->check(CLI::Range(report::kLeastMarkdownBytes, std::size_t{1} << 30))
      ->capture_default_str();
  when_chosen(*command, action, std::move(options), &run_gate);
}

}  // namespace qconform::cli
