// One case on every release of a library: which broke it, which mended it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/backends/select.h"
#include "harness/cli/arguments.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "reports/render/run_tables.h"

namespace qconform::cli {
namespace {

struct BisectOptions {
  std::string file;
  std::vector<std::string> backends;
  PolicyOptions policy;
  SandboxOptions sandbox;
  bool json = false;
};

struct Asked {
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

Result<std::vector<Asked>> ask_all(const BisectOptions& options) {
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
  std::vector<Asked> answers;
  ProgressLine line;
  for (const std::string& name : names) {
    line.update([&] {
      const auto done = static_cast<double>(answers.size());
      return fmt::format("bisect: {} of {} backends, {}, {}", answers.size(), names.size(), name,
                         line.times(done, static_cast<double>(names.size())));
    });
    QCONFORM_ASSIGN(auto backend, backend::select(name, arithmetic_of(policy.profile), sandbox));
    GuardedOutput output;
    Verdict verdict = judge(expected, execute_beside_siblings(*backend, test_case, output));
    const bool is_told = tells(verdict, expected.classification.expectation());
    answers.push_back({name, backend->info().version, std::move(verdict), is_told});
  }
  return answers;
}

// From right to wrong or back, between two neighbours among the backends that tell.
struct Change {
  const Asked* before;
  const Asked* after;
};

std::vector<Change> changes_in(const std::vector<Asked>& answers) {
  std::vector<Change> changes;
  const Asked* before = nullptr;
  for (const Asked& answer : answers) {
    if (!answer.tells) continue;
    if (before != nullptr && before->is_wrong() != answer.is_wrong()) changes.push_back({before, &answer});
    before = &answer;
  }
  return changes;
}

// "wrong in all 16 that compute it", where nothing changes.
std::string unchanged_text(const std::vector<Asked>& answers) {
  const auto tells = std::count_if(answers.begin(), answers.end(), [](const Asked& a) { return a.tells; });
  if (tells == 0) return "no backend computes the case\n";
  const bool is_wrong = std::any_of(answers.begin(), answers.end(), [](const Asked& a) { return a.is_wrong(); });
  return fmt::format("{} in all {} that compute it\n", is_wrong ? "fails" : "right", tells);
}

std::string text_of(const std::vector<Asked>& answers, const report::Painter& paint) {
  std::size_t width = 0;
  for (const Asked& answer : answers) width = std::max(width, backend::short_name(answer.backend).size());
  std::string text;
  for (const Asked& answer : answers) {
    text += fmt::format("{:<{}}  {}\n", backend::short_name(answer.backend), width, painted(answer.verdict, paint));
  }
  const std::vector<Change> changes = changes_in(answers);
  if (changes.empty()) return text + unchanged_text(answers);
  for (const auto& [before, after] : changes) {
    text += after->is_wrong() ? fmt::format("{} in {}; {} is right\n", paint.bad("broken"),
                                            backend::short_name(after->backend), backend::short_name(before->backend))
                              : fmt::format("{} in {}; {} fails\n", paint.good("mended"),
                                            backend::short_name(after->backend), backend::short_name(before->backend));
  }
  return text;
}

std::string json_of(const std::vector<Asked>& answers) {
  nlohmann::ordered_json json{{"backends", nlohmann::ordered_json::array()},
                              {"changes", nlohmann::ordered_json::array()}};
  for (const Asked& answer : answers) {
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
  const auto newest = std::find_if(answers.rbegin(), answers.rend(), [](const Asked& a) { return a.tells; });
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
