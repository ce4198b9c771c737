// What is known of a campaign at some time: what its report is made of.
#pragma once

#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"
#include "harness/campaign/judge_options.h"

namespace qconform::campaign {

struct CampaignSnapshot {
  Identity identity;
  CampaignAggregate aggregate;
  CampaignResult result;
  CaseAt case_at;  ///< for the aggregate's failures and rows
};

}  // namespace qconform::campaign
