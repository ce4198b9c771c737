#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/backends/kinds.h"
#include "harness/backends/library.h"
#include "harness/backends/select.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/output.h"
#include "harness/core/corner_cases/corner_case.h"
#include "harness/core/profile.h"
#include "harness/core/version.h"
#include "harness/model/defects/arithmetic.h"
#include "harness/model/defects/defect.h"
#include "harness/model/defects/expression.h"
#include "harness/model/operator.h"
#include "harness/model/relations/relation.h"
#include "harness/suites/holes.h"
#include "harness/suites/select.h"
#include "harness/suites/sweep/suite.h"
#include "reference/kernels/kernels.h"
#include "reports/issue/rules.h"

namespace qconform::cli {
namespace {

struct ListRow {
  std::string name;
  std::string state;  ///< "available", "not on this CPU", "not here", or empty
  std::string description;
  backend::Accepted accepted = {};  ///< settings that may stand behind a backend's @
};

std::vector<ListRow> kernel_rows() {
  std::vector<ListRow> rows;
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    rows.push_back({set.name, set.available() ? "available" : "not on this CPU", set.description});
  }
  return rows;
}

ListRow row_of(const backend::Library& library) {
  const backend::LibraryState state = library.state();
  const bool here = state.absent.empty();
  std::string description = here ? fmt::format("{}: {}", state.version, library.description) : state.absent;
  const std::vector<std::string> releases =
      library.releases == nullptr ? std::vector<std::string>() : library.releases();
  if (!releases.empty()) description += fmt::format("; releases {}", fmt::join(releases, ", "));
  const bool is_any = here || !releases.empty();
  return {std::string(library.name), is_any ? "available" : "not here", std::move(description),
          is_any ? library.accepted : backend::Accepted{}};
}

// Libraries that run as programs of their own are judged where they are named only.
std::vector<ListRow> library_rows() {
  std::vector<ListRow> rows;
  for (const backend::Library& library : backend::offered_libraries()) {
    if (library.start == nullptr) rows.push_back(row_of(library));
  }
  return rows;
}

std::vector<ListRow> backend_rows() {
  std::vector<ListRow> rows = kernel_rows();
  for (ListRow& row : rows) row.accepted = backend::accepted_arithmetics();
  rows.push_back({std::string(backend::kInterpreter), "available",
                  "graphs of several nodes, computed as they are written", backend::accepted_by_interpreter()});
  rows.push_back({std::string(backend::kFused), "available",
                  "graphs of several nodes, with quantized units on a kernel set", backend::accepted_by_fused()});
  for (const backend::Library& library : backend::offered_libraries()) rows.push_back(row_of(library));
  rows.push_back({"plugin:PATH.so", "", "a library with the interface of qconform/backend.h (docs/adding-a-backend.md)",
                  backend::Accepted{{}, {{"KEY", "VALUE"}}}});
  rows.push_back({"process:COMMAND", "",
                  "a program that reads cases and writes answers; with {} in it, run on a "
                  "folder for each case (docs/adding-a-backend.md)"});
  rows.push_back(
      {"defect:ID", "", "a model of a real defect (see: qconform list defects)", backend::accepted_arithmetics()});
  rows.push_back({"NAME:VERSION", "", "one of these where it has that version, an error otherwise (docs/backends.md)"});
  rows.push_back({"BACKEND[CPU]", "", "one of these on a processor that is emulated (docs/other-cpus.md)"});
  rows.push_back({"BACKEND@valid-only", "", "one of these without the cases that are out of contract"});
  return rows;
}

// Backends that are named, opened: what they say of themselves.
Result<std::vector<ListRow>> opened_rows(const std::vector<std::string>& names) {
  std::vector<ListRow> rows;
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(const auto opened, backend::select(name, RoundingProfile::correctly_rounded));
    const BackendInfo& info = opened->info();
    std::string description = fmt::format("{} {}", info.kind, info.version);
    if (!info.capabilities.empty()) description += fmt::format("; {}", fmt::join(info.capabilities, ", "));
    if (!info.pinned.empty()) description += fmt::format("; pinned {}", fmt::join(info.pinned, ", "));
    if (!info.not_offered.empty()) description += fmt::format("; not offered: {}", fmt::join(info.not_offered, "; "));
    rows.push_back({info.name, "available", std::move(description)});
  }
  return rows;
}

std::vector<ListRow> suite_rows() {
  std::vector<ListRow> rows;
  for (const SuiteInfo& suite : suites()) rows.push_back({std::string(suite.name), "", std::string(suite.description)});
  return rows;
}

std::vector<ListRow> profile_rows() {
  std::vector<ListRow> rows;
  for (const ProfileInfo& info : profiles())
    rows.push_back({std::string(info.name), "", std::string(info.description)});
  return rows;
}

std::vector<ListRow> variant_rows() {
  std::vector<ListRow> rows;
  for (const diagnose::Choice& choice : diagnose::choices()) {
    for (const diagnose::Variant& variant : choice.variants) {
      const std::string model = variant.defect.empty() ? "" : fmt::format(" (defect model {})", variant.defect);
      rows.push_back({fmt::format("{} {} {}", choice.op_type, choice.id, variant.id), "", variant.formula + model});
    }
  }
  return rows;
}

std::vector<ListRow> operator_rows() {
  std::vector<ListRow> rows;
  for (const Operator& known : operators()) {
    rows.push_back({std::string(known.name), "",
                    fmt::format("versions {}; later opsets up to {} take the last one as it is",
                                fmt::join(known.versions, ", "), kNewestOpset)});
  }
  return rows;
}

std::vector<std::string_view> operators_of(const CornerCaseInfo& corner_case) {
  std::vector<std::string_view> names;
  for (const std::string_view name : operator_names()) {
    if (concerns(corner_case, name)) names.push_back(name);
  }
  return names;
}

// Explanations take more than a line each.
void print_corner_cases() {
  for (const CornerCaseInfo& info : corner_cases()) {
    say("{}   {} (rules {})\n", info.id, fmt::join(operators_of(info), ", "), info.rules);
    say("    {}: {}\n", info.label, info.explanation);
  }
}

void print_corner_cases_json() {
  auto list = nlohmann::ordered_json::array();
  for (const CornerCaseInfo& info : corner_cases()) {
    list.push_back({{"name", info.id},
                    {"label", info.label},
                    {"operators", operators_of(info)},
                    {"rules", info.rules},
                    {"description", info.explanation}});
  }
  write_document_text(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::vector<std::string_view> names_of(const diagnose::OpSet& ops) {
  std::vector<std::string_view> names;
  for (const Operator& known : operators()) {
    if (ops.contains(known.name)) names.push_back(known.name);
  }
  return names;
}

// "round = half_up"; nothing of a defect that no expression says.
std::vector<std::string> expressions_of(const diagnose::Defect& defect) {
  std::vector<std::string> texts;
  const auto add = [&](const diagnose::Expression& expression) {
    texts.push_back(fmt::format("{} = {}", expression.slot().name, expression.text()));
  };
  if (defect.expression != nullptr) add(*defect.expression);
  for (const diagnose::Expression* further : defect.also_computes) add(*further);
  return texts;
}

void print_defects() {
  for (const diagnose::Defect& defect : diagnose::defects()) {
    say("{:<25} {}\n", defect.id, defect.description);
    say("    in        {}\n", fmt::join(names_of(defect.operators), ", "));
    for (const std::string& text : expressions_of(defect)) say("    computes  {}\n", text);
    say("    shows on  {} [{}]\n", defect.trigger, defect.rule);
    if (!defect.admitted.is_empty()) {
      say("    admitted  in {}, by profile conformance\n", fmt::join(names_of(defect.admitted), ", "));
    }
    if (!defect.evidence.empty()) say("    seen in   {}\n", defect.evidence);
  }
}

void print_defects_json() {
  auto list = nlohmann::ordered_json::array();
  for (const diagnose::Defect& defect : diagnose::defects()) {
    list.push_back({{"id", defect.id},
                    {"description", defect.description},
                    {"operators", names_of(defect.operators)},
                    {"rule", defect.rule},
                    {"trigger", defect.trigger},
                    {"evidence", defect.evidence},
                    {"admitted", names_of(defect.admitted)},
                    {"stages", diagnose::stages_of(defect)},
                    {"expressions", expressions_of(defect)}});
  }
  write_document_text(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::vector<ListRow> relation_rows() {
  std::vector<ListRow> rows;
  for (const relations::Relation& relation : relations::relations()) {
    rows.push_back({std::string(relation.id), "", fmt::format("{} ({})", relation.statement, relation.operators)});
  }
  return rows;
}

std::vector<ListRow> rule_rows() {
  std::vector<ListRow> rows;
  for (const report::RuleStatement& rule : report::rules()) {
    rows.push_back({std::string(rule.id), "", std::string(rule.statement)});
  }
  return rows;
}

// The sweep's models: what is varied, what is left out and why, what that covers.
void print_sweep(const std::vector<sweep::Plan>& plans) {
  for (const sweep::Plan& plan : plans) {
    const sweep::Model& model = plan.swept.model();
    const CombinationCoverage& coverage = plan.proof.coverage;
    say("{}: {} cases cover {} of {} feasible triples\n", model.name, coverage.cases, coverage.covered,
        coverage.feasible);
    for (const sweep::Parameter& parameter : model.parameters) {
      say("  {:<15} {}\n", parameter.name, fmt::join(parameter.classes, " | "));
    }
    say("  {} infeasible triples, by the first rule that excludes them\n", coverage.infeasible);
    for (std::size_t i = 0; i < model.constraints.size(); ++i) {
      say("  {:>7}  {}\n", plan.proof.excluded_by[i], model.constraints[i].text);
    }
    say("  {:>7}  several of these rules together\n", plan.proof.excluded_by_several);
  }
}

nlohmann::ordered_json sweep_json(const sweep::Plan& plan) {
  const sweep::Model& model = plan.swept.model();
  const CombinationCoverage& coverage = plan.proof.coverage;
  auto parameters = nlohmann::ordered_json::array();
  for (const auto& parameter : model.parameters)
    parameters.push_back({{"name", parameter.name}, {"classes", parameter.classes}});
  auto constraints = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < model.constraints.size(); ++i) {
    auto names = nlohmann::ordered_json::array();
    for (const std::size_t p : model.constraints[i].scope) names.push_back(model.parameters[p].name);
    constraints.push_back({{"rule", model.constraints[i].text},
                           {"parameters", std::move(names)},
                           {"excluded_triples", plan.proof.excluded_by[i]}});
  }
  return {{"model", model.name},
          {"parameters", std::move(parameters)},
          {"constraints", std::move(constraints)},
          {"excluded_by_several", plan.proof.excluded_by_several},
          {"strength", coverage.strength},
          {"cases", coverage.cases},
          {"feasible", coverage.feasible},
          {"infeasible", coverage.infeasible},
          {"covered", coverage.covered}};
}

void print_sweep_json(const std::vector<sweep::Plan>& plans) {
  auto list = nlohmann::ordered_json::array();
  for (const sweep::Plan& plan : plans) list.push_back(sweep_json(plan));
  write_document_text(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// Padded before it is painted.
std::string painted_state(const std::string& state, const report::Painter& paint) {
  if (state.empty()) return state;
  const std::string text = fmt::format("{:<16} ", state);
  return state == "available" ? paint.good(text) : paint.aside(text);
}

void print_rows(const std::vector<ListRow>& rows) {
  for (const ListRow& row : rows) {
    const std::string accepted = row.accepted.text();
    say("{:<25} {}{}{}{}\n", shown(row.name), painted_state(row.state, painter()), shown(row.description),
        accepted.empty() ? "" : "; ", accepted);
  }
}

void print_json(const std::vector<ListRow>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const ListRow& row : rows) {
    nlohmann::ordered_json entry{{"name", row.name}, {"description", row.description}};
    if (!row.state.empty()) entry["available"] = row.state == "available";
    if (!row.accepted.words.empty()) entry["words"] = row.accepted.words;
    for (const auto& [key, values] : row.accepted.keys) entry["keys"].push_back({{"key", key}, {"values", values}});
    list.push_back(std::move(entry));
  }
  write_document_text(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

struct ListedBackends {
  std::vector<std::string> names;
  bool json = false;
};

Result<int> list_backends(const ListedBackends& options) {
  std::vector<ListRow> rows;
  if (options.names.empty()) {
    rows = backend_rows();
  } else {
    QCONFORM_ASSIGN(rows, opened_rows(options.names));
  }
  options.json ? print_json(rows) : print_rows(rows);
  return kConforms;
}

struct ListedDefects {
  std::vector<std::string> files;
  bool json = false;
};

Result<int> list_defects(const ListedDefects& options) {
  QCONFORM_TRY(use_defects(options.files));
  options.json ? print_defects_json() : print_defects();
  return kConforms;
}

void add_defects(CLI::App& list, Action& action) {
  auto options = std::make_shared<ListedDefects>();
  CLI::App* topic = list.add_subcommand("defects", "Defects of real kernels: each is a backend, defect:ID");
  add_defects_option(*topic, options->files);
  topic->add_flag("--json", options->json, "Print JSON");
  when_chosen(*topic, action, std::move(options), &list_defects);
}

void add_backends(CLI::App& list, Action& action) {
  auto options = std::make_shared<ListedBackends>();
  CLI::App* topic = list.add_subcommand("backends", "Backends that can be judged here");
  topic->add_option("backend", options->names, "Open these backends, and print how they describe themselves");
  topic->add_flag("--json", options->json, "Print JSON");
  when_chosen(*topic, action, std::move(options), &list_backends);
}

struct ListedHoles {
  std::vector<std::string> operators;
  std::vector<std::string> suites{"graphs", "qdq"};
  SuiteOptions suite{.seed = 1, .cases = 10000};
  bool json = false;
};

Result<ClassPairs> pairs_of(const ListedHoles& options) {
  ClassPairs pairs;
  for (const std::string& name : options.suites) {
    QCONFORM_ASSIGN(auto opened, open_shown(name, options.suite));
    for (const auto& suite : opened) {
      while (true) {
        QCONFORM_ASSIGN(const auto next, suite->next());
        if (!next) break;
        pairs.add(*next);
      }
    }
  }
  return pairs;
}

void print_holes_json(const std::vector<OperatorHoles>& all) {
  auto list = nlohmann::ordered_json::array();
  for (const OperatorHoles& one : all) {
    list.push_back({{"operator", one.name},
                    {"nodes", one.nodes},
                    {"pairs", one.pairs},
                    {"holes", one.holes()},
                    {"unstated", one.unstated},
                    {"missing", one.missing}});
  }
  write_document_text(list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

// A line for each operator; of those that were named, each hole.
void print_holes(const std::vector<OperatorHoles>& all, bool are_named) {
  for (const OperatorHoles& one : all) {
    if (one.nodes == 0) {
      say("{:<42} no node\n", one.name);
      continue;
    }
    say("{:<42} {:>8} nodes, {:>6} of {:>6} pairs have none\n", one.name, with_thousands(one.nodes),
        with_thousands(one.holes()), with_thousands(one.pairs));
    if (!are_named) continue;
    if (!one.unstated.empty()) say("  never stated: {}\n", fmt::join(one.unstated, ", "));
    for (const auto& [attribute, places] : one.missing) {
      say("  {}: {}\n", attribute.empty() ? "itself" : attribute, fmt::join(places, "; "));
    }
  }
}

Result<int> list_holes(const ListedHoles& options) {
  QCONFORM_ASSIGN(const auto pairs, pairs_of(options));
  std::vector<OperatorHoles> all = pairs.holes();
  for (const std::string& name : options.operators) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    if (!is_known)
      return fail(
          "operator",
          fmt::format("expected an operator of graphs, as qconform list holes names them, got \"{}\"", shown(name)));
  }
  if (!options.operators.empty()) {
    std::erase_if(all, [&](const OperatorHoles& one) {
      return std::find(options.operators.begin(), options.operators.end(), one.name) == options.operators.end();
    });
  }
  options.json ? print_holes_json(all) : print_holes(all, !options.operators.empty());
  return kConforms;
}

void add_holes(CLI::App& list, Action& action) {
  auto options = std::make_shared<ListedHoles>();
  CLI::App* topic = list.add_subcommand(
      "holes", "Pairs of a class of an attribute and a class of the node's place that no case of the suites has");
  topic->add_option("operator", options->operators, "Name each hole of these operators: Conv, com.microsoft::QGemm");
  topic->add_option("--suite", options->suites, "Suite of cases, may be repeated")->capture_default_str();
  topic->add_option("--cases", options->suite.cases, "Cases of suites that are drawn")->capture_default_str();
  topic->add_option("--seed", options->suite.seed, "Seed of everything random")->capture_default_str();
  topic->add_flag("--json", options->json, "Print JSON, with each hole of every operator");
  topic->footer("Some holes cannot be filled: qconform does not check whether the attribute excludes the place.");
  when_chosen(*topic, action, std::move(options), &list_holes);
}

// A subcommand of `list` with its --json.
template <typename Print>
void add_topic(CLI::App& list, const char* name, const char* description, Action& action, Print print) {
  auto json = std::make_shared<bool>(false);
  CLI::App* topic = list.add_subcommand(name, description);
  topic->add_flag("--json", *json, "Print JSON");
  topic->callback([json, print, &action] {
    action = [json, print] {
      print(*json);
      return kConforms;
    };
  });
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  struct ListTopic {
    const char* name;
    const char* description;
    std::vector<ListRow> (*rows)();
  };
  static constexpr ListTopic kTopics[] = {
      {"kernels", "In-tree kernel sets and whether this CPU runs them", kernel_rows},
      {"libraries", "Libraries that have an adapter, and whether they are here", library_rows},
      {"suites", "Suites of cases", suite_rows},
      {"profiles", "Profiles: which right answers to admit", profile_rows},
      {"ways", "Known variants of arithmetic, which identify tells apart", variant_rows},
      {"operators", "Operators and their versions", operator_rows},
      {"relations", "Relations between answers that --suite relations checks", relation_rows},
      {"rules", "The rules that messages name (\"[rule C19]\"), as docs/numerics.md states them", rule_rows},
  };
  CLI::App* command =
      app.add_subcommand("list",
                         "List what there is: backends, kernels, libraries, suites, sweep, qdq, profiles, "
                         "ways, operators, corner-cases, holes, defects, relations, rules");
  command->require_subcommand(1);
  command->footer("example: qconform list kernels --json");
  add_backends(*command, action);
  for (const ListTopic& topic : kTopics) {
    add_topic(*command, topic.name, topic.description, action,
              [rows = topic.rows](bool json) { json ? print_json(rows()) : print_rows(rows()); });
  }
  add_topic(*command, "sweep", "What suite sweep varies, covers and leaves out", action,
            [](bool json) { json ? print_sweep_json(sweep::plans()) : print_sweep(sweep::plans()); });
  add_topic(*command, "qdq", "What suite qdq varies, covers and leaves out", action,
            [](bool json) { json ? print_sweep_json(sweep::unit_plans()) : print_sweep(sweep::unit_plans()); });
  add_topic(*command, "corner-cases", "Where real kernels go wrong, and what runs count", action,
            [](bool json) { json ? print_corner_cases_json() : print_corner_cases(); });
  add_holes(*command, action);
  add_defects(*command, action);
}

}  // namespace qconform::cli
