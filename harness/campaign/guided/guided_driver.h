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
  /// Inputs that ended the fuzz target by its own fault: its message, and how to reproduce it.
  std::vector<std::string> own_faults;
};

/// Works in the folder "libfuzzer" below the campaign's.
[[nodiscard]] Result<GuidedResult> drive(const GuidedOptions& options);

}  // namespace qconform::guided
