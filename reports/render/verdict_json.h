// Verdicts, tiers and wrong elements as every JSON form states them. Internal to the renderers.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/core/report.h"

namespace qconform::report {

/// Only the kinds that occurred; pass always, so that its absence is never read as success.
[[nodiscard]] nlohmann::ordered_json verdicts_json(const VerdictCounts& counts);

/// Only the kinds that were waived.
[[nodiscard]] nlohmann::ordered_json waived_json(const VerdictCounts& counts);

/// Elements by the strictest tier that they meet, and the strictest that all of them meet; null without elements.
[[nodiscard]] nlohmann::ordered_json tiers_json(const TierTally& tally);

/// Distances may be infinite, which JSON has no number for: "inf".
[[nodiscard]] nlohmann::ordered_json element_json(const ElementReport& element);

/// Bins without elements are left out.
[[nodiscard]] nlohmann::ordered_json errors_json(const ErrorTally& errors);

}  // namespace qconform::report
