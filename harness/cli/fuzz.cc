#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>

#include "harness/backend/select.h"
#include "harness/cli/command.h"
#include "harness/cli/duration.h"
#include "harness/cli/isolation.h"
#include "harness/cli/output.h"
#include "harness/cli/policy.h"
#include "harness/cli/report_output.h"
#include "harness/cli/waivers.h"
#include "harness/diagnose/campaign_diagnosis.h"
#include "harness/run/campaign.h"
#include "harness/shrink/findings.h"
#include "harness/source/fuzz.h"

namespace qconform::cli {
namespace {

struct FuzzOptions {
  std::vector<std::string> backends;
  std::string duration;
  std::optional<std::uint64_t> cases;
  std::optional<std::uint64_t> seed;
  PolicyOptions policy;
  IsolationOptions isolation;
  WaiverOptions waivers;
  std::string out = "build/reports/fuzz";
  bool explain = true;
  bool shrink = true;
  bool json = false;
};

std::atomic<bool> interrupted{false};

// While one exists, SIGINT and SIGTERM end the campaign after the current case, with its report. A
// second signal ends the program at once.
class Interruption {
 public:
  Interruption() {
    interrupted = false;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
    sigaction(SIGINT, &action, &old_int_);
    sigaction(SIGTERM, &action, &old_term_);
  }
  ~Interruption() {
    sigaction(SIGINT, &old_int_, nullptr);
    sigaction(SIGTERM, &old_term_, nullptr);
  }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

std::uint64_t drawn_seed() {
  std::random_device device;
  return device();  // 32 bits: short enough to type
}

Report begin_report(const FuzzOptions& options) {
  std::vector<std::string> command{"fuzz", "--seed", std::to_string(*options.seed)};
  for (const std::string& name : options.backends) command.insert(command.end(), {"--backend", name});
  if (options.cases) command.insert(command.end(), {"--cases", std::to_string(*options.cases)});
  if (!options.duration.empty()) command.insert(command.end(), {"--for", options.duration});
  return new_report(options.policy, *options.seed, std::move(command));
}

Result<void> run_blocks(const FuzzOptions& options, std::vector<std::unique_ptr<Backend>>& backends,
                        CampaignOptions campaign, std::optional<std::chrono::duration<double>> limit, Report& report) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::vector<std::unique_ptr<CaseSource>> sources;
  sources.push_back(std::make_unique<FuzzSource>(*options.seed, options.cases));
  const Interruption interruption;
  ProgressLine line(ProgressLine::Elsewhere::a_line_each_minute);
  diagnose::CampaignDiagnosis diagnosis(backends, campaign.policy);
  if (options.explain) campaign.diagnoser = &diagnosis;
  campaign.progress = [&](const Progress& progress) { line.update(progress); };
  campaign.stop = [&] { return interrupted || (limit && Clock::now() - start >= *limit); };
  return run_campaign(sources, backends, campaign, report);
}

Result<int> fuzz(FuzzOptions options) {
  const auto policy = chosen_policy(options.policy);
  if (!policy) return tl::unexpected(policy.error());
  const auto isolation = chosen_isolation(options.isolation);
  if (!isolation) return tl::unexpected(isolation.error());
  const auto waivers = chosen_waivers(options.waivers, "");
  if (!waivers) return tl::unexpected(waivers.error());
  std::optional<std::chrono::duration<double>> limit;
  if (!options.duration.empty()) {
    const auto parsed = parse_duration("--for", options.duration);
    if (!parsed) return tl::unexpected(parsed.error());
    limit = *parsed;
  }
  if (!options.seed) options.seed = drawn_seed();
  if (options.backends.empty()) options.backends = backend::available_kernels();
  options.backends = backend::on_cpus(options.backends, options.isolation.cpus);
  auto backends = backend::select_all(options.backends, arithmetic_of(policy->profile), *isolation);
  if (!backends) return tl::unexpected(backends.error());

  Report report = begin_report(options);
  print_headline(report, options.json);
  WaiverDraft draft;
  const CampaignOptions campaign{.policy = *policy, .waivers = *waivers ? &**waivers : nullptr, .draft = &draft};
  if (auto ran = run_blocks(options, *backends, campaign, limit, report); !ran) return tl::unexpected(ran.error());
  if (auto written = write_draft(options.waivers, draft); !written) return tl::unexpected(written.error());
  if (options.shrink) shrink::shrink_findings(report, *backends, *policy);
  return deliver(options.out, *policy, options.json, report);
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  auto options = std::make_shared<FuzzOptions>();
  CLI::App* command =
      app.add_subcommand("fuzz", "Judge backends on random and directed cases, until a time or number is reached");
  command->footer(
      "example: qconform fuzz --backend avx2 --for 10m\n"
      "Without --for and --cases it runs until it is interrupted (Ctrl-C), and then writes its report.\n"
      "Case i of a seed is the same in every run: --seed S --cases N repeats a campaign.\n"
      "Exit code: 0 every backend conforms but for what is waived, 1 one does not, 2 wrong use.");
  command->add_option("--backend", options->backends,
                      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU)");
  command->add_option("--for", options->duration, "How long: 90s, 10m, 8h");
  command->add_option("--cases", options->cases, "How many cases");
  command->add_option("--seed", options->seed, "Seed of the cases (default: drawn, and printed)");
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->isolation);
  add_isolation_options(*command, options->isolation);
  add_waiver_options(*command, options->waivers, "none");
  command->add_option("--out", options->out, "Folder for the report and the cases of its findings")
      ->capture_default_str();
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by verdict and rule alone, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Keep the cases of findings as they were met");
  command->add_flag("--json", options->json, "Print the report as JSON instead of the summary");
  when_chosen(*command, action, std::move(options), &fuzz);
}

}  // namespace qconform::cli
