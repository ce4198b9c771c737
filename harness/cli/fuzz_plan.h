// The options of `fuzz`, and the plan of a campaign that they give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/build_report.h"
#include "harness/campaign/driver.h"
#include "harness/campaign/guided/target.h"
#include "harness/cli/policy.h"
#include "harness/cli/report_forms.h"
#include "harness/cli/sandbox_options.h"
#include "harness/cli/shard.h"
#include "harness/cli/waivers.h"

namespace qconform::cli {

struct FuzzOptions {
  std::vector<std::string> backends;
  std::string engine = "seeded";
  std::string fuzz_target;
  std::string duration;
  std::optional<std::uint64_t> cases;
  std::optional<std::uint64_t> seed;
  int jobs = 1;
  bool resume = false;
  bool repair = false;
  ShardOptions shard;
  PolicyOptions policy;
  SandboxOptions sandbox;
  WaiverOptions waivers;
  std::string out = "build/reports/fuzz";
  bool explain = true;
  bool shrink = true;
  ReportForms forms;

  [[nodiscard]] bool is_guided() const { return engine == "libfuzzer"; }
};

struct FuzzPlan {
  FuzzOptions options;
  campaign::JudgeOptions judge;
  std::optional<Waivers> waivers;        ///< what judge.waivers points to
  std::optional<guided::Target> target;  ///< of a campaign that coverage guides
  campaign::DriverOptions driver;        ///< without what it tells while it runs

  [[nodiscard]] campaign::ReportOptions report_options(const campaign::CaseAt& case_at) const;
};

/// Fills the plan from its options. What is not given and the journal has is taken from there.
[[nodiscard]] Result<void> make_plan(FuzzPlan& plan);

}  // namespace qconform::cli
