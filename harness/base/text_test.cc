#include "harness/base/text.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace qconform {
namespace {

TEST(TerminalText, ShowsWhatControlsATerminalAndDoesNotSendIt) {
  EXPECT_EQ(shown("red \x1b[31mtext\x1b[0m"), "red \\x1b[31mtext\\x1b[0m");
  EXPECT_EQ(shown("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(shown("line\nline\r\ttab\x7f"), "line\\x0aline\\x0d\\x09tab\\x7f");
  EXPECT_EQ(shown("a\xc2\x9b"
                  "2Jb"),
            "a\\u009b2Jb");  // the control sequence introducer in one character
  EXPECT_EQ(shown("right \xe2\x80\xae left"), "right \\u202e left");
  EXPECT_EQ(shown("soft\xc2\xadhyphen"), "soft\\u00adhyphen");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
}

TEST(TerminalText, KeepsText) {
  EXPECT_EQ(shown("gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x98\x80");
  EXPECT_EQ(shown("back\\slash"), "back\\slash");
}

TEST(TerminalText, ShowsBytesThatAreNoCharacters) {
  EXPECT_EQ(shown("\xc3"), "\\xc3");                    // cut off
  EXPECT_EQ(shown("\xc3("), "\\xc3(");                  // not continued
  EXPECT_EQ(shown("\xc0\x9b"), "\\xc0\\x9b");           // longer than it must be
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // half of a pair
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(shown("\x9b"
                  "2J"),
            "\\x9b2J");
}

TEST(TerminalText, LinesAndOwnColoursStay) {
  const std::string own = "  " + coloured("wrong", Colour::red) + "\tF1\n";
  EXPECT_EQ(shown_lines(own), own);
  EXPECT_EQ(shown_lines("\x1b[2J\x1b[31;5m\r"), "\\x1b[2J\\x1b[31;5m\\x0d");
}

TEST(TerminalText, CountsColumnsAndCuts) {
  EXPECT_EQ(columns_of(coloured("gr\xc3\xbc\xc3\x9f", Colour::bold)), 4U);
  EXPECT_EQ(cut_to("gr\xc3\xbc\xc3\x9f und mehr", 7), "gr\xc3\xbc\xc3\x9f...");
  EXPECT_EQ(cut_to("short", 5), "short");
  EXPECT_EQ(cut_to("short", 2), "..");
}

TEST(Wrap, LongLinesContinueWhereTheirTextBegins) {
  EXPECT_EQ(wrapped("    when      padded, kernel of more than one tap, x_zero_point != 0\n", 40),
            "    when      padded, kernel of more\n"
            "              than one tap, x_zero_point\n"
            "              != 0\n");
}

TEST(Wrap, WithoutALabelTheyContinueFartherIn) {
  EXPECT_EQ(wrapped("  skipped, by reason: a reason that is long", 24),
            "  skipped, by reason: a\n"
            "    reason that is long");
}

TEST(Wrap, ShortLinesAndWordsStay) {
  const std::string text = "short\n\n  columns   1,203      17   tier E\n";
  EXPECT_EQ(wrapped(text, 40), text);
  EXPECT_EQ(wrapped("awordthatislongerthantheterminal", 8), "awordthatislongerthantheterminal");
}

TEST(Wrap, WhatIsCopiedStays) {
  const std::string text =
      "    replay    qconform replay build/reports/run/F1.json --backend mine\nreport build/reports/run/report.json\n";
  EXPECT_EQ(wrapped(text, 30), text);
}

TEST(Wrap, ColoursTakeNoColumns) {
  const std::string text = coloured("wrong", Colour::red) + " 9 of 12";
  EXPECT_EQ(wrapped(text, 13), text);
}

}  // namespace
// The examples of RFC 4648.
TEST(Base64, FillsTheLastGroup) {
  const std::pair<std::string_view, std::string_view> examples[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : examples) EXPECT_EQ(base64(bytes), text);
}

}  // namespace qconform
