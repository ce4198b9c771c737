#include "harness/diagnose/explain/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/model/judge/judge.h"
#include "harness/tests/linear_builder.h"

namespace qconform::diagnose {
namespace {

using ::testing::Contains;

// DequantizeLinear of int8, wrong where a zero point is stated and some x is 100 or more.
Outcome wrong_for_large_x(const Case& test_case) {
  Tensor y = *expect(test_case, Policy{}).output;
  bool is_large = false;
  for (std::int64_t i = 0; i < test_case.input(0)->elements(); ++i) {
    is_large = is_large || integer_at(*test_case.input(0), i) >= 100;
  }
  const Tensor* const zero_point = test_case.input(2);
  if (is_large && zero_point != nullptr && integer_at(*zero_point, 0) != 0) y.bytes[2] ^= std::byte{0x40};
  return outcome::Produced{{y}};
}

Case dequantize(std::int8_t x, std::int8_t zero_point) {
  return LinearBuilder::dequantize()
      .x(Tensor::of(ElementType::int8, {5}, std::vector<std::int8_t>{x, 1, 2, 3, 4}))
      .scale(0.5F)
      .zero_point(Tensor::of(ElementType::int8, {}, std::vector<std::int8_t>{zero_point}))
      .build();
}

struct SeenCases {
  std::vector<CaseTraits> failing;
  PassedCases passed;
};

// With large x and with small, and with zero points that are 0 and that are not.
SeenCases seen_cases() {
  SeenCases seen;
  for (int i = 0; i < 40; ++i) {
    for (const std::int8_t x : {std::int8_t{5}, std::int8_t{120}}) {
      for (const std::int8_t zero_point : {std::int8_t{0}, static_cast<std::int8_t>(i + 1)}) {
        const Case test_case = dequantize(x, zero_point);
        const auto observation = Observation::of(test_case, &wrong_for_large_x, Policy{});
        const CaseTraits traits = features_of(test_case, observation->expected());
        if (observation->is_failure()) {
          seen.failing.push_back(traits);
        } else {
          seen.passed.add(test_case, traits);
        }
      }
    }
  }
  return seen;
}

TEST(TriedConditions, CountCasesThatFailWithOtherData) {
  const SeenCases seen = seen_cases();
  ASSERT_EQ(seen.failing.size(), 40U);
  EXPECT_TRUE(learn_region(seen.failing, seen.passed.traits()).conditions.empty()) << "half of those inside pass";
  const auto tried = try_conditions(seen.failing, seen.passed, &wrong_for_large_x, Policy{});
  ASSERT_TRUE(tried);
  EXPECT_EQ(tried->failing.size(), 40U);
  EXPECT_EQ(tried->passing.size(), 80U);
  std::vector<CaseTraits> failing = seen.failing;
  failing.insert(failing.end(), tried->failing.begin(), tried->failing.end());
  const Region region = learn_region(failing, tried->passing);
  EXPECT_THAT(region.conditions, Contains("a zero point != 0"));
  EXPECT_EQ(region.passing_inside, 0U);
}

// The conditions stay as imprecise as they are.
TEST(TriedConditions, AreNothingWhereNoOtherDataFails) {
  const SeenCases seen = seen_cases();
  const Runner right = [](const Case& test_case) -> Outcome {
    return outcome::Produced{{*expect(test_case, Policy{}).output}};
  };
  EXPECT_FALSE(try_conditions(seen.failing, seen.passed, right, Policy{}));
}

}  // namespace
}  // namespace qconform::diagnose
