#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/text.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/engine/execute.h"
#include "harness/engine/relation_check.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"
#include "reports/render/single_case.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct ReplayOptions {
  std::string file;
  std::vector<std::string> backends;
  PolicyOptions policy;
  std::vector<std::string> defects;
  SandboxOptions sandbox;
  std::string relation;
  std::vector<std::int64_t> element;
  bool json = false;
};

void print_case(const Case& test_case, const Expected& expected) {
  say("{}   {} at opset {}\n", shown(test_case.id), shown(test_case.op_types()), test_case.node().opset_version);
  if (!test_case.note.empty()) say("  note      {}\n", shown(test_case.note));
  say("  inputs    {}\n", shown(values_text(test_case)));
  for (const Case& before : test_case.before) say("  before    {}\n", shown(values_text(before)));
  const auto* remark = expected.classification.deciding_remark();
  say("  contract  {}{}\n", name_of(expected.classification.expectation()),
      remark == nullptr ? "" : ": " + shown(remark->text()));
  if (expected.recorded_output_disputed) say("  disputed  the recorded output is not what the rules give\n");
  if (expected.defect_disputed) say("  disputed  the rules admit what its defect gave\n");
}

void print_verdict(const std::string& backend, const Verdict& verdict) {
  say("{}   {}\n", backend::short_name(backend), painted(verdict, painter()));
  if (!verdict.place.empty()) say("  place     {}\n", shown(verdict.place));
  const char* label = "printed";
  for (const std::string_view line : split(verdict.log, "\n")) {
    if (!line.empty()) say("  {:<9} {}\n", std::exchange(label, ""), shown(line));
  }
  if (!verdict.worst) return;
  say("  worst     {}\n", report::element_text(*verdict.worst));
}

// "y[0,1] = 3" of the first output; empty where there is none.
std::string named_element(const std::vector<std::int64_t>& index, const Outcome& outcome) {
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (index.empty() || produced == nullptr || produced->outputs.empty()) return "";
  const Tensor& y = produced->outputs.front();
  const std::string name = fmt::format("y[{}]", fmt::join(index, ","));
  bool is_there = index.size() == y.shape.size();
  for (std::size_t axis = 0; is_there && axis < index.size(); ++axis)
    is_there = index[axis] >= 0 && index[axis] < y.shape[axis];
  if (!is_there) return fmt::format("{} is none: y is [{}]", name, fmt::join(y.shape, ","));
  return fmt::format("{} = {}", name, element_text(y, flat_index(index, y.shape)));
}

// The relation's verdict in the words of a case's: what was not checked has not passed.
Verdict verdict_of(RelationCheck check) {
  if (check.outcome == RelationOutcome::implementation_defined) check.verdict.kind = VerdictKind::vacuous;
  return std::move(check.verdict);
}

Result<int> replay_relation(const ReplayOptions& options, const Case& test_case, const Policy& policy,
                            const backend::SandboxPolicy& sandbox) {
  const relations::Relation* relation = relations::find_relation(options.relation);
  if (relation == nullptr) {
    return fail("--relation", fmt::format("no relation \"{}\"; see: qconform list relations", options.relation));
  }
  QCONFORM_ASSIGN(const auto subject, relations::subject_of(test_case));
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  std::vector<report::Replayed> results;
  bool holds = true;
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    QCONFORM_ASSIGN(const auto opened,
                    backend::select_all(backend::siblings_of(name), arithmetic_of(policy.profile), sandbox));
    std::vector<Backend*> siblings;
    for (const auto& sibling : opened) siblings.push_back(sibling.get());
    GuardedOutput output;
    FormedOutput base = run_for_output(*backend, test_case, output);
    const bool is_refused = is_refusal(base.verdict.kind);
    if (base.tensor || is_refused) {
      RelationCheck check = is_refused
                                ? check_refusal(*relation, subject, base.verdict, *backend, output, siblings)
                                : check_relation(*relation, subject, *base.tensor, *backend, output, policy, siblings);
      if (is_refused && check.outcome == RelationOutcome::refused) check.verdict = base.verdict;
      if (check.outcome == RelationOutcome::not_applicable) {
        return fail("--relation",
                    fmt::format("{} does not speak of this case: {}", relation->id, check.verdict.detail));
      }
      base.verdict = verdict_of(std::move(check));
    }
    const VerdictKind kind = base.verdict.kind;
    holds = holds && (kind == VerdictKind::pass || kind == VerdictKind::vacuous);
    results.push_back({name, std::move(base.verdict)});
  }
  if (options.json) {
    write_document_text(report::to_json(test_case, Expectation::valid, std::string(relation->statement), results));
  } else {
    say("{}   {} at opset {}\n  relation  {}: {}\n  because   {}\n", shown(test_case.id), shown(test_case.op_types()),
        test_case.node().opset_version, relation->id, relation->statement, relation->reason);
    for (const auto& [name, verdict] : results) print_verdict(name, verdict);
  }
  return holds ? kConforms : kDoesNotConform;
}

Result<int> replay(const ReplayOptions& options) {
  QCONFORM_TRY(use_defects(options.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto test_case, load_operand(options.file));
  if (!options.relation.empty()) return replay_relation(options, test_case, policy, sandbox);
  Expected expected = expect(test_case, policy);
  assess(test_case, expected);
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  std::vector<report::Replayed> results;
  std::vector<std::string> elements;
  bool conforms = true;
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    GuardedOutput output;
    const Outcome outcome = execute_for_judge(*backend, test_case, output);
    elements.push_back(named_element(options.element, outcome));
    results.push_back({name, judge(expected, outcome)});
    const VerdictKind kind = results.back().verdict.kind;
    conforms = conforms && !is_failure(kind) && kind != VerdictKind::unsupported;
  }
  if (options.json) {
    const auto* remark = expected.classification.deciding_remark();
    write_document_text(report::to_json(test_case, expected.classification.expectation(),
                                        remark == nullptr ? "" : remark->text(), results));
  } else {
    print_case(test_case, expected);
    for (std::size_t i = 0; i < results.size(); ++i) {
      print_verdict(results[i].backend, results[i].verdict);
      if (!elements[i].empty()) say("  element   {}\n", elements[i]);
    }
  }
  return conforms ? kConforms : kDoesNotConform;
}

}  // namespace

void add_replay(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = app.add_subcommand("replay", "Run one case again and say what happens");
  command->footer(
      "example: qconform replay build/reports/run/F1.json --backend avx2\n"
      "Exit code: 0 passes, 1 does not, 2 wrong use or a file that cannot be read.");
  add_case_operand(*command, options->file);
  command->add_option("--backend", options->backends, "Backend, may be repeated")->required();
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  add_cpu_option(*command, options->sandbox);
  options->sandbox.guard = "full";  // one case takes little time
  add_sandbox_options(*command, options->sandbox);
  command->add_option("--relation", options->relation,
                      "Check this relation on the case instead (see: qconform list relations)");
  auto* json = command->add_flag("--json", options->json, "Print the verdicts as JSON");
  command
      ->add_option("--element", options->element,
                   "Print this element of the first output too, whatever the verdict: 0,1,5")
      ->delimiter(',')
      ->excludes(json);
  when_chosen(*command, action, std::move(options), &replay);
}

// One case on every release of a library: which broke it, which mended it.

namespace {

struct BisectOptions {
  std::string file;
  std::vector<std::string> backends;
  PolicyOptions policy;
  SandboxOptions sandbox;
  bool json = false;
};

struct BackendAnswer {
  std::string backend;
  std::string version;
  Verdict verdict;
  bool tells;  ///< it computes the case, or refuses what must be refused; others say nothing of when it broke

  [[nodiscard]] bool is_wrong() const { return is_failure(verdict.kind); }
};

bool tells(const Verdict& verdict, Expectation expectation) {
  return is_failure(verdict.kind) || is_computed(verdict.kind) ||
         (verdict.kind == VerdictKind::refused && expectation == Expectation::invalid);
}

Result<std::vector<BackendAnswer>> ask_all(const BisectOptions& options) {
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto test_case, load_operand(options.file));
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  if (names.size() < 2) {
    return fail("--backend",
                fmt::format("\"{}\" is one backend; expected a range of releases, onnxruntime:1.14..1.30 say, "
                            "or several",
                            names.empty() ? options.backends.front() : names.front()));
  }
  Expected expected = expect(test_case, policy);
  assess(test_case, expected);
  std::vector<BackendAnswer> answers;
  ProgressLine line;
  for (const std::string& name : names) {
    line.update([&] {
      const auto done = static_cast<double>(answers.size());
      return fmt::format("bisect: {} of {} backends, {}, {}", answers.size(), names.size(), name,
                         line.times(done, static_cast<double>(names.size())));
    });
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    GuardedOutput output;
    Verdict verdict = judge(expected, execute_for_judge(*backend, test_case, output));
    const bool is_told = tells(verdict, expected.classification.expectation());
    answers.push_back({name, backend->info().version, std::move(verdict), is_told});
  }
  return answers;
}

// From right to wrong or back, between two neighbours among the backends that tell.
struct VerdictChange {
  const BackendAnswer* before;
  const BackendAnswer* after;
};

std::vector<VerdictChange> changes_in(const std::vector<BackendAnswer>& answers) {
  std::vector<VerdictChange> changes;
  const BackendAnswer* before = nullptr;
  for (const BackendAnswer& answer : answers) {
    if (!answer.tells) continue;
    if (before != nullptr && before->is_wrong() != answer.is_wrong()) changes.push_back({before, &answer});
    before = &answer;
  }
  return changes;
}

// "wrong in all 16 that compute it", where nothing changes.
std::string unchanged_text(const std::vector<BackendAnswer>& answers) {
  const auto tells = std::count_if(answers.begin(), answers.end(), [](const BackendAnswer& a) { return a.tells; });
  if (tells == 0) return "no backend computes the case\n";
  const bool is_wrong =
      std::any_of(answers.begin(), answers.end(), [](const BackendAnswer& a) { return a.is_wrong(); });
  return fmt::format("{} in all {} that compute it\n", is_wrong ? "fails" : "right", tells);
}

std::string text_of(const std::vector<BackendAnswer>& answers, const report::Painter& paint) {
  std::size_t width = 0;
  for (const BackendAnswer& answer : answers) width = std::max(width, backend::short_name(answer.backend).size());
  std::string text;
  for (const BackendAnswer& answer : answers) {
    text += fmt::format("{:<{}}  {}\n", backend::short_name(answer.backend), width, painted(answer.verdict, paint));
  }
  const std::vector<VerdictChange> changes = changes_in(answers);
  if (changes.empty()) return text + unchanged_text(answers);
  for (const auto& [before, after] : changes) {
    text += after->is_wrong() ? fmt::format("{} in {}; {} is right\n", paint.bad("broken"),
                                            backend::short_name(after->backend), backend::short_name(before->backend))
                              : fmt::format("{} in {}; {} fails\n", paint.good("mended"),
                                            backend::short_name(after->backend), backend::short_name(before->backend));
  }
  return text;
}

std::string json_of(const std::vector<BackendAnswer>& answers) {
  nlohmann::ordered_json json{{"backends", nlohmann::ordered_json::array()},
                              {"changes", nlohmann::ordered_json::array()}};
  for (const BackendAnswer& answer : answers) {
    json["backends"].push_back({{"backend", answer.backend},
                                {"version", answer.version},
                                {"verdict", name_of(answer.verdict.kind)},
                                {"detail", answer.verdict.detail}});
  }
  for (const auto& [before, after] : changes_in(answers)) {
    json["changes"].push_back(
        {{"change", after->is_wrong() ? "broken" : "mended"}, {"before", before->backend}, {"in", after->backend}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Result<int> bisect(const BisectOptions& options) {
  QCONFORM_ASSIGN(const auto answers, ask_all(options));
  if (options.json) {
    write_document_text(json_of(answers));
  } else {
    say("{}", text_of(answers, painter()));
  }
  const auto newest = std::find_if(answers.rbegin(), answers.rend(), [](const BackendAnswer& a) { return a.tells; });
  return newest != answers.rend() && !newest->is_wrong() ? kConforms : kDoesNotConform;
}

}  // namespace

void add_bisect(CLI::App& app, Action& action) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App* command = app.add_subcommand("bisect", "Find the release that broke one case, and the one that mended it");
  command->footer(
      "example: qconform bisect build/reports/run/F1.json --backend onnxruntime:1.14..1.30\n"
      "A case takes no time beside loading a library: every release is asked, so that one that broke twice is seen.\n"
      "Exit code: 0 the newest that computes the case is right, 1 it is not, 2 wrong use or a file that cannot be "
      "read.");
  add_case_operand(*command, options->file);
  command
      ->add_option("--backend", options->backends,
                   "A range of releases, or a backend; may be repeated. The oldest comes first")
      ->required();
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->sandbox);
  options->sandbox.guard = "full";  // one case takes little time
  add_sandbox_options(*command, options->sandbox);
  command->add_flag("--json", options->json, "As JSON: backends and changes");
  when_chosen(*command, action, std::move(options), &bisect);
}

}  // namespace qconform::cli
