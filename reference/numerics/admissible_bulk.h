// Judging many elements at the price of a multiplication and a comparison each.
//
// For one channel, c = RN64(sx*sw/sy), and for a sum A of less than 2^53, p = RN64(A*c). As in
// requantize_fast.h, |p - v| <= |v| * 2^-50 for the exact v, whatever the scales. A value w in
// F_5's interval has |w - v| <= g|v| with g = 5/(2^24-5), hence
//   |w - p| <= G|p|,  G = (5 + 2^-10) * 2^-24,
// which leaves a slack of 2^-34 |p| for the rounding of what follows.
//
// Let lo' and hi' be the output range less the zero point, lo' <= 0 <= hi', and q = clamp(p, lo',
// hi'). Clamping at integers commutes with rounding to the nearest one, and it moves w by no more
// than G * max(-lo', hi') away from q: where p lies beyond a bound, w falls short of that bound by at
// most G times the bound. So for an integer n in [lo', hi'],
//   |q - n| < 1/2 - G * max(-lo', hi')  implies  clamp(rne(w)) = n
// for every w of the interval, v included: E and F_5 are {n + zero point}. The subtraction q - n is
// exact where it matters, since q and n are within a factor of two or n is 0. The left side can only
// be below one half for one n; a wrong rounding mode of the processor cannot make two.
//
// This leaves undecided what lies within 7.7e-5 of a tie: about one in 6500 of arbitrary values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reference/numerics/admissible.h"

namespace qconform::reference {

/// One output channel, prepared: a few floating-point operations.
struct ChannelTest {
  double multiplier;  ///< c
  double lo;          ///< lo' and hi'
  double hi;
  double margin;  ///< |q - n| below this decides for n
  std::int32_t zero_point;
  std::uint32_t sign_flip;  ///< 0x80 where a byte of y is signed: its value is (byte ^ flip) - flip
  bool within_domain;
};

/// y_range must be one of the two 8-bit ranges and contain the zero point.
[[nodiscard]] ChannelTest channel_test(const Requantization& parameters);

/// The integer next to `value`, of a magnitude below 2^51.
[[nodiscard]] inline double nearest_integer(double value) {
  constexpr double kRounds = 0x1.8p52;  // no fraction fits beside it
  return (value + kRounds) - kRounds;
}

/// Whether decided_value() gives a value between the ends of the range for `product`, an accumulator that fits 32 bits
/// times the multiplier, where the scales are within the domain.
[[nodiscard]] inline bool decides_inside(const ChannelTest& channel, double product) {
  return product > channel.lo + 0.5 && product < channel.hi - 0.5 &&
         std::fabs(product - nearest_integer(product)) < channel.margin;
}

/// n + zero point where the E and F_5 sets of the sum A are both {n + zero point}; nothing when that
/// is not so, or not seen so quickly. |A| < 2^47.
[[nodiscard]] inline std::optional<std::int32_t> decided_value(const ChannelTest& channel, std::int64_t accumulator) {
  const bool fits = accumulator == static_cast<std::int32_t>(accumulator);  // else rule C17 adds a second set
  if (!fits || !channel.within_domain) return std::nullopt;
  const double p = static_cast<double>(accumulator) * channel.multiplier;
  const double q = std::min(std::max(p, channel.lo), channel.hi);
  const double n = nearest_integer(q);  // |q| is at most 255
  if (!(std::fabs(q - n) < channel.margin)) return std::nullopt;
  return static_cast<std::int32_t>(n) + channel.zero_point;
}

/// Whether `got` is surely E's member for the exact sum. A template over the sum's type: int32 sums
/// convert to double in vectors, int64 sums do not.
template <typename Sum>
[[nodiscard]] bool matches_surely(const ChannelTest& channel, Sum accumulator, std::byte got) {
  const double p = static_cast<double>(accumulator) * channel.multiplier;
  const double q = std::min(std::max(p, channel.lo), channel.hi);
  const auto value = static_cast<std::int32_t>(std::to_integer<std::uint32_t>(got) ^ channel.sign_flip);
  const double n = value - static_cast<std::int32_t>(channel.sign_flip) - channel.zero_point;
  return std::fabs(q - n) < channel.margin;
}

/// Judges a row of one channel: sums[i], int32_t or int64_t with |sum| < 2^47, belongs to got[i], a
/// byte of y; both spans have the same length. Calls visit(i) for every element that is not surely
/// right and returns how many there were. An element that is not visited is right under every tier:
/// it is E's member for the exact sum. If its sum fits int32 and the scales are within the domain,
/// it is moreover F_5's only member. Elements visited may still be right: see tiers_of().
template <typename Sum, typename Visit>
std::size_t admissible_bulk(const ChannelTest& channel, std::span<const Sum> sums, std::span<const std::byte> got,
                            Visit visit) {
  constexpr std::size_t kBlock = 64;
  std::size_t visited = 0;
  for (std::size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, sums.size());
    // Without branches, so that it becomes vector code.
    std::uint32_t sure = 0;
    for (std::size_t i = begin; i < end; ++i) sure += matches_surely(channel, sums[i], got[i]) ? 1U : 0U;
    if (sure == end - begin) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if (matches_surely(channel, sums[i], got[i])) continue;
      visit(i);
      ++visited;
    }
  }
  return visited;
}

}  // namespace qconform::reference
