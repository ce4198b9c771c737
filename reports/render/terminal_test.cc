#include "reports/render/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/base/text.h"
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

}  // namespace
}  // namespace qconform::report
