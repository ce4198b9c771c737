// What the sum of a campaign's blocks says of its progress.
#pragma once

#include <cstdint>
#include <set>

#include "harness/campaign/campaign_aggregate.h"
#include "harness/report/progress.h"

namespace qconform::campaign {

[[nodiscard]] Progress progress_of(const CampaignAggregate& sum);

/// Kinds of failures that no waiver covers and whose symptom is known.
[[nodiscard]] std::uint64_t kinds_of(const CampaignAggregate& sum);
/// Adds them to `seen`; whether there were new ones.
[[nodiscard]] bool note_failures(const CampaignAggregate& sum, std::set<FailureKey>& seen);

}  // namespace qconform::campaign
