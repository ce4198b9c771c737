#include "harness/diagnose/explain/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/model/judge/judge.h"
#include "harness/tests/linear_builder.h"

namespace qconform::diagnose {
namespace {

struct Observed {
  std::vector<std::unique_ptr<Observation>> all;
  std::vector<const Observation*> failing;
  std::vector<const Observation*> passing;
};

// Cases of QuantizeLinear to int8, on which a kernel answers `wrong(right value, zero point)`.
template <typename Wrong>
Observed observed(const Wrong& wrong) {
  Observed result;
  for (int i = 0; i < 60; ++i) {
    std::vector<float> x;
    for (int k = 0; k < 40; ++k) x.push_back(static_cast<float>((k * 37 + i * 11) % 800 - 400) * 0.25F);
    const auto zero_point = static_cast<std::int8_t>(i % 3 - 1);
    const Case test_case = LinearBuilder::quantize()
                               .x(Tensor::of(ElementType::float32, {40}, x))
                               .scale(0.5F)
                               .zero_point(Tensor::of(ElementType::int8, {}, std::vector<std::int8_t>{zero_point}))
                               .build();
    Tensor y = *expect(test_case, Policy{}).output;
    for (std::byte& byte : y.bytes) {
      byte = static_cast<std::byte>(wrong(static_cast<std::int8_t>(byte), zero_point));
    }
    auto observation = Observation::of(test_case, outcome::Produced{{y}}, Policy{});
    (observation->is_failure() ? result.failing : result.passing).push_back(observation.get());
    result.all.push_back(std::move(observation));
  }
  return result;
}

TEST(WrongValues, AreBoundsOnTheOutputAndTheZeroPoint) {
  const Observed seen = observed([](int y, int zero_point) { return y == -128 && zero_point == 0 ? -127 : y; });
  const auto found = wrong_values(seen.failing, seen.passing);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->right_there, 0U);
  EXPECT_EQ(found->place, "the rounded value <= -128, the zero point = 0");
  EXPECT_GT(found->wrong_there, 100U);
  EXPECT_GT(found->right_elsewhere, 1000U);
}

// The right answer to a tie is even.
TEST(WrongValues, AreTiesThatAreToBeRoundedTowardZero) {
  int position = 0;
  const Observed seen = observed([&](int y, int zero_point) {
    const int k = position % 40;
    const int i = position++ / 40;
    const int quarters = (k * 37 + i * 11) % 800 - 400;  // x in quarters, and twice the quotient
    const int rounded = y - zero_point;
    const bool is_tie_toward_zero = quarters % 2 != 0 && 2 * std::abs(rounded) < std::abs(quarters);
    return is_tie_toward_zero && std::abs(rounded) < 100 ? y + (quarters > 0 ? 1 : -1) : y;
  });
  const auto found = wrong_values(seen.failing, seen.passing);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->place, ::testing::HasSubstr("to be rounded toward zero"));
  EXPECT_GT(found->wrong_there, 100U);
}

// A rule that is learnt from two of three cases may not hold for the third.
TEST(WrongValues, AreNothingWhereOneWrongElementLiesElsewhere) {
  int position = 0;
  const Observed seen = observed([&](int y, int zero_point) {
    const bool is_another = position++ == 29 * 40;
    return (y == -128 && zero_point == 0) || is_another ? y + 1 : y;
  });
  const auto found = wrong_values(seen.failing, seen.passing);
  EXPECT_TRUE(!found || found->place.find("-128") == std::string::npos) << found->place;
}

TEST(WrongValues, AreNothingWhereRightElementsHaveThemToo) {
  int turn = 0;
  const Observed seen = observed([&](int y, int) { return y < 0 && ++turn % 3 == 0 ? y + 1 : y; });
  ASSERT_FALSE(seen.failing.empty());
  EXPECT_FALSE(wrong_values(seen.failing, seen.passing));
}

}  // namespace
}  // namespace qconform::diagnose
