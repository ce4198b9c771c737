#include "harness/source/random_values.h"

#include <array>
#include <bit>

namespace qconform {
namespace {

struct Ends {
  std::int64_t lo;
  std::int64_t hi;
};

Ends ends_of(ElementType type) {
  return type == ElementType::int8 ? Ends{-128, 127} : Ends{0, 255};
}

std::byte byte_of(std::int64_t value) {
  return static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xFFU);
}

// Every byte by itself. On a copy of the generator, whose state is then not taken for one of the bytes.
template <typename Draw>
void fill_each(Rng& rng, std::span<std::byte> bytes, Draw draw) {
  Rng copy = rng;
  for (std::byte& byte : bytes) byte = draw(copy);
  rng = copy;
}

}  // namespace

float random_float(Rng& rng, int exponent) {
  const auto fraction = static_cast<std::uint32_t>(rng.next() >> 41);  // 23 bits
  const auto biased = static_cast<std::uint32_t>(exponent + 23 + 127);
  return std::bit_cast<float>(biased << 23 | fraction);
}

float random_scale(Rng& rng, const Swarm& swarm) {
  const auto exponent = static_cast<int>(rng.between(-12, 2));
  const auto power_of_two = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  return swarm.draw(rng, Feature::power_of_two_scales, 1, 8) ? power_of_two : random_float(rng, exponent - 23);
}

std::int64_t random_zero_point(Rng& rng, ElementType type, const Swarm& swarm) {
  const auto [lo, hi] = ends_of(type);
  if (swarm.draw(rng, Feature::extreme_zero_points, 1, 3)) return rng.chance(1, 2) ? lo : hi;
  switch (rng.below(4)) {
    case 0: return 0;
    case 1: return type == ElementType::int8 ? 0 : 128;
    default: return rng.between(lo, hi);
  }
}

Tensor random_data8(Rng& rng, ElementType type, std::vector<std::int64_t> shape, std::int64_t quiet,
                    const Swarm& swarm) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  const auto [lo, hi] = ends_of(type);
  if (swarm.draw(rng, Feature::extreme_values, 1, 4)) {
    fill_each(rng, tensor.bytes, [ends = std::array{byte_of(lo), byte_of(hi)}, lo = lo, hi = hi](Rng& draws) {
      const std::uint64_t draw = draws.below(16);
      return draw < 14 ? ends[draw / 7] : byte_of(draws.between(lo, hi));
    });
  } else if (swarm.draw(rng, Feature::quiet_values, 1, 6)) {
    fill_each(rng, tensor.bytes, [still = byte_of(quiet), lo = lo, hi = hi](Rng& draws) {
      return draws.chance(3, 4) ? still : byte_of(draws.between(lo, hi));
    });
  } else {
    rng.fill(tensor.bytes);
  }
  return tensor;
}

Tensor tensor8(ElementType type, std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(values.size())};
  for (std::size_t i = 0; i < values.size(); ++i) tensor.bytes[i] = byte_of(values[i]);
  return tensor;
}

}  // namespace qconform
