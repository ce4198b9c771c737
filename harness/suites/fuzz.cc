#include "harness/suites/fuzz.h"

#include "harness/suites/directed/directed.h"
#include "harness/suites/random.h"
#include "harness/suites/swarm.h"

namespace qconform {
namespace {

// One block in eight aims for hazards: enough for each of them within a second, while most cases go
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
