#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/diagnose/audit/audit.h"
#include "harness/engine/cover.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/suites/select.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

using diagnose::Audit;
using diagnose::Fate;
using diagnose::Mutant;

struct AuditCommand {
  std::vector<std::string> suites{"conformance"};
  SuiteOptions suite;
  PolicyOptions policy;
  std::vector<std::string> defects;
  std::string baseline;
  bool until_killed = false;
  bool json = false;
};

// Sums the sizes of all suites; nothing where one does not know its size.
std::optional<std::uint64_t> size_of(const std::vector<std::unique_ptr<Suite>>& suites) {
  std::uint64_t sum = 0;
  for (const auto& suite : suites) {
    const auto size = suite->size();
    if (!size) return std::nullopt;
    sum += *size;
  }
  return sum;
}

Result<std::vector<Audit>> run_audits(const AuditCommand& options, const Policy& policy) {
  std::vector<Audit> audits;
  for (const std::string& name : options.suites) {
    QCONFORM_ASSIGN(auto sources, open_shown(name, options.suite));
    ProgressLine line;
    const diagnose::AuditOptions audit_options{
        .policy = policy,
        .progress = [&](std::uint64_t cases) { line.update("audit " + name, cases, size_of(sources), "cases"); },
        .until_killed = options.until_killed};
    const auto backend_of = [](diagnose::DefectModel model) {
      return backend::defect_model(std::move(model), "defect");
    };
    QCONFORM_ASSIGN(auto audited, relations_base(name)
                                      ? diagnose::audit_relations(name, sources, audit_options, backend_of)
                                      : diagnose::audit(name, sources, audit_options));
    audits.push_back(std::move(audited));
  }
  return audits;
}

// Shows one mutant's fate in the column of one suite: the number of the case that killed it first, or a word.
std::string cell(const Mutant& mutant) {
  switch (mutant.fate()) {
    case Fate::killed: return report::with_thousands(mutant.first->at);
    case Fate::admitted: return "admitted";
    case Fate::not_triggered: return mutant.cases == 0 ? "no case" : "-";
    case Fate::undetected: break;
  }
  return "passed";
}

// A suite's name as the head of a column: of a path, its end.
std::string column_name(const Audit& audit) {
  constexpr std::size_t kWidest = 16;
  const std::string& name = audit.suite;
  return name.size() <= kWidest ? name : ".." + name.substr(name.size() - kWidest + 2);
}

std::size_t column_width(const Audit& audit) {
  return std::max<std::size_t>(column_name(audit).size(), 10) + 2;
}

void print_table(const std::vector<Audit>& audits) {
  std::string header = fmt::format("{:<24} {:<17}", "defect", "operator");
  for (const Audit& audit : audits) header += fmt::format("{:>{}}", column_name(audit), column_width(audit));
  say("{}\n", header);
  for (std::size_t i = 0; i < audits.front().mutants.size(); ++i) {
    const Mutant& mutant = audits.front().mutants[i];
    std::string row = fmt::format("{:<24} {:<17}", mutant.defect->id, mutant.op->name);
    for (const Audit& audit : audits) row += fmt::format("{:>{}}", cell(audit.mutants[i]), column_width(audit));
    say("{}\n", row);
  }
  say("a number: the first case that kills the mutant; -: no case makes its output differ; passed: its output\n"
      "differs, and is judged right; no case: the suite has none of the operator; admitted: the specification\n"
      "admits its output\n\n");
}

// Times to the first detection, ascending.
std::vector<double> detection_seconds(const Audit& audit) {
  std::vector<double> seconds;
  for (const Mutant& mutant : audit.mutants) {
    if (mutant.first) seconds.push_back(mutant.first->seconds);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

std::string milliseconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1000) : fmt::format("{:.1f} s", seconds);
}

// A weak suite has dozens: the table shows which, and --json why.
constexpr std::size_t kListedSurvivors = 12;

void print_survivors(const Audit& audit) {
  std::size_t survivors = 0;
  for (const Mutant& mutant : audit.mutants) {
    if (!audit.could_kill(mutant) || mutant.fate() == Fate::killed) continue;
    if (++survivors > kListedSurvivors) continue;
    say("  {} {} in {}: {}\n", painter().bad("survives:"), mutant.defect->id, mutant.op->name,
        shown(audit.survival(mutant).reason));
  }
  if (survivors > kListedSurvivors) say("  and {} more survive (--json says why)\n", survivors - kListedSurvivors);
}

void print_score(const Audit& audit) {
  const std::string killed = fmt::format("{} of {}", audit.killed(), audit.killable());
  say("{}: {} mutants killed ({:.0f} %) by {} cases\n", shown(audit.suite),
      audit.killed() == audit.killable() ? painter().good(killed) : painter().bad(killed),
      100.0 * static_cast<double>(audit.killed()) / static_cast<double>(audit.killable()),
      report::with_thousands(audit.cases));
  const std::vector<double> seconds = detection_seconds(audit);
  if (!seconds.empty()) {
    say("  first detection: median {}, worst {}\n", milliseconds(seconds[seconds.size() / 2]),
        milliseconds(seconds.back()));
  }
  print_survivors(audit);
}

void print_lost(const std::vector<diagnose::KilledMutant>& lost, const std::string& baseline) {
  for (const diagnose::KilledMutant& mutant : lost) {
    say(stderr, "{} {} in {}, which {} killed in {}\n", painter(stderr).bad("lost:"), shown(mutant.defect),
        shown(mutant.op_type), shown(mutant.suite), shown(baseline));
  }
}

Result<int> run_audit(const AuditCommand& options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  std::vector<diagnose::KilledMutant> baseline;
  if (!options.baseline.empty()) {
    QCONFORM_ASSIGN(baseline, in_context("--baseline", diagnose::load_baseline(options.baseline)));
  }
  QCONFORM_ASSIGN(const auto audits, run_audits(options, policy));
  if (options.json) {
    write_document_text(diagnose::audits_json(audits, options.suite.seed));
  } else {
    say("seed {}   profile {}\n", options.suite.seed, options.policy.profile);
    print_table(audits);
    for (const Audit& audit : audits) print_score(audit);
  }
  if (!options.baseline.empty()) {
    const auto lost = diagnose::lost_kills(baseline, audits);
    print_lost(lost, options.baseline);
    return lost.empty() ? kConforms : kDoesNotConform;
  }
  const bool all_killed =
      std::all_of(audits.begin(), audits.end(), [](const Audit& audit) { return audit.killed() == audit.killable(); });
  return all_killed ? kConforms : kDoesNotConform;
}

}  // namespace

void add_audit(CLI::App& app, Action& action) {
  auto options = std::make_shared<AuditCommand>();
  CLI::App* command = app.add_subcommand("audit", "Measure which known defects suites detect");
  command->footer(
      "example: qconform audit --suite conformance --suite onnx:/usr/share/libonnx-testdata/data/node\n"
      "qconform judges every defect model on every case of its operator: `qconform list defects` explains them.\n"
      "Exit code: 0 every suite kills every mutant that is not admitted, 1 a mutant survives, 2 wrong use. With\n"
      "--baseline: 0 the suites still kill every mutant that the baseline kills, 1 they do not.");
  command->add_option("--suite", options->suites, "Suite to measure, may be repeated: one column each")
      ->capture_default_str();
  command->add_option("--cases", options->suite.cases, "Number of cases of suites that draw them");
  command->add_option("--seed", options->suite.seed, "Seed of everything random")->capture_default_str();
  add_model_memory_option(*command, options->suite.model_mebibytes);
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  command->add_option("--baseline", options->baseline,
                      "Earlier output of --json: the suites must still kill what it kills");
  command->add_flag("--until-killed", options->until_killed,
                    "Give a mutant no case after the one that kills it, and end when no mutant is left");
  command->add_flag("--json", options->json, "Print the audit as JSON");
  when_chosen(*command, action, std::move(options), &run_audit);
}

// `cover`: the code of an instrumented plugin that no case executes, and few cases that detect what all do.

namespace {

struct CoverCommand : SuitesOptions {
  std::uint64_t tries = CoverOptions{}.tries;
  std::string output;
  std::string lcov;
  std::string cobertura;
  bool json = false;
};

// Why the backend tells nothing of its code.
Error not_instrumented(const CoverCommand& options) {
  const std::string& name = options.backends.front();
  if (!can_record_code())
    return {
        "--backend",
        "this qconform is built with sanitizers, which intercept the coverage calls of plugins; use a build without",
        {}};
  const auto what = backend::parse_specification(name);
  if (!what || what->kind != backend::Specification::Kind::plugin) {
    return {"--backend", fmt::format("expected plugin:PATH.so, got \"{}\"", name), {}};
  }
  if (options.sandbox.which == "none") {
    return {
        "--isolation", "expected third-party, all or confined, got none: a worker process records which code runs", {}};
  }
  return {"--backend",
          fmt::format("{} is not instrumented, or runs on another processor; compile it with {}", name, kCoverageFlags),
          {}};
}

Result<int> run_cover(const CoverCommand& options) {
  if (!options.output.empty() && std::filesystem::path(options.output).extension() != ".json") {
    return fail("-o", fmt::format("expected a case file, which ends in .json, got \"{}\"", options.output));
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
  if (!options.lcov.empty()) QCONFORM_TRY(in_context("--lcov", write_file(options.lcov, report::to_lcov(result))));
  if (!options.cobertura.empty()) {
    QCONFORM_TRY(in_context("--cobertura", write_file(options.cobertura, report::to_cobertura(result))));
  }
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
                   "Most cases to draw beyond those of the suites, aimed at code that no case executed")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Case file for the few cases that execute all that was reached");
  command->add_option("--lcov", options->lcov, "File for the lines that were executed, as a tracefile of lcov");
  command->add_option("--cobertura", options->cobertura, "File for the lines that were executed, as XML of Cobertura");
  options->sandbox.guard = "sampled";  // one run of a case is enough
  add_suite_choice(*command, *options);
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "As JSON");
  when_chosen(*command, action, std::move(options), &run_cover);
}

}  // namespace qconform::cli
