#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "harness/campaign/guided/guided_driver.h"
#include "harness/campaign/journal.h"
#include "harness/cli/command.h"
#include "harness/cli/first_failures.h"
#include "harness/cli/fuzz_plan.h"
#include "harness/cli/output.h"
#include "harness/cli/report_output.h"
#include "harness/core/version.h"
#include "reports/gate/gate.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::cli {

namespace {

std::string text_of(const Progress& progress) {
  // A narrow terminal cuts the end of the line: what matters most comes first.
  std::string text = fmt::format(
      "fuzz: {}{} cases, {}{} failures, {:.0f} cases/s, corner cases {} of {}, {} elements",
      report::with_thousands(progress.cases), progress.of ? " of " + report::with_thousands(*progress.of) : "",
      progress.seconds_left ? clock_text(*progress.seconds_left) + " left, " : "",
      report::with_thousands(progress.failures), progress.rate, progress.corner_cases_reached, progress.corner_cases,
      report::with_thousands(progress.elements));
  if (const auto& engine = progress.engine) {
    text += fmt::format(", {} edges, {} features, {} kept", report::with_thousands(engine->edges),
                        report::with_thousands(engine->features), report::with_thousands(engine->kept));
  }
  if (!progress.findings.empty()) text += ": " + progress.findings;
  return text;
}

// Writes the report of the findings so far, in a child process; returns them in a few words.
std::string build_report_meanwhile(const FuzzPlan& plan, const campaign::CampaignSnapshot& snapshot) {
  auto backends = plan.driver.open();
  if (!backends) return "";
  Report report = campaign_report(snapshot, *backends, plan.report_options(snapshot.case_at));
  const Policy& policy = plan.judge.policy;
  if (auto written = write_campaign_report(plan.options.out, policy, report); !written) return "";
  return brief_findings(report);
}

// A fault of the fuzz target itself is not a finding: the exit code is 2.
Result<guided::GuidedResult> run(FuzzPlan& plan) {
  campaign::DriverOptions& driver = plan.driver;
  const Interruption interruption;
  ProgressLine line(ProgressLine::Elsewhere::a_line_each_minute);
  driver.interrupted = &Interruption::happened;
  driver.progress = [&](const Progress& progress) { line.update([&] { return text_of(progress); }); };
  driver.remark = [&](const std::string& text) {
    line.clear();
    say(stderr, "qconform: {}\n", shown(text));
  };
  FirstFailures first_failures(plan.options.out, plan.judge.policy, line);
  driver.news = [&](std::size_t backend, const BackendInfo& info, const Case& test_case, const Verdict& verdict) {
    first_failures.judged(backend, info, test_case, verdict);
  };
  driver.build_report = [&](const campaign::CampaignSnapshot& snapshot) {
    return build_report_meanwhile(plan, snapshot);
  };
  if (!plan.target) {
    QCONFORM_ASSIGN(auto snapshot, campaign::drive(driver));
    return guided::GuidedResult{std::move(snapshot), {}};
  }
  if (plan.target->commit != kCommit) {
    driver.remark(fmt::format("{} was built from {}, this program from {}", plan.target->program.string(),
                              plan.target->commit, kCommit));
  }
  const SandboxOptions& sandbox = plan.options.sandbox;
  return guided::drive({driver, *plan.target, sandbox.timeout, sandbox.memory});
}

// Takes the report that --compare names out of the options, else loads that of the last campaign in the folder.
std::optional<gate::ReportSide> report_before(FuzzOptions& options) {
  if (options.forms.before || options.compare == "none") return std::move(options.forms.before);
  const std::filesystem::path file = std::filesystem::path(options.out) / campaign::kReportBefore;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  auto report = report::load_report(file);
  if (!report)
    say(stderr, "qconform: the report is not compared with that of the campaign before: {}\n",
        shown(report.error().text()));
  if (!report || !report->campaign) return std::nullopt;
  return gate::ReportSide{file.string(), std::move(*report)};
}

Result<int> deliver_plan(FuzzPlan& plan, guided::GuidedResult done) {
  QCONFORM_ASSIGN(auto backends, plan.driver.open());
  campaign::ReportOptions options = plan.report_options(done.snapshot.case_at);
  ProgressLine line(ProgressLine::Elsewhere::a_line_each_minute);
  options.progress = told_on(line);
  Report report = campaign_report(done.snapshot, backends, options);
  line.clear();
  const std::string& since = plan.options.since;
  if (!since.empty()) add_histories(since, backends, plan.judge.policy, plan.sandbox, report);
  if (done.snapshot.fault) report.stopped = done.snapshot.fault->text();
  QCONFORM_TRY(write_draft(plan.options.waivers, report));
  plan.options.forms.before = report_before(plan.options);
  auto code = deliver_campaign(plan.options.out, plan.judge.policy, plan.options.forms, report);
  for (const std::string& fault : done.own_faults) {
    say(stderr, "qconform: the fuzz target failed by itself: {}\n", fault);
  }
  if (done.snapshot.fault) {
    if (!code) say(stderr, "qconform: {}\n", shown(code.error().text()));
    return tl::unexpected(*done.snapshot.fault);
  }
  if (!done.own_faults.empty()) return kFault;
  return code;
}

Result<int> fuzz(FuzzOptions options) {
  QCONFORM_TRY(check_forms(options.forms));
  FuzzPlan plan;
  plan.options = std::move(options);
  QCONFORM_TRY(make_plan(plan));
  print_headline(new_campaign_report(plan.driver.identity), plan.options.forms.json);
  if (!plan.driver.identity.shard.is_whole()) {
    say(plan.options.forms.json ? stderr : stdout, "shard {}\n", plan.driver.identity.shard.text());
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
      "example: qconform fuzz --suite graphs --backend onnxruntime@all --for 1h --out graphs\n"
      "example: qconform fuzz --engine libfuzzer --backend avx2 --for 10m --jobs 2 --out guided\n"
      "Without --for and --cases it runs until Ctrl-C, and then writes its report.\n"
      "Three of four cases are made for what a library, plugin or process takes, one of four for everything\n"
      "(docs/contracts.md).\n"
      "Case i of a seed is the same in every run of the same backends: --seed S --cases N repeats a campaign. A\n"
      "journal in the folder holds every finished block of cases: after a crash, --resume continues\n"
      "(docs/campaigns.md).\n"
      "Exit code: 0 every backend conforms, waived findings aside, 1 one does not, 2 wrong use, or the journal\n"
      "cannot be written.");
  command->add_option("--backend", options->backends,
                      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU)");
  command
      ->add_option("--engine", options->engine,
                   "Engine that draws the cases: seeded, or libfuzzer, which follows code coverage")
      ->capture_default_str();
  command->add_option("--fuzz-target", options->fuzz_target,
                      "With --engine libfuzzer: the fuzz target `differential` (default: QCONFORM_FUZZ_TARGET, or the "
                      "one that scripts/build fuzz fuzz_differential builds)");
  command->add_option("--suite", options->suite,
                      "Suite whose cases are drawn: fuzz, random, or graphs for quantized graphs (default: fuzz)");
  command->add_option("--for", options->duration, "How long: 90s, 10m, 8h");
  command->add_option("--cases", options->cases, "How many cases, of all shards together");
  command->add_option("--seed", options->seed, "Seed of the cases (default: drawn, and printed)");
  command->add_option("--jobs", options->jobs, "Processes that run cases, each with backends of its own")
      ->capture_default_str();
  command->add_flag("--resume", options->resume, "Continue the campaign in the folder; start one where there is none");
  command->add_flag("--repair", options->repair,
                    "With --resume: keep the intact records of a damaged journal, and run the other blocks again");
  add_shard_options(*command, options->shard);
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  add_cpu_option(*command, options->sandbox);
  add_valid_only_option(*command, options->sandbox);
  add_sandbox_options(*command, options->sandbox);
  add_waiver_options(*command, options->waivers, "none");
  add_within_options(*command, options->within, "No cases made for what each library, plugin or process takes");
  command->add_option("--out", options->out, "Folder for the journal, the report and the cases of its findings")
      ->capture_default_str();
  command->add_flag("--no-explain{false}", options->explain,
                    "Group failures by verdict and rule alone, without looking for the defects behind them");
  command->add_flag("--no-shrink{false}", options->shrink, "Do not shrink the cases of findings");
  add_since_option(*command, options->since);
  command->add_option("--compare", options->compare,
                      "report.json of an earlier campaign, or none: causes that it lacks come first (default: that of "
                      "the campaign before in the folder)");
  command->add_option(
      "--notify", options->forms.notify,
      "Command for a shell that gets the summary at the end, as a mail without addresses, on its stdin: "
      "\"sendmail me@example.org\"; QCONFORM_SUBJECT has its subject, QCONFORM_SUMMARY its JSON file");
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &fuzz);
}

}  // namespace qconform::cli
