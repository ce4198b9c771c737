#include <fmt/format.h>

#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/report_output.h"
#include "harness/suites/select.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct ExportOptions {
  std::vector<std::string> suites;
  SuiteOptions suite;
  CaseOutput output;
};

Result<int> export_suites(const ExportOptions& options) {
  QCONFORM_TRY(prepare(options.output));
  std::uint64_t number = 0;
  for (const std::string& name : options.suites) {
    QCONFORM_ASSIGN(auto sources, open_shown(name, options.suite));
    for (const auto& source : sources) {
      QCONFORM_ASSIGN(number, write_cases(*source, options.output, number, "export"));
      print_left_out(*source);
    }
  }
  say("{} cases in {}\n", report::with_thousands(number), options.output.out);
  return kConforms;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = app.add_subcommand("export", "Write the cases of suites as files");
  command->footer("example: qconform export --suite random --cases 100 --format onnx-test -o /tmp/cases");
  command->add_option("--suite", options->suites, "Suite, may be repeated (see: qconform list suites)")->required();
  command->add_option("--cases", options->suite.cases,
                      "Number of cases of each generated suite (default: 10000 of random, 4000 of directed)");
  command->add_option("--seed", options->suite.seed, "Seed of everything random")->capture_default_str();
  add_model_memory_option(*command, options->suite.model_mebibytes);
  add_case_output_options(*command, options->output);
  when_chosen(*command, action, std::move(options), &export_suites);
}

}  // namespace qconform::cli
