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
  if (!is_there) return fmt::format("{} does not exist: y has shape [{}]", name, fmt::join(y.shape, ","));
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
                    fmt::format("{} does not apply to this case: {}", relation->id, check.verdict.detail));
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

}  // namespace qconform::cli
