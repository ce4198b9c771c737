#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/backend/select.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/policy.h"
#include "harness/core/file.h"
#include "harness/run/campaign.h"
#include "harness/run/environment.h"
#include "harness/run/finding_files.h"
#include "harness/run/relation_campaign.h"
#include "harness/shrink/findings.h"
#include "harness/source/select.h"
#include "reports/render/json_report.h"
#include "reports/render/terminal.h"

namespace qconform::cli {
namespace {

struct RunOptions {
  std::vector<std::string> backends;
  std::vector<std::string> suites{"conformance"};
  SuiteOptions suite;
  PolicyOptions policy;
  std::string out = "build/reports/run";
  bool shrink = true;
  bool json = false;
};

Result<std::vector<std::unique_ptr<Backend>>> open_backends(const std::vector<std::string>& names,
                                                            RoundingProfile profile) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : names) {
    auto opened = backend::select(name, profile);
    if (!opened) return tl::unexpected(opened.error());
    backends.push_back(std::move(*opened));
  }
  return backends;
}

struct Suites {
  std::vector<std::unique_ptr<CaseSource>> judged;   ///< against the reference
  std::vector<std::unique_ptr<CaseSource>> related;  ///< by relations between a backend's own answers
};

Result<Suites> open_suites(const RunOptions& options) {
  Suites suites;
  for (const std::string& name : options.suites) {
    auto opened = open_suite(name, options.suite);
    if (!opened) return tl::unexpected(opened.error());
    auto& sources = relations_base(name) ? suites.related : suites.judged;
    for (auto& source : *opened) sources.push_back(std::move(source));
  }
  return suites;
}

Result<std::filesystem::path> write_report(const std::string& out, const Policy& policy, Report& report) {
  const std::filesystem::path folder(out);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", out, error.message()));
  if (auto written = write_findings(folder, policy, report); !written) return tl::unexpected(written.error());
  const std::filesystem::path file = folder / "report.json";
  if (auto written = write_file(file, report::to_json(report)); !written) return tl::unexpected(written.error());
  return file;
}

// Fills everything of the report but the results, and says on the first line what will run.
Report begin_report(const RunOptions& options) {
  Report report;
  report.environment = current_environment();
  report.seed = options.suite.seed;
  report.profile = options.policy.profile;
  report.overflow = options.policy.overflow;
  report.command = {"run"};
  for (const std::string& name : options.backends) report.command.insert(report.command.end(), {"--backend", name});
  for (const std::string& name : options.suites) report.command.insert(report.command.end(), {"--suite", name});
  fmt::print(options.json ? stderr : stdout, "{}", report::headline(report));
  std::fflush(options.json ? stderr : stdout);
  return report;
}

Result<int> run(RunOptions options) {
  const auto policy = chosen_policy(options.policy);
  if (!policy) return tl::unexpected(policy.error());
  if (options.backends.empty()) options.backends = backend::available_kernels();
  auto backends = open_backends(options.backends, arithmetic_of(policy->profile));
  if (!backends) return tl::unexpected(backends.error());
  auto suites = open_suites(options);
  if (!suites) return tl::unexpected(suites.error());

  Report report = begin_report(options);
  {
    ProgressLine line;
    CampaignOptions campaign{*policy, [&](const Progress& progress) { line.update(progress); }};
    auto ran = run_campaign(suites->judged, *backends, campaign, report);
    if (ran) ran = run_relation_campaign(suites->related, *backends, campaign, report);
    if (!ran) return tl::unexpected(ran.error());
  }
  if (options.shrink) shrink::shrink_findings(report, *backends, *policy);
  const auto file = write_report(options.out, *policy, report);
  if (!file) return tl::unexpected(file.error());
  if (options.json) {
    fmt::print("{}", report::to_json(report));
  } else {
    fmt::print("{}report {}\n", report::summary(report, has_colour(stdout)), file->string());
  }
  return report.conforms() ? kConforms : kDoesNotConform;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Judge backends on suites of cases and write a report");
  command->footer(
      "example: qconform run --backend avx2 --suite random --cases 100000 --seed 7\n"
      "Exit code: 0 every backend conforms, 1 one does not, 2 wrong use or a file that cannot be read.");
  command->add_option("--backend", options->backends,
                      "Backend to judge, may be repeated (default: every in-tree kernel set of this CPU)");
  command->add_option("--suite", options->suites, "Suite of cases, may be repeated (see: qconform list suites)")
      ->capture_default_str();
  command->add_option(
      "--cases", options->suite.cases,
      "Number of cases of each generated suite (default: 10000 of random and relations, 4000 of directed)");
  command->add_option("--seed", options->suite.seed, "Seed of everything random")->capture_default_str();
  add_policy_options(*command, options->policy);
  command->add_option("--out", options->out, "Folder for the report and the cases of its findings")
      ->capture_default_str();
  command->add_flag("--no-shrink{false}", options->shrink, "Keep the cases of findings as they were met");
  command->add_flag("--json", options->json, "Print the report as JSON instead of the summary");
  command->callback([options, &action] {
    action = [options] {
      const auto code = run(*options);
      return code ? *code : report_fault(code.error());
    };
  });
}

}  // namespace qconform::cli
