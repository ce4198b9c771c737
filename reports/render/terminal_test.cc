#include "reports/render/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <set>
#include <string>

#include "harness/base/text.h"
#include "harness/report/progress.h"
#include "harness/tests/arbitrary_report.h"
#include "reports/gate/gate.h"
#include "reports/render/forms.h"
#include "reports/render/matrix.h"

namespace qconform::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Nothing that would control a terminal, and no line that begins within another's text ("line\nline").
void expect_harmless(const std::string& text) {
  for (const std::string_view line : split(text, "\n")) {
    RC_ASSERT(shown(line) == line);
    RC_ASSERT(!line.starts_with("line") || line.starts_with("line\\x0aline"));
  }
}

RC_GTEST_PROP(Terminal, GetsNoControlCharacterOfAReport, ()) {
  const Report report = testing::arbitrary_report();
  expect_harmless(headline(report));
  for (const std::size_t columns : {0U, 40U, 80U, 200U}) {
    expect_harmless(summary(report, {.columns = columns}));
    expect_harmless(summary(report, {.verbose = true, .columns = columns}));
    expect_harmless(summary(report, {.brief = true, .columns = columns}));
    expect_harmless(matrix_table(matrix_of(report), Painter(false), columns));
  }
}

RC_GTEST_PROP(Terminal, GetsNoControlCharacterOfAGate, ()) {
  Report before = testing::arbitrary_report();
  const Report now = testing::arbitrary_report();
  before.profile = now.profile;
  before.overflow = now.overflow;
  const auto comparison = gate::compare({"before.json", before}, {"now.json", now}, nullptr);
  RC_ASSERT(comparison.has_value());
  expect_harmless(gate::to_text(*comparison, Painter(false)));
}

RC_GTEST_PROP(Markdown, HasNoControlCharacter, ()) {
  const std::string text = to_markdown(testing::arbitrary_report(), kCommentBytes);
  RC_ASSERT(shown_lines(text) == text);
}

RC_GTEST_PROP(Junit, HasNoControlCharacter, ()) {
  const std::string text = to_junit(testing::arbitrary_report());
  RC_ASSERT(shown_lines(text) == text);
  for (const std::string_view line : split(text, "\n")) {
    RC_ASSERT(!line.starts_with("line") || line.starts_with("line\\x0aline"));
  }
}

// Whatever a report holds, the last line, the exit code, JSON, Markdown and the page's data state one result.
RC_GTEST_PROP(Conclusions, AgreeInEveryForm, ()) {
  const Report report = testing::arbitrary_report();
  const std::string text = conclusions(report, false);
  RC_ASSERT(!text.empty() && text.back() == '\n');
  const auto lines = split(std::string_view(text).substr(0, text.size() - 1), "\n");
  const bool all_conform = report.conclusion() == Conclusion::conforms;
  RC_ASSERT(lines.back().starts_with("conforms") == all_conform);
  RC_ASSERT(to_markdown(report, kCommentBytes).starts_with("### qconform: conforms\n") == all_conform);
  const auto json = nlohmann::json::parse(to_json(report));
  RC_ASSERT(json["conforms"].get<bool>() == report.conforms());
  RC_ASSERT((json["conclusion"] == "conforms") == all_conform);
  RC_ASSERT(report.conforms() == (all_conform || report.conclusion() == Conclusion::agrees_in_part));
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    const BackendResult& backend = report.backends[i];
    const bool one_conforms = backend.conclusion() == Conclusion::conforms;
    RC_ASSERT(lines[i].starts_with("conforms") == one_conforms);
    RC_ASSERT((json["backends"][i]["conclusion"] == "conforms") == one_conforms);
    if (backend.decides && !backend.conforms() && !(report.campaign && report.campaign->is_part())) {
      RC_ASSERT(!report.conforms());
    }
  }
}

Report report_with(std::size_t operators) {
  Report report;
  BackendResult backend;
  backend.info = {"mine", "1.0", "plugin"};
  for (std::size_t i = 0; i < operators; ++i) {
    OperatorResult& result = backend.operators["Operator" + std::to_string(i)];
    result.verdicts[static_cast<std::size_t>(VerdictKind::pass)] = 1203;
    result.verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = i;
  }
  report.backends.push_back(backend);
  return report;
}

std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  for (const std::string_view line : split(text, "\n")) columns = std::max(columns, columns_of(line));
  return columns;
}

TEST(Terminal, TablesFit) {
  const Report report = report_with(6);
  for (const std::size_t columns : {40U, 80U, 100U, 200U}) {
    for (const bool brief : {false, true}) {
      const std::string text = summary(report, {.colour = true, .brief = brief, .columns = columns});
      EXPECT_LE(widest(text), columns) << text;
      EXPECT_THAT(text, HasSubstr("1,203"));
      EXPECT_THAT(text, HasSubstr("Operator5"));
    }
  }
  EXPECT_EQ(summary(report, {.columns = 200}), summary(report, {}));
}

TEST(Terminal, ATableTooWideSaysWhatTheWideOneSays) {
  const std::string text = summary(report_with(2), {.columns = 40});
  EXPECT_THAT(text, HasSubstr("  Operator0  right 1,203\n"));
  EXPECT_THAT(text, HasSubstr("  Operator1  right 1,203, wrong 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("declined")));
}

// A time alone could be the backend's, a job's or the whole run's.
TEST(Summary, SaysOfEveryTimeWhatTookIt) {
  Report report;
  BackendResult& backend = report.backends.emplace_back();
  backend.info = {"mine", "1", "plugin"};
  backend.seconds = 11;
  backend.operators["QLinearConv"].verdicts[static_cast<std::size_t>(VerdictKind::wrong)] = 3;
  report.times = {
      .generate = 1, .reference = 20, .statistics = 2, .backend = 11, .judge = 5, .diagnose = 9, .total = 49};
  Finding& finding = report.findings.emplace_back();
  finding.op_type = "QLinearConv";
  finding.backend = "mine";
  finding.example.nodes.emplace_back().op_type = "QLinearConv";
  finding.shrinking = Shrinking{.ending = "minimal", .runs = 37, .steps = 2, .seconds = 0.003};
  const std::set<std::string> labels{"backend",  "generate", "reference", "statistics", "backends", "judge",
                                     "diagnose", "all",      "shrinking", "together,",  "together"};
  for (const bool is_campaign : {false, true}) {
    if (is_campaign) report.campaign.emplace();
    const std::string text = summary(report, {.verbose = true});
    const std::regex time(R"((\S+) ([0-9.,]+ m?s)\b)");
    std::size_t times = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), time), end; at != end; ++at, ++times) {
      EXPECT_TRUE(labels.contains((*at)[1])) << at->str() << " in\n" << text;
    }
    EXPECT_EQ(times, 9U) << text;
  }
}

TEST(SecondsLeft, AreNotToldFromTooFew) {
  for (double done = 0; done <= 1000; ++done) {
    for (const double seconds : {0.0, 1.0, 4.9, 5.0, 100.0}) {
      const auto left = seconds_left(done, 1000, seconds);
      EXPECT_EQ(left.has_value(), done >= 30 && seconds >= 5) << done << " in " << seconds << " s";
      if (!left) continue;
      EXPECT_DOUBLE_EQ(*left, seconds * (1000 - done) / done);
    }
  }
  EXPECT_FALSE(seconds_left(1001, 1000, 100).has_value());
}

}  // namespace
}  // namespace qconform::report
