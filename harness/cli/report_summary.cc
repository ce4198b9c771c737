#include <memory>

#include "harness/cli/output.h"
#include "harness/cli/report_command.h"
#include "reports/render/json_report.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct SummaryOptions : ReportFileOptions {
  bool json = false;
  bool verbose = false;
  bool brief = false;
};

Result<int> run_summary(const SummaryOptions& options) {
  QCONFORM_ASSIGN(const auto report, chosen_report(options));
  if (options.json) return put_text(options.out, report::to_json(report));
  const bool colour = options.out.empty() && has_colour(stdout);
  return put_text(options.out,
                  report::headline(report) + report::summary(report, {colour, options.verbose, options.brief}));
}

}  // namespace

void add_report_summary(CLI::App& app, Action& action) {
  auto options = std::make_shared<SummaryOptions>();
  CLI::App* command = app.add_subcommand("summary", "What the run printed");
  command->footer("example: qconform report summary build/reports/run/report.json");
  add_report_file_options(*command, *options);
  command->add_flag("-v,--verbose", options->verbose, "Digests, ties, hazards, tiers by element and stages too");
  command->add_flag("--brief", options->brief, "A row for each backend and a line for each finding instead")
      ->excludes("--verbose");
  command->add_flag("--json", options->json, "The report as JSON again, which checks it");
  when_chosen(*command, action, std::move(options), &run_summary);
}

}  // namespace qconform::cli
