// Cases of campaigns lie inside what the backends take, and depend on seed, index and contracts alone.
#include "harness/suites/fuzz_within.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/engine/contracts.h"
#include "harness/suites/random.h"

namespace qconform {
namespace {

constexpr const char* kInt8 =
    "convolutions: operator=QLinearConv, x type=int8, w type=int8, y type=int8, spatial rank=2, w zero point=middle";
constexpr const char* kUint8 = "QuantizeLinear: y type=uint8";

std::vector<sweep::Contract> stated(const std::string& text) {
  const auto contracts = stated_contracts(text);
  EXPECT_TRUE(contracts) << contracts.error().text();
  return contracts ? plain(*contracts) : std::vector<sweep::Contract>{};
}

bool lies_inside(const Case& test_case, const std::vector<sweep::Contract>& contracts) {
  const auto place = sweep::place_of(test_case);
  return place && contracts[place->plan].takes_anything() && contracts[place->plan].takes(place->row);
}

TEST(FuzzWithin, HasThreeTurnsOfFourInside) {
  const auto contracts = stated(kInt8);
  const FuzzWithin cases({contracts});
  std::set<std::string> aims;
  for (std::uint64_t index = 0; index < 4 * kFuzzTurn; ++index) {
    const Case test_case = cases.at(5, index);
    if (index >= 3 * kFuzzTurn) {
      ASSERT_EQ(test_case, fuzz_case(5, index));
      continue;
    }
    ASSERT_TRUE(lies_inside(test_case, contracts)) << test_case.id;
    ASSERT_EQ(classify(test_case).expectation(), Expectation::valid) << test_case.id;
    if (test_case.note.starts_with("aims for")) aims.insert(test_case.note);
  }
  EXPECT_GE(aims.size(), 20U);
}

TEST(FuzzWithin, DependsOnSeedIndexAndContractsAlone) {
  const FuzzWithin cases({stated(kInt8)});
  const FuzzWithin again({stated(kInt8)});
  const Case later = cases.at(5, 700);
  static_cast<void>(again.at(9, 3));
  EXPECT_EQ(again.at(5, 700), later);
  EXPECT_NE(again.at(6, 700).inputs, later.inputs);
}

TEST(FuzzWithin, TakesTurnsOverContracts) {
  const auto first = stated(kInt8);
  const auto second = stated(kUint8);
  const FuzzWithin cases({first, second, first});
  for (std::uint64_t index = 0; index < kFuzzTurn; index += 7) {
    ASSERT_TRUE(lies_inside(cases.at(5, index), first)) << index;
    ASSERT_TRUE(lies_inside(cases.at(5, kFuzzTurn + index), second)) << index;
  }
}

TEST(FuzzWithin, IsFuzzWhereNothingIsNarrow) {
  Contracts nothing = whole_contracts();
  for (auto& learnt : nothing) learnt.contract.taken.assign(learnt.contract.taken.size(), 0);
  const FuzzWithin cases({plain(whole_contracts()), plain(nothing)});
  for (std::uint64_t index = 0; index < 20; ++index) EXPECT_EQ(cases.at(5, index), fuzz_case(5, index));
}

}  // namespace
}  // namespace qconform
