// Encodes the sum of a campaign's blocks, to compare it with others.
#pragma once

#include <string>

#include "harness/campaign/campaign_aggregate.h"

namespace qconform::testing {

/// Encodes all but the times.
inline std::string bytes_without_times(campaign::CampaignAggregate aggregate) {
  aggregate.times = {};
  for (BackendResult& backend : aggregate.backends) backend.seconds = 0;
  for (auto& group : aggregate.timeline.groups) group.seconds = 0;
  return encode_aggregate(aggregate);
}

}  // namespace qconform::testing
