#include "harness/model/draws/swarm.h"

namespace qconform {
namespace {

// Keeps the streams of blocks apart from those of cases.
constexpr std::uint64_t kBlockStream = 0x5357'4152'4D00'0000U;

}  // namespace

Swarm Swarm::of_case(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed ^ kBlockStream, index / kSwarmBlock);
  Swarm swarm;
  for (std::size_t position = 0; position < kFirstSelecting; ++position) {
    const std::uint64_t choice = rng.below(4);
    swarm.weights_[position] = choice == 0 ? Weight::none : choice == 1 ? Weight::common : Weight::usual;
  }
  return swarm;
}

Swarm Swarm::over(const Swarm& other) const {
  Swarm result = *this;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (weights_[i] == Weight::usual) result.weights_[i] = other.weights_[i];
  }
  return result;
}

bool Swarm::draw(Rng& rng, Feature feature, std::uint32_t numerator, std::uint32_t denominator) const {
  switch (weight(feature)) {
    case Weight::none: return false;
    case Weight::usual: return rng.chance(numerator, denominator);
    case Weight::always: return true;
    case Weight::common: break;
  }
  return rng.chance(numerator + denominator, 2 * denominator);
}

std::uint32_t Swarm::scaled(Feature feature, std::uint32_t usual) const {
  static constexpr std::uint32_t kFactors[] = {0, 1, 3, 64};
  return usual * kFactors[static_cast<std::size_t>(weight(feature))];
}

}  // namespace qconform
