#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/report_output.h"

namespace qconform::cli {
namespace {

struct RunOptions : SuitesOptions {
  ReportForms forms;
};

Result<int> run(const RunOptions& options) {
  QCONFORM_TRY(check_forms(options.forms));
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(auto report, judge_suites(options, policy, options.forms.json));
  return deliver(options.out, policy, options.forms, report);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->out = "build/reports/run";
  CLI::App* command = app.add_subcommand("run", "Judge backends on suites of cases and write a report");
  command->footer(
      "example: qconform run --backend avx2 --suite random --cases 100000 --seed 7\n"
      "Exit code: 0 every backend conforms, waived findings aside, 1 one does not or a suite expects what the rules do "
      "not admit, 2 wrong use or a file that cannot be read.");
  command->add_option(
      "--backend", options->backends,
      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU, and every "
      "third-party library that is here; the exit code then depends on neither the libraries nor kernel sets "
      "that compute no case of the suites)");
  add_suites_options(*command, *options, "without --backend those that come with qconform, else none");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &run);
}

}  // namespace qconform::cli
