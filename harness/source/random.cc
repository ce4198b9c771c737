#include "harness/source/random.h"

#include <string>

#include "harness/source/random_convolution.h"
#include "harness/source/random_linear.h"

namespace qconform {
namespace {

Case draw(Rng& rng) {
  const std::uint64_t choice = rng.below(20);
  if (choice < 12) return random_qlinear_conv(rng);
  if (choice < 16) return random_conv_integer(rng);
  return choice < 18 ? random_quantize_linear(rng) : random_dequantize_linear(rng);
}

}  // namespace

Case random_case(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  Case result = draw(rng);
  result.id = "random-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {"random", seed, index};
  return result;
}

Result<std::optional<Case>> RandomSource::next() {
  if (index_ == count_) return std::nullopt;
  return random_case(seed_, index_++);
}

}  // namespace qconform
