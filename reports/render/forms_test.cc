#include "reports/render/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <tinyxml2.h>
#include <nlohmann/json.hpp>

#include <ostream>

#include "harness/forms/archive/report_archive.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/tests/arbitrary_archive.h"

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

RC_GTEST_PROP(ReadReport, GivesTheSameReportAgain, ()) {
  const Report report = testing::arbitrary_report(testing::Texts::unicode);
  const auto read = read_report(to_json(report));
  if (!read) RC_FAIL(read.error().text());
  RC_ASSERT(*read == report);
}

TEST(ReadReport, RefusesAFirstWrongLayerThatIsNot) {
  Report report;
  report.model.emplace().layers = {{.id = "a", .state = LayerState::right}, {.id = "b", .state = LayerState::wrong}};
  Json json = Json::parse(to_json(report));
  json["model"]["first_wrong"] = 0;
  const auto refused = read_report(json.dump());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), HasSubstr("model.first_wrong: is not the first wrong layer"));
  json.erase("model");
  EXPECT_EQ(read_report(json.dump())->model, std::nullopt);
}

// A graph is made of the case where the report is written; what was read keeps it.
TEST(ReadReport, KeepsTheGraphOfACaseOfSeveralNodes) {
  GraphBuilder graph(13);
  const std::string a =
      graph.node("DequantizeLinear", {graph.input(make::uint8({1}, {2})), graph.initializer(make::float32(0.5F))});
  Report report;
  Finding& finding = report.findings.emplace_back();
  finding.example = graph.build({graph.node("Relu", {a})});
  const std::string text = to_json(report);
  const Json shown = Json::parse(text)["findings"][0]["example"]["graph"];
  ASSERT_EQ(shown["nodes"].size(), 2U) << text;
  EXPECT_EQ(shown["computed"].size(), 2U);
  const auto read = read_report(text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), text);
  finding.example = {};
  EXPECT_FALSE(Json::parse(to_json(report))["findings"][0]["example"].contains("graph"));
}

// Two elements of three, the first of them wrong.
ElementMap element_map() {
  ElementMap result;
  result.got = {.name = "y", .type = "uint8", .shape = {3}, .begin = {1}, .extent = {2}, .values = {"7", "8"}};
  result.expected = {"6", "8"};
  result.exact = {"6", "8"};
  result.admissible = {"{6}", "{8}"};
  result.wrong = {true, false};
  result.wrong_elements = 1;
  result.worst = {1};
  return result;
}

CaseResults results() {
  const CaseResult::OfBackend wrong{VerdictKind::wrong, std::nullopt, 3, "F1"};
  const CaseResult::OfBackend declined{VerdictKind::unsupported, std::nullopt, 0, "", "only 2-D"};
  return {{{"random", "case-1", "QLinearConv", "x [1]", {wrong}},
           {"random", "case-2", "QLinearConv", "x [2]", {{VerdictKind::pass, reference::Tier::exact, 0, ""}}},
           {"random", "case-3", "QLinearConv", "x [3]", {declined}}},
          3,
          1};
}

// A report with one of everything that the errors below are about.
Json sample() {
  Report report;
  report.environment.version = "0.0.1";
  report.suites.emplace_back().name = "random";
  CornerCaseCounts counts;
  counts.add(CornerCase::tie_positive, 2);
  report.corner_cases.add("QLinearConv", "uint8 int8 uint8", counts);
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
  finding.element_map = element_map();
  report.findings.push_back(finding);
  report.results = results();
  report.campaign.emplace();
  report.campaign->timeline = {4, {{0, 2, 1, 0.5}}, {{"tie-positive", 0}}};
  return Json::parse(to_json(report));
}

// Both become the same character of what is written.
TEST(ReadReport, MergesNamesThatAreNotUtf8) {
  Report report;
  report.results = {{{"\xF1", "case-1", "\xC3", "x [1]", {}}, {"\xC3", "case-2", "\xF1", "x [2]", {}}}, 2, 0};
  const std::string text = to_json(report);
  EXPECT_EQ(Json::parse(text)["results"]["suites"], Json::array({"\xEF\xBF\xBD"}));
  const auto read = read_report(text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(to_json(*read), text);
}

struct ReportEdit {
  const char* pointer;
  const char* value;
  const char* error;
};

// The tests' names: not by addresses, which differ from build to build.
void PrintTo(const ReportEdit& edit, std::ostream* out) {
  *out << edit.pointer << " = " << edit.value;
}

class ReadReportErrors : public ::testing::TestWithParam<ReportEdit> {};

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
        ReportEdit{"/format", "\"qconform-bench\"", "format: expected \"qconform-report\", got \"qconform-bench\""},
        ReportEdit{"/version", "2", "version: 2: written by a newer qconform; this one, "},
        ReportEdit{"/version", "0", "version: there is no version 0"},
        ReportEdit{"/conforms", "true", "conforms: true, but the backends' verdicts say false"},
        ReportEdit{"/seed", "-1", "seed: expected an integer that is not negative, got -1"},
        ReportEdit{"/novel", "1", "unknown key \"novel\""},
        ReportEdit{"/novel", "1", "(the report is of qconform 0.0.1, this is "},
        ReportEdit{"/suites/0/digest", "\"12\"", "suites[0].digest: expected 16 hexadecimal digits, got \"12\""},
        ReportEdit{"/corner_cases/0/id", "\"no-such\"", "corner_cases[0].id: no corner case \"no-such\""},
        ReportEdit{"/corner_cases/0/cases", "7", "corner_cases[0].cases: 7, but its parts are 1 together"},
        ReportEdit{"/corner_cases/0/by/0/operator", "\"DequantizeLinear\"", "corner_cases[0].by[0].operator: "},
        ReportEdit{"/backends/0/operators/QLinearConv/verdicts/odd", "1",
                   "backends[0].operators.QLinearConv.verdicts: no verdict \"odd\""},
        ReportEdit{"/backends/0/operators/QLinearConv/cases", "9",
                   "backends[0].operators.QLinearConv.cases: 9, but its parts are 3 together"},
        ReportEdit{"/backends/0/operators/QLinearConv/waived/wrong", "2",
                   "backends[0].operators.QLinearConv.waived: 2 wrong waived, of 1"},
        ReportEdit{"/backends/0/operators/QLinearConv/tiers/reached", "\"D\"",
                   "tiers.reached: \"D\" is not the strictest"},
        ReportEdit{"/backends/0/conforms", "true", "backends[0].conforms: true, but the verdicts say false"},
        ReportEdit{"/backends/0/decides", "1", "backends[0].decides: expected true or false, got 1"},
        ReportEdit{"/findings/0/verdict", "\"fine\"", "findings[0].verdict: no verdict \"fine\""},
        ReportEdit{"/findings/0/shrinking/steps", "0", "findings[0].shrinking.original: expected where steps > 0"},
        ReportEdit{"/findings/0/picture/wrong", "[2]",
                   "picture.wrong[0]: expected positions below 2, ascending, got 2"},
        ReportEdit{"/findings/0/picture/exact", "[\"6\"]", "picture: got has 2 values, another of its lists 1"},
        ReportEdit{"/findings/0/picture/parameter", "[0]", "picture.parameter: 1 positions for 2 elements"},
        ReportEdit{"/findings/0/picture/got/begin", "[2]", "picture.got: dimension 0: the box [2, +2) is not within 3"},
        ReportEdit{"/findings/0/picture/got/extent", "[1]", "picture.got.values: 2 values for 1 elements"},
        ReportEdit{"/findings/0/picture/got/shape", "[3, 1]", "picture.got: shape, begin and extent have 2, 1 and 1"},
        ReportEdit{"/results/backends/0/reasons/row", "[1]",
                   "results.backends[0].reasons.row[0]: expected rows that are"},
        ReportEdit{"/results/backends/0/reasons/reason", "[]",
                   "results.backends[0].reasons: its columns have different"},
        ReportEdit{"/results/backends/0/reasons/reason", "[1]",
                   "results.backends[0].reasons.reason[0]: is not in the list"},
        ReportEdit{"/results/suite", "[0]", "results: its columns have different lengths"},
        ReportEdit{"/results/operator", "[0, 1, 0]",
                   "results: row 1 has a suite or an operator that is not in their lists"},
        ReportEdit{"/results/backends", "[]", "results.backends: 0 backends, of the report's 1"},
        ReportEdit{"/results/backends/0/name", "\"other\"", "results.backends[0].name: expected \"mine\""},
        ReportEdit{"/results/backends/0/verdict", "[0, 7, 2]", "results.backends[0].verdict[1]: is not in the list"},
        ReportEdit{"/results/backends/0/tier", "[null, 99, null]",
                   "results.backends[0].tier[1]: is not in the list of tiers"},
        ReportEdit{"/results/backends/0/verdict", "[0, 0, 2]", "results.backends[0].failures.row: misses row 1"},
        ReportEdit{"/results/backends/0/verdict", "[1, 1, 2]", "results.backends[0].failures.row: has row 0"},
        ReportEdit{"/campaign/course/group_blocks", "3",
                   "campaign.course.group_blocks: expected a power of two, got 3"},
        ReportEdit{"/campaign/course/groups/0/first", "2", "groups[0].first: expected multiples of group_blocks"},
        ReportEdit{"/campaign/course/corner_cases/0/id", "\"none\"",
                   "campaign.course.corner_cases[0].id: no corner case \"none\""},
        ReportEdit{"/seconds/total", "-0.5", "seconds.total: expected seconds, not negative, got -0.5"}));

TEST(ReadReport, NamesTheMemberThatIsMissing) {
  const std::string result = "/backends/0/operators/QLinearConv";
  for (const std::string& place : {std::string("/seed"), std::string("/environment"), std::string("/backends"),
                                   std::string("/seconds"), std::string("/conclusion"), result + "/corner_cases",
                                   result + "/tiers/common", result + "/tiers/elements/Q31-f32",
                                   std::string("/results/reasons"), std::string("/results/backends/0/reasons")}) {
    const Json::json_pointer member(place);
    Json json = sample();
    ASSERT_TRUE(json.contains(member)) << place;
    json[member.parent_pointer()].erase(member.back());
    const auto read = read_report(json.dump());
    ASSERT_FALSE(read) << place;
    EXPECT_THAT(read.error().text(), HasSubstr("misses the key \"" + member.back() + "\""));
  }
  EXPECT_THAT(read_report("[]").error().text(), HasSubstr("expected an object"));
  EXPECT_THAT(read_report("{}").error().text(), HasSubstr("this is no qconform-report"));
}

// The scope in words follows from the rest, and a release may word it in another way.
TEST(ReadReport, DerivesTheScopeAnew) {
  Report report;
  OperatorResult result;
  result.verdicts[0] = 69;
  result.verdicts[static_cast<std::size_t>(VerdictKind::unsupported)] = 3190;
  report.backends.emplace_back().operators["QLinearConv"] = result;
  result.verdicts[0] = 0;
  report.backends[0].operators["ConvInteger"] = result;
  Json json = Json::parse(to_json(report));
  const std::string scope = "on QLinearConv (69 of 3,259 valid cases computed); ConvInteger not implemented";
  EXPECT_EQ(json["backends"][0]["scope"], scope);
  json["backends"][0]["scope"] = "of old";
  const auto read = read_report(json.dump());
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(scope_of(read->backends[0]), scope);
}

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
  const junit::TestCase red{"backend", "operator", junit::TestResult::failed, "wrong", "message", "\x1b[31mred\x1b[0m"};
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

// Three layers of a whole model: right, wrong, and right on what that led to.
Report report_with_layers() {
  Report report = report_with(finding_of(VerdictKind::wrong));
  report.model.emplace().backend = "mine";
  report.model->layers = {
      {.id = "a|b", .state = LayerState::right, .elements = 8},
      {.id = "conv", .state = LayerState::wrong, .elements = 8, .wrong_elements = 2, .worst = {}, .finding = "F1"},
      {.id = "relu", .state = LayerState::fed_wrong, .elements = 8},
      {.id = "lstm", .state = LayerState::not_judged}};
  return report;
}

TEST(Junit, HasATestForEachLayerOfAModel) {
  const std::string text = to_junit(report_with_layers());
  EXPECT_THAT(text, HasSubstr("classname=\"qconform.mine.layers\" name=\"1 a|b\""));
  EXPECT_THAT(text, HasSubstr("<failure type=\"wrong\" message=\"25 % of 8 elements wrong\">F1: "));
  EXPECT_THAT(text, HasSubstr("right on the values that a wrong layer led to"));
  EXPECT_THAT(text, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\""));
}

TEST(Markdown, NamesTheFirstWrongLayerOfAModel) {
  Report report = report_with_layers();
  const std::string text = to_markdown(report, 30000);
  EXPECT_THAT(text, HasSubstr("First wrong layer: 2 of 4, `conv`.\n"));
  EXPECT_THAT(text, HasSubstr("| 2 | conv | wrong | 25 % of 8 elements wrong | F1 |\n"));
  report.model->layers[1].state = LayerState::right;
  EXPECT_THAT(to_markdown(report, 30000), HasSubstr("None of 4 layers is wrong.\n"));
  report.model->layers.assign(30, {.id = "x", .state = LayerState::wrong, .elements = 1, .wrong_elements = 1});
  EXPECT_THAT(to_markdown(report, 30000), HasSubstr("\nand 10 more\n"));
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

using ::testing::AllOf;
using ::testing::Not;
using ::testing::StartsWith;

RC_GTEST_PROP(Markdown, StaysWithinItsLimit, ()) {
  Report report = testing::arbitrary_report();
  const auto copies = *rc::gen::inRange(1, 40);
  const std::vector<Finding> findings = report.findings;
  for (int i = 0; i < copies; ++i) report.findings.insert(report.findings.end(), findings.begin(), findings.end());
  const auto limit = *rc::gen::inRange<std::size_t>(kLeastMarkdownBytes, 30000);
  const std::string text = to_markdown(report, limit);
  RC_ASSERT(text.size() <= limit);
  RC_ASSERT(text.starts_with(std::string("### qconform: ") + conclusion_text(report)));
}

TEST(Markdown, EscapesTheTextOfBackends) {
  EXPECT_EQ(escaped("a|b <img> [x](y) *z*\n`w`"), "a\\|b &lt;img&gt; \\[x\\](y) \\*z\\* \\`w\\`");
  EXPECT_EQ(code("a `b` | c"), "``a `b` \\| c``");
  EXPECT_EQ(code_block("```"), "````\n```\n````\n");
  EXPECT_EQ(shortened("gr\xC3\xBC\xC3\x9F", 3), "gr...");
}

TEST(Markdown, TellsTheVerdictTheTableAndWhatToDo) {
  Report report;
  BackendResult backend;
  backend.info = {"mine", "1.0", "plugin"};
  OperatorResult& result = backend.operators["QLinearConv"];
  result.verdicts[0] = 1203;
  result.verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = 2;
  report.backends.push_back(backend);
  Finding finding;
  finding.id = "F1";
  finding.backend = "mine";
  finding.op_type = "QLinearConv";
  finding.example_summary = "x [1,2]";
  finding.replay = "qconform replay F1.json --backend mine";
  report.findings.push_back(finding);
  const std::string text = to_markdown(report, kCommentBytes);
  EXPECT_THAT(text, AllOf(StartsWith("### qconform: does not conform\n\nFailing: mine\n"),
                          HasSubstr("| mine | QLinearConv | 1,205 | 1,203 | **2** | 0 | 0 | 0 | 0 |  |"),
                          HasSubstr("<summary>F1 wrong in QLinearConv on mine: 1 case</summary>"),
                          HasSubstr("```\nqconform replay F1.json --backend mine\n```"), Not(HasSubstr(" more "))));
  report.findings.resize(1000, finding);
  EXPECT_THAT(to_markdown(report, 4096), HasSubstr("more rows and findings: see report.json"));
}

}  // namespace
}  // namespace qconform::report
