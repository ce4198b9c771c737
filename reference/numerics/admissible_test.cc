// The tiers' sets against their definitions in rationals.
#include "reference/numerics/admissible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/tests/test_scale.h"
#include "reference/oracle/definitions.h"
#include "reference/tests/admissible.h"

namespace qconform::reference {
namespace {

using oracle::exact;
using oracle::floor_of;
using oracle::for_oracle;
using oracle::power_of_two;
using oracle::Random;

mpq_class ratio(long numerator, long denominator) {
  mpq_class value(numerator, denominator);
  value.canonicalize();
  return value;
}

std::int32_t to_output(const mpz_class& rounded, const Requantization& p) {
  const mpz_class shifted = rounded + p.y_zero_point;
  if (shifted < p.y_range.lo) return p.y_range.lo;
  return shifted > p.y_range.hi ? p.y_range.hi : static_cast<std::int32_t>(shifted.get_si());
}

// {clamp(rne(w) + zero point) : lo <= w <= hi}
AdmissibleSet rounded_interval(const mpq_class& lo, const mpq_class& hi, const Requantization& p) {
  return AdmissibleSet(IntegerRange{to_output(oracle::rne(lo), p), to_output(oracle::rne(hi), p)});
}

// The integers within 1/2 of the interval: ties open.
AdmissibleSet near_interval(const mpq_class& lo, const mpq_class& hi, const Requantization& p) {
  return AdmissibleSet(
      IntegerRange{to_output(-floor_of(ratio(1, 2) - lo), p), to_output(floor_of(hi + ratio(1, 2)), p)});
}

AdmissibleSet float_by_definition(const mpq_class& v, int k, const Requantization& p) {
  const mpq_class spread = abs(v) * ratio(k, (1 << 24) - k);
  return rounded_interval(v - spread, v + spread, p);
}

AdmissibleSet convolution_by_definition(const mpq_class& v, const mpq_class& t, long m, bool ties_open,
                                        const Requantization& p) {
  const mpq_class spread = abs(t) * ratio(m, (1 << 24) - m);
  return ties_open ? near_interval(v - spread, v + spread, p) : rounded_interval(v - spread, v + spread, p);
}

// How a multiplier is formed: its error, and how far it may lie above and below.
struct FixedPointErrors {
  mpq_class error;
  mpq_class above;
  mpq_class below;
};

const FixedPointErrors kFromDouble{power_of_two(-31) + power_of_two(-51), power_of_two(-31), 0};
const FixedPointErrors kFromFloat32{3 * power_of_two(-24) + 73 * power_of_two(-51), power_of_two(-22),
                                    power_of_two(-22)};

AdmissibleSet fixed_point_by_definition(const mpq_class& v, const mpq_class& multiplier, const Requantization& p,
                                        const FixedPointErrors& formed) {
  const mpq_class m = abs(multiplier);
  mpq_class spread = abs(v) * formed.error;
  if (m * (1 - formed.below) < ratio(1, 2)) {
    // The least right shift with which q may be normalized.
    int right_shift = 0;
    while (m * (1 + formed.above) * power_of_two(right_shift) < ratio(1, 2)) ++right_shift;
    spread += power_of_two(-(std::max(1, right_shift) + 1));
  }
  return near_interval(v - spread, v + spread, p);
}

mpq_class scaled(std::int64_t accumulator, const Requantization& p) {
  return oracle::scaled(accumulator, for_oracle(p));
}

// Any finite scales, any sum of up to 47 bits, v near a tie or anywhere.
SummedElement any_element(Random& random) {
  SummedElement e{};
  do {
    e = {random.of_any_length(47), {random.any_float(), random.any_float(), random.any_float(), 0, {}}};
    if (random.one_in(4)) break;
    const mpq_class target = ratio(2 * random.between(0, 300) + 1, 2);
    const Requantization& p = e.parameters;
    const mpq_class product = exact(static_cast<double>(e.accumulator)) * exact(p.x_scale) * exact(p.w_scale);
    e.parameters.y_scale = oracle::rn32(product / target);
  } while (!std::isfinite(e.parameters.y_scale) || e.parameters.y_scale == 0);
  choose_output(random, e.parameters);
  return e;
}

// One end of F_k's interval lies exactly on a tie. The power-of-two scales leave the factor to A and sy.
SummedElement end_on_a_tie(Random& random, int k) {
  const std::int64_t odd = 2 * random.between(-60, 59) + 1;
  const std::int64_t unit = std::int64_t{1} << 24;
  const auto shift = static_cast<int>(random.between(-6, 6));
  SummedElement e{odd * (unit - k), {std::ldexp(1.0F, shift), 0.5F, 0, 0, {}}};
  const bool upper = random.one_in(2);
  e.parameters.y_scale = std::ldexp(upper ? 0x1p24F : static_cast<float>(unit - 2 * k), shift);
  choose_output(random, e.parameters);
  return e;
}

struct SetCounts {
  std::array<std::int64_t, 3> sets{};
  std::int64_t ends_on_ties = 0;
  void count(const AdmissibleSet& set) { ++sets[static_cast<std::size_t>(std::min<std::int64_t>(set.count(), 3) - 1)]; }
};

void count_ties(SetCounts& counts, const mpq_class& v, int k) {
  const mpq_class g = ratio(k, (1 << 24) - k);
  if (oracle::distance_from_tie(v * (1 + g)) == 0) ++counts.ends_on_ties;
  if (oracle::distance_from_tie(v * (1 - g)) == 0) ++counts.ends_on_ties;
}

bool fits_int32(std::int64_t value) {
  return value == static_cast<std::int32_t>(value);
}

// A set by definition, joined with that of the wrapped sum (rule C17).
template <typename SetOf>
AdmissibleSet with_overflow(std::int64_t accumulator, SetOf set_of) {
  AdmissibleSet set = set_of(accumulator);
  if (!fits_int32(accumulator)) {
    const std::int64_t low = accumulator & 0xFFFFFFFF;
    set.include(set_of(low >= 0x80000000 ? low - 0x100000000 : low));
  }
  return set;
}

TEST(ExactSet, EqualsTheOracle) {
  Random random(51);
  for (int i = 0; i < testing::scaled(30'000); ++i) {
    const SummedElement e = random.one_in(2) ? any_element(random) : adversarial_element(random);
    const AdmissibleSet expected = with_overflow(e.accumulator, [&](std::int64_t a) {
      return AdmissibleSet(static_cast<std::int32_t>(oracle::requantize(a, for_oracle(e.parameters))));
    });
    ASSERT_EQ(exact_set(e.accumulator, e.parameters), expected) << describe(e);
  }
}

TEST(FloatSet, EndsEqualTheDefinition) {
  const int count = testing::scaled(40'000);
  Random random(53);
  SetCounts counts;
  for (int i = 0; i < count; ++i) {
    const int k =
        random.one_in(4) ? static_cast<int>(random.between(0, 1 << 20)) : static_cast<int>(random.between(0, 8));
    const std::int64_t kind = random.between(0, 2);
    const SummedElement e = kind == 0   ? any_element(random)
                            : kind == 1 ? adversarial_element(random)
                                        : end_on_a_tie(random, k);
    const AdmissibleSet expected = with_overflow(
        e.accumulator, [&](std::int64_t a) { return float_by_definition(scaled(a, e.parameters), k, e.parameters); });
    ASSERT_EQ(float_interval_set(e.accumulator, e.parameters, k), expected) << "k " << k << ": " << describe(e);
    counts.count(expected);
    count_ties(counts, scaled(e.accumulator, e.parameters), k);
  }
  RecordProperty("ends_on_ties", std::to_string(counts.ends_on_ties));
  if (count < 5'000) return;
  EXPECT_GE(counts.ends_on_ties, count / 4);
  for (const std::int64_t sets : counts.sets) EXPECT_GE(sets, count / 20);
}

TEST(FloatSet, ChoosesTheNumberOfRoundings) {
  const auto roundings = [](std::int64_t a, float sx, float sw, float sy) {
    return float_roundings(a, {sx, sw, sy, 0, {0, 255}});
  };
  EXPECT_EQ(roundings(3, 0.5F, 2.0F, 0.25F), 0);
  EXPECT_EQ(roundings(3, -0.5F, 2.0F, 0.25F), 0);
  EXPECT_EQ(roundings(0, 0.5F, 2.0F, 0.25F), 0);
  EXPECT_EQ(roundings(0xFFFFFF, 0.5F, 2.0F, 0.25F), 0);
  EXPECT_EQ(roundings(0x1000001, 0.5F, 2.0F, 0.25F), 5) << "25 bits do not fit a float32";
  EXPECT_EQ(roundings(0x2000002, 0.5F, 2.0F, 0.25F), 5);
  EXPECT_EQ(roundings(0x1000002, 0.5F, 2.0F, 0.25F), 0) << "an odd part of 24 bits";
  EXPECT_EQ(roundings(-3, 0.5F, 2.0F, 0.3F), 4);
  EXPECT_EQ(roundings(-0x1000001, 0.5F, 2.0F, 0.3F), 5);
}

TEST(FloatSet, ExactTiesOfPowersOfTwoHaveOneAnswer) {
  EXPECT_EQ(float_set(5, {0.5F, 0.5F, 0.5F, 10, {0, 255}}).text(), "{12}");  // 2 1/2
  EXPECT_EQ(float_set(5, {0.75F, 0.5F, 0.75F, 10, {0, 255}}).text(), "{12, 13}") << "the same tie, by other scales";
}

TEST(FloatSet, OutsideTheDomainIsTheListOfExpressions) {
  const Requantization p{0x1p-100F, 0x1.8p-60F, 0x1p-140F, 3, {-128, 127}};
  EXPECT_FALSE(within_domain(p));
  // v = 1.5 * 2^4 = 24. Expressions that begin with sx * sw, which underflows, give 0; where flushing
  // makes sy a zero, products are infinite or, from 0 / 0, not a number.
  EXPECT_EQ(float_set(1 << 24, p).text(), "{-128, 3, 27, 127}");
}

TEST(FloatSet, HoldsEveryExpressionOutsideTheDomainAndOnlyThose) {
  Random random(59);
  std::array<std::int64_t, 9> intervals{};
  for (int i = 0; i < testing::scaled(10'000); ++i) {
    const SummedElement e = any_element(random);
    if (within_domain(e.parameters)) continue;
    const AdmissibleSet set = float_set(e.accumulator, e.parameters);
    ASSERT_EQ(set,
              float_convolution_set({e.accumulator, std::abs(e.accumulator), 1}, e.parameters, FloatAccuracy::ieee));
    ASSERT_TRUE(set.contains(exact_set(e.accumulator, e.parameters)));
    ++intervals[std::min<std::size_t>(set.intervals().size(), 8)];
  }
  for (std::size_t n = 1; n < intervals.size(); ++n) {
    RecordProperty("sets_of_" + std::to_string(n) + "_intervals", std::to_string(intervals[n]));
  }
}

// Scales of any exponents: results are subnormal, nearly so, or far from it.
TEST(FloatSet, TheListOfExpressionsHasEveryRuleForSubnormals) {
  Random random(73);
  const auto draw_scale = [&] {
    const float scale = random.one_in(8) ? random.any_float() : random.positive_float(-70, 70);
    return random.one_in(4) ? -scale : scale;
  };
  for (int i = 0; i < testing::scaled(20'000); ++i) {
    const Requantization p{draw_scale(), draw_scale(), draw_scale(), 3, {-128, 127}};
    const std::int64_t accumulator = random.of_any_length(31);
    AdmissibleSet expected = exact_set(accumulator, p);
    for (const FloatExpression& expression : float_expressions()) {
      for (const Subnormals subnormals : kAllSubnormals) {
        const std::int32_t value = evaluate(expression, accumulator, p, subnormals);
        expected.include(IntegerRange{value, value});
      }
    }
    ASSERT_EQ(float_expression_set(accumulator, p), expected)
        << std::hexfloat << accumulator << " " << p.x_scale << " " << p.w_scale << " " << p.y_scale;
  }
}

// Returns the multiplier that a tier forms: that of double where float32 may lose it.
const FixedPointErrors& formed_for(Tier tier, const Requantization& p) {
  return tier == Tier::fixed_point_float32 && within_domain(p) ? kFromFloat32 : kFromDouble;
}

class FixedPointSets : public ::testing::TestWithParam<Tier> {};

TEST_P(FixedPointSets, HaveTheDefinitionsEnds) {
  const int count = testing::scaled(20'000);
  Random random(61);
  SetCounts counts;
  for (int i = 0; i < count; ++i) {
    const SummedElement e = random.one_in(4) ? any_element(random) : adversarial_element(random);
    const mpq_class multiplier = scaled(1, e.parameters);
    const AdmissibleSet expected = with_overflow(e.accumulator, [&](std::int64_t a) {
      return fixed_point_by_definition(multiplier * mpz_class(static_cast<long>(a)), multiplier, e.parameters,
                                       formed_for(GetParam(), e.parameters));
    });
    ASSERT_EQ(admissible_set(GetParam(), {e.accumulator, 0, 0}, e.parameters, FloatAccuracy::ieee), expected)
        << describe(e);
    counts.count(expected);
  }
  if (count < 5'000) return;
  EXPECT_GE(counts.sets[0], count / 20);
  EXPECT_GE(counts.sets[1], count / 10);
}

INSTANTIATE_TEST_SUITE_P(All, FixedPointSets, ::testing::Values(Tier::fixed_point, Tier::fixed_point_float32),
                         [](const auto& tier) {
                           return std::string(tier.param == Tier::fixed_point ? "double" : "float32");
                         });

struct ConvolutionElement {
  ElementSum sum;
  FloatAccuracy accuracy;
  Requantization parameters;

  [[nodiscard]] long roundings() const {
    return accuracy == FloatAccuracy::directml ? 2 * sum.products + 11 : sum.products + 5;
  }
};

ConvolutionElement any_convolution(Random& random) {
  const SummedElement e = adversarial_element(random);
  const std::int64_t a = random.one_in(4) ? e.accumulator * random.between(1, 1 << 15) : e.accumulator;
  const std::int64_t spare = (std::int64_t{1} << 47) - 1 - std::abs(a);
  const auto excess_bits = static_cast<int>(random.between(0, 46));
  const std::int64_t excess = random.between(0, std::int64_t{1} << excess_bits);
  const auto product_bits = static_cast<int>(random.between(0, 22));
  const std::int64_t products = random.between(1, std::int64_t{1} << product_bits);
  const auto accuracy = random.one_in(2) ? FloatAccuracy::directml : FloatAccuracy::ieee;
  return {{a, std::abs(a) + std::min(spare, excess), products}, accuracy, e.parameters};
}

// An end of the interval lies exactly on a tie. With sx = 2^24-m, sw = 1/2 and sy = m, the ends are
// (a(2^24-m) -+ S)/2 for A = a*m. They are small for a = 0, and for S near 2^24-m.
ConvolutionElement end_on_a_tie(Random& random) {
  ConvolutionElement e{{0, 0, random.between(1, 1000)}, FloatAccuracy::ieee, {}};
  if (random.one_in(2)) e.accuracy = FloatAccuracy::directml;
  const long m = e.roundings();
  const std::int64_t unit = (std::int64_t{1} << 24) - m;
  const std::int64_t odd = 2 * random.between(0, 300) + 1;
  const std::int64_t a = random.between(-1, 1);
  e.sum.accumulator = a * m;
  e.sum.magnitude = a == 0 ? odd : unit + (random.one_in(2) ? odd : -odd);
  e.parameters = {static_cast<float>(unit), 0.5F, static_cast<float>(m), 0, {}};
  choose_output(random, e.parameters);
  return e;
}

TEST(FloatConvolutionSet, EndsEqualTheDefinition) {
  const int count = testing::scaled(40'000);
  Random random(67);
  SetCounts counts;
  for (int i = 0; i < count; ++i) {
    const ConvolutionElement e = random.one_in(2) ? end_on_a_tie(random) : any_convolution(random);
    const long m = e.roundings();
    const mpq_class t = scaled(e.sum.magnitude, e.parameters);
    const AdmissibleSet expected = with_overflow(e.sum.accumulator, [&](std::int64_t a) {
      return convolution_by_definition(scaled(a, e.parameters), t, m, e.accuracy == FloatAccuracy::directml,
                                       e.parameters);
    });
    ASSERT_EQ(float_convolution_set(e.sum, e.parameters, e.accuracy), expected)
        << describe({e.sum.accumulator, e.parameters}) << ", S " << e.sum.magnitude << ", m " << m;
    counts.count(expected);
    const mpq_class spread = t * ratio(m, (1 << 24) - m);
    const mpq_class v = scaled(e.sum.accumulator, e.parameters);
    if (oracle::distance_from_tie(v - spread) == 0 || oracle::distance_from_tie(v + spread) == 0) ++counts.ends_on_ties;
  }
  RecordProperty("ends_on_ties", std::to_string(counts.ends_on_ties));
  if (count < 5'000) return;
  EXPECT_GE(counts.ends_on_ties, count / 3);
  for (const std::int64_t sets : counts.sets) EXPECT_GE(sets, count / 20);
}

TEST(FloatConvolutionSet, IsEverythingWhereNoBoundHolds) {
  const Requantization p{1, 1, 1, 0, {0, 255}};
  EXPECT_EQ(float_convolution_set({5, 5, 1 << 24}, p, FloatAccuracy::ieee).text(), "{0..255}");
  EXPECT_EQ(float_convolution_set({5, 5, 1 << 23}, p, FloatAccuracy::directml).text(), "{0..255}");
}

// The sets of tiers include each other as admissible.h says.
TEST(Tiers, IncludeEachOther) {
  const int count = testing::scaled(100'000);
  Random random(71);
  int not_in_fixed_point = 0;
  int fixed_point_only = 0;
  for (int i = 0; i < count; ++i) {
    SummedElement e = random.one_in(16) ? any_element(random) : adversarial_element(random);
    const ElementSum sum{e.accumulator, std::abs(e.accumulator), random.between(0, 200)};
    const auto set = [&](Tier tier, FloatAccuracy accuracy) {
      return admissible_set(tier, sum, e.parameters, accuracy);
    };
    const AdmissibleSet exact = set(Tier::exact, FloatAccuracy::ieee);
    const AdmissibleSet float32 = set(Tier::float32, FloatAccuracy::ieee);
    const AdmissibleSet fixed_point = set(Tier::fixed_point, FloatAccuracy::ieee);
    ASSERT_TRUE(float32.contains(exact)) << describe(e);
    ASSERT_TRUE(fixed_point.contains(exact)) << describe(e);
    ASSERT_TRUE(set(Tier::fixed_point_float32, FloatAccuracy::ieee).contains(fixed_point)) << describe(e);
    for (const FloatAccuracy accuracy : {FloatAccuracy::ieee, FloatAccuracy::directml}) {
      ASSERT_TRUE(set(Tier::float_convolution, accuracy).contains(float32)) << describe(e);
    }
    if (within_domain(e.parameters)) {
      AdmissibleSet looser = float_interval_set(e.accumulator, e.parameters, 0);
      ASSERT_EQ(looser, exact);
      for (int k = 1; k <= 5; ++k) {
        const AdmissibleSet stricter = looser;
        looser = float_interval_set(e.accumulator, e.parameters, k);
        ASSERT_TRUE(looser.contains(stricter)) << describe(e);
      }
      ASSERT_TRUE(looser.contains(float32));
    }
    if (!fixed_point.contains(float32)) ++not_in_fixed_point;
    if (!float32.contains(fixed_point)) ++fixed_point_only;
  }
  if (count < 1'000) return;
  EXPECT_GE(not_in_fixed_point, count / 100);
  EXPECT_GE(fixed_point_only, count / 100);
}

TEST(Tiers, OverflowAddsTheWrappedSum) {
  const Requantization p{1, 1, 2, 0, {0, 255}};
  const std::int64_t a = (std::int64_t{1} << 32) + 7;  // wraps to 7: 3 1/2
  const ElementSum sum{a, a, 70'000};
  EXPECT_EQ(exact_set(a, p).text(), "{4, 255}");
  EXPECT_EQ(float_set(a, p).text(), "{4, 255}");
  EXPECT_EQ(fixed_point_set(a, p).text(), "{3, 4, 255}");
  EXPECT_EQ(tier_of(255, sum, p, FloatAccuracy::ieee), Tier::exact);
  EXPECT_EQ(tier_of(4, sum, p, FloatAccuracy::ieee), Tier::exact);
  EXPECT_EQ(tier_of(3, sum, p, FloatAccuracy::ieee), Tier::fixed_point);
  EXPECT_EQ(exact_set(0x7FFFFFFF, p).text(), "{255}");
  EXPECT_EQ(exact_set(0x80000000, p).text(), "{0, 255}");
  EXPECT_EQ(exact_set(-0x80000000LL, p).text(), "{0}");
  EXPECT_EQ(exact_set(-0x80000001LL, p).text(), "{0, 255}");
}

TEST(Tiers, ZeroScalesGiveTheZeroPoint) {
  for (const Requantization& p :
       {Requantization{0, 1, 1, 7, {0, 255}}, Requantization{1, -0.0F, 1e-40F, 7, {0, 255}}}) {
    for (const Tier tier : kSumTiers) {
      EXPECT_EQ(admissible_set(tier, {1000, 2000, 3}, p, FloatAccuracy::directml).text(), "{7}") << name_of(tier);
    }
  }
}

TEST(Tiers, AreFoundFromStrictToLoose) {
  // v = 2 1/2: a tie by scales that are not powers of two.
  const Requantization tie{0.75F, 0.5F, 0.75F, 10, {0, 255}};
  EXPECT_EQ(tier_of(12, {5, 5, 1}, tie, FloatAccuracy::ieee), Tier::exact);
  EXPECT_EQ(tier_of(13, {5, 5, 1}, tie, FloatAccuracy::ieee), Tier::float32);
  EXPECT_EQ(tier_of(14, {5, 5, 1}, tie, FloatAccuracy::ieee), std::nullopt);
  // v = 2 1/2 by scales that are powers of two: float32 has one answer, a fixed-point multiplier either.
  const Requantization bare{0.5F, 0.5F, 0.5F, 10, {0, 255}};
  EXPECT_EQ(tier_of(13, {5, 5, 1}, bare, FloatAccuracy::ieee), Tier::fixed_point);
  // Cancellation: terms of 2^26 that leave 5.
  const TierSet tiers = tiers_of(15, {5, 1 << 26, 100}, bare, FloatAccuracy::ieee);
  EXPECT_EQ(tiers.strictest(), Tier::float_convolution);
  EXPECT_FALSE(tiers.contains(Tier::fixed_point));
}

TEST(Tiers, IntersectOverElements) {
  const Requantization bare{0.5F, 0.5F, 0.5F, 10, {0, 255}};
  TierSet tiers = TierSet::all();
  tiers &= tiers_of(12, {5, 5, 1}, bare, FloatAccuracy::ieee);
  EXPECT_EQ(tiers, TierSet::all());
  tiers &= tiers_of(13, {5, 5, 1}, bare, FloatAccuracy::ieee);
  EXPECT_EQ(tiers.strictest(), Tier::fixed_point);
  tiers &= tiers_of(99, {5, 5, 1}, bare, FloatAccuracy::ieee);
  EXPECT_EQ(tiers.strictest(), std::nullopt);
}

TEST(ConvIntegerSet, WrapsAndSaturatesByPolicy) {
  EXPECT_EQ(conv_integer_set(5, OverflowPolicy::permissive).text(), "{5}");
  EXPECT_EQ(conv_integer_set(0x80000000, OverflowPolicy::wrap).text(), "{-2147483648}");
  EXPECT_EQ(conv_integer_set(0x80000000, OverflowPolicy::permissive).text(), "{-2147483648, 2147483647}");
  EXPECT_EQ(conv_integer_set(-(std::int64_t{1} << 32) - 3, OverflowPolicy::permissive).text(), "{-2147483648, -3}");
}

TEST(QuickDecisions, AreExact) {
  check_quick_decisions(testing::scaled(200'000));
}

TEST(QuickDecisions, LeaveOverflowAndExtremeScalesToTheSets) {
  const Requantization p{1, 1, 2, 0, {0, 255}};
  EXPECT_EQ(decided_value(channel_test(p), 6), 3);
  EXPECT_EQ(decided_value(channel_test(p), (std::int64_t{1} << 32) + 6), std::nullopt);
  EXPECT_EQ(decided_value(channel_test({0x1p-40F, 0x1p40F, 2, 0, {0, 255}}), 6), std::nullopt);
}

template <typename Sum>
void check_bulk(std::uint64_t seed) {
  Random random(seed);
  std::size_t visits = 0;
  for (int i = 0; i < testing::scaled(2'000); ++i) {
    const SummedElement e = random.one_in(4) ? any_element(random) : adversarial_element(random);
    const auto length = static_cast<std::size_t>(random.between(0, 200));
    std::vector<Sum> sums(length);
    std::vector<std::byte> got(length);
    std::vector<bool> visited(length, false);
    for (std::size_t j = 0; j < length; ++j) {
      const std::int64_t a = random.one_in(2) ? e.accumulator : random.of_any_length(sizeof(Sum) == 4 ? 31 : 47);
      sums[j] = static_cast<Sum>(a);
      const std::int32_t right = requantize(RoundingProfile::correctly_rounded, sums[j], e.parameters);
      got[j] = store8(random.one_in(8) ? static_cast<std::int32_t>(random.between(0, 255)) : right);
    }
    const std::size_t count = admissible_bulk<Sum>(channel_test(e.parameters), sums, got, [&](std::size_t j) {
      EXPECT_FALSE(visited[j]);
      visited[j] = true;
    });
    ASSERT_EQ(count, static_cast<std::size_t>(std::count(visited.begin(), visited.end(), true)));
    visits += count;
    const ElementType type = e.parameters.y_range.lo < 0 ? ElementType::int8 : ElementType::uint8;
    for (std::size_t j = 0; j < length; ++j) {
      if (visited[j]) continue;
      ASSERT_EQ(load8(type, got[j]), requantize(RoundingProfile::correctly_rounded, sums[j], e.parameters));
    }
  }
  EXPECT_GE(visits, static_cast<std::size_t>(testing::scaled(2'000)));
}

TEST(AdmissibleBulk, VisitsWhateverIsNotSurelyRight) {
  check_bulk<std::int32_t>(73);
  check_bulk<std::int64_t>(79);
}

}  // namespace
}  // namespace qconform::reference
