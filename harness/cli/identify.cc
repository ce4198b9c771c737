#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/diagnose/identify/identify.h"
#include "harness/engine/contracts.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/forms/json/profile_file.h"
#include "harness/suites/cache.h"
#include "harness/suites/sweep/covering_array.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

using diagnose::Answer;
using diagnose::Candidate;

struct IdentifyCommand {
  std::string backend;
  std::uint64_t seed = 1;
  PolicyOptions policy;
  SandboxOptions sandbox;
  std::string output;
  std::string cases;
  bool json = false;
};

// "ort-f32, half-even"
std::string variants_text(const Answer& answer, const Candidate& candidate) {
  std::string text;
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    if (answer.settling(candidate, a) == nullptr) text += (text.empty() ? "" : ", ") + candidate.variants[a]->id;
  }
  return text;
}

std::string counted(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", report::with_thousands(count), what, count == 1 ? "" : "s");
}

void print_variants(const Answer& answer, const Candidate& candidate) {
  for (std::size_t a = 0; a < answer.choices.size(); ++a) {
    const diagnose::Variant& variant = *candidate.variants[a];
    if (const diagnose::Variant* const settling = answer.settling(candidate, a)) {
      say("  {:<17} {}\n", answer.choices[a]->id, settling->settled_as);
      continue;
    }
    say("  {:<17} {}: {}{}\n", answer.choices[a]->id, variant.id, variant.formula,
        variant.defect.empty() ? "" : fmt::format(" (defect model {})", variant.defect));
  }
}

void print_evidence(const Answer& answer, const Candidate& candidate) {
  say("{:<20}{} of {}, in {}, confirm it\n", "", report::with_thousands(candidate.confirmed_elements),
      counted(answer.elements, "element"), counted(candidate.confirmed_cases, "case"));
  if (const Candidate* const nearest = answer.nearest_eliminated()) {
    const std::size_t eliminated = answer.candidates.size() - answer.survivors().size();
    say("{:<20}{} eliminated; the nearest, {}, by {}\n", "", counted(eliminated, "candidate"),
        variants_text(answer, *nearest), counted(nearest->refuted_elements, "element"));
  }
}

void print_answer(const Answer& answer) {
  if (!answer.only.empty()) say("  {}:\n", answer.holds_for);
  if (!answer.narrowed.empty()) say("  {}\n", answer.narrowed);
  const auto survivors = answer.survivors();
  if (answer.forms.empty()) {
    for (const diagnose::Choice* const choice : answer.choices) {
      say("  {:<17} not asked: {}\n", choice->id, shown(answer.declined));
    }
  } else if (survivors.empty()) {
    std::string choices;
    for (const diagnose::Choice* const choice : answer.choices) choices += (choices.empty() ? "" : ", ") + choice->id;
    say("  {:<17} none of the {} known ways fits\n", choices, answer.candidates.size());
    const Candidate& nearest = *answer.nearest_eliminated();
    say("{:<20}the nearest, {}, is refuted by {} of {}\n", "", variants_text(answer, nearest),
        counted(nearest.refuted_elements, "element"), counted(answer.elements, "element"));
  } else if (survivors.size() > 1 && survivors.size() == answer.candidates.size()) {
    say("  {:<17} unknown: no case tells the {} variants apart\n", answer.choices.front()->id, survivors.size());
  } else {
    print_variants(answer, *survivors.front());
    print_evidence(answer, *survivors.front());
    for (std::size_t i = 1; i < survivors.size(); ++i) {
      say("{:<20}no case tells it from {}\n", "", variants_text(answer, *survivors[i]));
    }
  }
}

void print_identification(const diagnose::Identification& found) {
  say("{} {}   seed {}   {}\n", shown(found.backend.name), shown(found.backend.version), found.seed,
      counted(found.cases, "case"));
  std::string_view op_type;
  for (const Answer& answer : found.answers) {
    if (answer.op_type != op_type) say("{}\n", answer.op_type);
    op_type = answer.op_type;
    print_answer(answer);
  }
}

Result<void> write_refuting_cases(const std::string& file, const diagnose::Identification& found) {
  std::vector<Case> cases;
  std::set<std::string> known;
  for (const Answer& answer : found.answers) {
    for (const Candidate& candidate : answer.candidates) {
      if (!candidate.refutation || !known.insert(candidate.refutation->test_case.id).second) continue;
      cases.push_back(candidate.refutation->test_case);
    }
  }
  return save_cases(file, cases);
}

Result<int> run_identify(const IdentifyCommand& options) {
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(auto backend, backend::select(options.backend, arithmetic_of(policy.profile), sandbox));
  diagnose::Identification found;
  {
    ProgressLine line;
    const auto progress = [&](std::uint64_t cases) { line.update("identify", cases, std::nullopt, "cases"); };
    found = diagnose::identify(*backend, {.seed = options.seed, .progress = progress});
  }
  if (!options.output.empty()) {
    const std::string profile = diagnose::pinned_profile_json(diagnose::pinned_profile(found));
    QCONFORM_TRY(write_file(options.output, profile));
  }
  if (!options.cases.empty()) QCONFORM_TRY(write_refuting_cases(options.cases, found));
  if (options.json) {
    write_document_text(diagnose::identification_json(found));
  } else {
    print_identification(found);
  }
  return kConforms;
}

}  // namespace

void add_identify(CLI::App& app, Action& action) {
  auto options = std::make_shared<IdentifyCommand>();
  CLI::App* command = app.add_subcommand("identify", "Find out which of the known arithmetics a backend uses");
  command->footer(
      "example: qconform identify --backend onnxruntime -o ort.json\n"
      "         qconform run --backend onnxruntime --profile ort.json\n"
      "Every known variant is a candidate. qconform makes cases on which candidates disagree, and eliminates all\n"
      "but those that the backend's outputs agree with. docs/identify.md explains the answer.\n"
      "Exit code: 0 whatever was found, 2 wrong use.");
  command->add_option("--backend", options->backend, "Backend")->required();
  command->add_option("--seed", options->seed, "Seed of the cases")->capture_default_str();
  command->add_option("-o,--output", options->output, "File for what was found, as a profile for --profile");
  command->add_option("--cases", options->cases, "File for the cases that eliminated candidates");
  add_policy_options(*command, options->policy);
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "Print the identification as JSON, with every candidate");
  when_chosen(*command, action, std::move(options), run_identify);
}

// The command that learns what a backend takes, by asking it.

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
  cache::use(cache::usual_folder());
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  auto all = Json::array();
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    ProgressLine line;
    const ContractProgress progress = contract_progress(line, name);
    auto contracts = described(learn_contracts(*backend, options.seed, progress));
    for (BackendContract& unit : described(learn_unit_contracts(*backend, options.seed, progress), sweep::unit_plans()))
      contracts.push_back(std::move(unit));
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
      "Parameters and classes are those of qconform list sweep and list qdq. docs/contracts.md says how it is learnt.");
  command->add_option("--backend", options->backends, "Backend, may be repeated")->required();
  command->add_option("--seed", options->seed, "Seed of the cases' values")->capture_default_str();
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->sandbox);
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "As JSON");
  when_chosen(*command, action, std::move(options), &run_contract);
}

}  // namespace qconform::cli
