#include "harness/suites/directed/directed.h"

#include <string>
#include <vector>

#include "harness/hazards/hazard.h"
#include "harness/judge/judge.h"
#include "harness/operators/family.h"

namespace qconform {
namespace {

constexpr int kAttempts = 1000;

struct Aim {
  const Family& family;
  const Operator& known;
  Hazard hazard;
};

// Ties and near ties, which random data nearly never reaches, have three turns where a family solves for them.
std::uint64_t turns(const Aim& aim) {
  const bool is_tie = aim.hazard <= Hazard::near_tie_below;
  return is_tie && aim.family.draw_for != nullptr ? 3 : 1;
}

void add_aims(const HazardInfo& info, const Family& family, std::vector<Aim>& list) {
  for (const Operator& known : family.operators) {
    const bool is_drawn = family.draw_for != nullptr || known.draw != nullptr;
    if (!is_drawn || !known.hazards.contains(info)) continue;
    const Aim aim{family, known, info.hazard};
    for (std::uint64_t turn = 0; turn < turns(aim); ++turn) list.push_back(aim);
  }
}

const std::vector<Aim>& aims() {
  static const std::vector<Aim> all = [] {
    std::vector<Aim> list;
    for (const HazardInfo& info : hazards()) {
      for (const Family* family : families()) add_aims(info, *family, list);
    }
    return list;
  }();
  return all;
}

Case draw(Rng& rng, const Aim& aim) {
  return aim.family.draw_for != nullptr ? aim.family.draw_for(rng, aim.known, aim.hazard)
                                        : aim.known.draw(rng, Swarm());
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
