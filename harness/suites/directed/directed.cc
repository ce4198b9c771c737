#include "harness/suites/directed/directed.h"

#include <string>
#include <vector>

#include "harness/hazards/hazard.h"
#include "harness/judge/judge.h"
#include "harness/operators/convolution/directed.h"
#include "harness/operators/linear/random.h"

namespace qconform {
namespace {

constexpr int kAttempts = 1000;

struct Aim {
  std::string_view op_type;
  Hazard hazard;
};

// Rounding hazards of QLinearConv, which random data nearly never reaches, have three turns.
std::uint64_t turns(const Aim& aim) {
  const bool is_rounding = aim.hazard <= Hazard::near_tie_below;
  return is_rounding && aim.op_type == "QLinearConv" ? 3 : 1;
}

const std::vector<Aim>& aims() {
  static const std::vector<Aim> all = [] {
    std::vector<Aim> list;
    for (const HazardInfo& info : hazards()) {
      for (const std::string_view op_type : kHazardOperators) {
        if (!info.concerns(op_type)) continue;
        const Aim aim{op_type, info.hazard};
        list.insert(list.end(), turns(aim), aim);
      }
    }
    return list;
  }();
  return all;
}

Case draw(Rng& rng, const Aim& aim) {
  if (aim.op_type == "QuantizeLinear") return random_quantize_linear(rng);
  if (aim.op_type == "DequantizeLinear") return random_dequantize_linear(rng);
  return directed::draw_convolution(rng, aim.op_type, aim.hazard);
}

struct Merit {
  bool reached = false;
  bool proves = false;  ///< the output would show a defect
};

Merit merit_of(const Case& test_case, Hazard hazard) {
  Expected expected = expect(test_case, {});
  if (!expected.output || expected.classification.expectation() != Expectation::valid) return {};
  assess(test_case, expected);
  return {expected.hazards[hazard] > 0, expected.doubt.empty()};
}

// The first case that reaches the aim and proves something; else the last one that reaches it.
Case draw_until_reached(Rng& rng, const Aim& aim) {
  Case best = draw(rng, aim);
  Merit merit = merit_of(best, aim.hazard);
  for (int attempt = 1; attempt < kAttempts && !(merit.reached && merit.proves); ++attempt) {
    Case next = draw(rng, aim);
    const Merit other = merit_of(next, aim.hazard);
    if (!other.reached) continue;
    best = std::move(next);
    merit = other;
  }
  return best;
}

}  // namespace

std::uint64_t directed_aims() {
  return aims().size();
}

namespace {

Case directed_case(std::uint64_t seed, std::uint64_t index, Case (*draw_for)(Rng&, const Aim&)) {
  const Aim& aim = aims()[index % aims().size()];
  const HazardInfo& info = info_of(aim.hazard);
  // Another stream than that of the random suite, whose cases of this seed would repeat here.
  Rng rng(seed ^ 0xD15EC7EDU, index);
  Case result = draw_for(rng, aim);
  result.id = "directed-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.tags = {std::string(info.id)};
  result.note = "aims for " + std::string(info.label);
  result.provenance = {"directed", seed, index};
  return result;
}

}  // namespace

Case directed_case(std::uint64_t seed, std::uint64_t index) {
  return directed_case(seed, index, draw_until_reached);
}

Case directed_attempt(std::uint64_t seed, std::uint64_t index) {
  return directed_case(seed, index, draw);
}

}  // namespace qconform
