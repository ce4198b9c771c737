#include "reports/render/verdict_json.h"

#include <cmath>
#include <limits>

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json verdicts_json(const VerdictCounts& counts) {
  Json result = Json::object();
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::uint64_t count = counts[static_cast<std::size_t>(kind)];
    const auto name = name_of(static_cast<VerdictKind>(kind));
    if (count > 0 || kind == 0) result[std::string(name)] = count;
  }
  return result;
}

Json waived_json(const VerdictCounts& counts) {
  Json result = Json::object();
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::uint64_t count = counts[static_cast<std::size_t>(kind)];
    if (count > 0) result[std::string(name_of(static_cast<VerdictKind>(kind)))] = count;
  }
  return result;
}

Json tiers_json(const TierTally& tally) {
  if (tally.elements() == 0) return nullptr;
  Json elements = Json::object();
  for (const reference::Tier tier : reference::kAllTiers) {
    elements[std::string(name_of(tier))] = tally.by_tier[static_cast<std::size_t>(tier)];
  }
  elements["none"] = tally.none;
  const auto reached = tally.common.strictest();
  Json common = Json::array();
  for (const reference::Tier tier : reference::kAllTiers) {
    if (tally.common.contains(tier)) common.push_back(name_of(tier));
  }
  return {{"reached", reached ? Json(name_of(*reached)) : Json(nullptr)},
          {"common", std::move(common)},
          {"elements", std::move(elements)}};
}

Json element_json(const ElementReport& element) {
  Json result{{"index", element.index}, {"got", element.got}, {"admissible", element.admissible}};
  if (!element.exact.empty()) result["exact"] = element.exact;
  const bool finite = element.distance <= std::numeric_limits<double>::max();
  result["distance"] = finite ? Json(element.distance) : Json("inf");
  return result;
}

Json errors_json(const ErrorTally& errors) {
  Json bins = Json::array();
  for (std::size_t i = 0; i < ErrorTally::kBins; ++i) {
    if (errors.low[i] + errors.high[i] == 0) continue;
    const bool is_last = i + 1 == ErrorTally::kBins;
    bins.push_back({{"up_to", is_last ? Json(nullptr) : Json(std::ldexp(0.5, static_cast<int>(i)))},
                    {"low", errors.low[i]},
                    {"high", errors.high[i]}});
  }
  return {{"incomparable", errors.incomparable}, {"bins", std::move(bins)}};
}

}  // namespace qconform::report
