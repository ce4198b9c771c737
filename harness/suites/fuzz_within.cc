#include "harness/suites/fuzz_within.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/model/draws/swarm.h"
#include "harness/suites/directed/directed.h"
#include "harness/suites/random.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

constexpr std::uint64_t kTurnsInside = 3;
constexpr std::uint64_t kTurns = kTurnsInside + 1;
// A draw outside costs little; one that is inside is worth some of them.
constexpr int kDraws = 20;

// Keeps the streams of these cases apart from those of fuzz_case().
constexpr std::uint64_t kInsideStream = 0x1251'DE00'0000'0000U;

std::optional<Case> directed(const Inside& inside, std::uint64_t seed, std::uint64_t index) {
  const Inside::Drawn* const drawn = inside.of(directed_operator(index));
  if (drawn == nullptr) return std::nullopt;
  const auto takes = [&](const Case& test_case) { return inside.takes(test_case); };
  return directed_attempt_where(seed, index, drawn->swarm, takes, kDraws);
}

// First with the mix of features of its block, as far as the contract leaves them open.
std::optional<Case> random(const Inside& inside, std::uint64_t seed, std::uint64_t index) {
  if (inside.drawn().empty()) return std::nullopt;
  Rng rng(seed ^ kInsideStream, index);
  const Inside::Drawn& drawn = inside.drawn()[rng.below(static_cast<std::uint32_t>(inside.drawn().size()))];
  for (const Swarm& swarm : {drawn.swarm.over(Swarm::of_case(seed, index)), drawn.swarm}) {
    for (int i = 0; i < kDraws; ++i) {
      Case result = drawn.known->draw(rng, swarm);
      if (inside.takes(result)) return result;
    }
  }
  return std::nullopt;
}

// One block of a turn aims for hazards, as in fuzz_case(). Of the others every second one is drawn from the rows of the
// models, which are the sizes and positions that random draws seldom combine; so is every case that no draw gets to.
Case draw(const Inside& inside, std::uint64_t seed, std::uint64_t turn, std::uint64_t place) {
  const std::uint64_t block = place / kSwarmBlock;
  const std::uint64_t index = turn * kFuzzTurn + place;
  std::optional<Case> drawn;
  if (block == 0) {
    drawn = directed(inside, seed, turn * kSwarmBlock + place);
  } else if (block % 2 == 1) {
    drawn = random(inside, seed, index);
  }
  if (drawn) return std::move(*drawn);
  Rng rng(~seed ^ kInsideStream, index);
  return inside.draw_row(rng);
}

}  // namespace

FuzzWithin::FuzzWithin(const std::vector<std::vector<sweep::Contract>>& contracts) {
  std::vector<std::vector<sweep::Contract>> known;
  for (const auto& contract : contracts) {
    if (std::find(known.begin(), known.end(), contract) != known.end()) continue;
    known.push_back(contract);
    auto inside = std::make_unique<Inside>(sweep::narrow_ones(contract));
    if (inside->takes_anything()) contracts_.push_back(std::move(inside));
  }
}

Case FuzzWithin::at(std::uint64_t seed, std::uint64_t index) const {
  const std::uint64_t turn = index / kFuzzTurn;
  if (contracts_.empty() || turn % kTurns == kTurnsInside) return fuzz_case(seed, index);
  const std::uint64_t number = turn / kTurns * kTurnsInside + turn % kTurns;
  const Inside& inside = *contracts_[number % contracts_.size()];
  Case result = draw(inside, seed, number / contracts_.size(), index % kFuzzTurn);
  result.id = fmt::format("fuzz-within-{}-{}-{}", inside.digest(), seed, index);
  result.expectation = Expectation::valid;
  result.provenance = {"fuzz within", seed, index};
  return result;
}

}  // namespace qconform
