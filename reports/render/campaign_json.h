// How far a campaign has come, as the JSON report states it. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/campaign_state.h"

namespace qconform::report {

[[nodiscard]] nlohmann::ordered_json campaign_json(const CampaignState& campaign);

}  // namespace qconform::report
