// How far a run or a campaign has come, for its progress line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/core/campaign_result.h"

namespace qconform {

struct Progress {
  std::string suite;
  std::uint64_t cases = 0;  ///< done: of this suite; of all runs of a campaign, those that run now included
  std::optional<std::uint64_t> of = {};  ///< where known
  std::uint64_t failures = 0;            ///< failing verdicts so far, all backends
  // Campaigns fill these too.
  double rate = 0;  ///< cases a second in this run
  std::uint64_t elements = 0;
  std::uint64_t hazards_reached = 0;
  std::uint64_t hazards = 0;  ///< that concern the operators met
  std::string findings = {};  ///< of the last report, by diagnosis; may be empty
  std::optional<double> seconds_left = {};
  std::optional<EngineResult> engine = {};  ///< of a campaign that coverage guides
};

}  // namespace qconform
