// Progress of a campaign, from the sum of its blocks.
#pragma once

#include <cstdint>
#include <set>

#include "harness/campaign/campaign_aggregate.h"
#include "harness/report/progress.h"

namespace qconform::campaign {

[[nodiscard]] Progress progress_of(const CampaignAggregate& sum);

/// Counts the kinds of failures that no waiver covers and whose symptom is known.
[[nodiscard]] std::uint64_t kinds_of(const CampaignAggregate& sum);
/// Adds the keys of those failures to `seen`; returns whether there were new ones.
[[nodiscard]] bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen);

}  // namespace qconform::campaign
