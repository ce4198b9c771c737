// One case on every release of a library: which broke it, which mended it.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

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

// Asks the backends of these names in their order.
Result<std::vector<BackendAnswer>> answers_of(const Case& test_case, const std::vector<std::string>& names,
                                              const Policy& policy, const backend::SandboxPolicy& sandbox,
                                              ProgressLine& line) {
  Expected expected = expect(test_case, policy);
  assess(test_case, expected);
  std::vector<BackendAnswer> answers;
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

// "fails in all 16 that compute it", where nothing changes.
std::string unchanged_text(const std::vector<BackendAnswer>& answers) {
  const auto tells = std::count_if(answers.begin(), answers.end(), [](const BackendAnswer& a) { return a.tells; });
  if (tells == 0) return "no backend computes the case";
  const bool is_wrong =
      std::any_of(answers.begin(), answers.end(), [](const BackendAnswer& a) { return a.is_wrong(); });
  return fmt::format("{} in all {} that compute it", is_wrong ? "fails" : "right", tells);
}

// A line for each change.
std::vector<std::string> history_of(const std::vector<BackendAnswer>& answers, const report::Painter& paint) {
  const std::vector<VerdictChange> changes = changes_in(answers);
  if (changes.empty()) return {unchanged_text(answers)};
  std::vector<std::string> lines;
  for (const auto& [before, after] : changes) {
    const std::string was = backend::short_name(before->backend);
    const std::string is = backend::short_name(after->backend);
    lines.push_back(after->is_wrong() ? fmt::format("{} in {}; {} is right", paint.bad("broken"), is, was)
                                      : fmt::format("{} in {}; {} fails", paint.good("mended"), is, was));
  }
  return lines;
}

std::string text_of(const std::vector<BackendAnswer>& answers, const report::Painter& paint) {
  std::size_t width = 0;
  for (const BackendAnswer& answer : answers) width = std::max(width, backend::short_name(answer.backend).size());
  std::string text;
  for (const BackendAnswer& answer : answers) {
    text += fmt::format("{:<{}}  {}\n", backend::short_name(answer.backend), width, painted(answer.verdict, paint));
  }
  for (const std::string& line : history_of(answers, paint)) text += line + "\n";
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
  QCONFORM_ASSIGN(const auto policy, chosen_policy(options.policy));
  QCONFORM_ASSIGN(const auto sandbox, chosen_sandbox(options.sandbox));
  QCONFORM_ASSIGN(const auto test_case, load_operand(options.file));
  QCONFORM_ASSIGN(const auto names, backend::whole_names(options.backends, options.sandbox.cpus));
  if (names.size() < 2) {
    return fail("--backend",
                fmt::format("expected a range of releases, such as onnxruntime:1.14..1.30, or several backends, got "
                            "\"{}\" alone",
                            names.empty() ? options.backends.front() : names.front()));
  }
  ProgressLine line;
  QCONFORM_ASSIGN(const auto answers, answers_of(test_case, names, policy, sandbox, line));
  line.clear();
  if (options.json) {
    write_document_text(json_of(answers));
  } else {
    say("{}", text_of(answers, painter()));
  }
  const auto newest = std::find_if(answers.rbegin(), answers.rend(), [](const BackendAnswer& a) { return a.tells; });
  return newest != answers.rend() && !newest->is_wrong() ? kConforms : kDoesNotConform;
}

// The releases of the backend's library from `since` to its own, the oldest first. Error: it has none.
Result<std::vector<std::string>> releases_since(const std::string& since, const BackendInfo& info) {
  QCONFORM_ASSIGN(auto what, backend::parse_specification(info.on_command_line()));
  what.version = since + ".." + (what.version.empty() ? info.version : what.version);
  what.alias.clear();
  return backend::whole_names({backend::text_of(what)}, {});
}

}  // namespace

void add_since_option(CLI::App& command, std::string& since) {
  command.add_option("--since", since,
                     "Oldest release to try the smallest case of each finding on that no waiver covers, to tell which "
                     "release broke it");
}

Result<void> check_since(const std::string& since, std::span<const std::unique_ptr<Backend>> backends) {
  const auto is_of_number = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  if (!std::all_of(since.begin(), since.end(), is_of_number)) {
    return fail("--since", fmt::format("expected a release, such as 1.22, got \"{}\"", shown(since)));
  }
  Error why{"--since", "expected a backend whose library has several releases here", {}};
  for (const auto& backend : backends) {
    const auto names = releases_since(since, backend->info());
    if (names && names->size() > 1) return {};
    why.message =
        names
            ? fmt::format("expected several releases of {} from {} on, found one; scripts/library-root fetches others",
                          backend->info().name, since)
            : names.error().message;
  }
  return tl::unexpected(std::move(why));
}

void add_histories(const std::string& since, std::span<const std::unique_ptr<Backend>> backends, const Policy& policy,
                   const backend::SandboxPolicy& sandbox, Report& report) {
  ProgressLine line;
  for (Finding& finding : report.findings) {
    const auto backend = std::find_if(backends.begin(), backends.end(),
                                      [&](const auto& one) { return one->info().name == finding.backend; });
    if (finding.waiver || backend == backends.end()) continue;
    const auto names = releases_since(since, (*backend)->info());
    if (!names || names->size() < 2) continue;
    const auto answers = answers_of(finding.example, *names, policy, sandbox, line);
    finding.history = answers ? history_of(*answers, report::Painter(false))
                              : std::vector<std::string>{"unknown: " + answers.error().text()};
  }
}

void add_bisect(CLI::App& app, Action& action) {
  auto options = std::make_shared<BisectOptions>();
  CLI::App* command = app.add_subcommand("bisect", "Find the release that broke one case, and the one that mended it");
  command->footer(
      "example: qconform bisect build/reports/run/F1.json --backend onnxruntime:1.14..1.30\n"
      "qconform runs the case on every release of the range, and so also finds a case that broke twice.\n"
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
