#include "harness/campaign/estimate.h"

#include <algorithm>
#include <cmath>

namespace qconform::campaign {
namespace {

constexpr double kNormalQuantile = 1.959964;  // of 97.5 %

struct Share {
  double least, estimate, most;
};

// Returns the share of the cause in a part that has a sample.
Share share_of(const SampledFailures& part) {
  const auto sampled = static_cast<double>(part.sampled);
  const auto rest = static_cast<double>(part.rest);
  const double size = sampled * rest / (sampled + rest);
  const double estimate = static_cast<double>(part.found) / sampled;
  const double z2 = kNormalQuantile * kNormalQuantile / size;
  const double centre = (estimate + z2 / 2) / (1 + z2);
  const double variance = estimate * (1 - estimate) / size + z2 / (4 * size);
  const double half = kNormalQuantile * std::sqrt(variance) / (1 + z2);
  return {std::max(0.0, centre - half), estimate, std::min(1.0, centre + half)};
}

}  // namespace

CasesBetween cases_between(std::uint64_t known, std::span<const SampledFailures> parts) {
  double sum = 0;
  double below = 0;
  double above = 0;
  std::uint64_t left = 0;
  std::uint64_t unknown = 0;
  for (const SampledFailures& part : parts) {
    left += part.rest;
    unknown += part.sampled == 0 ? part.rest : 0;
    if (part.rest == 0 || part.sampled == 0) continue;
    const Share share = share_of(part);
    const auto rest = static_cast<double>(part.rest);
    sum += rest * share.estimate;
    below += std::pow(rest * (share.estimate - share.least), 2);
    above += std::pow(rest * (share.most - share.estimate), 2);
  }
  const double least = std::max(0.0, std::floor(sum - std::sqrt(below)));
  const double most = std::ceil(sum + std::sqrt(above)) + static_cast<double>(unknown);
  return {known + static_cast<std::uint64_t>(least), known + std::min(left, static_cast<std::uint64_t>(most))};
}

}  // namespace qconform::campaign
