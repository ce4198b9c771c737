#include "harness/cli/report_command.h"

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

}  // namespace qconform::cli
