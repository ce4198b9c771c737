#include <fmt/format.h>

#include <memory>

#include "harness/base/file.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/report_output.h"
#include "reports/gate/compare_speed.h"
#include "reports/gate/gate.h"
#include "reports/read/read_report.h"
#include "reports/render/forms.h"

namespace qconform::cli {
namespace {

struct GateOptions {
  std::string baseline;
  std::string report;
  std::string waivers;
  std::string bench_baseline;
  std::string bench;
  double slower = 5;
  std::string junit;
  std::string markdown;
  std::string html;
  std::size_t limit = report::kCommentBytes;
  bool json = false;
};

Result<void> add_speed(const GateOptions& options, gate::GateResult& comparison) {
  if (options.bench.empty()) return {};
  QCONFORM_ASSIGN(const auto before, in_context("--bench-baseline", gate::load_speeds(options.bench_baseline)));
  QCONFORM_ASSIGN(const auto now, in_context("--bench", gate::load_speeds(options.bench)));
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
  QCONFORM_TRY(write("markdown", options.markdown, gate::to_markdown(comparison, options.limit)));
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

Result<int> run_gate(const GateOptions& options) {
  ReportForms forms;
  forms.html = options.html;
  QCONFORM_TRY(check_forms(forms));
  gate::Side baseline{.file = options.baseline, .report = {}};
  gate::Side current{.file = options.report, .report = {}};
  QCONFORM_ASSIGN(baseline.report, in_context("--baseline", report::load_report(baseline.file)));
  QCONFORM_ASSIGN(current.report, report::load_report(current.file));
  QCONFORM_ASSIGN(const auto waivers, chosen_waivers({.file = options.waivers, .draft = {}}, ""));
  QCONFORM_ASSIGN(auto comparison,
                  gate::compare(std::move(baseline), std::move(current), waivers ? &*waivers : nullptr));
  QCONFORM_TRY(add_speed(options, comparison));
  if (options.json) {
    write_document_text(gate::to_json(comparison));
  } else {
    say("{}", gate::to_text(comparison, painter()));
  }
  QCONFORM_TRY(write_forms(options, comparison));
  return comparison.passes() ? kConforms : kDoesNotConform;
}

}  // namespace

void add_gate(CLI::App& app, Action& action) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = app.add_subcommand("gate", "Compare a report with a baseline: what got worse");
  command->footer(
      "example: qconform gate --baseline baseline.json build/reports/run/report.json --markdown summary.md\n"
      "A new finding, a wider one and fewer tests are worse: docs/gate.md.\n"
      "Exit code: 0 nothing got worse, 1 something did, or a waiver expired, 2 wrong use, a file that cannot be read, "
      "or reports that cannot be compared.");
  command->add_option("--baseline", options->baseline, "report.json to compare with")->required();
  command->add_option("REPORT", options->report, "report.json of the change")->required();
  command->add_option("--waivers", options->waivers,
                      "File of known discrepancies that do not count, or none (default: the waivers of the run; "
                      "docs/formats.md)");
  CLI::Option* before = command->add_option("--bench-baseline", options->bench_baseline, "bench.json of the baseline");
  CLI::Option* now = command->add_option("--bench", options->bench, "bench.json of the change");
  before->needs(now);
  now->needs(before);
  command
      ->add_option(
          "--slower", options->slower,
          "Percent by which a layer, or the mean of all, gets worse if it is that much slower relative to the other "
          "backends in all but 1 of 1000 bootstrap resamples")
      ->check(CLI::Range(0.0, 99.0))
      ->needs(now)
      ->capture_default_str();
  command->add_option("--junit", options->junit, "File for JUnit XML");
  command->add_option("--markdown", options->markdown, "File for Markdown");
  command->add_option("--html", options->html, "File for the page of the change's report, with what changed");
  command->add_option("--limit", options->limit, "Most bytes of Markdown")
      ->check(CLI::Range(report::kLeastMarkdownBytes, std::size_t{1} << 30))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the comparison as JSON");
  when_chosen(*command, action, std::move(options), &run_gate);
}

}  // namespace qconform::cli
