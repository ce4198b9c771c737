#include "harness/suites/sweep/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/sweep/suite.h"

namespace qconform::sweep {
namespace {

std::vector<Case> all_of(Suite& suite) {
  std::vector<Case> cases;
  while (auto test_case = *suite.next()) cases.push_back(std::move(*test_case));
  return cases;
}

std::size_t number_of_sizes() {
  std::size_t count = 0;
  for (const Plan& plan : plans()) count += plan.swept.sized.sizes;
  return count;
}

TEST(Sizes, HaveValidCasesOfEachWithItsExtent) {
  const auto suite = sizes_suite("sizes", {}, 1);
  std::set<std::string> sizes;
  for (const Case& test_case : all_of(*suite)) {
    EXPECT_EQ(expect(test_case, Policy{}).classification.expectation(), Expectation::valid) << test_case.id;
    sizes.insert(test_case.tags.at(0));
    if (test_case.tags[0] == "size=input channels 257") {
      EXPECT_EQ(test_case.inputs[0]->shape[1], 257);
    }
    if (test_case.tags[0] == "size=batch 9") {
      EXPECT_EQ(test_case.inputs[0]->shape[0], 9);
    }
  }
  EXPECT_GT(sizes.size(), 300U);
  EXPECT_EQ(sizes.size(), number_of_sizes());
}

TEST(Sizes, StayInsideAContract) {
  const Plan& plan = plans().front();
  std::vector<Contract> contracts;
  for (const Plan& each : plans()) contracts.push_back(whole_contract(each.swept.model()));
  contracts[0] = *parse_contract("operator=QLinearConv, x type=int8, w zero point=middle, dilation=1, spatial rank=2",
                                 plan.swept.model());
  const auto suite = sizes_suite("sizes", contracts, 1);
  const std::vector<Case> cases = all_of(*suite);
  EXPECT_GT(cases.size(), 500U);
  for (const Case& test_case : cases) {
    EXPECT_EQ(test_case.inputs[0]->type, ElementType::int8) << test_case.id;
    EXPECT_EQ(test_case.inputs[0]->shape.size(), 4U) << test_case.id;
    EXPECT_FALSE(test_case.tags.at(0).starts_with("size=dilation") && test_case.tags[0] != "size=dilation 1");
  }
}

TEST(Sizes, EveryKernelOfThisCpuPasses) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : backend::available_kernels()) {
    auto opened = backend::select(name, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(opened) << opened.error().text();
    backends.push_back(std::move(*opened));
  }
  GuardedOutput output;
  const auto suite = sizes_suite("sizes", {}, 2);
  for (const Case& test_case : all_of(*suite)) {
    const Expected expected = expect(test_case, Policy{});
    for (const auto& backend : backends) {
      const Verdict verdict = judge(expected, execute(*backend, test_case, output));
      EXPECT_FALSE(is_failure(verdict.kind)) << backend->info().name << " " << test_case.id << ": " << verdict.detail;
    }
  }
}

}  // namespace
}  // namespace qconform::sweep
