// The right values of one output element: sets of admissible values, from strict to loose.
//
//   v = A * sx * sw / sy, exactly                       A: the sum of products plus the bias
//
// An element's set depends on the arithmetic that an implementation may use between A and the
// output; each such arithmetic is a tier.
//
//   E     {clamp(rne(v) + zero point)}                                                  rule C19
//   F_5   requantization in float32, in any association of A, sx, sw and sy or 1/sy
//   Q31   requantization by a 31-bit integer multiplier and shifts, as in gemmlowp
//   Q31-f32   the same with the multiplier formed in float32
//   D     dequantize, convolve in float32, quantize
//
// Every set is an interval of v's around the exact one, rounded at its two ends: rounding, adding
// the zero point and saturating are monotone, so what lies between the rounded ends is exactly what
// the interval's values round to. Ends are computed in integers, without error.
//
// float32. Each of k roundings multiplies by (1+d)^(+-1) with |d| <= 2^-24, so the result is v(1+t)
// with |t| <= g = k/(2^24-k). Any association of A, sx, sw and a division by sy has k = 4: RN32(A)
// and three operations. With 1/sy it is 5. RN32(A) is no rounding when A's odd part is below 2^24:
// one fewer. When moreover sx, sw and sy are powers of two, nothing rounds at all: k = 0, and an
// exact tie has one answer. The ends, as one fraction with P = |A|*mx*mw over my:
//   upper P*2^24, lower P*(2^24-2k), both over my*(2^24-k).
//
// Domain. The above needs that no intermediate over- or underflows, which holds in any association
// when every scale lies in [2^-30, 2^30] (within_domain): products and quotients of scales stay in
// [2^-90, 2^90]. Only the whole product with A can overflow, and then v itself saturates. Outside
// the domain F_5 and D are the values that float_expressions() take, evaluated under every rule for
// subnormals, and E's.
//
// Q31. M = sx*sw/sy is formed in double (up to four roundings) and rounded to q * 2^(s-31), q an
// integer in [2^30, 2^31]: an error of at most e = 2^-31 + 2^-51 relative. Then either one rounding of
// A*q*2^(s-31) in 64 bits, ties to either side: |n - v| <= 1/2 + e|v|. Or two roundings, first to
// A*q*2^-31 and then by the right shift rs = max(0, -s): the first moves the value by at most half a
// unit of 2^-rs, so |n - v| <= 1/2 + 2^-(rs+1) + e|v|. For rs = 0 there is no second rounding, and
// the middle term is 0. (A truncating high multiplication followed by a rounding shift of at least
// one bit is one rounding.) Both ends are closed: a value half way goes either way. A q that rounds
// up to 2^31 lowers rs by one; rs is therefore taken from M(1 + 2^-31).
//
// Q31-f32. M is formed in float32 instead, in at most three roundings (a product, a reciprocal, a product), and its 24
// bits are q's: e = 3*2^-24 + 73*2^-51, which 3/(2^24-3) does not exceed. M may fall short of a power of two that it
// should reach, or reach it: rs is the smaller one of M(1 + 2^-22), and there is a second rounding where M(1 - 2^-22)
// has one. Outside the domain float32 may lose M: there the set is that of Q31.
//
// D. Every term passes through a bounded number of roundings, m, so the float sum differs from the
// exact one by at most m/(2^24-m) * T, with T = S*sx*sw/sy and S = sum |x-zx||w-zw| + |B|: however
// much the terms cancel. With K products: dequantizing x and w 2 ((x-zx) is an integer and exact),
// their product 1, K-1 additions and the bias K, the quotient 1, or 2 by a reciprocal: m = K + 5.
// The bias takes RN32(B), sx*sw, their product, K additions and 2: also K + 5.
// Under GPU accuracies an addition and a multiplication count twice and a division three times:
// 2*2 + 2 + 2K + 3 + 2, the quotient being a reciprocal and a product: m = 2K + 11; the bias, 1 + 2 + 2 +
// 2K + 5, takes one less. The rule for ties of DirectML's round() is not stated either: both
// neighbours of a tie are right.
//
// Inclusions. E is in every tier's set, and Q31 in Q31-f32. F_5 is in D inside the domain (m >= 5 and S >= |A|) and
// equal to it outside. Neither of Q31 and Q31-f32 includes F_5 or is included in F_5 or D: the tiers at which a whole
// tensor passes are the intersection of its elements' (tiers_of), not the loosest of their strictest.
//
// Overflow (rule C17). A outside int32: each set is the union of those for A and for wrap32(A).
// Scales (rule C21). Negative ones follow the formula; with sx = 0 or sw = 0 every set is {zero point}.
//
// Sizes: |A| <= S < 2^47, as accumulate() guarantees. Numerators have at most 119 bits in F_5 and D and
// 157 in Q31-f32, and one more when shifted: uint128 suffices for the former, Wide256 for the latter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reference/numerics/element.h"
#include "reference/numerics/requantize.h"
#include "reference/numerics/right_values.h"

namespace qconform::reference {

// A set of integers that are all right answers for one output element.

/// A union of closed integer intervals, never empty: the numbers themselves, in whichever type they are stored (in()).
/// One interval in nearly every case; two where a sum overflows 32 bits (rule C17); more only where extreme scales
/// leave a list of isolated values.
class AdmissibleSet {
 public:
  explicit AdmissibleSet(std::int32_t value) : intervals_{{value, value}} {}
  /// interval.lo <= interval.hi
  explicit AdmissibleSet(IntegerRange interval) : intervals_{interval} {}

  void include(IntegerRange interval);
  void include(const AdmissibleSet& other);

  [[nodiscard]] bool contains(std::int32_t value) const;
  /// Whether every member of `other` is a member.
  [[nodiscard]] bool contains(const AdmissibleSet& other) const;
  [[nodiscard]] bool is_singleton() const { return smallest() == largest(); }
  /// How many members there are.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int32_t smallest() const { return intervals_.front().lo; }
  [[nodiscard]] std::int32_t largest() const { return intervals_.back().hi; }
  /// The member with the least distance from `value`; of two, the smaller.
  [[nodiscard]] std::int32_t nearest(std::int32_t value) const;

  /// In ascending order, with at least one integer missing between neighbours.
  [[nodiscard]] std::span<const IntegerRange> intervals() const { return intervals_; }

  /// The members as patterns of an integer type, which has them all.
  [[nodiscard]] RightValues in(ElementType type) const;

  /// "{213}", "{213, 214}", "{-3..5}", "{0, 200..255}"
  [[nodiscard]] std::string text() const;

  friend bool operator==(const AdmissibleSet& a, const AdmissibleSet& b);

 private:
  std::vector<IntegerRange> intervals_;
};

/// The tiers of one requantized sum from strict to loose, see above for which includes which; then those of graphs
/// alone, each of which includes the one before it (reference/graph/sets.h).
enum class Tier : std::uint8_t {
  exact,
  float32,
  fixed_point,
  fixed_point_float32,
  float_convolution,
  float32_sums,
  as_written,
  any_association,
  stated_accuracy,
  fused_int8,
  fused_fixed_point,
};

inline constexpr Tier kAllTiers[] = {Tier::exact,
                                     Tier::float32,
                                     Tier::fixed_point,
                                     Tier::fixed_point_float32,
                                     Tier::float_convolution,
                                     Tier::float32_sums,
                                     Tier::as_written,
                                     Tier::any_association,
                                     Tier::stated_accuracy,
                                     Tier::fused_int8,
                                     Tier::fused_fixed_point};
/// The tiers that admissible_set() knows.
inline constexpr std::span<const Tier> kSumTiers = std::span(kAllTiers).first(5);

/// "E", "F_5", "Q31", "Q31-f32", "D"; "acc32", "as-written", "any-association",
/// "stated-accuracy", "fused-int8", "fused-q31"
[[nodiscard]] std::string_view name_of(Tier tier);

/// Describes the sum that one output element is made of.
struct ElementSum {
  std::int64_t accumulator;  ///< A, bias included, not wrapped; |A| < 2^47
  std::int64_t magnitude;    ///< S = sum |x-zx||w-zw| + |B|, in [|A|, 2^47); used by D alone
  std::int64_t products;     ///< K, how many products are summed; padded taps may be left out; used by D alone
};

/// Accuracy of the operations that a float convolution is made of.
enum class FloatAccuracy : std::uint8_t {
  ieee,      ///< every operation correctly rounded; m = K + 5; rne
  directml,  ///< m = 2K + 11; a tie goes either way
};

/// Whether every scale's magnitude lies in [2^-30, 2^30].
[[nodiscard]] bool within_domain(const Requantization& parameters);

/// The number of float32 roundings that F_5 grants: 0, 4 or 5.
[[nodiscard]] int float_roundings(std::int64_t accumulator, const Requantization& parameters);

/// E.
[[nodiscard]] AdmissibleSet exact_set(std::int64_t accumulator, const Requantization& parameters);

/// F_k for a given k in [0, 2^20], by the formula, also outside the domain.
[[nodiscard]] AdmissibleSet float_interval_set(std::int64_t accumulator, const Requantization& parameters, int k);

/// The finite list: what float_expressions() give under every rule for subnormals, and E.
[[nodiscard]] AdmissibleSet float_expression_set(std::int64_t accumulator, const Requantization& parameters);

/// F_5: the interval with k = float_roundings(), or the finite list outside the domain.
[[nodiscard]] AdmissibleSet float_set(std::int64_t accumulator, const Requantization& parameters);

/// Q31.
[[nodiscard]] AdmissibleSet fixed_point_set(std::int64_t accumulator, const Requantization& parameters);

/// Q31-f32.
[[nodiscard]] AdmissibleSet fixed_point_float32_set(std::int64_t accumulator, const Requantization& parameters);

/// D. The whole output range when m reaches 2^24 and no bound holds.
[[nodiscard]] AdmissibleSet float_convolution_set(const ElementSum& sum, const Requantization& parameters,
                                                  FloatAccuracy accuracy);

/// The set of `tier`, one of kSumTiers; `accuracy` matters for D alone.
[[nodiscard]] AdmissibleSet admissible_set(Tier tier, const ElementSum& sum, const Requantization& parameters,
                                           FloatAccuracy accuracy);

/// A set of tiers.
class TierSet {
 public:
  [[nodiscard]] static constexpr TierSet all() { return TierSet((1U << std::size(kAllTiers)) - 1); }
  constexpr TierSet() = default;

  constexpr void insert(Tier tier) { bits_ = static_cast<std::uint16_t>(bits_ | bit(tier)); }
  [[nodiscard]] constexpr bool contains(Tier tier) const { return (bits_ & bit(tier)) != 0; }
  [[nodiscard]] std::optional<Tier> strictest() const;

  /// The tiers in both: start with all() and intersect element by element.
  constexpr TierSet& operator&=(TierSet other) {
    bits_ = static_cast<std::uint16_t>(bits_ & other.bits_);
    return *this;
  }
  friend constexpr bool operator==(TierSet a, TierSet b) { return a.bits_ == b.bits_; }

 private:
  explicit constexpr TierSet(std::size_t bits) : bits_(static_cast<std::uint16_t>(bits)) {}
  static constexpr std::uint16_t bit(Tier tier) {
    return static_cast<std::uint16_t>(1U << static_cast<unsigned>(tier));
  }

  std::uint16_t bits_ = 0;
};

/// Every tier whose set contains the output value `got`; graphs' tiers too where it is exact.
[[nodiscard]] TierSet tiers_of(std::int32_t got, const ElementSum& sum, const Requantization& parameters,
                               FloatAccuracy accuracy);

/// The strictest of them, if any.
[[nodiscard]] std::optional<Tier> tier_of(std::int32_t got, const ElementSum& sum, const Requantization& parameters,
                                          FloatAccuracy accuracy);

enum class OverflowPolicy : std::uint8_t { wrap, permissive };

/// ConvInteger's output for the exact sum (rule C17): {wrap32(sum)}; `permissive` adds the saturated sum.
[[nodiscard]] AdmissibleSet conv_integer_set(std::int64_t sum, OverflowPolicy policy);

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
