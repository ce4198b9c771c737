// A campaign at some time: the data of its report.
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
