#include "harness/suites/random.h"

#include <cassert>
#include <string>

#include "harness/model/draws/swarm.h"
#include "harness/model/operator.h"
#include "harness/suites/directed/directed.h"

namespace qconform {
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
  const Swarm swarm = Swarm::of_case(seed, index);
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

Case draw(std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t block = index / kSwarmBlock;
  if (block % kBlocksPerTurn != 0) return random_case(seed, index);
  // Counted without the random blocks, so that the aims take their turns. One attempt each: in the
  // time that a second one takes, the next case is drawn.
  return directed_attempt(seed, block / kBlocksPerTurn * kSwarmBlock + index % kSwarmBlock);
}

}  // namespace

Case fuzz_case(std::uint64_t seed, std::uint64_t index) {
  Case result = draw(seed, index);
  result.id = "fuzz-" + std::to_string(seed) + "-" + std::to_string(index);
  result.provenance = {"fuzz", seed, index};
  return result;
}

}  // namespace qconform
