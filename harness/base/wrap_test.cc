#include "harness/base/text.h"

#include <gtest/gtest.h>

namespace qconform {
namespace {

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
}  // namespace qconform
