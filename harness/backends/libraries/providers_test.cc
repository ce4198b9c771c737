// A plugin execution provider that the test builds, behind ONNX Runtime: what it takes is judged, what it declines is
// no finding, what it does wrong is. Needs release 1.23 of the library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/select.h"

namespace qconform::libraries {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLibrary = QCONFORM_SAMPLE_PROVIDER;

// Counts of cases, by operator and verdict.
using Counts = std::map<std::string, std::map<VerdictKind, int>>;

class Providers : public ::testing::Test {
 protected:
  void SetUp() override {
    backend::offer_libraries(libraries());
    const auto all = libraries();
    const auto library = std::find_if(all.begin(), all.end(), [](const auto& l) { return l.name == "onnxruntime"; });
    const backend::LibraryState state = library->state();
    if (!state.absent.empty()) GTEST_SKIP() << state.absent;
    if (backend::is_older(state.version, "1.23")) GTEST_SKIP() << "release " << state.version << " is older than 1.23";
  }

  static Result<std::unique_ptr<Backend>> opened(const std::string& settings) {
    return backend::select("onnxruntime@" + settings, RoundingProfile::correctly_rounded);
  }
  // Counts the verdicts on the sample provider's answers to the corpus.
  static Counts judged(const std::string& settings) {
    Counts counts;
    const auto backend = opened(settings + ",library=" + kLibrary);
    EXPECT_TRUE(backend) << backend.error().text();
    const auto sources = open_suite("corpus", SuiteOptions{});
    if (!backend || !sources) return counts;
    GuardedOutput output;
    for (const auto& source : *sources) {
      for (auto next = source->next(); next && *next; next = source->next()) {
        const Outcome outcome = execute(**backend, **next, output);
        ++counts[(*next)->node().op_type][judge(expect(**next, Policy{}), outcome).kind];
      }
    }
    return counts;
  }
  static std::string error_of(const std::string& settings) {
    const auto backend = opened(settings);
    return backend ? "" : backend.error().text();
  }
};

TEST_F(Providers, RightOneConformsOnWhatItTakes) {
  Counts counts = judged("ep=Sample");
  EXPECT_GE(counts["QuantizeLinear"][VerdictKind::pass], 30);
  EXPECT_GE(counts["QLinearConv"][VerdictKind::unsupported], 200);
  for (const auto& [operator_name, kinds] : counts) {
    for (const auto& [kind, count] : kinds) {
      EXPECT_FALSE(is_failure(kind)) << operator_name << " " << name_of(kind) << " " << count;
      EXPECT_TRUE(operator_name == "QuantizeLinear" || kind != VerdictKind::pass) << "fell back: " << operator_name;
    }
  }
}

TEST_F(Providers, DefectOfOneShows) {
  Counts counts = judged("all,ep=Sample,ep.defect=half-away");
  EXPECT_GE(counts["QuantizeLinear"][VerdictKind::wrong], 4);
  EXPECT_GE(counts["QuantizeLinear"][VerdictKind::pass], 25);
}

TEST_F(Providers, CrashOfOneIsTheOutcomeOfItsCase) {
  Counts counts = judged("ep=Sample,ep.defect=crash");
  EXPECT_GE(counts["QuantizeLinear"][VerdictKind::crashed], 30);
  EXPECT_EQ(counts["QuantizeLinear"][VerdictKind::pass], 0);
}

TEST_F(Providers, WhatIsNotThereIsNamed) {
  const std::string library = std::string(",library=") + kLibrary;
  EXPECT_THAT(error_of("ep=Other" + library),
              AllOf(HasSubstr("--backend: \"onnxruntime@ep=Other,library="),
                    HasSubstr("no provider \"Other\"; there are CPUExecutionProvider (cpu), Sample (cpu)")));
  EXPECT_THAT(error_of("ep=Sample"), HasSubstr("no provider \"Sample\"; there is CPUExecutionProvider (cpu)"));
  EXPECT_THAT(error_of("ep=Sample,device=gpu" + library), HasSubstr("no provider \"Sample\" for gpu; there are"));
  EXPECT_THAT(error_of("ep=Sample,device=tpu" + library), HasSubstr("no device \"tpu\"; expected cpu, gpu, npu"));
  EXPECT_THAT(error_of("ep=Sample,library=/nowhere/ep.so"), HasSubstr("there is no library \"/nowhere/ep.so\""));
  EXPECT_THAT(error_of("ep=Sample,library=/etc/passwd"), HasSubstr("\"/etc/passwd\" does not load: "));
  EXPECT_THAT(error_of("library=/nowhere/ep.so"), HasSubstr("names no provider: ep=NAME does"));
  EXPECT_THAT(error_of("ep=CPUExecutionProvider"), HasSubstr("is what onnxruntime without ep=NAME runs on"));
}

}  // namespace
}  // namespace qconform::libraries
