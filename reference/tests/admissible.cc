#include "reference/tests/admissible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "reference/numerics/admissible.h"
#include "reference/numerics/requantize.h"

namespace qconform::reference {
namespace {

using oracle::Random;

// The y_scale with which A*sx*sw/sy is nearest to `target`.
float solve_y_scale(std::int64_t accumulator, float x_scale, float w_scale, double target) {
  return static_cast<float>(std::fabs(static_cast<double>(accumulator)) * x_scale * w_scale / target);
}

// Distances from a tie of 0, a few and many float32 steps: every order of magnitude.
std::int64_t steps_from_tie(Random& random) {
  if (random.one_in(4)) return 0;
  return random.one_in(2) ? random.between(-6, 6) : random.of_any_length(20);
}

double tie(Random& random) {
  return static_cast<double>(random.between(0, random.one_in(2) ? 7 : 300)) + 0.5;
}

SummedElement near_tie(Random& random) {
  SummedElement e{};
  do {
    const std::int64_t a = random.of_any_length(31);
    const float sx = random.positive_float(-30, 29);
    const float sw = random.positive_float(-30, 29);
    const float sy = moved(solve_y_scale(a, sx, sw, tie(random)), steps_from_tie(random));
    e = {a, {sx, sw, sy, 0, {}}};
  } while (!within_domain(e.parameters));
  return e;
}

SummedElement power_of_two_tie(Random& random) {
  const std::int64_t odd = 2 * random.between(-300, 300) + 1;
  const auto zeros = static_cast<int>(random.between(0, 20));
  const auto x = static_cast<int>(random.between(-10, 5));
  const auto w = static_cast<int>(random.between(-14, 0));
  // Now and then beside the tie, by a bit that float32 keeps or drops.
  const std::int64_t beside = random.one_in(2) ? 0 : random.between(-1, 1);
  return {(odd << zeros) + beside,
          {std::ldexp(1.0F, x), std::ldexp(1.0F, w), std::ldexp(1.0F, x + w + zeros + 1), 0, {}}};
}

SummedElement ratio_tie(Random& random) {
  const std::int64_t a = random.between(1, 255);
  const std::int64_t b = random.between(1, 255);
  const std::int64_t d = random.between(1, 127);
  const auto exponent = static_cast<int>(random.between(-20, 5));
  return {(2 * random.between(-300, 300) + 1) * d,
          {static_cast<float>(a),
           std::ldexp(static_cast<float>(b), exponent),
           std::ldexp(static_cast<float>(2 * a * b * d), exponent),
           0,
           {}}};
}

// Counts the sets and values that a comparison met.
struct AdmissibleCounts {
  std::array<std::int64_t, 3> sets{};  // with 1, 2, more members
  std::int64_t without_roundings = 0;  // k = 0 and an exact tie or a value beside one
  std::int64_t at_an_end = 0;          // values at an end of a set that is no singleton
  std::int64_t inexact = 0;            // values that are not E's

  void count(const AdmissibleSet& set) { ++sets[static_cast<std::size_t>(std::min<std::int64_t>(set.count(), 3) - 1)]; }
};

}  // namespace

std::string describe(const SummedElement& e) {
  const Requantization& p = e.parameters;
  return std::to_string(e.accumulator) + " * " + ::testing::PrintToString(p.x_scale) + " * " +
         ::testing::PrintToString(p.w_scale) + " / " + ::testing::PrintToString(p.y_scale) + ", zero point " +
         std::to_string(p.y_zero_point);
}

float moved(float value, std::int64_t steps) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::bit_cast<std::uint32_t>(value) + steps));
}

void choose_output(Random& random, Requantization& p) {
  p.y_range = random.one_in(2) ? IntegerRange{0, 255} : IntegerRange{-128, 127};
  p.y_zero_point = static_cast<std::int32_t>(random.between(p.y_range.lo, p.y_range.hi));
}

SummedElement adversarial_element(Random& random) {
  const std::int64_t kind = random.between(0, 7);
  SummedElement e = kind == 0 ? power_of_two_tie(random) : kind == 1 ? ratio_tie(random) : near_tie(random);
  if (random.one_in(8)) e.parameters.x_scale = -e.parameters.x_scale;
  choose_output(random, e.parameters);
  return e;
}

void check_float_expressions(int count) {
  Random random(31);
  AdmissibleCounts counts;
  std::array<std::int64_t, 32> differs{};
  const auto expressions = float_expressions();
  for (int i = 0; i < count; ++i) {
    const SummedElement e = adversarial_element(random);
    const AdmissibleSet set = float_set(e.accumulator, e.parameters);
    const std::int32_t exactly = requantize(RoundingProfile::correctly_rounded, e.accumulator, e.parameters);
    counts.count(set);
    if (float_roundings(e.accumulator, e.parameters) == 0) ++counts.without_roundings;
    for (std::size_t j = 0; j < expressions.size(); ++j) {
      const std::int32_t value = evaluate(expressions[j], e.accumulator, e.parameters);
      ASSERT_TRUE(set.contains(value)) << expressions[j].name << " gives " << value << ", not in " << set.text() << ": "
                                       << describe(e);
      if (!set.is_singleton() && (value == set.smallest() || value == set.largest())) ++counts.at_an_end;
      if (value != exactly) ++differs[j];
    }
  }
  for (std::size_t j = 0; j < expressions.size(); ++j) counts.inexact += differs[j];
  ::testing::Test::RecordProperty("singletons", std::to_string(counts.sets[0]));
  ::testing::Test::RecordProperty("two_members", std::to_string(counts.sets[1]));
  ::testing::Test::RecordProperty("more_members", std::to_string(counts.sets[2]));
  ::testing::Test::RecordProperty("without_roundings", std::to_string(counts.without_roundings));
  ::testing::Test::RecordProperty("values_at_an_end", std::to_string(counts.at_an_end));
  ::testing::Test::RecordProperty("values_not_exact", std::to_string(counts.inexact));
  if (count < 10'000) return;  // too few for shares to mean anything
  EXPECT_GE(counts.sets[0], count / 8);
  EXPECT_GE(counts.sets[1], count / 8);
  EXPECT_EQ(counts.sets[2], 0) << "8-bit outputs are far coarser than float32";
  EXPECT_GE(counts.without_roundings, count / 20);
  EXPECT_GE(counts.at_an_end, count);
  for (std::size_t j = 0; j < expressions.size(); ++j) {
    if (expressions[j].roundings == 0) continue;
    EXPECT_GE(differs[j], count / 200) << expressions[j].name << " is hardly put to the test";
  }
}

void check_quick_decisions(int count) {
  Random random(37);
  std::int64_t decided = 0;
  std::int64_t open = 0;
  std::int64_t undecided_singletons = 0;
  for (int i = 0; i < count; ++i) {
    const SummedElement e = adversarial_element(random);
    const ChannelTest channel = channel_test(e.parameters);
    const AdmissibleSet exact = exact_set(e.accumulator, e.parameters);
    const AdmissibleSet set = float_set(e.accumulator, e.parameters);
    const auto value = decided_value(channel, e.accumulator);
    if (value) {
      ASSERT_TRUE(set.is_singleton() && set.contains(*value) && exact == set)
          << *value << " against " << set.text() << ": " << describe(e);
      ++decided;
    } else {
      ++(set.is_singleton() ? undecided_singletons : open);
    }
    const std::int32_t near = exact.smallest() + static_cast<std::int32_t>(random.between(-1, 1));
    const std::int32_t got = std::clamp(near, e.parameters.y_range.lo, e.parameters.y_range.hi);
    const bool sure = matches_surely(channel, e.accumulator, store8(got));
    ASSERT_EQ(sure, matches_surely(channel, static_cast<std::int32_t>(e.accumulator), store8(got)));
    ASSERT_EQ(sure, value.has_value() && *value == got) << got << ": " << describe(e);
  }
  ::testing::Test::RecordProperty("decided", std::to_string(decided));
  ::testing::Test::RecordProperty("open_sets", std::to_string(open));
  ::testing::Test::RecordProperty("undecided_singletons", std::to_string(undecided_singletons));
  if (count < 10'000) return;
  EXPECT_GE(decided, count / 20);
  EXPECT_GE(open, count / 8);
  EXPECT_GE(undecided_singletons, count / 100);
}

}  // namespace qconform::reference
