#include <fmt/format.h>

#include <memory>

#include "harness/base/file.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "reports/gate/gate.h"
#include "reports/read/read_report.h"
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
  gate::Side baseline{.file = options.compare, .report = {}};
  gate::Side current{.file = options.report, .report = {}};
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

}  // namespace qconform::cli
