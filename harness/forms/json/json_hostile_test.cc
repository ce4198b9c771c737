// Damaged and hostile files: an error or a case, at bounded cost; never a crash or an exception.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "harness/core/limits.h"
#include "harness/core/verdict.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/case_builder.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;

std::string sample_text() {
  Case test_case = QLinearConvBuilder()
                       .id("sample")
                       .x(make::uint8({1, 2, 1, 3}, {255, 0, 7, 1, 2, 3}))
                       .w(make::int8({1, 2, 1, 2}, {1, -2, 3, -4}))
                       .w_zero_point(std::vector<std::int64_t>{5})
                       .pads({0, 1, 0, 0})
                       .attribute("alpha", 0.5F)
                       .attribute("mode", std::string("a\tb"))
                       .recorded_output(make::filled(ElementType::uint8, {1, 1, 1, 17}, 9))
                       .build();
  test_case.inputs[1].reset();
  test_case.defect = DefectAnswer{VerdictKind::wrong, {make::uint8({1}, {3})}};
  test_case.provenance = {"random", 1234567890123456789U, 7};
  return case_json(test_case);
}

std::string parse_error(const std::string& text) {
  const Result<Json> value = parse_json(text);
  EXPECT_FALSE(value) << text.substr(0, 100);
  return value ? "" : value.error().text();
}

// Cases that can be read can be written, and read back as the same text.
void expect_error_or_stable(const std::string& text) {
  const Result<std::vector<Case>> cases = read_cases_json(text);
  if (!cases) {
    EXPECT_FALSE(cases.error().message.empty());
    return;
  }
  const std::string written = cases_json(*cases);
  const Result<std::vector<Case>> again = read_cases_json(written);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(cases_json(*again), written);
}

TEST(HostileJson, EveryTruncationIsRefused) {
  const std::string text = sample_text();
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    EXPECT_FALSE(read_cases_json(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(HostileJson, ChangedBytesGiveAnErrorOrACase) {
  const std::string text = sample_text();
  std::uint64_t state = 20261121;
  const auto next = [&state] {  // splitmix64
    std::uint64_t z = state += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  };
  for (int round = 0; round < testing::scaled(20000); ++round) {
    std::string damaged = text;
    const std::uint64_t changes = 1 + next() % 3;
    for (std::uint64_t i = 0; i < changes; ++i) {
      // Half of the bytes come from the file itself: they keep the grammar more often.
      const char byte = next() % 2 == 0 ? static_cast<char>(next() & 0xFFU) : text[next() % text.size()];
      damaged[next() % damaged.size()] = byte;
    }
    expect_error_or_stable(damaged);
  }
}

TEST(HostileJson, DepthIsBounded) {
  EXPECT_TRUE(parse_json(std::string(limits::kJsonDepth, '[') + std::string(limits::kJsonDepth, ']')));
  const std::string deeper = std::string(limits::kJsonDepth + 1, '[') + std::string(limits::kJsonDepth + 1, ']');
  EXPECT_EQ(parse_error(deeper), "nested deeper than 32 levels [rule limit]");
  EXPECT_THAT(parse_error(std::string(1000000, '[')), HasSubstr("nested deeper"));
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  EXPECT_THAT(parse_error(objects), HasSubstr("nested deeper"));
}

TEST(HostileJson, KeysAreBoundedAndUnique) {
  EXPECT_EQ(parse_error(R"({"a": 1, "b": 2, "a": 3})"), "duplicate key \"a\"");
  std::string keys = "{";
  for (int i = 0; i < 100; ++i) keys += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 0";
  EXPECT_EQ(parse_error(keys + "}"), "an object has more than 64 keys [rule limit]");
}

TEST(HostileJson, ValuesAreBounded) {
  const std::string text = R"([{"a": 1, "b": [2, 3]}, null])";
  EXPECT_TRUE(parse_json(text, {.values = 7}));
  const Result<Json> value = parse_json(text, {.values = 6});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().text(), "more than 6 values [rule limit]");
}

TEST(HostileJson, TextIsStrict) {
  EXPECT_THAT(parse_error("{} {}"), HasSubstr("line 1, column 4"));
  EXPECT_THAT(parse_error("[1, /* two */ 2]"), HasSubstr("parse error"));
  EXPECT_THAT(parse_error("\"\xFF\""), HasSubstr("UTF-8"));
  EXPECT_THAT(parse_error("\"\xED\xA0\x80\""), HasSubstr("UTF-8"));
  EXPECT_THAT(parse_error("[1,]"), HasSubstr("parse error"));
  EXPECT_THAT(parse_error("NaN"), HasSubstr("parse error"));
  EXPECT_THAT(parse_error(""), HasSubstr("parse error"));
}

TEST(HostileJson, HugeNumbersAreRefused) {
  EXPECT_THAT(parse_error("[1e400]"), HasSubstr("number overflow"));
  EXPECT_THAT(parse_error(std::string(100000, '9')), HasSubstr("number overflow"));
}

TEST(HostileJson, MessagesAreShortAndPrintable) {
  const std::string message = parse_error("[" + std::string(1000000, '\xC3'));
  EXPECT_LT(message.size(), 400U);
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

}  // namespace
}  // namespace qconform
