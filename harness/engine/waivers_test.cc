// A waiver covers what it was written for, and nothing else.
#include "harness/engine/waivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "harness/base/file.h"
#include "harness/engine/environment.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/model/case_builder.h"
#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"
#include "harness/tests/convolution_builder.h"

namespace qconform {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kToday = "2026-11-21";

// Windows in the padding beside a zero point, and products that a wrong zero point of w changes.
Case example() {
  return QLinearConvBuilder()
      .id("example")
      .x(make::uint8({1, 1, 3}, {1, 2, 3}))
      .x_zero_point(7)
      .w(make::uint8({1, 1, 2}, {5, 9}))
      .w_zero_point(std::int64_t{3})
      .y_zero_point(100)
      .pads({1, 1})
      .build();
}

Tensor answer_of(const std::string& defect, const Case& test_case) {
  const auto model = diagnose::model_named(defect, RoundingProfile::correctly_rounded, "defect");
  return *diagnose::ModelledCase::prepare(test_case)->run(*model);
}

std::string file(const std::string& signature, const std::string& more = "") {
  return fmt::format(R"({{"format": "qconform-waivers", "version": 1, "waivers": [{{"id": "known",
      "backends": ["lib", "lib@fast"], "versions": {{"from": "1.9", "to": "1.10.2"}}, "operator": "QLinearConv",
      "verdict": "wrong", "signature": {}, "reason": "why", "reference": "docs"{}}}]}})",
                     signature, more);
}

// Whether the file's waiver covers this answer to the case.
bool covers(const std::string& text, const Case& test_case, const Tensor& answer,
            const BackendInfo& backend = {"lib", "1.10", "library"}) {
  const auto waivers = Waivers::parse(text, kToday);
  EXPECT_TRUE(waivers.has_value()) << (waivers ? "" : waivers.error().text());
  const Outcome outcome = outcome::Produced{answer};
  const Verdict verdict = judge(expect(test_case, Policy{}), outcome);
  EXPECT_EQ(verdict.kind, VerdictKind::wrong);
  return waivers && waivers->covering(backend, test_case, outcome, verdict, Policy{}) != nullptr;
}

std::string pinned(const Case& test_case, const Tensor& answer) {
  return fmt::format(R"({{"cases": [{{"id": "example", "case": "{:016x}", "answer": "{:016x}"}}]}})",
                     digest_of(test_case), digest_of(answer));
}

TEST(Waivers, PinTheCaseAndItsAnswer) {
  const Case test_case = example();
  const Tensor answer = answer_of("w-zp-ignored", test_case);
  const std::string text = file(pinned(test_case, answer));
  EXPECT_TRUE(covers(text, test_case, answer));
  // Another wrong answer, and the same defect in a changed case.
  EXPECT_FALSE(covers(text, test_case, answer_of("x-zp-ignored", test_case)));
  Case changed = test_case;
  changed.inputs[0] = make::uint8({1, 1, 3}, {1, 2, 4});
  EXPECT_FALSE(covers(text, changed, answer_of("w-zp-ignored", changed)));
}

TEST(Waivers, DefectsExplainEveryWrongElement) {
  const Case test_case = example();
  Tensor answer = answer_of("w-zp-ignored", test_case);
  EXPECT_TRUE(covers(file(R"({"defects": ["w-zp-ignored"]})"), test_case, answer));
  EXPECT_TRUE(covers(file(R"({"defects": ["x-zp-ignored", "w-zp-ignored"]})"), test_case, answer));
  EXPECT_FALSE(covers(file(R"({"defects": ["x-zp-ignored"]})"), test_case, answer));
  // Only in cases with these features: the example is padded, of one batch.
  EXPECT_TRUE(covers(file(R"({"defects": ["w-zp-ignored"], "region": ["padded", "batch = 1"]})"), test_case, answer));
  EXPECT_FALSE(covers(file(R"({"defects": ["w-zp-ignored"], "region": ["padded", "batch > 1"]})"), test_case, answer));
  EXPECT_TRUE(covers(file(R"({"defects": ["w-zp-ignored"], "region": ["batch <= 1"]})"), test_case, answer));
  EXPECT_FALSE(covers(file(R"({"defects": ["w-zp-ignored"], "region": ["batch >= 2"]})"), test_case, answer));
  // One element that no model explains.
  answer.bytes[0] ^= std::byte{0x40};
  EXPECT_FALSE(covers(file(R"({"defects": ["w-zp-ignored"]})"), test_case, answer));
}

TEST(Waivers, SayWhatIsComputedInstead) {
  const Case test_case = example();
  Case other = test_case;
  other.inputs[5] = make::uint8({}, {4});
  const Tensor answer = *expect(other, Policy{}).output;
  EXPECT_TRUE(covers(file(R"({"instead": {"w_zero_point": 4}})"), test_case, answer));
  EXPECT_FALSE(covers(file(R"({"instead": {"w_zero_point": 5}})"), test_case, answer));
  EXPECT_TRUE(covers(file(R"({"instead": {"w_zero_point": 0}})"), test_case, answer_of("w-zp-ignored", test_case)));
  // Together with a defect of the computation.
  const Tensor both = answer_of("x-zp-ignored", other);
  EXPECT_FALSE(covers(file(R"({"instead": {"w_zero_point": 4}})"), test_case, both));
  EXPECT_TRUE(covers(file(R"({"instead": {"w_zero_point": 4}, "defects": ["x-zp-ignored"]})"), test_case, both));
}

TEST(Waivers, AreForTheNamedProcessors) {
  const Case test_case = example();
  const Tensor answer = answer_of("w-zp-ignored", test_case);
  const auto with_cpus = [](const std::string& cpus) {
    return file(R"({"defects": ["w-zp-ignored"], "cpus": [)" + cpus + "]}");
  };
  EXPECT_TRUE(covers(with_cpus(fmt::format(R"("another", "{}")", cpu_level())), test_case, answer));
  EXPECT_FALSE(covers(with_cpus(R"("another")"), test_case, answer));
}

TEST(Waivers, AreForTheNamedBackendsAndVersions) {
  const Case test_case = example();
  const Tensor answer = answer_of("w-zp-ignored", test_case);
  const std::string text = file(pinned(test_case, answer));
  for (const char* version : {"1.9", "1.9.9", "1.10.2"}) {
    EXPECT_TRUE(covers(text, test_case, answer, {"lib@fast", version, "library"})) << version;
  }
  for (const char* version : {"1.8.9", "1.10.3", "1.10.2.1", "2.0"}) {
    EXPECT_FALSE(covers(text, test_case, answer, {"lib", version, "library"})) << version;
  }
  EXPECT_FALSE(covers(text, test_case, answer, {"lib@slow", "1.10", "library"}));
  // A release beside others is named with its version.
  EXPECT_TRUE(covers(text, test_case, answer, {"lib:1.9@fast", "1.9.9", "library"}));
  EXPECT_FALSE(covers(text, test_case, answer, {"lib:2@fast", "2.0", "library"}));
  EXPECT_FALSE(covers(text, test_case, answer, {"lib:1.9@slow", "1.9.9", "library"}));
}

TEST(Waivers, Expire) {
  const Case test_case = example();
  const Tensor answer = answer_of("w-zp-ignored", test_case);
  EXPECT_TRUE(covers(file(pinned(test_case, answer), R"(, "expires": "2026-11-21")"), test_case, answer));
  EXPECT_FALSE(covers(file(pinned(test_case, answer), R"(, "expires": "2026-11-20")"), test_case, answer));
}

TEST(Waivers, PinnedAnswersNeedReasonsAndThenCover) {
  const Case test_case = example();
  const Tensor answer = answer_of("w-zp-ignored", test_case);
  PinnedDraft draft;
  Verdict verdict;
  verdict.kind = VerdictKind::wrong;
  draft.add({"lib", "1.10", "library"}, test_case, outcome::Produced{answer}, verdict);
  std::string text = draft.text();
  const auto refused = Waivers::parse(text, kToday);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "waivers[0].reason: must not be empty");
  for (const char* key : {"\"reason\": \"\"", "\"reference\": \"\""}) {
    const std::size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos);
    text.insert(at + std::string_view(key).size() - 1, "said");
  }
  EXPECT_TRUE(covers(text, test_case, answer));
}

// Waivers of findings: by signature, for whatever cases.

Report report_with(const std::string& signature, std::uint64_t cases, VerdictKind kind = VerdictKind::wrong) {
  Report report;
  BackendResult& backend = report.backends.emplace_back();
  backend.info = {"lib", "1.10", "library"};
  OperatorResult& result = backend.operators["QLinearConv"];
  result.verdicts[static_cast<std::size_t>(VerdictKind::pass)] = 100;
  result.verdicts[static_cast<std::size_t>(kind)] = cases;
  Finding& finding = report.findings.emplace_back();
  finding.id = "F1";
  finding.backend = "lib";
  finding.op_type = "QLinearConv";
  finding.kind = kind;
  finding.signature = signature;
  finding.cases = cases;
  return report;
}

// Waives by a file with this signature, where so many cases lack its conditions.
Report waived(Report report, const std::string& signature, RegionCheck outside = {0, 41}) {
  const auto waivers = Waivers::parse(file(signature), kToday);
  EXPECT_TRUE(waivers) << (waivers ? "" : waivers.error().text());
  if (waivers)
    waive_findings(
        *waivers, [&](const auto&, const auto&) { return outside; }, report);
  return report;
}

TEST(WaiversOfFindings, CoverWhatHasTheirNameAndVerdict) {
  const Report known = waived(report_with("pad-raw-zero", 41), R"({"findings": ["half-up", "pad-raw-zero"]})");
  ASSERT_TRUE(known.findings[0].waiver);
  EXPECT_EQ(known.findings[0].waiver->id, "known");
  EXPECT_TRUE(known.conforms());
  EXPECT_EQ(known.waivers, (std::vector<WaiverUse>{{.id = "known", .backend = "lib", .cases = 41}}));

  const Report other = waived(report_with("half-away", 41), R"({"findings": ["pad-raw-zero"]})");
  EXPECT_FALSE(other.findings[0].waiver);
  EXPECT_FALSE(other.conforms());
  EXPECT_EQ(other.waivers.at(0).note, "waives nothing here");
  EXPECT_FALSE(waived(report_with("x", 1, VerdictKind::crashed), R"({"findings": ["x"]})").conforms());
}

TEST(WaiversOfFindings, DoNotCoverWhatLiesOutsideOfTheirRegion) {
  const std::string signature = R"({"findings": ["pad-raw-zero"], "region": ["padded"]})";
  EXPECT_TRUE(waived(report_with("pad-raw-zero", 41), signature).conforms());
  const Report wider = waived(report_with("pad-raw-zero", 41), signature, {12, 41});
  EXPECT_FALSE(wider.conforms());
  EXPECT_EQ(wider.waivers.at(0).note, "does not cover F1: 12 of its cases lie outside of the waiver's region (padded)");
  const Report unknown = waived(report_with("pad-raw-zero", 41), signature, RegionCheck{});
  EXPECT_FALSE(unknown.conforms());
  EXPECT_THAT(unknown.waivers.at(0).note, HasSubstr("what its cases have in common is not known"));
}

TEST(WaiversOfFindings, TellWhatTheyCoverBeyondWhatWasSeen) {
  Report report = report_with("pad-raw-zero", 41);
  report.findings[0].diagnosis = Diagnosis{.when = {"padded", "batch > 1"}, .precision = 1, .recall = 1};
  const Report all = waived(report, R"({"findings": ["pad-raw-zero"], "region": ["padded"]})");
  EXPECT_TRUE(all.conforms());
  EXPECT_EQ(all.waivers.at(0).note, "covers more than was seen: F1 fails only when batch > 1");
}

// One cause may give values of two kinds; a crash is another thing.
TEST(WaiversOfFindings, CountAllWrongOutputsOfTheirCause) {
  for (const auto& [other, conforms] : {std::pair(VerdictKind::bad_shape, true), {VerdictKind::crashed, false}}) {
    Report report = report_with("x", 10);
    report.findings[0].cases = 12;
    report.backends[0].operators["QLinearConv"].verdicts[static_cast<std::size_t>(other)] = 2;
    EXPECT_EQ(waived(report, R"({"findings": ["x"]})").conforms(), conforms) << name_of(other);
  }
}

TEST(WaiversOfFindings, AreDraftedOneForEachInFewLines) {
  Report report = report_with("pad-raw-zero", 41);
  report.findings[0].diagnosis = Diagnosis{.when = {"padded"}, .failing = 41, .precision = 1, .recall = 1};
  const std::string text = draft_waivers(report).text;
  EXPECT_THAT(text, AllOf(HasSubstr(R"("pad-raw-zero")"), HasSubstr(R"("padded")")));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 30);
  // Conditions of a few cases may be those cases' own.
  report.findings[0].diagnosis->failing = 3;
  EXPECT_THAT(draft_waivers(report).text, Not(HasSubstr("padded")));
}

// A signature that says nothing of the cause would cover every other defect.
TEST(WaiversOfFindings, NameACauseOrConditions) {
  for (const char* signature : {"unexplained:everywhere", "unexplained:shape", "wrong", "timed-out"}) {
    Report report = report_with(signature, 41);
    EXPECT_EQ(draft_waivers(report).left_out, std::vector<std::string>{"F1"}) << signature;
    EXPECT_THAT(draft_waivers(report).text, Not(HasSubstr(signature)));
    report.findings[0].diagnosis = Diagnosis{.when = {"padded"}, .failing = 41, .precision = 1, .recall = 1};
    EXPECT_TRUE(draft_waivers(report).left_out.empty()) << signature;
    const auto read = Waivers::parse(file(fmt::format(R"({{"findings": ["{}"]}})", signature)), kToday);
    ASSERT_FALSE(read) << signature;
    EXPECT_THAT(read.error().text(),
                HasSubstr("signature.findings[0]: \"" + std::string(signature) + "\" does not say what is wrong"));
  }
}

TEST(WaiversOfFindings, NeverCoverRelations) {
  const Report report = report_with("inconsistent:x-shift-128", 3, VerdictKind::inconsistent);
  EXPECT_FALSE(waived(report, R"({"findings": ["inconsistent:x-shift-128"]})").findings[0].waiver);
  EXPECT_THAT(draft_waivers(report).text, Not(HasSubstr("x-shift")));
}

TEST(WaiversOfFindings, TellOfHowManyCasesTheRegionWasChecked) {
  const std::string signature = R"({"findings": ["pad-raw-zero"], "region": ["padded"]})";
  const Report report = waived(report_with("pad-raw-zero", 4100), signature, {0, 2000});
  EXPECT_TRUE(report.conforms());
  EXPECT_EQ(report.waivers.at(0).note, "covers 4100 cases of F1, of which 2000 were checked against its region");
}

TEST(Waivers, TheSchemaHasEveryFailingVerdict) {
  const auto text = read_file(waivers_file().parent_path() / "waivers-1.schema.json", 1 << 20);
  ASSERT_TRUE(text);
  for (int kind = 0; kind < kVerdictKinds; ++kind) {
    const std::string name = fmt::format("\"{}\"", name_of(static_cast<VerdictKind>(kind)));
    EXPECT_EQ(text->find(name) != std::string::npos, is_failure(static_cast<VerdictKind>(kind))) << name;
  }
}

TEST(Waivers, AreReadStrictly) {
  const auto error = [](const std::string& text) {
    const auto waivers = Waivers::parse(text, kToday);
    return waivers ? std::string() : waivers.error().text();
  };
  EXPECT_THAT(error(file("{}")), HasSubstr("waivers[0].signature: expected either \"findings\", or \"cases\""));
  EXPECT_THAT(error(file(R"({"defects": ["w-zp-ignore"]})")), HasSubstr("signature.defects[0]: "));
  EXPECT_THAT(error(file(R"({"defects": []})")), HasSubstr("must name at least one"));
  EXPECT_THAT(error(file(R"({"cases": []})")), HasSubstr("must name at least one"));
  EXPECT_THAT(error(file(R"({"cases": [{"id": "a", "case": "12"}]})")), HasSubstr("cases[0].case: expected 16 hexa"));
  EXPECT_THAT(error(file(R"({"instead": {"w_zero_point": "last"}})")),
              HasSubstr("w_zero_point: expected an integer or"));
  EXPECT_THAT(error(file(R"({"instead": {}})")), HasSubstr("signature.instead: expected an object with members"));
  EXPECT_THAT(error(file(R"({"defects": ["w-zp-ignored"], "region": ["batch > 2"]})")),
              AllOf(HasSubstr("signature.region[0]: no feature of cases is \"batch > 2\""), HasSubstr("batch > 1")));
  EXPECT_THAT(error(file(R"({"instead": {"w_zero_point": 0}, "region": ["padded"]})")),
              HasSubstr("signature.region: goes with \"findings\" or \"defects\" only"));
  EXPECT_THAT(error(file(R"({"findings": ["x"], "defects": ["w-zp-ignored"]})")), HasSubstr("expected either"));
  EXPECT_THAT(error(file(R"({"findings": []})")), HasSubstr("must name at least one"));
  const std::string good = R"({"defects": ["w-zp-ignored"]})";
  EXPECT_EQ(error(file(good)), "");
  EXPECT_THAT(error(file(good, R"(, "expires": "soon")")), HasSubstr("waivers[0].expires: expected a date"));
  EXPECT_THAT(error(file(good, R"(, "mood": 1)")), HasSubstr("unknown key \"mood\""));
  std::string text = file(good);
  text.replace(text.find("\"wrong\""), 7, "\"pass\"");
  EXPECT_THAT(error(text), HasSubstr("waivers[0].verdict: expected a failing verdict"));
  text = file(good);
  text.replace(text.find("\"1.9\""), 5, "\"1.11\"");
  EXPECT_THAT(error(text), HasSubstr("waivers[0].versions: from 1.11 is later than to 1.10.2"));
}

TEST(Waivers, VersionsAreComparedByParts) {
  EXPECT_LT(compare_versions("1.9.2", "1.10"), 0);
  EXPECT_EQ(compare_versions("1.10", "1.10"), 0);
  EXPECT_LT(compare_versions("1.10", "1.10.1"), 0);
  EXPECT_GT(compare_versions("2", "1.99"), 0);
  EXPECT_LT(compare_versions("0.0~git20220216.ae108ef", "0.0~git20230101.aaaaaaa"), 0);
}

// The file that comes with qconform.
TEST(Waivers, TheProjectsOwnAreReadable) {
  const auto waivers = Waivers::load(waivers_file());
  EXPECT_TRUE(waivers.has_value()) << waivers.error().text();
}

}  // namespace
}  // namespace qconform
