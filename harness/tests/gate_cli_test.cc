// The gate on kernels with planted regressions: every one makes it fail, and is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/diagnose/explain/campaign_diagnosis.h"
#include "harness/engine/run_suites.h"
#include "harness/suites/select.h"
#include "harness/tests/program.h"
#include "harness/tests/stand_ins.h"
#include "harness/tests/temporary_folder.h"
#include "reports/render/forms.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint64_t kCases = 300;

// The kernel under test, whatever plays it: one name, as that of one library at two commits.
Report renamed(Report report) {
  for (BackendResult& backend : report.backends) backend.info = {"mine", "1.0", "plugin"};
  for (Finding& finding : report.findings) finding.backend = "mine";
  return report;
}

// Runs the backend on the first cases of a suite and returns the report.
Report run_of(const std::string& backend, std::uint64_t cases = kCases, std::uint64_t seed = 1,
              const std::string& suite = "random") {
  const Policy policy;
  auto suites = open_suite(suite, {.seed = seed, .cases = cases});
  auto backends = backend::select_all({backend}, arithmetic_of(policy.profile));
  Report report;
  report.seed = seed;
  report.profile = "conformance";
  report.overflow = "wrap";
  if (!suites || !backends) return report;
  diagnose::CampaignDiagnosis diagnosis(*backends, policy);
  SuiteRunOptions options{
      .policy = policy, .progress = {}, .stop = {}, .waivers = nullptr, .pins = nullptr, .diagnoser = &diagnosis};
  if (!run_suites(*suites, *backends, options, report)) report.backends.clear();
  return renamed(std::move(report));
}

// Runs a library on rows of ConvInteger, where it goes wrong at one, and returns the report.
Report rows_of(const std::string& backend) {
  const bool is_plugin = backend != "scalar";
  auto selected = backend::select(is_plugin ? "plugin:" QCONFORM_PLUGINS "/" + backend + ".so" : backend,
                                  RoundingProfile::correctly_rounded,
                                  {.limits = {1.0, std::int64_t{128} << 20, SandboxLimits::Guard::sampled}});
  if (!selected) return {};
  return renamed(report_of(std::make_unique<Rows>(), std::move(*selected)));
}

class Gate : public ::testing::Test {
 protected:
  // The gate's exit code and what it prints, with further arguments behind the reports.
  [[nodiscard]] ProgramResult run(const Report& baseline, const Report& current, const std::string& more = {}) const {
    if (!write_file(file("old.json"), report::to_json(baseline)) ||
        !write_file(file("new.json"), report::to_json(current))) {
      return {};
    }
    ProgramResult result = qconform("gate --baseline " + file("old.json") + " " + file("new.json") + " " + more);
    // The stored baseline tells the same as the report that it was made of.
    const std::string store = "gate " + file("old.json") + " --store-baseline " + file("old.json");
    EXPECT_EQ(qconform(store).exit_code, 0);
    const ProgramResult stored = qconform("gate --baseline " + file("old.json") + " " + file("new.json") + " " + more);
    EXPECT_EQ(stored.output, result.output);
    EXPECT_EQ(stored.exit_code, result.exit_code);
    return result;
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  // A file with a waiver for half-away, until the day.
  [[nodiscard]] std::string waiver(const std::string& expires, const std::string& more = {}) const {
    const std::string text = R"({"format": "qconform-waivers", "version": 1, "waivers": [{"id": "known-rounding",
      "backends": ["mine"], "versions": {"from": "1.0", "to": "1.0"}, "operator": "QuantizeLinear", "verdict": "wrong",
      "signature": {"defects": ["half-away"])" +
                             more + R"(}, "reason": "fixed in 1.1", "reference": "our issue 7",
      "expires": ")" + expires +
                             R"("}]})";
    return write_file(file("waivers.json"), text) ? "--waivers " + file("waivers.json") : "";
  }

 private:
  TemporaryFolder folder_;
};

const Report& good() {
  static const Report report = run_of("scalar");
  return report;
}

TEST_F(Gate, PassesAnUnchangedKernel) {
  const auto same = run(good(), good());
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("gate passes: nothing changed"));
  const Report known = run_of("defect:half-away");
  const auto known_still = run(known, known);
  EXPECT_EQ(known_still.exit_code, 0) << known_still.output;
  EXPECT_THAT(known_still.output, HasSubstr("1 finding that the baseline has too"));
}

TEST_F(Gate, PassesAnUnchangedKernelOnOtherCases) {
  const auto other_seed = run(good(), run_of("scalar", kCases, 2));
  EXPECT_EQ(other_seed.exit_code, 0) << other_seed.output;
  EXPECT_THAT(other_seed.output, HasSubstr("note   other-cases"));
  EXPECT_EQ(run(good(), run_of("defect:half-away", kCases, 2)).exit_code, 1);
}

class GatedDefect : public Gate, public ::testing::WithParamInterface<const char*> {};

TEST_P(GatedDefect, FailsAndIsNamed) {
  const auto result = run(good(), run_of(std::string("defect:") + GetParam()));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("gate fails"), HasSubstr("worse  new-finding   mine"), HasSubstr(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(All, GatedDefect,
                         ::testing::Values("half-away", "pad-raw-zero", "pair-sat-i16", "kernel-flipped"));

struct PluginMisbehaviour {
  const char* plugin;
  const char* verdict;
};

class PlantedMisbehaviour : public Gate, public ::testing::WithParamInterface<PluginMisbehaviour> {};

TEST_P(PlantedMisbehaviour, FailsAndIsNamed) {
  const auto result = run(rows_of("scalar"), rows_of(GetParam().plugin));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr(std::string("worse  new-finding   mine ConvInteger ") + GetParam().verdict));
}

#ifndef QCONFORM_EMULATED
INSTANTIATE_TEST_SUITE_P(All, PlantedMisbehaviour,
                         ::testing::Values(PluginMisbehaviour{"segfaults", "crashed"},
                                           PluginMisbehaviour{"loops", "timed-out"},
                                           PluginMisbehaviour{"writes_before", "out-of-bounds"},
                                           PluginMisbehaviour{"random_answers", "nondeterministic"}),
                         [](const auto& tested) { return std::string(tested.param.plugin); });
#else
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlantedMisbehaviour);
#endif

TEST_F(Gate, FailsWhereLessWasTested) {
  const auto fewer = run(good(), run_of("scalar", kCases - 50));
  EXPECT_EQ(fewer.exit_code, 1);
  EXPECT_THAT(fewer.output, HasSubstr("worse  fewer-cases   random   suite random: 250 cases, before 300"));

  Report vanished = good();
  vanished.backends.clear();
  EXPECT_THAT(run(good(), vanished).output, HasSubstr("worse  backend-vanished   mine"));

  Report no_operator = good();
  no_operator.backends[0].operators.erase("ConvInteger");
  EXPECT_THAT(run(good(), no_operator).output, HasSubstr("worse  operator-vanished   mine ConvInteger"));

  Report undecided = good();
  undecided.backends[0].decides = false;
  EXPECT_THAT(run(good(), undecided).output, HasSubstr("worse  no-longer-decides   mine"));
}

TEST_F(Gate, FailsWhereACaseIsRefusedThatWasComputed) {
  Report refusing = good();
  OperatorResult& result = refusing.backends[0].operators["QLinearConv"];
  --result.verdicts[static_cast<std::size_t>(VerdictKind::pass)];
  ++result.verdicts[static_cast<std::size_t>(VerdictKind::unsupported)];
  const auto gate = run(good(), refusing);
  EXPECT_EQ(gate.exit_code, 1);
  EXPECT_THAT(gate.output, HasSubstr("worse  more-unsupported   mine QLinearConv"));
}

TEST_F(Gate, FailsWhereATierFell) {
  const auto directed = [](const char* backend) { return run_of(backend, kCases, 1, "directed"); };
  const auto result = run(directed("scalar"), directed("scalar@ort-f32"));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("worse  tier-fell   mine QLinearConv   tier F_5, before E"));
}

TEST_F(Gate, AWaiverExcusesWhatItNamesUntilItExpires) {
  const Report bad = run_of("defect:half-away");
  const auto waived = run(good(), bad, waiver("2999-12-31"));
  EXPECT_EQ(waived.exit_code, 0) << waived.output;
  EXPECT_THAT(waived.output, HasSubstr("waived waived   mine QuantizeLinear half-away"));

  const auto expired = run(good(), bad, waiver("2020-01-31"));
  EXPECT_EQ(expired.exit_code, 1);
  EXPECT_THAT(expired.output, AllOf(HasSubstr("waiver-expired"), HasSubstr("known-rounding expired on 2020-01-31"),
                                    Not(HasSubstr("new-finding"))));
  EXPECT_EQ(run(bad, bad, waiver("2020-01-31")).exit_code, 1) << "the baseline does not make it last longer";
}

TEST_F(Gate, AWaiverHidesNothingElse) {
  const std::string arguments = waiver("2999-12-31");
  EXPECT_EQ(run(good(), run_of("defect:half-up"), arguments).exit_code, 1) << "another defect";
  Report worse = run_of("defect:half-away");
  const auto changed = [&](auto change) {
    Report report = worse;
    change(report.findings.at(0), report.backends.at(0));
    return run(good(), report, arguments).exit_code;
  };
  ASSERT_EQ(changed([](Finding&, BackendResult&) {}), 0);
  EXPECT_EQ(changed([](Finding& f, BackendResult&) { f.op_type = "ConvInteger"; }), 1);
  EXPECT_EQ(changed([](Finding& f, BackendResult&) { f.kind = VerdictKind::crashed; }), 1);
  EXPECT_EQ(changed([](Finding& f, BackendResult&) { f.diagnosis->status = "ambiguous"; }), 1);
  EXPECT_EQ(changed([](Finding& f, BackendResult&) { ++f.cases; }), 1) << "a case that nobody has examined";
  EXPECT_EQ(changed([](Finding&, BackendResult& b) { b.info.version = "1.1"; }), 1);

  const std::string narrow = waiver("2999-12-31", R"(, "region": ["batch > 1"])");
  EXPECT_EQ(run(good(), worse, narrow).exit_code, 1) << "beyond the waiver's region";
  worse.findings[0].diagnosis->when = {"batch > 1", "padded"};
  EXPECT_EQ(run(good(), worse, narrow).exit_code, 0);
}

TEST_F(Gate, WritesItsForms) {
  const auto result =
      run(good(), run_of("defect:half-away"), "--json --junit " + file("gate.xml") + " --markdown " + file("gate.md"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("\"format\": \"qconform-gate\""), HasSubstr("\"passes\": false"),
                                   HasSubstr("\"signature\": \"half-away\"")));
  EXPECT_THAT(*read_file(file("gate.xml"), 1 << 20), HasSubstr("<failure type=\"new-finding\""));
  EXPECT_THAT(*read_file(file("gate.md"), 1 << 20),
              AllOf(HasSubstr("### qconform gate fails: 1 worse"), HasSubstr("`mine QuantizeLinear half-away`")));
}

// Rounds of a kernel as they were measured on a machine with other work to do, beside onednn and xnnpack; "slower" are
// those of the kernel set below it under its name.
TEST_F(Gate, TellsASlowerKernelFromTheNoiseOfRealRounds) {
  const auto speeds = [&](const char* before, const char* now) {
    const std::string folder = " " QCONFORM_SOURCE_DIRECTORY "/reports/gate/samples/";
    return run(good(), good(), "--bench-baseline" + folder + before + ".json --bench" + folder + now + ".json");
  };
  EXPECT_EQ(speeds("baseline", "again").exit_code, 0);
  EXPECT_EQ(speeds("again", "baseline").exit_code, 0);
  const auto slower = speeds("again", "slower");
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_THAT(slower.output, AllOf(HasSubstr("gate fails: 4 worse"), HasSubstr("avx512vnni mean of 3 layers"),
                                   HasSubstr("layer/3x3 32->32 @14   0.79")));
  EXPECT_EQ(speeds("slower", "baseline").exit_code, 0) << "faster";
}

TEST_F(Gate, RefusesReportsThatCannotBeCompared) {
  Report other = good();
  other.profile = "ort-f32";
  const auto result = run(good(), other);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.output, HasSubstr("profile: the baseline has conformance, the new report ort-f32"));
  EXPECT_EQ(qconform("gate --baseline /nonexistent /nonexistent").exit_code, 2);
}

}  // namespace
}  // namespace qconform::testing
