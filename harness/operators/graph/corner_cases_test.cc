#include "harness/operators/graph/corner_cases.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/model/judge/judge.h"
#include "harness/operators/graph/unit.h"

namespace qconform {
namespace {

using unit::Unit;

CornerCaseCounts corner_cases_of(const Unit& described) {
  Rng rng(3, 5);
  const Case test_case = unit::build(described, rng);
  Expected expected = expect(test_case, {});
  assess(test_case, expected);
  return expected.corner_cases;
}

// Returns the ids of the corner cases of topic `graphs` that a unit reaches.
std::vector<std::string> reached(const Unit& described) {
  const CornerCaseCounts counts = corner_cases_of(described);
  std::vector<std::string> ids;
  for (const CornerCaseInfo& info : corner_cases()) {
    if (info.topic == CornerCaseTopic::graphs && counts[info.corner_case] > 0) ids.emplace_back(info.id);
  }
  return ids;
}

using Ids = std::vector<std::string>;

Unit with(const std::function<void(Unit&)>& change) {
  Unit described;
  change(described);
  return described;
}

TEST(GraphCornerCases, PlainUnitReachesNone) {
  EXPECT_EQ(reached({}), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.w.layout = unit::kAxis0; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kExactBias; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kReluBehind; })), Ids{});
}

TEST(GraphCornerCases, BiasScales) {
  const auto with_ratio = [](double ratio, unit::Scales scales) {
    return reached(with([&](Unit& u) {
      u.bias = unit::kOtherBiasScale;
      u.bias_ratio = ratio;
      u.scales = scales;
    }));
  };
  EXPECT_EQ(with_ratio(1.009, unit::kOrdinary), Ids{"bias-scale-near"});
  EXPECT_EQ(with_ratio(1 + 0x1p-22, unit::kOrdinary), Ids{"bias-scale-near"});
  EXPECT_EQ(with_ratio(12, unit::kOrdinary), Ids{"bias-scale-far"});
  EXPECT_EQ(with_ratio(12, unit::kTiny), (Ids{"bias-scale-far", "tiny-bias-scale"}));
  EXPECT_EQ(with_ratio(0.98, unit::kTiny), (Ids{"bias-scale-near", "tiny-bias-scale"}));
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kLargeBias; })), Ids{"bias-near-int32"});
  EXPECT_EQ(reached(with([](Unit& u) { u.bias = unit::kFloatBias; })), Ids{"real-bias"});
  // The bias of a MatMul is an Add's.
  const Unit matmul = with([](Unit& u) {
    u.compute = unit::kMatMul;
    u.bias = unit::kOtherBiasScale;
    u.bias_ratio = 0.5;
  });
  EXPECT_EQ(reached(matmul), Ids{"bias-scale-far"});
}

TEST(GraphCornerCases, ParametersAlongAnAxis) {
  EXPECT_EQ(reached(with([](Unit& u) { u.w.layout = unit::kAxis1; })), Ids{"weight-axis"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kMatMul;
              u.w.layout = unit::kAxis0;
            })),
            Ids{"weight-axis"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.k = 9;
              u.w.layout = unit::kBlocks;
            })),
            Ids{"weight-blocks"});
  EXPECT_EQ(reached(with([](Unit& u) { u.x.layout = unit::kAxis1; })), Ids{"data-axis"});
  EXPECT_EQ(reached(with([](Unit& u) { u.y.layout = unit::kAxis1; })), Ids{"data-axis"});
}

TEST(GraphCornerCases, Activations) {
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kClipAtEnds; })), Ids{"activation-at-end"});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kClipBehind; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.activation = unit::kReversedClip; })), Ids{"activation-reversed"});
}

TEST(GraphCornerCases, Sums) {
  const auto gemm = [](unit::Factors factors, std::int64_t k) {
    return reached(with([&](Unit& u) {
      u.compute = unit::kGemm;
      u.factors = factors;
      u.k = k;
    }));
  };
  EXPECT_EQ(gemm(unit::kNoFactors, 8), Ids{});
  EXPECT_EQ(gemm(unit::kAlpha, 8), Ids{"scaled-terms"});
  EXPECT_EQ(gemm(unit::kNoFactors, 0), Ids{"no-terms"});
  EXPECT_EQ(gemm(unit::kNoFactors, 33026), Ids{"many-terms"});
}

TEST(GraphCornerCases, SeveralReaders) {
  EXPECT_EQ(reached(with([](Unit& u) { u.consumers = unit::kDequantizedToo; })), Ids{"shared-value"});
  EXPECT_EQ(reached(with([](Unit& u) { u.alike = unit::kSameInitializers; })), Ids{"shared-parameters"});
  EXPECT_EQ(reached(with([](Unit& u) { u.alike = unit::kAlike; })), Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.is_twice = true; })), (Ids{"shared-value", "shared-weights"}));
}

TEST(GraphCornerCases, Movement) {
  EXPECT_EQ(reached(with([](Unit& u) { u.path = unit::kTransposed; })), Ids{"moved-operand"});
  EXPECT_EQ(reached(with([](Unit& u) { u.path = unit::kRequantized; })), Ids{"requantized-pair"});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kTranspose; })), Ids{"requantized-movement"});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kMaxPool; })), Ids{"requantized-movement"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kMaxPool;
              u.alike = unit::kSameInitializers;
            })),
            Ids{});
  EXPECT_EQ(reached(with([](Unit& u) { u.compute = unit::kConcat; })), Ids{"unlike-operands"});
}

TEST(GraphCornerCases, WhatIsLeftOut) {
  EXPECT_EQ(reached(with([](Unit& u) { u.y.zero_point = unit::kByType; })),
            (Ids{"typed-output", "omitted-zero-point"}));
  EXPECT_EQ(reached(with([](Unit& u) { u.x.zero_point = unit::kOmitted; })), Ids{"omitted-zero-point"});
  EXPECT_EQ(reached(with([](Unit& u) {
              u.compute = unit::kSoftmax;
              u.width = 1;
            })),
            Ids{"one-element-softmax"});
}

TEST(GraphCornerCases, AreDrawnForValidCases) {
  for (const CornerCaseInfo& info : corner_cases()) {
    if (info.topic != CornerCaseTopic::graphs) continue;
    int reached = 0;
    for (std::uint64_t i = 0; i < 6; ++i) {
      Rng rng(11, i);
      const Case drawn = draw_graph_for(rng, info.corner_case);
      Expected expected = expect(drawn, {});
      ASSERT_EQ(expected.classification.expectation(), Expectation::valid) << info.id << ", draw " << i;
      assess(drawn, expected);
      reached += expected.corner_cases[info.corner_case] > 0 ? 1 : 0;
    }
    EXPECT_GT(reached, 1) << info.id;
  }
}

}  // namespace
}  // namespace qconform
