// The options of `fuzz`, and the plan of a campaign that they give.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/build_report.h"
#include "harness/campaign/driver.h"
#include "harness/campaign/guided/libfuzzer.h"
#include "harness/campaign/identity.h"
#include "harness/cli/arguments.h"
#include "harness/cli/report_output.h"

namespace qconform::cli {

struct ShardOptions {
  std::string shard;        ///< "3/16"; empty: from the environment, or all of it
  std::uint64_t count = 0;  ///< number of shards, for JOB_COMPLETION_INDEX; 0: from JOB_COMPLETIONS
};

void add_shard_options(CLI::App& command, ShardOptions& options);

/// Returns the shard that the options name; else the task of a Slurm job array (SLURM_ARRAY_TASK_ID), or the completion
/// index of an Indexed Job of Kubernetes (JOB_COMPLETION_INDEX); else the whole.
[[nodiscard]] Result<campaign::Shard> chosen_shard(const ShardOptions& options);

struct FuzzOptions {
  std::vector<std::string> backends;
  std::string engine = "seeded";
  std::string suite;  ///< suite that the cases are drawn from; empty: fuzz
  std::string fuzz_target;
  std::string duration;
  std::optional<std::uint64_t> cases;
  std::optional<std::uint64_t> seed;
  int jobs = 1;
  bool resume = false;
  bool repair = false;
  ShardOptions shard;
  PolicyOptions policy;
  std::vector<std::string> defects;
  SandboxOptions sandbox;
  WaiverOptions waivers;
  WithinOptions within;
  std::string out = "build/reports/fuzz";
  bool explain = true;
  bool shrink = true;
  std::string since;    ///< release that findings are traced from; empty: none are
  std::string compare;  ///< report to compare with; empty: that of the campaign before, if there is one
  ReportForms forms;

  [[nodiscard]] bool is_guided() const { return engine == "libfuzzer"; }
};

struct FuzzPlan {
  FuzzOptions options;
  campaign::JudgeOptions judge;
  /// Contracts of the campaign that is resumed, where no option says what backends take.
  std::optional<std::vector<campaign::KnownContracts>> contracts;
  backend::SandboxPolicy sandbox;            ///< how backends are opened
  std::optional<Waivers> waivers;            ///< waivers that judge.waivers points to
  std::optional<guided::FuzzTarget> target;  ///< fuzz target of a campaign that coverage guides
  campaign::DriverOptions driver;            ///< without what it tells while it runs

  [[nodiscard]] campaign::ReportOptions report_options(const campaign::CaseAt& case_at) const;
};

/// Fills the plan from its options, and takes what they do not give from the journal, where it has it.
[[nodiscard]] Result<void> make_plan(FuzzPlan& plan);

}  // namespace qconform::cli
