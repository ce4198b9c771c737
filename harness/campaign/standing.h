// Where a campaign stands while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "harness/campaign/campaign_aggregate.h"

namespace qconform::campaign {

/// For a progress line.
struct Standing {
  std::uint64_t cases = 0;  ///< done, of all runs, those under way included
  std::optional<std::uint64_t> of;
  double rate = 0;  ///< cases a second in this run
  std::uint64_t elements = 0;
  std::uint64_t hazards_reached = 0;
  std::uint64_t hazards = 0;  ///< that concern the operators met
  std::uint64_t failures = 0;
  std::string findings;  ///< by diagnosis, of what was concluded last; may be empty
  std::optional<double> seconds_left;
  std::optional<EngineState> engine;  ///< of a campaign that coverage guides
};

/// What the aggregate says of it.
[[nodiscard]] Standing standing_of(const CampaignAggregate& sum);

/// Kinds of failures that no waiver covers and whose symptom is known.
[[nodiscard]] std::uint64_t kinds_of(const CampaignAggregate& sum);
/// Adds them to `seen`; whether there were new ones.
[[nodiscard]] bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen);

}  // namespace qconform::campaign
