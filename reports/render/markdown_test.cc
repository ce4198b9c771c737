#include "reports/render/forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/forms/archive/report_archive.h"
#include "harness/tests/arbitrary_report.h"
#include "reports/render/markdown.h"

namespace qconform::report {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
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
