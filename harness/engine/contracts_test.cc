#include "harness/engine/contracts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/fuzz_within.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kernel as microcontrollers have it: QLinearConv of int8 x, w and y in two dimensions, with one weight zero point,
// 0.
class NarrowBackend final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (!takes(test_case)) return outcome::Unsupported{"int8, two dimensions"};
    return inner_->prepare(test_case);
  }

  static bool takes(const Case& test_case) {
    if (test_case.node().op_type != "QLinearConv") return false;
    const auto is_int8 = [&](std::size_t position) { return test_case.inputs[position]->type == ElementType::int8; };
    const Tensor& zero_point = *test_case.inputs[5];
    return is_int8(0) && is_int8(3) && is_int8(7) && test_case.inputs[0]->shape.size() == 4 &&
           zero_point.shape.empty() && zero_point.bytes.front() == std::byte{0};
  }

 private:
  BackendInfo info_{"narrow", "1", "test"};
  std::unique_ptr<Backend> inner_ = *backend::select("scalar", RoundingProfile::correctly_rounded);
};

TEST(Contracts, OfANarrowKernelAreFoundByAskingIt) {
  NarrowBackend narrow;
  const std::vector<BackendContract> contracts = described(learn_contracts(narrow, 1));
  ASSERT_EQ(contracts.size(), 3U);
  EXPECT_EQ(contracts[0].model, "convolutions");
  EXPECT_TRUE(contracts[0].takes_anything);
  for (const char* rule :
       {"operator: QLinearConv; not ConvInteger", "x type: int8; not uint8", "w type: int8; not uint8",
        "y type: int8; not uint8, int32", "spatial rank: 2; not 1, 3, 4"}) {
    EXPECT_THAT(contracts[0].rules, Contains(rule));
  }
  EXPECT_THAT(contracts[0].rules, Contains(HasSubstr("w zero point: middle; not low end")));
  EXPECT_EQ(contracts[0].contradicted, 0U);
  EXPECT_LE(contracts[0].probes, 2000U);
  EXPECT_FALSE(contracts[1].takes_anything);
}

TEST(Contracts, GiveANarrowKernelItsOwnCases) {
  NarrowBackend narrow;
  const auto suite = suite_within(learn_contracts(narrow, 1), "narrow", 1);
  ASSERT_NE(suite, nullptr);
  GuardedOutput output;
  std::size_t right = 0;
  std::vector<bool> computed;
  while (const auto test_case = *suite->next()) {
    const Verdict verdict = judge(expect(*test_case, Policy{}), execute(narrow, *test_case, output));
    EXPECT_NE(verdict.kind, VerdictKind::unsupported) << test_case->id;
    right += verdict.kind == VerdictKind::pass || verdict.kind == VerdictKind::vacuous ? 1 : 0;
    computed.push_back(is_computed(verdict.kind));
  }
  EXPECT_GE(right, kCasesWithin);
  // Every three classes that it takes together meet in a case.
  const CombinationCoverage covered = suite->coverage_of(computed).front();
  EXPECT_GT(covered.feasible, 0U);
  EXPECT_EQ(covered.covered, covered.feasible);
}

// Directed, random and reviewed cases stay inside too, and most corner cases that such a kernel can reach are reached.
TEST(Contracts, KeepDirectedAndRandomCasesInside) {
  NarrowBackend narrow;
  const auto suites = drawn_within(learn_contracts(narrow, 1), "narrow", 1);
  ASSERT_EQ(suites.size(), 3U);
  std::set<std::string> reached;
  for (const auto& suite : suites) {
    std::size_t cases = 0;
    while (const auto test_case = *suite->next()) {
      ++cases;
      EXPECT_TRUE(NarrowBackend::takes(*test_case)) << test_case->id;
      if (!test_case->tags.empty()) reached.insert(test_case->tags.front());
    }
    EXPECT_GE(cases, suite == suites.back() ? 30U : 1000U) << suite->name();
  }
  EXPECT_GE(reached.size(), 25U);
  for (const char* id :
       {"tie-negative", "multiplier-above-one", "small-sum-without-bias", "far-index", "long-kernel"}) {
    EXPECT_TRUE(reached.contains(id)) << id;
  }
  EXPECT_TRUE(drawn_within(whole_contracts(), "all", 1).empty());
}

// Takes units of a MatMul and Relu, or neither, with uint8 data, as a runtime for one kind of model has them.
class NarrowUnits final : public Backend {
 public:
  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    for (const Node& node : test_case.nodes) {
      const bool is_known = node.op_type == "MatMul" || node.op_type == "Relu" || node.op_type == "QuantizeLinear" ||
                            node.op_type == "DequantizeLinear";
      if (!is_known) return outcome::Unsupported{"only MatMul and Relu"};
    }
    if (test_case.nodes.size() < 4) return outcome::Unsupported{"only units"};
    if (test_case.inputs[0]->type != ElementType::uint8) return outcome::Unsupported{"only uint8"};
    return inner_->prepare(test_case);
  }

 private:
  BackendInfo info_{"narrow units", "1", "test"};
  std::unique_ptr<Backend> inner_ = *backend::select("interpreter", RoundingProfile::correctly_rounded);
};

TEST(Contracts, GiveARuntimeOfFewUnitsItsOwnCases) {
  NarrowUnits narrow;
  const Contracts units = learn_unit_contracts(narrow, 1);
  const std::vector<BackendContract> told = described(units, sweep::unit_plans());
  EXPECT_THAT(told[0].rules, Contains(HasSubstr("operator: MatMul; not Conv")));
  EXPECT_THAT(told[0].rules, Contains(HasSubstr("activation: none, Relu; not Clip")));
  const auto suite = drawn_units_within(units, "narrow units", 1);
  ASSERT_NE(suite, nullptr);
  std::uint64_t taken = 0;
  std::set<std::string> ids;
  while (const auto test_case = *suite->next()) {
    taken += std::holds_alternative<outcome::Unsupported>(narrow.prepare(*test_case)) ? 0 : 1;
    ids.insert(test_case->id);
  }
  EXPECT_EQ(ids.size(), kUnitsWithin);
  EXPECT_GE(taken, kUnitsWithin * 95 / 100) << "values, or a rule that was not found, may decline a few";
}

TEST(Contracts, GiveNoUnitsToWhatTakesNoneOrMost) {
  testing::RefusingBackend refusing;
  EXPECT_EQ(drawn_units_within(learn_unit_contracts(refusing, 1), "refusing", 1), nullptr);
  const auto interpreter = backend::select("interpreter", RoundingProfile::correctly_rounded);
  EXPECT_EQ(drawn_units_within(learn_unit_contracts(**interpreter, 1), "interpreter", 1), nullptr);
}

TEST(Contracts, ThoroughCasesHaveEveryFourClassesOfSizes) {
  const auto stated = *stated_contracts(
      "convolutions: operator=QLinearConv, spatial rank=2, auto_pad=NOTSET, C=1|2 or 3|4 mod 8, M=1|2 or 3, "
      "output width=3|4|5, batch=1|2");
  const auto suite = thorough_within(stated, "thorough within some", 1);
  ASSERT_NE(suite, nullptr);
  const CombinationCoverage coverage = suite->coverage().front();
  EXPECT_EQ(coverage.strength, 4U);
  EXPECT_EQ(coverage.parameters, 10U);
  EXPECT_GT(coverage.feasible, 10'000U);
  EXPECT_EQ(coverage.covered, coverage.feasible);
  for (int i = 0; i < 50; ++i) {
    const auto test_case = *suite->next();
    ASSERT_TRUE(test_case);
    EXPECT_EQ(expect(*test_case, Policy{}).classification.expectation(), Expectation::valid) << test_case->id;
  }
}

TEST(Contracts, AreHeldAgainstEveryCase) {
  const auto stated = *stated_contracts("convolutions: operator=QLinearConv, x type=int8");
  ContractCheck check;
  check.add(0, stated);
  const auto judged = [&](ElementType type, VerdictKind verdict) {
    Case test_case = QLinearConvBuilder().x(make::filled(type, {1, 1, 1, 1}, 1)).build();
    test_case.id = std::string(name_of(type)) + " " + std::string(name_of(verdict));
    test_case.expectation = Expectation::valid;
    check.judged(test_case, classify(test_case),
                 {CaseResult::OfBackend{.verdict = verdict, .tier = {}, .wrong_elements = 0}});
  };
  judged(ElementType::int8, VerdictKind::pass);
  judged(ElementType::uint8, VerdictKind::unsupported);
  auto contracts = described(stated);
  check.write(0, contracts);
  EXPECT_EQ(contradiction_text("b", contracts), "");
  judged(ElementType::uint8, VerdictKind::wrong);
  judged(ElementType::int8, VerdictKind::unsupported);
  judged(ElementType::int8, VerdictKind::not_asked);
  check.write(0, contracts);
  EXPECT_EQ(contracts[0].declined_inside, 1U);
  EXPECT_EQ(contracts[0].taken_outside, 1U);
  EXPECT_EQ(contracts[0].contradiction, "uint8 wrong");
  EXPECT_THAT(contradiction_text("b", contracts), HasSubstr("b: convolutions: 1 valid cases inside the contract"));
}

TEST(Contracts, OfWhatTakesNothingOrEverythingMakeNoSuite) {
  testing::RefusingBackend refusing;
  EXPECT_EQ(suite_within(learn_contracts(refusing, 1), "refusing", 1), nullptr);
  const auto scalar = backend::select("scalar", RoundingProfile::correctly_rounded);
  const Contracts all = learn_contracts(**scalar, 1);
  for (const BackendContract& contract : described(all)) EXPECT_THAT(contract.rules, IsEmpty()) << contract.model;
  EXPECT_EQ(suite_within(all, "scalar", 1), nullptr);
}

TEST(Contracts, OfAUserNameAModel) {
  const auto stated = stated_contracts("convolutions: x type=int8, spatial rank=2");
  ASSERT_TRUE(stated) << stated.error().text();
  EXPECT_TRUE((*stated)[0].contract.takes_anything());
  EXPECT_FALSE((*stated)[1].contract.takes_anything());
  EXPECT_THAT(
      stated_contracts("x type=int8").error().text(),
      HasSubstr("--only: \"x type=int8\": expected MODEL: PARAMETER=CLASS[|CLASS]..., ...; models are convolutions"));
}

// Seed, model and contract fix the cases.
TEST(Contracts, OfTheSameRulesMakeTheSameCases) {
  const auto stated = *stated_contracts("convolutions: x type=int8, spatial rank=2");
  const auto digest = [&](std::uint64_t seed) {
    const auto suite = suite_within(stated, "some", seed);
    std::uint64_t sum = 0;
    for (int i = 0; i < 200; ++i) sum += digest_of(**suite->next());
    return sum;
  };
  EXPECT_EQ(digest(1), digest(1));
  EXPECT_NE(digest(1), digest(2));
}

}  // namespace
}  // namespace qconform
