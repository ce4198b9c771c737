#include <memory>

#include "harness/cli/report_command.h"
#include "reports/render/junit.h"

namespace qconform::cli {
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

}  // namespace qconform::cli
