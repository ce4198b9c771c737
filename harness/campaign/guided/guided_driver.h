// Runs a campaign that coverage guides: libFuzzer draws the inputs, and what it keeps is judged, explained and
// reported as the cases of any other campaign are.
#pragma once

#include "harness/campaign/driver.h"
#include "harness/campaign/guided/target.h"

namespace qconform::guided {

struct GuidedOptions {
  campaign::DriverOptions campaign;  ///< its backends run in workers; it has no number of cases and no shard
  Target target;
  double timeout = 10;         ///< seconds for one input
  std::int64_t memory = 2048;  ///< MiB of one process of the engine
};

struct GuidedResult {
  campaign::CampaignSnapshot snapshot;
  /// Inputs over which the fuzz target ended by its own fault: what it said, and how to see it again.
  std::vector<std::string> own_faults;
};

/// Works in the folder "libfuzzer" below the campaign's.
[[nodiscard]] Result<GuidedResult> drive(const GuidedOptions& options);

}  // namespace qconform::guided
