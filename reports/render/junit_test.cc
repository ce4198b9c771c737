#include "reports/render/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tinyxml2.h>

#include "harness/tests/arbitrary_report.h"
#include "reports/render/junit.h"

namespace qconform::report {
namespace {

using ::testing::HasSubstr;

// The element's attribute as a number.
std::size_t count(const tinyxml2::XMLElement& element, const char* name) {
  return element.Unsigned64Attribute(name);
}

std::size_t children(const tinyxml2::XMLElement& suite, const char* result) {
  std::size_t found = 0;
  for (const auto* test = suite.FirstChildElement("testcase"); test != nullptr;
       test = test->NextSiblingElement("testcase")) {
    found += test->FirstChildElement(result) != nullptr ? 1U : 0U;
  }
  return found;
}

RC_GTEST_PROP(Junit, IsXmlWhoseCountsAreThoseOfItsTestCases, ()) {
  tinyxml2::XMLDocument document;
  const std::string text = to_junit(testing::arbitrary_report());
  RC_ASSERT(document.Parse(text.c_str(), text.size()) == tinyxml2::XML_SUCCESS);
  std::size_t failures = 0;
  const auto* suites = document.FirstChildElement("testsuites");
  for (const auto* suite = suites->FirstChildElement(); suite != nullptr; suite = suite->NextSiblingElement()) {
    RC_ASSERT(count(*suite, "failures") == children(*suite, "failure"));
    RC_ASSERT(count(*suite, "errors") == children(*suite, "error"));
    RC_ASSERT(count(*suite, "skipped") == children(*suite, "skipped"));
    failures += count(*suite, "failures");
  }
  RC_ASSERT(count(*suites, "failures") == failures);
}

RC_GTEST_PROP(Junit, HasNoCharacterThatXmlForbids, ()) {
  for (const char c : to_junit(testing::arbitrary_report())) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r');
  }
}

TEST(Junit, HasNoColours) {
  const junit::TestCase red{"backend", "operator", junit::Result::failed, "wrong", "message", "\x1b[31mred\x1b[0m"};
  const std::string text = junit::document("run", {{"suite", "2026-11-30T12:00:00", 0, {}, {red}}});
  EXPECT_THAT(text, HasSubstr("red"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

Report report_with(const Finding& finding, bool decides = true) {
  Report report;
  report.environment.started = "2026-11-30T12:00:00Z";
  BackendResult backend;
  backend.info = {"mine", "1.0", "plugin"};
  backend.decides = decides;
  backend.operators["QLinearConv"].verdicts[0] = 3;
  report.backends.push_back(backend);
  report.findings.push_back(finding);
  return report;
}

Finding finding_of(VerdictKind kind) {
  Finding finding;
  finding.id = "F1";
  finding.backend = "mine";
  finding.op_type = "QLinearConv";
  finding.kind = kind;
  finding.signature = "pad-raw-zero";
  finding.example_summary = "x [1]";
  finding.replay = "qconform replay F1.json --backend mine";
  return finding;
}

TEST(Junit, FailuresErrorsAndSkippedTestsFollowTheVerdict) {
  const std::string wrong = to_junit(report_with(finding_of(VerdictKind::wrong)));
  EXPECT_THAT(wrong, HasSubstr("<testcase classname=\"qconform.mine.QLinearConv\" name=\"pad-raw-zero\">"));
  EXPECT_THAT(wrong, HasSubstr("<failure type=\"wrong\" message=\"wrong in 1 case\">"));
  EXPECT_THAT(wrong, HasSubstr("qconform replay F1.json --backend mine"));
  EXPECT_THAT(to_junit(report_with(finding_of(VerdictKind::crashed))), HasSubstr("<error type=\"crashed\""));
  EXPECT_THAT(to_junit(report_with(finding_of(VerdictKind::wrong), false)), HasSubstr("does not count"));
  Finding waived = finding_of(VerdictKind::crashed);
  waived.waiver = WaivedBy{"known-7", "since 2019", "their issue 7"};
  EXPECT_THAT(to_junit(report_with(waived)),
              HasSubstr("<skipped type=\"crashed\" message=\"waived by known-7: since 2019 (their issue 7)\">"));
}

TEST(Junit, ABackendThatPassesNothingFails) {
  Report report = report_with(finding_of(VerdictKind::wrong));
  report.findings.clear();
  OperatorResult& result = report.backends[0].operators["QLinearConv"];
  result.verdicts[0] = 0;
  result.verdicts[static_cast<std::size_t>(VerdictKind::unsupported)] = 4;
  EXPECT_THAT(to_junit(report), HasSubstr("message=\"not implemented: unsupported 4\""));
}

// A loss that a runtime takes on purpose is wrong all the same, and told with the option that switches it off.
TEST(Junit, TellsWhatIsLostOnPurpose) {
  Finding finding;
  finding.id = "F1";
  finding.backend = "mine";
  finding.op_type = "QLinearConv";
  finding.signature = "bias-rounded";
  finding.diagnosis.emplace().status = "explained";
  DiagnosedDefect& defect = finding.diagnosis->defects.emplace_back();
  defect.id = "bias-rounded";
  defect.avoided_by = "session.keep_bias=1";
  const std::string text = to_junit(report_with(finding));
  EXPECT_THAT(text, HasSubstr("type=\"lossy-by-design\""));
  EXPECT_THAT(text, HasSubstr("lossy by design, bias-rounded"));
  EXPECT_THAT(text, HasSubstr("switched off by session.keep_bias=1"));
  finding.diagnosis->status = "partial";
  EXPECT_THAT(to_junit(report_with(finding)), HasSubstr("type=\"wrong\""));
}

}  // namespace
}  // namespace qconform::report
