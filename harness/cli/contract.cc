// The command that learns what a backend takes, by asking it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/engine/contracts.h"
#include "harness/forms/archive/json_archives.h"
#include "harness/forms/json/json_text.h"
#include "harness/suites/sweep/array_cache.h"
#include "reports/render/run_tables.h"

namespace qconform::cli {
namespace {

struct ContractOptions {
  std::vector<std::string> backends;
  PolicyOptions policy;
  SandboxOptions sandbox;
  std::uint64_t seed = 1;
  bool json = false;
};

// "learnt from 1,658 cases; 120 more drawn inside, 1 of them declined".
std::string evidence(const BackendContract& contract) {
  std::string text = fmt::format("learnt from {} cases", with_thousands(contract.probes));
  if (!contract.takes_anything) return text;
  return text + fmt::format("; of {} drawn inside at last {}", with_thousands(contract.confirmed),
                            contract.contradicted == 0 ? "none is declined"
                                                       : with_thousands(contract.contradicted) +
                                                             " declined, for values or for a rule that was not found");
}

void print(const std::string& backend, const std::vector<BackendContract>& contracts) {
  say("{}\n", backend::short_name(backend));
  for (const BackendContract& contract : contracts) {
    say("  {}: {}{}\n", contract.model,
        !contract.takes_anything ? "takes none of the cases asked, "
        : contract.rules.empty() ? "takes all, "
                                 : "",
        evidence(contract));
    for (const std::string& rule : contract.rules) say("    {}\n", rule);
  }
}

Json json_of(const std::string& backend, const std::vector<BackendContract>& contracts) {
  Json json{{"backend", backend}, {"models", Json::array()}};
  for (const BackendContract& contract : contracts) json["models"].push_back(write_document(description_of(contract)));
  return json;
}

Result<int> run_contract(const ContractOptions& options) {
  sweep::keep_arrays_in(sweep::usual_array_folder());
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  auto all = Json::array();
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    ProgressLine line;
    const auto contracts = described(learn_contracts(*backend, options.seed, contract_progress(line, name)));
    line.clear();
    if (options.json) {
      all.push_back(json_of(name, contracts));
    } else {
      print(name, contracts);
    }
  }
  if (options.json) {
    write_document_text(print_json(all));
  }
  return kConforms;
}

}  // namespace

void add_contract(CLI::App& app, Action& action) {
  auto options = std::make_shared<ContractOptions>();
  CLI::App* command = app.add_subcommand("contract", "Learn what a backend takes, and print it");
  command->footer(
      "example: qconform contract --backend xnnpack\n"
      "Parameters and classes are those of qconform list sweep. docs/contracts.md says how it is learnt.");
  command->add_option("--backend", options->backends, "Backend, may be repeated")->required();
  command->add_option("--seed", options->seed, "Seed of the cases' values")->capture_default_str();
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->sandbox);
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "As JSON");
  when_chosen(*command, action, std::move(options), &run_contract);
}

}  // namespace qconform::cli
