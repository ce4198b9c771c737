#include "harness/suites/random.h"

#include <string>

#include "harness/operators/convolution/random.h"
#include "harness/operators/linear/random.h"
#include "harness/suites/swarm.h"

namespace qconform {
namespace {

struct OperatorWeight {
  Feature feature;
  std::uint32_t usual;
};
constexpr OperatorWeight kOperators[] = {{Feature::qlinear_conv, 12},
                                         {Feature::conv_integer, 4},
                                         {Feature::quantize_linear, 2},
                                         {Feature::dequantize_linear, 2}};

// An operator by its weight in the block; as usual where the block leaves out all of them.
Feature draw_operator(Rng& rng, const Swarm& swarm) {
  std::uint32_t total = 0;
  for (const auto& [feature, usual] : kOperators) total += swarm.scaled(feature, usual);
  if (total == 0) return draw_operator(rng, Swarm());
  auto choice = static_cast<std::uint32_t>(rng.below(total));
  for (const auto& [feature, usual] : kOperators) {
    const std::uint32_t weight = swarm.scaled(feature, usual);
    if (choice < weight) return feature;
    choice -= weight;
  }
  return Feature::qlinear_conv;  // not reached: choice < total
}

Case draw(Rng& rng, const Swarm& swarm) {
  switch (draw_operator(rng, swarm)) {
    case Feature::conv_integer: return random_conv_integer(rng, swarm);
    case Feature::quantize_linear: return random_quantize_linear(rng);
    case Feature::dequantize_linear: return random_dequantize_linear(rng);
    default: return random_qlinear_conv(rng, swarm);
  }
}

}  // namespace

Case random_case(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  Case result = draw(rng, Swarm::of_case(seed, index));
  result.id = "random-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {"random", seed, index};
  return result;
}

}  // namespace qconform
