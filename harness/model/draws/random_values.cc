#include "harness/model/draws/random_values.h"

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

// Eight bytes at a time, because most of what a campaign draws is drawn here.
constexpr std::uint64_t kOnes = 0x0101010101010101U;

std::uint64_t in_each_byte(std::byte value) {
  return kOnes * std::to_integer<std::uint64_t>(value);
}

// All bits of the bytes whose lowest bit is set.
std::uint64_t spread(std::uint64_t word) {
  return (word & kOnes) * 0xFF;
}

// One byte in eight is uniform, the others are either end.
void fill_with_ends(Rng& rng, std::span<std::byte> bytes, Ends ends) {
  const std::uint64_t lo = in_each_byte(byte_of(ends.lo));
  const std::uint64_t either = lo ^ in_each_byte(byte_of(ends.hi));
  rng.fill(bytes, [&](Rng& draws) {
    const std::uint64_t choice = draws.next();
    const std::uint64_t uniform = spread(choice & choice >> 1 & choice >> 2);
    return (draws.next() & uniform) | ((lo ^ (spread(choice >> 3) & either)) & ~uniform);
  });
}

// One byte in four is uniform, the others are `still`.
void fill_quietly(Rng& rng, std::span<std::byte> bytes, std::byte still) {
  rng.fill(bytes, [still = in_each_byte(still)](Rng& draws) {
    const std::uint64_t choice = draws.next();
    const std::uint64_t uniform = spread(choice & choice >> 1);
    return (draws.next() & uniform) | (still & ~uniform);
  });
}

}  // namespace

Rng aside(Rng rng, std::uint64_t purpose) {
  return {rng.next() ^ 0xA51DEU, purpose};
}

float random_float(Rng& rng, int exponent) {
  const auto fraction = static_cast<std::uint32_t>(rng.next() >> 41);  // 23 bits
  const auto biased = static_cast<std::uint32_t>(exponent + 23 + 127);
  return std::bit_cast<float>(biased << 23 | fraction);
}

float random_scale(Rng& rng, const Swarm& swarm) {
  const auto exponent = static_cast<int>(rng.between(-12, 2));
  const auto power_of_two = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  return swarm.draw(rng, feature::power_of_two_scales, 1, 8) ? power_of_two : random_float(rng, exponent - 23);
}

std::int64_t random_zero_point(Rng& rng, ElementType type, const Swarm& swarm) {
  const auto [lo, hi] = ends_of(type);
  if (swarm.draw(rng, feature::extreme_zero_points, 1, 3)) return rng.chance(1, 2) ? lo : hi;
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
  if (swarm.draw(rng, feature::extreme_values, 1, 4)) {
    fill_with_ends(rng, tensor.bytes, ends_of(type));
  } else if (swarm.draw(rng, feature::quiet_values, 1, 6)) {
    fill_quietly(rng, tensor.bytes, byte_of(quiet));
  } else {
    rng.fill(tensor.bytes);
  }
  return tensor;
}

Tensor random_bits(Rng& rng, ElementType type, std::vector<std::int64_t> shape) {
  Tensor tensor = Tensor::zeros(type, std::move(shape));
  rng.fill(tensor.bytes);
  const auto used_bits = static_cast<unsigned>(tensor.elements() * bits_of(type) % 8);
  if (used_bits != 0) tensor.bytes.back() &= static_cast<std::byte>((1U << used_bits) - 1U);
  return tensor;
}

Tensor tensor8(ElementType type, std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  Tensor tensor{type, std::move(shape), std::vector<std::byte>(values.size())};
  for (std::size_t i = 0; i < values.size(); ++i) tensor.bytes[i] = byte_of(values[i]);
  return tensor;
}

}  // namespace qconform
