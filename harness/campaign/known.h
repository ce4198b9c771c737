// What is known of a campaign at some time: what its report is made of.
#pragma once

#include "harness/campaign/identity.h"
#include "harness/campaign/judging.h"
#include "harness/campaign/tally.h"

namespace qconform::campaign {

struct Known {
  Identity identity;
  Tally tally;
  CampaignState state;
  CaseAt case_at;  ///< for the tally's failures and rows
};

}  // namespace qconform::campaign
