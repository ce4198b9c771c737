#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <utility>

#include "harness/backends/library.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/diagnose/explain/cures.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/diagnose/explain/probes.h"
#include "harness/diagnose/explain/whereabouts.h"
#include "harness/engine/case_files.h"
#include "harness/engine/environment.h"
#include "harness/engine/execute.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/engine/suspects.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/model/judge/judge.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reports/issue/page.h"
#include "reports/render/single_case.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct ExplainCommand {
  std::string file;
  std::string backend;
  PolicyOptions policy;
  std::vector<std::string> defects;
  SandboxOptions sandbox;
  diagnose::ExplainOptions explain;
  bool json = false;
  bool issue = false;
  std::string model_file;
  std::string experiment_file;
};

// Limits of shrinking the case that is shown.
constexpr std::uint64_t kShrinkingRuns = 2000;
constexpr double kShrinkingSeconds = 2;

// The case on the same library by another name, where that can be opened.
void attempt(const Expected& expected, const std::string& name, const backend::SandboxPolicy& sandbox,
             std::vector<report::FurtherAttempt>& attempts) {
  auto backend = backend::select(name, arithmetic_of(expected.policy.profile), sandbox);
  if (!backend) return;
  GuardedOutput output;
  attempts.push_back({name, judge(expected, execute_for_judge(**backend, *expected.test_case, output))});
}

// A form of the case is qconform's own, and no setting that a user of the library has.
bool is_form(const backend::Accepted& accepted, std::string_view word) {
  return std::any_of(accepted.keys.begin(), accepted.keys.end(), [&](const backend::Accepted::SettingKey& key) {
    return key.key == "form" && key.values.find(word) != std::string_view::npos;
  });
}

// The page for the library's maintainers.
Result<std::string> issue_page(const report::Explained& explained, const BackendInfo& info, const Policy& policy,
                               const backend::SandboxPolicy& sandbox) {
  const Expected expected = expect(explained.smallest ? *explained.smallest : explained.test_case, policy);
  QCONFORM_ASSIGN(const auto what, backend::parse_specification(explained.backend));
  report::Issue issue{explained, expected, info, current_environment(), issue::program_for(expected, what, info),
                      {},        {}};
  for (const backend::Library& library : backend::offered_libraries()) {
    if (what.kind != backend::Specification::Kind::named || library.name != what.name) continue;
    backend::Specification other = what;
    for (const std::string& version : library.releases ? library.releases() : std::vector<std::string>{}) {
      other.version = version;
      attempt(expected, backend::text_of(other), sandbox, issue.releases);
    }
    other = what;
    for (const std::string_view word : library.accepted.words) {
      other.word = word;
      if (word != what.word && !is_form(library.accepted, word))
        attempt(expected, backend::text_of(other), sandbox, issue.settings);
    }
  }
  if (!explained.cured_by.empty()) {
    const std::string library = explained.backend.substr(0, explained.backend.find('@'));
    attempt(expected, library + "@" + explained.cured_by, sandbox, issue.settings);
  }
  if (is_judged_as_graph(*expected.test_case)) {
    QCONFORM_ASSIGN(const auto backend, backend::select(explained.backend, arithmetic_of(policy.profile), sandbox));
    if (const auto shows = backend->without({}, true)) issue.rewritten = shows->rewritten(*expected.test_case);
  }
  return report::issue_page(issue);
}

// The fewest parts of the library that have to be switched off for the graph to be right, as settings.
std::string cure_for(const Case& graph, Backend& backend, const Policy& policy) {
  const auto name = diagnose::Cures(backend).cure_of(graph, policy);
  return name ? diagnose::cure_in(*name, backend) : "";
}

// The learnt model, where there is one.
Result<void> save_model(const report::Explained& explained, const std::string& file) {
  const auto& explanation = explained.explanation;
  if (!explanation || explanation->candidates.empty() || !explanation->candidates.front().is_learnt()) {
    print_note(fmt::format("--save-model: no model was learnt, {} is not written", file));
    return {};
  }
  const std::string note = fmt::format("{} on {}, {}", explained.test_case.id, backend::short_name(explained.backend),
                                       diagnose::name_of(explanation->status));
  return write_file(file, diagnose::model_text(*explanation->candidates.front().defects.front(), note));
}

// Writes the experiment's case, so that it can be repeated.
Result<void> save_experiment(report::Explained& explained, const std::string& file, const Policy& policy) {
  if (!explained.explanation || !explained.explanation->experiment) {
    print_note(fmt::format("--save-experiment: no case tells one cause from the others, {} is not written", file));
    return {};
  }
  SeparatingCase& experiment = *explained.explanation->experiment;
  QCONFORM_TRY(in_context("--save-experiment", write_case(experiment.test_case, case_form_of(file), file,
                                                          AnswerGiven::if_determined, policy)));
  experiment.file = file;
  experiment.replay = experiment_line(file, explained.backend, policy, experiment);
  return {};
}

Result<int> run_explain(ExplainCommand options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(auto test_case, load_operand(options.file));
  QCONFORM_ASSIGN(auto backend, backend::select(options.backend, arithmetic_of(policy.profile), sandbox));

  ProgressLine progress;
  const shrink::Runner told = with_progress(shrink::in_process(*backend), progress, [&](std::uint64_t runs) {
    return fmt::format("explain: {} runs of {}, {}", with_thousands(runs), backend->info().name,
                       progress.times_within(options.explain.seconds + kShrinkingSeconds));
  });
  std::optional<CodeSpectra> spectra;
  if (backend->code_coverage() != nullptr) spectra.emplace(*backend, policy);
  const shrink::Runner runner = spectra ? spectra->watching(told) : told;
  Outcome outcome = runner(test_case);
  if (auto own = with_its_own_input(expect(test_case, policy), outcome)) {
    test_case = std::move(own->test_case);
    outcome = std::move(own->outcome);
  }
  report::Explained result{test_case, options.backend, judge(expect(test_case, policy), outcome), {}, {}, {}, {}};
  const shrink::Limits shrinking{kShrinkingRuns, kShrinkingSeconds, {}};
  if (is_judged_as_graph(test_case) && is_failure(result.verdict.kind)) {
    if (const auto part = shrink::failing_part(test_case, runner, policy)) result.failing_part = part->name();
    auto shrunk = shrink::shrink(test_case, runner, policy, shrinking);
    result.smallest = std::move(shrunk.smallest);
    result.smallest_verdict = std::move(shrunk.verdict);
    result.cured_by = cure_for(test_case, *backend, policy);
  }
  auto observation = diagnose::Observation::of(test_case, outcome, policy);
  if (observation != nullptr && observation->is_failure()) {
    if (!is_small(test_case, classify(test_case))) {
      options.explain.neighbours.push_back(shrink::shrink(test_case, runner, policy, shrinking).smallest);
    }
    auto base = diagnose::learn_base(runner, observation->modelled().op(), policy, options.explain.seconds);
    options.explain.base = std::move(base.arithmetic);
    options.explain.telling = std::move(base.telling);
    result.explanation = diagnose::explain(observation->copy(), runner, policy, options.explain);
    shrink::Result shrunk =
        shrink::shrink(test_case, runner, policy, shrinking, std::nullopt,
                       diagnose::same_cause(*result.explanation, *observation, policy, options.explain));
    result.smallest = std::move(shrunk.smallest);
    result.smallest_verdict = std::move(shrunk.verdict);
    if (result.explanation->status > diagnose::Status::learnt)
      result.whereabouts = diagnose::locate(*result.smallest, runner, policy);
  }
  if (spectra && is_failure(result.verdict.kind)) {
    // A crash has no values that further cases would be made for: smaller ones tell lines apart.
    if (!result.smallest) {
      auto shrunk = shrink::shrink(test_case, runner, policy, shrinking);
      result.smallest = std::move(shrunk.smallest);
      result.smallest_verdict = std::move(shrunk.verdict);
    }
    if (auto suspects = spectra->suspects()) {
      result.suspects = std::move(*suspects);
    } else {
      print_note(suspects.error().text());
    }
  }
  progress.clear();
  if (!options.model_file.empty()) QCONFORM_TRY(save_model(result, options.model_file));
  if (!options.experiment_file.empty()) QCONFORM_TRY(save_experiment(result, options.experiment_file, policy));
  if (options.issue && is_failure(result.verdict.kind)) {
    QCONFORM_ASSIGN(const auto page, issue_page(result, backend->info(), policy, sandbox));
    write_document_text(page);
    return kDoesNotConform;
  }
  if (options.json) {
    write_document_text(report::to_json(result));
  } else {
    say("{}", report::text_of(result, painter()));
  }
  return is_failure(result.verdict.kind) ? kDoesNotConform : kConforms;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExplainCommand>();
  CLI::App* command = app.add_subcommand("explain", "Say why a backend is wrong on a case, and how sure that is");
  command->footer(
      "example: qconform explain build/reports/run/F1.json --backend plugin:build/libmykernel.so\n"
      "qconform runs the backend on further cases that tell the explanations apart: docs/explain.md.\n"
      "Exit code: 0 the case does not fail, 1 it fails, explained or not, 2 wrong use or a file that cannot be read.");
  add_case_operand(*command, options->file);
  command->add_option("--backend", options->backend, "Backend that the case fails on")->required();
  command->add_option("--max-cases", options->explain.cases, "Most cases to generate")->capture_default_str();
  command->add_option("--max-seconds", options->explain.seconds, "Most seconds that the backend may take for them")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_option("--save-model", options->model_file,
                      "Write the model that was learnt, where no known one explains the case; defect:FILE runs it");
  command->add_option("--save-experiment", options->experiment_file,
                      "Write the case that tells the name from the second-best one: FILE.json, FILE.onnx, or a "
                      "backend-test folder");
  command->add_option("--seed", options->explain.seed, "Seed of the generated cases")->capture_default_str();
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  add_sandbox_options(*command, options->sandbox);
  auto* json = command->add_flag("--json", options->json, "Print the explanation as JSON");
  command
      ->add_flag("--issue", options->issue,
                 "Print a page for the library's maintainers, in Markdown: the cause, the smallest case worked out and "
                 "as a program that needs the library alone, releases, what avoids it")
      ->excludes(json);
  when_chosen(*command, action, std::move(options), &run_explain);
}

namespace {

struct ShrinkOptions {
  std::string file;
  std::string backend;
  std::string out;
  PolicyOptions policy;
  std::vector<std::string> defects;
  SandboxOptions sandbox;
  shrink::Limits limits;
  bool json = false;
};

// Seconds that the backend may take while the cause is looked for, before anything is made smaller.
constexpr double kExplanationSeconds = 1.5;

// Beside the case: F1.json gives F1.shrunk.json, the folder F1/ too.
std::filesystem::path default_output(const std::string& file) {
  std::filesystem::path path(file);
  if (!path.has_filename()) path = path.parent_path();
  return path.replace_extension("shrunk.json");
}

std::string size_text(const Case& test_case) {
  const Classification classification = classify(test_case);
  const std::string shapes = summary_of(test_case);
  if (!classification.lowered) return shapes;
  const auto elements = static_cast<std::uint64_t>(elements_of(classification.lowered->output_shape()));
  return shapes + "; " + report::plural(elements, "output element");
}

std::string ending_text(const shrink::Result& result, const shrink::Limits& limits) {
  switch (result.ending) {
    case shrink::Ending::minimal: return "minimal: no single step makes it smaller";
    case shrink::Ending::runs: return fmt::format("ended by --max-runs {}", limits.runs);
    case shrink::Ending::seconds: return fmt::format("ended by --max-seconds {}", limits.seconds);
    case shrink::Ending::does_not_fail: return "the case does not fail";
    case shrink::Ending::not_reproduced: break;
  }
  return "the failure comes and goes: the case is kept as it is";
}

std::string steps_text(const shrink::Result& result) {
  std::string text;
  for (const auto& [name, count] : result.reduced) {
    text += (text.empty() ? "" : ", ") + name + (count == 1 ? "" : fmt::format(" x{}", count));
  }
  return text.empty() ? "nothing" : text;
}

void print_result(const Case& original, const shrink::Result& result, const ShrinkOptions& options,
                  const std::string& out, const std::string& replay) {
  const report::Painter paint = painter();
  const auto line = [](const char* label, const std::string& value) { say("  {:<9} {}\n", label, value); };
  say("{}   {} at opset {} on {}\n", shown(original.id), shown(original.op_types()), original.node().opset_version,
      backend::short_name(options.backend));
  line("before", shown(size_text(original)));
  line("after", shown(size_text(result.smallest)));
  line("reduced", steps_text(result));
  line("search", fmt::format("{}, {}; {}", report::plural(result.runs, "run"),
                             report::duration("shrinking", result.seconds), ending_text(result, options.limits)));
  line("verdict", painted(result.verdict, paint));
  if (result.verdict.worst) line("worst", report::element_text(*result.verdict.worst));
  if (!out.empty()) line("written", out);
  line("replay", replay);
}

// Returns the test for the cause of the failure, where that is known: a smaller case must have it too.
shrink::HasCause cause_to_hold(const Case& original, const shrink::Runner& run, const Policy& policy) {
  const auto observation = diagnose::Observation::of(original, run, policy);
  if (observation == nullptr || !observation->is_failure()) return {};
  const diagnose::ExplainOptions limits{.learning_work = 0, .seconds = kExplanationSeconds};
  return diagnose::same_cause(diagnose::explain(observation->copy(), run, policy, limits), *observation, policy);
}

shrink::Result shrunk_on(Backend& backend, const Case& original, const Policy& policy, const ShrinkOptions& options) {
  ProgressLine line;
  const shrink::Runner run = with_progress(shrink::in_process(backend), line, [&](std::uint64_t runs) {
    return fmt::format("shrink: {} of at most {} runs, {}", report::with_thousands(runs),
                       report::with_thousands(options.limits.runs), line.times_within(options.limits.seconds));
  });
  const shrink::HasCause cause = cause_to_hold(original, shrink::in_process(backend), policy);
  return shrink::shrink(original, run, policy, options.limits, std::nullopt, cause);
}

// A case that does not fail is not an error: there is nothing to shrink.
int report_passing(const shrink::Result& result, const ShrinkOptions& options) {
  if (options.json) {
    write_document_text(report::to_json(result, result.smallest, "", ""));
  } else {
    say("{} does not fail on {}: {}; nothing to shrink\n", shown(result.smallest.id),
        backend::short_name(options.backend), painted(result.verdict, painter()));
  }
  return kConforms;
}

Result<int> run_shrink(const ShrinkOptions& options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto original, load_operand(options.file));
  QCONFORM_ASSIGN(auto backend, backend::select(options.backend, arithmetic_of(policy.profile), sandbox));
  const shrink::Result result = shrunk_on(*backend, original, policy, options);
  if (result.ending == shrink::Ending::does_not_fail) return report_passing(result, options);
  const std::filesystem::path out =
      options.out.empty() ? default_output(options.file) : std::filesystem::path(options.out);
  QCONFORM_TRY(
      in_context("--out", write_case(result.smallest, case_form_of(out), out, AnswerGiven::if_determined, policy)));
  const std::string replay = replay_line(out, options.backend, policy);
  if (options.json) {
    write_document_text(report::to_json(result, original, out.string(), replay));
  } else {
    print_result(original, result, options, out.string(), replay);
  }
  return kDoesNotConform;
}

}  // namespace

void add_shrink(CLI::App& app, Action& action) {
  auto options = std::make_shared<ShrinkOptions>();
  CLI::App* command =
      app.add_subcommand("shrink", "Shrink a failing case to the smallest one that fails in the same way");
  command->footer(
      "example: qconform shrink build/reports/run/F1.original.json --backend avx2 -o smallest.json\n"
      "Exit code: 0 the case does not fail, so nothing is written; 1 it fails, and the smallest case found is written; "
      "2 wrong use or a file that cannot be read or written.");
  add_case_operand(*command, options->file);
  command->add_option("--backend", options->backend, "Backend that the case fails on")->required();
  command->add_option("-o,--out", options->out,
                      "Where to write the result: FILE.json, FILE.onnx, or a backend-test folder "
                      "(default: beside the case, with the ending .shrunk.json)");
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  add_sandbox_options(*command, options->sandbox);
  command->add_option("--max-runs", options->limits.runs, "Most runs of the backend")->capture_default_str();
  command->add_option("--max-seconds", options->limits.seconds, "Most seconds")
      ->check(at_least(0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print the result as JSON");
  when_chosen(*command, action, std::move(options), &run_shrink);
}

}  // namespace qconform::cli
