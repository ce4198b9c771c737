// `cover`: the code of an instrumented plugin that no case executes, and few cases that detect what all do.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/backends/select.h"
#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/diagnose/audit/power.h"
#include "harness/engine/cover.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/cover_table.h"

namespace qconform::cli {
namespace {

struct CoverCommand : SuitesOptions {
  std::uint64_t tries = CoverOptions{}.tries;
  std::string output;
  bool json = false;
};

// Why the backend tells nothing of its code.
Error not_instrumented(const CoverCommand& options) {
  const std::string& name = options.backends.front();
  if (!can_record_code())
    return {"--backend", "this qconform is built with sanitizers, which take what plugins say", {}};
  const auto what = backend::parse_specification(name);
  if (!what || what->kind != backend::Specification::Kind::plugin) {
    return {"--backend", fmt::format("{}: expected plugin:PATH.so", name), {}};
  }
  if (options.sandbox.which == "none") {
    return {"--isolation", "none: a plugin's code is recorded in a worker process", {}};
  }
  return {"--backend",
          fmt::format("{} is not instrumented, or runs on another processor; compile it with {}", name, kCoverageFlags),
          {}};
}

Result<int> run_cover(const CoverCommand& options) {
  if (!options.output.empty() && std::filesystem::path(options.output).extension() != ".json") {
    return fail("-o", fmt::format("{}: expected a case file, which ends in .json", options.output));
  }
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(auto backends, backend::select_all(options.backends, arithmetic_of(Policy{}.profile), sandbox));
  Backend& backend = *backends.front();
  if (backend.code_coverage() == nullptr) return tl::unexpected(not_instrumented(options));
  NewerOpsets newer;
  Learnt learnt;
  QCONFORM_ASSIGN(auto suites, suites_for(options, backends, newer, learnt));
  diagnose::MutantTable mutants(Policy{});
  CoverResult result;
  {
    ProgressLine line;
    const CoverOptions how{
        .seed = options.suite.seed,
        .tries = options.tries,
        .kills = [&](const Case& test_case,
                     const std::set<std::uint32_t>& settled) { return mutants.killed_by(test_case, settled); },
        .progress = [&](const Progress& progress) { line.update(progress); }};
    QCONFORM_ASSIGN(result, cover(backend, suites, how));
  }
  diagnose::PowerMeter meter(Policy{});
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    if (result.computed[i]) meter.add(result.cases[i]);
  }
  QCONFORM_ASSIGN(const auto contracts, contracts_from(learnt, options, backends, 0));
  QCONFORM_ASSIGN(result.power, meter.power(contracts, options.suite.seed));
  if (!options.output.empty()) QCONFORM_TRY(save_cases(options.output, result.cases));
  if (options.json) {
    write_document_text(print_json(write_document(description_of(result))));
    return kConforms;
  }
  say("{}", report::cover_table(result));
  if (!options.output.empty()) say("written to {}\n", options.output);
  return kConforms;
}

}  // namespace

void add_cover(CLI::App& app, Action& action) {
  auto options = std::make_shared<CoverCommand>();
  CLI::App* command = app.add_subcommand("cover", "Show which of an instrumented plugin's code no case executes");
  command->footer(
      fmt::format("example: qconform cover --backend plugin:./libmine.so -o mine-cases.json\n"
                  "The plugin is compiled with {}. docs/cover.md\n"
                  "Exit code: 0 it was measured, 2 wrong use, or a plugin that is not instrumented.",
                  kCoverageFlags));
  command->add_option("--backend", options->backends, "Plugin: plugin:PATH.so")->required()->expected(1);
  command
      ->add_option("--tries", options->tries,
                   "Cases drawn at most, beyond those of the suites, towards code that none executed")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Case file for the few cases that execute all that was reached");
  options->sandbox.guard = "sampled";  // one run of a case is enough
  add_suite_choice(*command, *options);
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "As JSON");
  when_chosen(*command, action, std::move(options), &run_cover);
}

}  // namespace qconform::cli
