#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <memory>

#include "harness/campaign/guided/guided_driver.h"
#include "harness/cli/campaign_report.h"
#include "harness/cli/command.h"
#include "harness/cli/fuzz_plan.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/core/version.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

namespace {

std::atomic<bool> interrupted{false};

// While one exists, SIGINT and SIGTERM end the campaign after the cases that run, with its report. A second signal
// ends the program at once. One at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  [[nodiscard]] static bool happened();

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

Interruption::Interruption() {
  interrupted = false;
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // an unsigned constant in glibc
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interruption::happened() {
  return interrupted;
}

std::string text_of(const campaign::Standing& standing) {
  std::string text = fmt::format("fuzz: {}{} cases, {:.0f} cases/s, {} elements, hazards {} of {}, {} failures",
                                 report::with_thousands(standing.cases),
                                 standing.of ? " of " + report::with_thousands(*standing.of) : "", standing.rate,
                                 report::with_thousands(standing.elements), standing.hazards_reached, standing.hazards,
                                 report::with_thousands(standing.failures));
  if (const auto& engine = standing.engine) {
    text += fmt::format(", {} edges, {} features, {} kept", report::with_thousands(engine->edges),
                        report::with_thousands(engine->features), report::with_thousands(engine->kept));
  }
  if (!standing.findings.empty()) text += ": " + standing.findings;
  if (standing.seconds_left) {
    const auto left = static_cast<std::uint64_t>(*standing.seconds_left);
    text += fmt::format(", {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60);
  }
  return text;
}

// Findings that are known so far, written in a process of its own; in a few words what they are.
std::string build_report_meanwhile(const FuzzPlan& plan, const campaign::CampaignSnapshot& known) {
  auto backends = plan.driver.open();
  if (!backends) return "";
  Report report = campaign_report(known, *backends, plan.conclusion(known.case_at));
  const Policy& policy = plan.judging.policy;
  if (auto written = write_campaign_report(plan.options.out, policy, report); !written) return "";
  return brief_findings(report);
}

// What is wrong with the fuzz target is no finding: it makes the exit code that of a fault.
Result<guided::GuidedResult> run(FuzzPlan& plan) {
  campaign::DriverOptions& driver = plan.driver;
  const Interruption interruption;
  ProgressLine line(ProgressLine::Elsewhere::a_line_each_minute);
  driver.interrupted = &Interruption::happened;
  driver.progress = [&](const campaign::Standing& standing) { line.update([&] { return text_of(standing); }); };
  driver.remark = [&](const std::string& text) {
    line.clear();
    fmt::print(stderr, "qconform: {}\n", text);
  };
  driver.build_report = [&](const campaign::CampaignSnapshot& known) { return build_report_meanwhile(plan, known); };
  if (!plan.target) {
    QCONFORM_ASSIGN(auto known, campaign::drive(driver));
    return guided::GuidedResult{std::move(known), {}};
  }
  if (plan.target->commit != kCommit) {
    driver.remark(fmt::format("{} was built from {}, this program from {}", plan.target->program.string(),
                              plan.target->commit, kCommit));
  }
  const IsolationOptions& isolation = plan.options.isolation;
  return guided::drive({driver, *plan.target, isolation.timeout, isolation.memory});
}

Result<int> deliver_plan(const FuzzPlan& plan, guided::GuidedResult done) {
  QCONFORM_ASSIGN(auto backends, plan.driver.open());
  WaiverDraft draft;
  campaign::ReportOptions conclusion = plan.conclusion(done.known.case_at);
  if (!plan.options.waivers.draft.empty()) conclusion.draft = &draft;
  Report report = campaign_report(done.known, backends, conclusion);
  QCONFORM_TRY(write_draft(plan.options.waivers, draft));
  auto code = deliver_campaign(plan.options.out, plan.judging.policy, plan.options.forms, report);
  for (const std::string& fault : done.own_faults) {
    fmt::print(stderr, "qconform: the fuzz target failed by itself: {}\n", fault);
  }
  if (!done.own_faults.empty()) return kFault;
  return code;
}

Result<int> fuzz(FuzzOptions options) {
  QCONFORM_TRY(check_forms(options.forms));
  FuzzPlan plan{std::move(options), {}, {}, {}, {}};
  QCONFORM_TRY(make_plan(plan));
  print_headline(new_campaign_report(plan.driver.identity), plan.options.forms.json);
  if (!plan.driver.identity.shard.is_whole()) {
    fmt::print(plan.options.forms.json ? stderr : stdout, "shard {}\n", plan.driver.identity.shard.text());
  }
  QCONFORM_ASSIGN(auto done, run(plan));
  return deliver_plan(plan, std::move(done));
}

}  // namespace

void add_fuzz(CLI::App& app, Action& action) {
  auto options = std::make_shared<FuzzOptions>();
  CLI::App* command =
      app.add_subcommand("fuzz", "Judge backends on random and directed cases, until a time or number is reached");
  command->footer(
      "example: qconform fuzz --backend avx2 --for 8h --jobs 4 --out nightly\n"
      "example: qconform fuzz --engine libfuzzer --backend avx2 --for 10m --jobs 2 --out guided\n"
      "Without --for and --cases it runs until it is interrupted (Ctrl-C), and then writes its report.\n"
      "Case i of a seed is the same in every run: --seed S --cases N repeats a campaign. A journal in the folder\n"
      "has every block of cases that is done: after a crash, --resume goes on (docs/campaigns.md).\n"
      "Exit code: 0 every backend conforms but for what is waived, 1 one does not, 2 wrong use, or the journal\n"
      "cannot be written.");
  command->add_option("--backend", options->backends,
                      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU)");
  command
      ->add_option("--engine", options->engine,
                   "Who draws the cases: seeded, or libfuzzer, which coverage of the code guides")
      ->capture_default_str();
  command->add_option("--fuzz-target", options->fuzz_target,
                      "With --engine libfuzzer: the fuzz target `differential` (default: QCONFORM_FUZZ_TARGET, or what "
                      "scripts/build fuzz fuzz_differential made)");
  command->add_option("--for", options->duration, "How long: 90s, 10m, 8h");
  command->add_option("--cases", options->cases, "How many cases, of all shards together");
  command->add_option("--seed", options->seed, "Seed of the cases (default: drawn, and printed)");
  command->add_option("--jobs", options->jobs, "Processes that run cases, each with backends of its own")
      ->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "Go on with the campaign whose journal is in the folder; begin one where there is none");
  command->add_flag("--repair", options->repair,
                    "With --resume: take what is whole of a damaged journal, and run the rest again");
  add_shard_options(*command, options->shard);
  add_policy_options(*command, options->policy);
  add_cpu_option(*command, options->isolation);
  add_valid_only_option(*command, options->isolation);
  add_isolation_options(*command, options->isolation);
  add_waiver_options(*command, options->waivers, "none");
  command->add_option("--out", options->out, "Folder for the journal, the report and the cases of its findings")
      ->capture_default_str();
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by verdict and rule alone, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Keep the cases of findings as they were met");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &fuzz);
}

}  // namespace qconform::cli
