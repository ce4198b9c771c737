#include "harness/suites/drawn.h"

#include <cassert>
#include <string>
#include <vector>

#include "harness/core/corner_cases/corner_case.h"
#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

constexpr int kAttempts = 1000;

struct DrawTarget {
  const Family& family;
  const Operator& known;
  CornerCase corner_case;
};

// Ties and near ties, which random data nearly never reaches, have three turns where a family solves for them.
std::uint64_t turns(const DrawTarget& target) {
  const bool is_tie = target.corner_case <= CornerCase::near_tie_below;
  return is_tie && target.family.draws.draw_for != nullptr ? 3 : 1;
}

void add_targets(const CornerCaseInfo& info, const Family& family, std::vector<DrawTarget>& list) {
  for (const Operator& known : family.operators) {
    const bool is_drawn = family.draws.draw_for != nullptr || known.draw != nullptr;
    if (!is_drawn || !known.corner_cases.contains(info)) continue;
    const DrawTarget target{family, known, info.corner_case};
    for (std::uint64_t turn = 0; turn < turns(target); ++turn) list.push_back(target);
  }
}

const std::vector<DrawTarget>& targets() {
  static const std::vector<DrawTarget> all = [] {
    std::vector<DrawTarget> list;
    for (const CornerCaseInfo& info : corner_cases()) {
      for (const Family* family : families()) add_targets(info, *family, list);
    }
    return list;
  }();
  return all;
}

Case draw(Rng& rng, const DrawTarget& target, const Swarm& swarm) {
  return target.family.draws.draw_for != nullptr
             ? target.family.draws.draw_for(rng, target.known, target.corner_case, swarm)
             : target.known.draw(rng, swarm);
}

Case draw_once(Rng& rng, const DrawTarget& target) {
  return draw(rng, target, Swarm());
}

struct Merit {
  bool reached = false;
  bool proves = false;  ///< the output would show a defect
};

// Rates a draw. For most draws it counts the corner cases alone: the reference runs only where they have the one that
// is aimed for.
Merit merit_of(const Case& test_case, CornerCase corner_case) {
  const Classification classification = classify(test_case);
  if (classification.expectation() != Expectation::valid || classification.value_is_open) return {};
  const CaseStatistics statistics = classification.lowered->statistics({});
  if (statistics.corner_cases[corner_case] == 0) return {};
  const Tensor output = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
  return {true, why_vacuous(output, statistics.ties).empty()};
}

// The first case that reaches the target and proves something; else the last one that reaches it.
Case draw_until_reached(Rng& rng, const DrawTarget& target) {
  Case best = draw_once(rng, target);
  Merit merit = merit_of(best, target.corner_case);
  for (int attempt = 1; attempt < kAttempts && !(merit.reached && merit.proves); ++attempt) {
    Case next = draw_once(rng, target);
    const Merit other = merit_of(next, target.corner_case);
    if (!other.reached) continue;
    best = std::move(next);
    merit = other;
  }
  return best;
}

}  // namespace

std::uint64_t directed_aims() {
  return targets().size();
}

namespace {

const DrawTarget& target_of(std::uint64_t index) {
  return targets()[index % targets().size()];
}

// Another stream than that of the random suite, whose cases of this seed would repeat here.
Rng stream_of(std::uint64_t seed, std::uint64_t index) {
  return {seed ^ 0xD15EC7EDU, index};
}

Case labelled(Case result, std::uint64_t seed, std::uint64_t index) {
  const CornerCaseInfo& info = info_of(target_of(index).corner_case);
  result.id = "directed-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.tags = {std::string(info.id)};
  result.note = "aims for " + std::string(info.label);
  result.provenance = {"directed", seed, index};
  return result;
}

Case directed_case(std::uint64_t seed, std::uint64_t index, Case (*draw_for)(Rng&, const DrawTarget&)) {
  Rng rng = stream_of(seed, index);
  return labelled(draw_for(rng, target_of(index)), seed, index);
}

}  // namespace

Case directed_case(std::uint64_t seed, std::uint64_t index) {
  return directed_case(seed, index, draw_until_reached);
}

Case directed_attempt(std::uint64_t seed, std::uint64_t index) {
  return directed_case(seed, index, draw_once);
}

const Operator& directed_operator(std::uint64_t index) {
  return target_of(index).known;
}

Case directed_draw(Rng& rng, std::uint64_t index, const Swarm& swarm) {
  return draw(rng, target_of(index), swarm);
}

std::optional<Case> directed_case_where(std::uint64_t seed, std::uint64_t index, const std::function<Case(Rng&)>& draw,
                                        const std::function<bool(const Case&)>& accepts, int attempts) {
  const auto gets_there = [&](const Case& drawn) {
    if (!accepts(drawn)) return false;
    const Merit merit = merit_of(drawn, target_of(index).corner_case);
    return merit.reached && merit.proves;
  };
  return directed_attempt_where(seed, index, draw, gets_there, attempts);
}

std::optional<Case> directed_attempt_where(std::uint64_t seed, std::uint64_t index,
                                           const std::function<Case(Rng&)>& draw,
                                           const std::function<bool(const Case&)>& accepts, int attempts) {
  Rng rng = stream_of(seed, index);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Case drawn = draw(rng);
    if (accepts(drawn)) return labelled(std::move(drawn), seed, index);
  }
  return std::nullopt;
}

namespace {

std::uint32_t weight_of(const Operator& known, const Swarm& swarm) {
  return known.draw == nullptr ? 0 : swarm.scaled(known.feature, known.usual_weight);
}

// An operator by its weight in the block; as usual where the block leaves out all of them.
const Operator& draw_operator(Rng& rng, const Swarm& swarm) {
  std::uint32_t total = 0;
  for (const Operator& known : operators()) total += weight_of(known, swarm);
  if (total == 0) return draw_operator(rng, Swarm());
  auto choice = static_cast<std::uint32_t>(rng.below(total));
  for (const Operator& known : operators()) {
    const std::uint32_t weight = weight_of(known, swarm);
    if (choice < weight) return known;
    choice -= weight;
  }
  assert(false && "the choice is below the sum of the weights");
  return operators().front();
}

}  // namespace

Case random_case(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  Swarm swarm = Swarm::of_case(seed, index);
  swarm.keep_small();
  Case result = draw_operator(rng, swarm).draw(rng, swarm);
  result.id = "random-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {"random", seed, index};
  return result;
}

namespace {

// One block in eight aims for corner cases: enough for each of them within a second, while most cases go
// where nobody aimed, which also are the cheaper ones. The first does, so that a short run has them too.
constexpr std::uint64_t kBlocksPerTurn = 8;

// The number of the directed case that stands at `index`; nothing where a random one does.
std::optional<std::uint64_t> aim_at(std::uint64_t index) {
  const std::uint64_t block = index / kSwarmBlock;
  if (block % kBlocksPerTurn != 0) return std::nullopt;
  // Counted without the random blocks, so that the aims take their turns.
  return block / kBlocksPerTurn * kSwarmBlock + index % kSwarmBlock;
}

}  // namespace

Case fuzz_case(std::uint64_t seed, std::uint64_t index) {
  const auto aim = aim_at(index);
  // One attempt each: in the time that a second one takes, the next case is drawn.
  std::optional<Case> sized = index % kFuzzSizes == kFuzzSizes - 1 ? sweep::draw_sized(seed, index) : std::nullopt;
  Case result = sized ? std::move(*sized) : aim ? directed_attempt(seed, *aim) : random_case(seed, index);
  result.expectation = Expectation::valid;
  result.id = "fuzz-" + std::to_string(seed) + "-" + std::to_string(index);
  result.provenance = {"fuzz", seed, index};
  return result;
}

Case fuzz_case_without_graphs(std::uint64_t seed, std::uint64_t index) {
  const auto aim = aim_at(index);
  return aim && directed_operator(*aim).judges_graphs ? random_case(seed, index) : fuzz_case(seed, index);
}

}  // namespace qconform
