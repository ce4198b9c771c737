#include "reports/read/read_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "reports/read/arbitrary_report.h"
#include "reports/render/json_report.h"

namespace qconform::report {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

RC_GTEST_PROP(ReadReport, GivesTheSameJsonAgain, ()) {
  const std::string text = to_json(testing::arbitrary_report());
  const auto read = read_report(text);
  if (!read) RC_FAIL(read.error().text());
  RC_ASSERT(to_json(*read) == text);
}

// A report with one of everything that the errors below are about.
Json sample() {
  Report report;
  report.environment.version = "0.0.1";
  report.suites.emplace_back().name = "random";
  HazardCounts counts;
  counts.add(Hazard::tie_positive, 2);
  report.hazards.add("QLinearConv", "uint8 int8 uint8", counts);
  BackendResult backend;
  backend.info = {"mine", "1.0", "plugin"};
  OperatorResult result;
  result.verdicts[0] = 2;
  result.verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = 1;
  result.tiers.add(reference::TierSet::all(), 4);
  backend.operators["QLinearConv"] = result;
  report.backends.push_back(backend);
  Finding finding;
  finding.id = "F1";
  finding.example_summary = "x [1]";
  finding.shrinking.emplace();
  finding.shrinking->ending = "minimal";
  finding.shrinking->steps = 1;
  finding.shrinking->original_summary = "x [2]";
  report.findings.push_back(finding);
  return Json::parse(to_json(report));
}

struct Edit {
  const char* pointer;
  const char* value;
  const char* error;
};

class ReadReportErrors : public ::testing::TestWithParam<Edit> {};

TEST_P(ReadReportErrors, NamePathAndValue) {
  Json json = sample();
  json[Json::json_pointer(GetParam().pointer)] = Json::parse(GetParam().value);
  const auto read = read_report(json.dump());
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    All, ReadReportErrors,
    ::testing::Values(
        Edit{"/format", "\"qconform-bench\"", "format: expected \"qconform-report\", got \"qconform-bench\""},
        Edit{"/version", "2", "version: 2: written by a newer qconform; this one, "},
        Edit{"/version", "0", "version: there is no version 0"},
        Edit{"/conforms", "true", "conforms: true, but the backends' verdicts say false"},
        Edit{"/seed", "-1", "seed: expected an integer that is not negative, got -1"},
        Edit{"/novel", "1", "unknown key \"novel\""}, Edit{"/novel", "1", "(the report is of qconform 0.0.1, this is "},
        Edit{"/suites/0/digest", "\"12\"", "suites[0].digest: expected 16 hexadecimal digits, got \"12\""},
        Edit{"/hazards/0/id", "\"no-such\"", "hazards[0].id: no hazard \"no-such\""},
        Edit{"/hazards/0/cases", "7", "hazards[0].cases: 7, but its parts are 1 together"},
        Edit{"/hazards/0/by/0/operator", "\"DequantizeLinear\"", "hazards[0].by[0].operator: "},
        Edit{"/backends/0/operators/QLinearConv/verdicts/odd", "1",
             "backends[0].operators.QLinearConv.verdicts: no verdict \"odd\""},
        Edit{"/backends/0/operators/QLinearConv/cases", "9",
             "backends[0].operators.QLinearConv.cases: 9, but its parts are 3 together"},
        Edit{"/backends/0/operators/QLinearConv/waived/wrong", "2",
             "backends[0].operators.QLinearConv.waived: 2 wrong waived, of 1"},
        Edit{"/backends/0/operators/QLinearConv/tiers/reached", "\"D\"", "tiers.reached: \"D\" is not the strictest"},
        Edit{"/backends/0/conforms", "true", "backends[0].conforms: true, but the verdicts say false"},
        Edit{"/backends/0/decides", "1", "backends[0].decides: expected true or false, got 1"},
        Edit{"/findings/0/verdict", "\"fine\"", "findings[0].verdict: no verdict \"fine\""},
        Edit{"/findings/0/shrinking/steps", "0", "findings[0].shrinking.original: expected where steps > 0"},
        Edit{"/seconds/total", "-0.5", "seconds.total: expected seconds, not negative, got -0.5"}));

TEST(ReadReport, NamesTheMemberThatIsMissing) {
  for (const char* key : {"seed", "environment", "backends", "seconds"}) {
    Json json = sample();
    json.erase(key);
    const auto read = read_report(json.dump());
    ASSERT_FALSE(read) << key;
    EXPECT_THAT(read.error().text(), HasSubstr("misses the key \"" + std::string(key) + "\""));
  }
  EXPECT_THAT(read_report("[]").error().text(), HasSubstr("expected an object"));
  EXPECT_THAT(read_report("{}").error().text(), HasSubstr("this is no report"));
}

TEST(ReadReport, TakesReportsOfBeforeTheCommonTiersWereAdded) {
  Json json = sample();
  json["backends"][0]["operators"]["QLinearConv"]["tiers"].erase("common");
  const auto read = read_report(json.dump());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->backends[0].tiers().common, reference::TierSet::all());
}

}  // namespace
}  // namespace qconform::report
