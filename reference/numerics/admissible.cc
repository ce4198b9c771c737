#include "reference/numerics/admissible.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::reference {
namespace {

std::int64_t distance(std::int32_t a, std::int32_t b) {
  const std::int64_t difference = std::int64_t{a} - b;
  return difference < 0 ? -difference : difference;
}

std::string interval_text(IntegerRange interval) {
  std::string lo = std::to_string(interval.lo);
  if (interval.lo == interval.hi) return lo;
  const bool neighbours = std::int64_t{interval.hi} - interval.lo == 1;
  return lo + (neighbours ? ", " : "..") + std::to_string(interval.hi);
}

}  // namespace

void AdmissibleSet::include(IntegerRange interval) {
  // Neighbours that overlap the interval or touch it become part of it.
  const auto first = std::find_if(intervals_.begin(), intervals_.end(),
                                  [&](const IntegerRange& other) { return std::int64_t{other.hi} + 1 >= interval.lo; });
  const auto last = std::find_if(first, intervals_.end(),
                                 [&](const IntegerRange& other) { return other.lo > std::int64_t{interval.hi} + 1; });
  if (first != last) {
    interval.lo = std::min(interval.lo, first->lo);
    interval.hi = std::max(interval.hi, (last - 1)->hi);
  }
  intervals_.insert(intervals_.erase(first, last), interval);
}

void AdmissibleSet::include(const AdmissibleSet& other) {
  for (const IntegerRange& interval : other.intervals_) include(interval);
}

bool AdmissibleSet::contains(std::int32_t value) const {
  return std::any_of(intervals_.begin(), intervals_.end(),
                     [&](const IntegerRange& interval) { return interval.lo <= value && value <= interval.hi; });
}

bool AdmissibleSet::contains(const AdmissibleSet& other) const {
  return std::all_of(other.intervals_.begin(), other.intervals_.end(), [&](const IntegerRange& inner) {
    return std::any_of(intervals_.begin(), intervals_.end(),
                       [&](const IntegerRange& outer) { return outer.lo <= inner.lo && inner.hi <= outer.hi; });
  });
}

std::int64_t AdmissibleSet::count() const {
  std::int64_t members = 0;
  for (const IntegerRange& interval : intervals_) members += std::int64_t{interval.hi} - interval.lo + 1;
  return members;
}

std::int32_t AdmissibleSet::nearest(std::int32_t value) const {
  std::int32_t best = smallest();
  for (const IntegerRange& interval : intervals_) {
    const std::int32_t candidate = std::clamp(value, interval.lo, interval.hi);
    if (distance(candidate, value) < distance(best, value)) best = candidate;
  }
  return best;
}

RightValues AdmissibleSet::in(ElementType type) const {
  RightValues right{.type = type};
  for (const auto& [lo, hi] : intervals_)
    right.ranges.push_back({integer_pattern(type, lo), integer_pattern(type, hi)});
  return right;
}

std::string AdmissibleSet::text() const {
  std::string text = "{";
  for (const IntegerRange& interval : intervals_) {
    if (text.size() > 1) text += ", ";
    text += interval_text(interval);
  }
  return text + "}";
}

bool operator==(const AdmissibleSet& a, const AdmissibleSet& b) {
  return std::equal(a.intervals_.begin(), a.intervals_.end(), b.intervals_.begin(), b.intervals_.end(),
                    [](const IntegerRange& x, const IntegerRange& y) { return x.lo == y.lo && x.hi == y.hi; });
}

namespace {

constexpr std::uint64_t kFloatUnit = std::uint64_t{1} << 24;  // 1/u: one rounding moves a value by one part in it

// How a tier of fixed point forms its multiplier.
struct MultiplierError {
  static constexpr int kBits = 51;

  std::uint64_t relative;  // in units of 2^-kBits
  int above;               // M(1 + 2^-above) is as large as the multiplier gets
  int below;               // M(1 - 2^-below) is as small as it gets; 0: M itself
};

constexpr MultiplierError kFromDouble{(1U << 20) + 1, 31, 0};
constexpr MultiplierError kFromFloat32{(std::uint64_t{3} << 27) + 73, 22, 22};

// An interval of |v|, before v's sign: [(lo_negative ? -1 : 1) * lo, hi] / divisor * 2^exponent. It is exact, so that
// no tie is missed when its ends become those of an AdmissibleSet; graph::Interval has ends in double.
template <typename Wide>
struct ValueInterval {
  Wide lo;
  Wide hi;
  bool lo_negative;
  Wide divisor;
  int exponent;
};

// Returns the integers that an interval rounds to. `open_ties`: a value between two integers rounds to either.
template <typename Wide>
IntegerRange round_interval(const ValueInterval<Wide>& v, bool open_ties) {
  const Ties outward = open_ties ? Ties::away_from_zero : Ties::to_even;
  const Ties inward = open_ties ? Ties::toward_zero : Ties::to_even;
  const std::int32_t hi = round_quotient(v.hi, v.divisor, v.exponent, outward);
  const std::int32_t lo = round_quotient(v.lo, v.divisor, v.exponent, v.lo_negative ? outward : inward);
  return {v.lo_negative ? -lo : lo, hi};
}

// Turns rounded magnitudes into output values.
AdmissibleSet to_output(IntegerRange rounded, bool negative, const Requantization& p) {
  if (negative) rounded = {-rounded.hi, -rounded.lo};
  return AdmissibleSet(IntegerRange{saturate(std::int64_t{rounded.lo} + p.y_zero_point, p.y_range),
                                    saturate(std::int64_t{rounded.hi} + p.y_zero_point, p.y_range)});
}

template <typename Wide>
Wide difference(const Wide& a, const Wide& b) {
  return a >= b ? a - b : b - a;
}

// Calls set_of for A and, where it differs, for wrap32(A): rule C17.
template <typename SetOf>
AdmissibleSet with_wrapped(std::int64_t accumulator, SetOf set_of) {
  AdmissibleSet set = set_of(accumulator);
  const std::int32_t wrapped = wrap_to_int32(accumulator);
  if (wrapped != accumulator) set.include(set_of(std::int64_t{wrapped}));
  return set;
}

bool exact_in_float32(std::int64_t value) {
  const std::uint64_t magnitude = magnitude_of(value);
  return magnitude == 0 || (magnitude >> std::countr_zero(magnitude)) < kFloatUnit;
}

bool has_zero_scale(const Requantization& p) {
  return p.x_scale == 0 || p.w_scale == 0;
}

ExactScale scale_of(const Requantization& p) {
  return exact_scale(p.x_scale, p.w_scale, p.y_scale);
}

std::int32_t exact_value(std::int64_t accumulator, const Requantization& p) {
  return requantize(RoundingProfile::correctly_rounded, accumulator, p);
}

// F_k without wrap.
AdmissibleSet float_interval(std::int64_t accumulator, const Requantization& p, std::uint64_t k) {
  const ExactScale scale = scale_of(p);
  const uint128 product = uint128{magnitude_of(accumulator)} * scale.numerator;
  const ValueInterval<uint128> interval{product * (kFloatUnit - 2 * k), product * kFloatUnit, false,
                                        uint128{scale.denominator * (kFloatUnit - k)}, scale.exponent};
  return to_output(round_interval(interval, false), (accumulator < 0) != scale.negative, p);
}

// D without wrap; m < 2^24.
AdmissibleSet float_convolution(std::int64_t accumulator, std::int64_t magnitude, const Requantization& p,
                                std::uint64_t m, bool open_ties) {
  const ExactScale scale = scale_of(p);
  const uint128 centre = uint128{magnitude_of(accumulator)} * (kFloatUnit - m);
  const uint128 spread = uint128{static_cast<std::uint64_t>(magnitude)} * m;
  const ValueInterval<uint128> interval{difference(centre, spread) * scale.numerator,
                                        (centre + spread) * scale.numerator, centre < spread,
                                        uint128{scale.denominator * (kFloatUnit - m)}, scale.exponent};
  return to_output(round_interval(interval, open_ties), (accumulator < 0) != scale.negative, p);
}

// s with 2^(s-1) <= numerator/denominator * 2^exponent < 2^s. bits(numerator) >= bits(denominator).
int normalized_exponent(const uint128& numerator, std::uint32_t denominator, int exponent) {
  const int length = bit_length(numerator) - bit_length(uint128{denominator});
  const bool reaches = numerator >= uint128{denominator} << length;
  return exponent + length + (reaches ? 1 : 0);
}

// Q31 and Q31-f32 without wrap; scales are not 0.
AdmissibleSet fixed_point(std::int64_t accumulator, const Requantization& p, const MultiplierError& error) {
  const ExactScale scale = scale_of(p);
  // 2^31 times M and its ends: see the header on rs.
  const uint128 multiplier = uint128{scale.numerator} << 31;
  const uint128 largest = multiplier + (uint128{scale.numerator} << (31 - error.above));
  const uint128 least = error.below == 0 ? multiplier : multiplier - (uint128{scale.numerator} << (31 - error.below));
  const int shift = normalized_exponent(least, scale.denominator, scale.exponent - 31);
  const int largest_shift = normalized_exponent(largest, scale.denominator, scale.exponent - 31);

  const Wide256 product = Wide256(magnitude_of(accumulator)) * Wide256(scale.numerator);
  const Wide256 centre = product << MultiplierError::kBits;
  Wide256 spread = product * Wide256(error.relative);
  const int exponent = scale.exponent - MultiplierError::kBits;
  if (shift < 0) {
    // 2^-(rs+1) in units of 2^exponent / denominator. The shift is at least 26: -largest_shift -
    // scale.exponent is at most 23 for numerator/denominator above 2^-24.
    const int right_shift = std::max(1, -largest_shift);
    spread += Wide256(scale.denominator) << (-exponent - right_shift - 1);
  }
  const ValueInterval<Wide256> interval{difference(centre, spread), centre + spread, centre < spread,
                                        Wide256(scale.denominator), exponent};
  return to_output(round_interval(interval, true), (accumulator < 0) != scale.negative, p);
}

}  // namespace

std::string_view name_of(Tier tier) {
  switch (tier) {
    case Tier::exact: return "E";
    case Tier::float32: return "F_5";
    case Tier::fixed_point: return "Q31";
    case Tier::fixed_point_float32: return "Q31-f32";
    case Tier::float32_sums: return "acc32";
    case Tier::as_written: return "as-written";
    case Tier::any_association: return "any-association";
    case Tier::stated_accuracy: return "stated-accuracy";
    case Tier::fused_int8: return "fused-int8";
    case Tier::fused_fixed_point: return "fused-q31";
    case Tier::float_convolution: break;
  }
  return "D";
}

bool within_domain(const Requantization& p) {
  const auto ordinary = [](float scale) { return std::fabs(scale) >= 0x1p-30F && std::fabs(scale) <= 0x1p30F; };
  return ordinary(p.x_scale) && ordinary(p.w_scale) && ordinary(p.y_scale);
}

int float_roundings(std::int64_t accumulator, const Requantization& p) {
  if (!exact_in_float32(accumulator)) return 5;
  const auto is_exact = [](float scale) { return is_power_of_two(std::fabs(static_cast<double>(scale))); };
  return is_exact(p.x_scale) && is_exact(p.w_scale) && is_exact(p.y_scale) ? 0 : 4;
}

AdmissibleSet exact_set(std::int64_t accumulator, const Requantization& p) {
  return with_wrapped(accumulator, [&](std::int64_t a) { return AdmissibleSet(exact_value(a, p)); });
}

AdmissibleSet float_interval_set(std::int64_t accumulator, const Requantization& p, int k) {
  return with_wrapped(accumulator, [&](std::int64_t a) { return float_interval(a, p, static_cast<std::uint64_t>(k)); });
}

namespace {

// Whether all rules for subnormals give the same, because nothing that an expression computes comes near 2^-126: each
// operand and result is, but for a few roundings, a product of some of A, sx, sw and 1/sy, or of sy, 1/sx and 1/sw,
// and A is an integer.
bool stays_normal(const Requantization& p) {
  const int x = std::ilogb(p.x_scale);
  const int w = std::ilogb(p.w_scale);
  const int y = std::ilogb(p.y_scale);
  constexpr int kFarFromSubnormal = -116;
  return std::min(x, 0) + std::min(w, 0) - std::max(y, 0) > kFarFromSubnormal &&
         std::min(y, 0) - std::max(x, 0) - std::max(w, 0) > kFarFromSubnormal;
}

}  // namespace

AdmissibleSet float_expression_set(std::int64_t accumulator, const Requantization& p) {
  if (has_zero_scale(p)) return AdmissibleSet(p.y_zero_point);
  const std::span<const Subnormals> all = kAllSubnormals;
  const auto rules = stays_normal(p) ? all.first(1) : all;
  return with_wrapped(accumulator, [&](std::int64_t a) {
    AdmissibleSet set(exact_value(a, p));
    for (const FloatExpression& expression : float_expressions()) {
      for (const Subnormals subnormals : rules) {
        const std::int32_t value = evaluate(expression, a, p, subnormals);
        set.include(IntegerRange{value, value});
      }
    }
    return set;
  });
}

AdmissibleSet float_set(std::int64_t accumulator, const Requantization& p) {
  if (!within_domain(p)) return float_expression_set(accumulator, p);
  return with_wrapped(accumulator, [&](std::int64_t a) {
    return float_interval(a, p, static_cast<std::uint64_t>(float_roundings(a, p)));
  });
}

AdmissibleSet fixed_point_set(std::int64_t accumulator, const Requantization& p) {
  if (has_zero_scale(p)) return AdmissibleSet(p.y_zero_point);
  return with_wrapped(accumulator, [&](std::int64_t a) { return fixed_point(a, p, kFromDouble); });
}

AdmissibleSet fixed_point_float32_set(std::int64_t accumulator, const Requantization& p) {
  if (!within_domain(p)) return fixed_point_set(accumulator, p);
  return with_wrapped(accumulator, [&](std::int64_t a) { return fixed_point(a, p, kFromFloat32); });
}

AdmissibleSet float_convolution_set(const ElementSum& sum, const Requantization& p, FloatAccuracy accuracy) {
  if (!within_domain(p)) return float_expression_set(sum.accumulator, p);
  const bool directml = accuracy == FloatAccuracy::directml;
  const auto products = static_cast<std::uint64_t>(sum.products);
  const std::uint64_t m = directml ? 2 * products + 11 : products + 5;
  if (m >= kFloatUnit) return AdmissibleSet(p.y_range);
  return with_wrapped(sum.accumulator,
                      [&](std::int64_t a) { return float_convolution(a, sum.magnitude, p, m, directml); });
}

AdmissibleSet admissible_set(Tier tier, const ElementSum& sum, const Requantization& p, FloatAccuracy accuracy) {
  switch (tier) {
    case Tier::exact: return exact_set(sum.accumulator, p);
    case Tier::float32: return float_set(sum.accumulator, p);
    case Tier::fixed_point: return fixed_point_set(sum.accumulator, p);
    case Tier::fixed_point_float32: return fixed_point_float32_set(sum.accumulator, p);
    default: break;
  }
  return float_convolution_set(sum, p, accuracy);
}

std::optional<Tier> TierSet::strictest() const {
  for (const Tier tier : kAllTiers) {
    if (contains(tier)) return tier;
  }
  return std::nullopt;
}

TierSet tiers_of(std::int32_t got, const ElementSum& sum, const Requantization& p, FloatAccuracy accuracy) {
  if (got == exact_value(sum.accumulator, p)) return TierSet::all();
  TierSet tiers;
  for (const Tier tier : kSumTiers) {
    if (admissible_set(tier, sum, p, accuracy).contains(got)) tiers.insert(tier);
  }
  return tiers;
}

std::optional<Tier> tier_of(std::int32_t got, const ElementSum& sum, const Requantization& p, FloatAccuracy accuracy) {
  return tiers_of(got, sum, p, accuracy).strictest();
}

AdmissibleSet conv_integer_set(std::int64_t sum, OverflowPolicy policy) {
  AdmissibleSet set(wrap_to_int32(sum));
  if (policy == OverflowPolicy::permissive) {
    constexpr IntegerRange kInt32{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    const std::int32_t saturated = saturate(sum, kInt32);
    set.include(IntegerRange{saturated, saturated});
  }
  return set;
}

namespace {

constexpr double kRelativeWidth = (5 + 0x1p-10) * 0x1p-24;  // G

}  // namespace

ChannelTest channel_test(const Requantization& p) {
  const double product = static_cast<double>(p.x_scale) * static_cast<double>(p.w_scale);
  const double lo = p.y_range.lo - p.y_zero_point;
  const double hi = p.y_range.hi - p.y_zero_point;
  return {.multiplier = product / static_cast<double>(p.y_scale),
          .lo = lo,
          .hi = hi,
          .margin = 0.5 - kRelativeWidth * std::max(-lo, hi),
          .zero_point = p.y_zero_point,
          .sign_flip = p.y_range.lo < 0 ? 0x80U : 0U,
          .within_domain = within_domain(p)};
}

}  // namespace qconform::reference
