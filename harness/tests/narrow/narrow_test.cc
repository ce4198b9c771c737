// Kernels that take little: each is right, and what is learnt of it is what it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/contracts.h"
#include "harness/engine/run_suites.h"
#include "harness/suites/select.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/true_contract.h"

namespace qconform {
namespace {

struct Narrow {
  testing::TrueContract takes;
  Profile judged_by;
};

void PrintTo(const Narrow& kernel, std::ostream* out) {
  *out << kernel.takes.name;
}

const Narrow kKernels[] = {
    {{"nhwc_int8",
      "convolutions",
      "operator=QLinearConv, x type=int8, w type=int8, y type=int8, spatial rank=2, w zero point=middle",
      {}},
     Profile::tflite},
    {{"uint8_float", "convolutions", "operator=QLinearConv, x type=uint8, w type=uint8, spatial rank=1|2", {}},
     Profile::conformance},
    {{"conv1d",
      "convolutions",
      "w type=int8, spatial rank=1, w zero point=middle|omitted",
      {{{"x type", "int8"}, {"y type", "uint8"}}, {{"x type", "uint8"}, {"y type", "int8"}}}},
     Profile::conformance}};

std::unique_ptr<Backend> open(const std::string& plugin) {
  auto backend = backend::select("plugin:" QCONFORM_PLUGINS "/" + plugin + ".so", RoundingProfile::correctly_rounded);
  return backend ? std::move(*backend) : nullptr;
}

std::unique_ptr<Backend> open(const Narrow& kernel) {
  return open(std::string(kernel.takes.name));
}

const sweep::Plan& convolutions() {
  return sweep::plans().front();
}

class NarrowKernel : public ::testing::TestWithParam<Narrow> {};

TEST_P(NarrowKernel, IsRight) {
  const Narrow& kernel = GetParam();
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(open(kernel));
  ASSERT_NE(backends[0], nullptr);
  sweep::Plan inside = convolutions();
  inside.rows.clear();
  sweep::draw_rows(inside, testing::contract_of(kernel.takes), 500, 1);
  std::vector<std::unique_ptr<Suite>> suites = std::move(*open_suite("corpus", {}));
  suites.push_back(std::make_unique<sweep::SweepSuite>(
      "inside", [inside] { return std::vector<sweep::Plan>{inside}; }, 1));
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {.policy = {.profile = kernel.judged_by}}, report));
  const OperatorResult& result = report.backends[0].operators.at("QLinearConv");
  EXPECT_GT(result.attempted(), 200U);
  EXPECT_TRUE(report.conforms());
}

INSTANTIATE_TEST_SUITE_P(All, NarrowKernel, ::testing::ValuesIn(kKernels),
                         [](const auto& test) { return std::string(test.param.takes.name); });

// By the random and directed cases that the default run draws inside what the kernel takes.
TEST(NarrowKernels, AMantissaThatRoundsUpUnnoticedIsFound) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(open("nhwc_int8"));
  backends.push_back(open("lost_carry"));
  ASSERT_TRUE(backends[0] != nullptr && backends[1] != nullptr);
  auto suites = drawn_within(learn_contracts(*backends[0], 1), "nhwc_int8", 1);
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {.policy = {.profile = Profile::tflite}}, report));
  EXPECT_FALSE(report.backends[0].fails());
  EXPECT_TRUE(report.backends[1].fails());
}

// Plain cases of what such kernels take are hardly ever met by chance: what they say of each refused case leads there.
TEST(NarrowKernels, OfOneKindOfLayerGetDrawnCases) {
  const std::pair<const char*, const char*> kernels[] = {
      {"depthwise_uint8", "QLinearConv"}, {"dense_int8", "QLinearConv"}, {"half_channels", "QuantizeLinear"}};
  for (const auto& [name, op_type] : kernels) {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(open(name));
    ASSERT_NE(backends[0], nullptr);
    for (auto& suite : drawn_within(learn_contracts(*backends[0], 1), name, 1)) {
      std::vector<std::unique_ptr<Suite>> suites;
      const bool is_drawn = !suite->name().starts_with("corpus");
      suites.push_back(std::move(suite));
      Report report;
      ASSERT_TRUE(run_suites(suites, backends, {}, report));
      EXPECT_FALSE(report.backends[0].fails()) << name;
      if (is_drawn) {
        EXPECT_GT(report.backends[0].operators.at(op_type).attempted(), 150U) << name;
      }
    }
  }
}

TEST(LearntContracts, AreWhatNarrowKernelsTake) {
  for (const Narrow& kernel : kKernels) {
    const auto backend = open(kernel);
    ASSERT_NE(backend, nullptr) << kernel.takes.name;
    testing::expect_learnt(*backend, kernel.takes);
    const Contracts learnt = learn_contracts(*backend, 1);
    EXPECT_FALSE(learnt[1].contract.takes_anything()) << kernel.takes.name;
    EXPECT_FALSE(learnt[2].contract.takes_anything()) << kernel.takes.name;
  }
}

}  // namespace
}  // namespace qconform
