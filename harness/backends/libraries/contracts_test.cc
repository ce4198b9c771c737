// The contracts learnt from the libraries by asking them are those that their documentation and sources state.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"
#include "harness/tests/true_contract.h"
#include "reference/kernels/kernels.h"

namespace qconform::libraries {
namespace {

using qconform::testing::TrueContract;

const TrueContract kLibraries[] = {
    // Its operators have one type for x, w and y. Those of int8 have no zero point of w, and a scale of w for each
    // channel; those of uint8 have one scale and one zero point of w. There is none of three dimensions, nor one with
    // sums.
    {"xnnpack",
     "convolutions",
     "operator=QLinearConv, spatial rank=1|2, w zero point=low end|middle|high end|other",
     {{{"x type", "int8"}, {"w type", "uint8"}},
      {{"x type", "uint8"}, {"w type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"x type", "uint8"}, {"y type", "int8"}},
      {{"w type", "int8"}, {"w zero point", "middle", true}},
      {{"w type", "uint8"}, {"w scale", "distinct"}}}},
    // Its conversions have one scale, a normal float, and one zero point: several that are alike are one.
    {"xnnpack",
     "QuantizeLinear",
     "x type=float, y type=uint8|int8, scale type=float, scales=one|alike, precision=absent|float, "
     "zero point=low end|middle|high end|other|omitted",
     {}},
    {"xnnpack",
     "DequantizeLinear",
     "x type=uint8|int8, y type=float, scale type=float, scales=one|alike, scale=ordinary|power of two|huge, "
     "zero point=low end|middle|high end|other|omitted",
     {}},
    // w is int8 and has no zero point, up to three dimensions.
    {"onednn", "convolutions", "w type=int8, spatial rank=1|2|3, w zero point=middle|omitted", {}},
    // Its reorders have a float for each channel, by which they multiply: of QuantizeLinear's scales the reciprocals of
    // powers of two alone are exact. They have one zero point, no float16, and no way from int32 to bfloat16.
    {"onednn",
     "QuantizeLinear",
     "layout=scalar|per axis, x type=float|bfloat16|int32, y type=uint8|int8, scale type=float, scale=power of two, "
     "precision=absent|float, zero point=low end|middle|high end|other|omitted",
     {}},
    {"onednn",
     "DequantizeLinear",
     "layout=scalar|per axis, x type=uint8|int8|int32, y type=float|bfloat16, scale type=float, "
     "zero point=low end|middle|high end|other|omitted",
     {{{"x type", "int32"}, {"y type", "bfloat16"}}}},
    // Its importer knows no ConvInteger, its layers three dimensions at most.
    {"opencv", "convolutions", "operator=QLinearConv, spatial rank=1|2|3", {}},
    // Its matrices have two dimensions at least. The importer wants a zero point and, of QuantizeLinear, one element in
    // scale and zero point, of whatever layout; it makes floats of int32, and reads no attribute.
    {"opencv",
     "QuantizeLinear",
     "rank=2|3|4, x type=float, y type=uint8|int8, scale type=float|int32, scales=one, "
     "zero point=low end|middle|high end|other",
     {}},
    {"opencv",
     "DequantizeLinear",
     "rank=2|3|4, x type=uint8|int8, scale type=float, zero point=low end|middle|high end|other|distinct",
     {}},
    // Its kernels of QLinearConv give y the type of x, and those of int8 take no uint8 weights; ConvInteger has one
    // zero point of w; SAME takes no dilation.
    {"onnxruntime",
     "convolutions",
     "",
     {{{"x type", "uint8"}, {"y type", "int8"}},
      {{"x type", "int8"}, {"y type", "uint8"}},
      {{"w type", "uint8"}, {"y type", "int8"}},
      {{"operator", "ConvInteger"}, {"M", "1", true}, {"w parameters", "per channel"}},
      {{"dilation", "1", true}, {"auto_pad", "SAME_UPPER|SAME_LOWER"}}}},
    // Its kernels of the linear operators are registered for float and float16, with one type of scale and data; a
    // tensor of one scale in one dimension counts as a scalar, which has no blocks.
    {"onnxruntime",
     "QuantizeLinear",
     "x type=float|float16, scale type=float|float16, "
     "y type=uint8|int8|float8e4m3fn|float8e4m3fnuz|float8e5m2|float8e5m2fnuz|uint16|int16|uint4|int4|uint2|int2",
     {{{"x type", "float"}, {"scale type", "float16"}},
      {{"x type", "float16"}, {"scale type", "float"}},
      {{"rank", "1"}, {"block size", "none", true}, {"scales", "one"}}}},
    {"onnxruntime",
     "DequantizeLinear",
     "y type=float|float16, scale type=float|float16, x type=uint8|int8|int32|float8e4m3fn|float8e4m3fnuz|float8e5m2|"
     "float8e5m2fnuz|uint16|int16|uint4|int4|uint2|int2",
     {{{"scale type", "float"}, {"y type", "float16"}},
      {{"scale type", "float16"}, {"y type", "float"}},
      {{"rank", "1"}, {"block size", "none", true}, {"scales", "one"}}}}};

// Those that are here.
std::vector<TrueContract> built() {
  const auto all = libraries();
  std::vector<TrueContract> known;
  std::copy_if(std::begin(kLibraries), std::end(kLibraries), std::back_inserter(known), [&](const TrueContract& truth) {
    return std::any_of(all.begin(), all.end(), [&](const auto& library) {
      return library.name == truth.name && library.state().absent.empty();
    });
  });
  return known;
}

class LearntContracts : public ::testing::TestWithParam<TrueContract> {};

TEST_P(LearntContracts, AreWhatLibrariesTake) {
  backend::offer_libraries(libraries());
  const auto backend = backend::select(GetParam().name, RoundingProfile::correctly_rounded);
  ASSERT_TRUE(backend) << backend.error().text();
  qconform::testing::expect_learnt(**backend, GetParam());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LearntContracts);
INSTANTIATE_TEST_SUITE_P(Here, LearntContracts, ::testing::ValuesIn(built()),
                         [](const auto& test) { return std::string(test.param.name) + "_" + test.param.model; });

// A library may not refuse at one setting what it computes at another: whatever the suite, a run says so.

using ::testing::HasSubstr;

constexpr auto kArithmetic = RoundingProfile::correctly_rounded;

std::vector<std::unique_ptr<Suite>> suites(const std::string& name, std::uint64_t cases) {
  SuiteOptions options;
  options.cases = cases;
  auto opened = open_suite(name, options);
  EXPECT_TRUE(opened) << opened.error().text();
  return std::move(*opened);
}

struct JudgedReport {
  Report report;
  std::map<std::uint64_t, VerdictKind> verdicts;  // verdicts on the first backend, by the case's digest
};

JudgedReport run(std::vector<std::unique_ptr<Suite>> sources, std::vector<std::unique_ptr<Backend>> backends) {
  JudgedReport judged;
  SuiteRunOptions options;
  options.judged = [&](const Case& test_case, const auto& /*expected*/,
                       const std::vector<CaseResult::OfBackend>& results) {
    judged.verdicts[digest_of(test_case)] = results.front().verdict;
  };
  const auto ran = run_suites(sources, backends, options, judged.report);
  EXPECT_TRUE(ran) << ran.error().text();
  return judged;
}

// Refuses a part of what its kernels compute: one setting of a library.
class ContractSetting final : public Backend {
 public:
  ContractSetting(std::string name, std::uint64_t refused)
      : inner_(backend::in_tree(reference::kernel_sets().front(), kArithmetic, name)), refused_(refused) {}
  [[nodiscard]] const BackendInfo& info() const override { return inner_->info(); }
  [[nodiscard]] bool refuses(const Case& test_case) const { return (digest_of(test_case) & 7U) < refused_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (refuses(test_case)) return outcome::Unsupported{"kernel 'k" + test_case.id + "' lacks this"};
    return inner_->prepare(test_case);
  }

 private:
  std::unique_ptr<Backend> inner_;
  std::uint64_t refused_;
};

std::unique_ptr<Backend> setting_beside_plain(std::uint64_t refused, std::uint64_t refused_by_plain) {
  return backend::with_settings(std::make_unique<ContractSetting>("library@fast", refused),
                                {{"library@plain"}, [=](const std::string& name) -> Result<std::unique_ptr<Backend>> {
                                   return std::make_unique<ContractSetting>(name, refused_by_plain);
                                 }});
}

// Both alone, held against the run of one beside the other.
TEST(Siblings, ARunFailsExactlyWhereOneRefusesWhatAnotherComputes) {
  for (const std::uint64_t plain : {0U, 2U, 3U, 5U}) {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(setting_beside_plain(3, plain));
    ContractSetting fast("library@fast", 3);
    ContractSetting other("library@plain", plain);
    std::set<std::uint64_t> expected;
    for (auto& suite : suites("random", 300)) {
      while (auto next = *suite->next()) {
        if (fast.refuses(*next) && !other.refuses(*next)) expected.insert(digest_of(*next));
      }
    }
    const JudgedReport judged = run(suites("random", 300), std::move(backends));
    std::set<std::uint64_t> found;
    for (const auto& [digest, verdict] : judged.verdicts) {
      if (verdict == VerdictKind::refused_here) found.insert(digest);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(judged.report.conforms(), expected.empty()) << plain;
    if (expected.empty()) continue;
    for (const Finding& finding : judged.report.findings) {
      EXPECT_EQ(finding.signature, "refused-here:kernel lacks this") << "one finding for each operator";
      EXPECT_THAT(finding.verdict.detail, HasSubstr("computed by library@plain"));
    }
  }
}

// ONNX Runtime's optimizer makes legal graphs fail; the run names one setting.
TEST(Siblings, NoRefusalOfOnnxRuntimeIsContradictedByASettingThatTheRunDidNotAsk) {
  backend::offer_libraries(libraries());
  auto all = backend::select_all({"onnxruntime@all"}, kArithmetic);
  if (!all) GTEST_SKIP() << all.error().text();
  const auto plain = *backend::select("onnxruntime@disabled", kArithmetic);
  for (const std::string name : {"graphs", "corpus"}) {
    const auto cases = static_cast<std::uint64_t>(testing::scaled(300));
    auto again = backend::select_all({"onnxruntime@all"}, kArithmetic);
    const JudgedReport judged = run(suites(name, cases), std::move(*again));
    GuardedOutput output;
    std::uint64_t contradicted = 0;
    for (auto& suite : suites(name, cases)) {
      while (auto next = *suite->next()) {
        const VerdictKind verdict = judged.verdicts.at(digest_of(*next));
        if (verdict != VerdictKind::unsupported && verdict != VerdictKind::refused_here) continue;
        const VerdictKind there = judge(expect(*next, Policy{}), execute(*plain, *next, output)).kind;
        const bool is_right_there = there == VerdictKind::pass || there == VerdictKind::vacuous;
        EXPECT_EQ(verdict == VerdictKind::refused_here, is_right_there) << next->id;
        contradicted += is_right_there ? 1 : 0;
      }
    }
    EXPECT_GT(contradicted, 0U) << name << ": nothing was tried";
    EXPECT_FALSE(judged.report.conforms());
  }
}

}  // namespace
}  // namespace qconform::libraries
