#include "harness/model/draws/draws.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "reference/numerics/floats.h"

namespace qconform {
namespace {

// Keeps the streams of blocks apart from those of cases.
constexpr std::uint64_t kBlockStream = 0x5357'4152'4D00'0000U;

}  // namespace

Swarm Swarm::of_case(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed ^ kBlockStream, index / kSwarmBlock);
  Swarm swarm;
  for (std::size_t position = 0; position < kFirstSelecting; ++position) {
    const std::uint64_t choice = rng.below(4);
    swarm.weights_[position] = choice == 0 ? Weight::none : choice == 1 ? Weight::common : Weight::usual;
  }
  return swarm;
}

Swarm Swarm::over(const Swarm& other) const {
  Swarm result = *this;
  result.keeps_small_ = keeps_small_ || other.keeps_small_;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (weights_[i] == Weight::usual) result.weights_[i] = other.weights_[i];
  }
  return result;
}

bool Swarm::draw(Rng& rng, Feature feature, std::uint32_t numerator, std::uint32_t denominator) const {
  switch (weight(feature)) {
    case Weight::none: return false;
    case Weight::usual: return rng.chance(numerator, denominator);
    case Weight::always: return true;
    case Weight::common: break;
  }
  return rng.chance(numerator + denominator, 2 * denominator);
}

std::uint32_t Swarm::scaled(Feature feature, std::uint32_t usual) const {
  static constexpr std::uint32_t kFactors[] = {0, 1, 3, 64};
  return usual * kFactors[static_cast<std::size_t>(weight(feature))];
}

namespace {

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
void fill_with_ends(Rng& rng, std::span<std::byte> bytes, IntegerEnds ends) {
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

Tensor uniform_bytes(ElementType type, std::vector<std::int64_t> shape, Rng& rng) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  rng.fill(tensor.bytes);
  return tensor;
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

float tie_scale(std::int64_t sum, float x_scale, float w_scale, std::int64_t half_steps) {
  const reference::FloatParts sx = reference::parts_of(x_scale);
  const reference::FloatParts sw = reference::parts_of(w_scale);
  const std::uint64_t mantissas = std::uint64_t{sx.mantissa} * sw.mantissa;
  const reference::Ratio ratio{
      .negative = false,
      .numerator = reference::uint128{reference::magnitude_of(sum)} * reference::uint128{mantissas},
      .denominator = static_cast<std::uint64_t>(half_steps),
      .exponent = sx.exponent + sw.exponent + 1};
  const auto bits = encode(reference::float_format(ElementType::float32), ratio, reference::Overflow::saturate);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

std::optional<float> carry_scale(float x_scale, float w_scale, int exponent) {
  const double wanted = std::ldexp(double{x_scale} * double{w_scale}, -exponent);  // has 48 bits
  auto scale = static_cast<float>(wanted);
  if (double{scale} <= wanted) scale = neighbour(scale, 1);
  const double above = double{scale} - wanted;  // exact: they are neighbours
  return above <= double{scale} * 0x1p-32 ? std::optional(scale) : std::nullopt;
}

float neighbour(float value, std::int64_t steps) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) + static_cast<std::uint32_t>(steps));
}

bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale) {
  if (sum == 0) return false;
  // Two roundings to 53 bits tell which tie is meant: far finer than the 24 bits of a scale.
  const double value = static_cast<double>(std::abs(sum)) * (double{x_scale} * double{w_scale}) / double{y_scale};
  if (!(value < 1024)) return false;
  const auto whole = static_cast<std::int64_t>(value);
  // Two units in the last place of a normal y_scale, and the solved one's rounding, are less than 2^-21 of it, unless
  // the solved one is saturated.
  const double tie = static_cast<double>(whole) + 0.5;
  const bool is_ordinary = y_scale >= 0x1p-126F && y_scale < 0x1p126F;
  if (is_ordinary && std::fabs(value - tie) > tie * 0x1p-20) return false;
  const float solved = tie_scale(sum, x_scale, w_scale, 2 * whole + 1);
  const std::int64_t off = std::int64_t{std::bit_cast<std::int32_t>(y_scale)} - std::bit_cast<std::int32_t>(solved);
  return off >= -2 && off <= 2;
}

}  // namespace qconform
