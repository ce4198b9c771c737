// How a campaign judges its cases, and the campaign at some time: the data of its report.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "harness/base/error.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/engine/waivers.h"

namespace qconform::campaign {

struct JudgeOptions {
  Policy policy;
  const Waivers* waivers = nullptr;  ///< null: nothing may fail
  bool explain = true;               ///< determine symptoms, sample cases, and look for the defects behind failures
};

/// A case of the campaign by Provenance::index: one that failed.
using CaseAt = std::function<Case(std::uint64_t)>;

struct CampaignSnapshot {
  Identity identity;
  CampaignAggregate aggregate;
  CampaignResult result;
  CaseAt case_at;                   ///< for the aggregate's failures and rows
  std::optional<Error> fault = {};  ///< what ended the campaign before its time; the rest is what was done till then
};

}  // namespace qconform::campaign
