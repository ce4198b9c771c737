#include "harness/forms/json/case_json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "harness/base/rng.h"
#include "harness/core/limits.h"
#include "harness/core/verdict.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/case_builder.h"
#include "harness/tests/arbitrary_any_case.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;

Case sample() {
  return QLinearConvBuilder()
      .id("left-pad-only")
      .note("padding is the zero point")
      .rules({"C1"})
      .tags({"padding"})
      .expect(Expectation::valid)
      .x(make::uint8({1, 1, 1, 3}, {255, 0, 7}))
      .x_scale(0.1F)
      .x_zero_point(255)
      .w(make::int8({1, 1, 1, 2}, {1, -2}))
      .pads({0, 1, 0, 0})
      .recorded_output(make::filled(ElementType::uint8, {1, 1, 1, 17}, 9))
      .build();
}

constexpr std::string_view kSampleText = R"({
  "format": "qconform-cases",
  "version": 1,
  "cases": [
    {
      "id": "left-pad-only",
      "note": "padding is the zero point",
      "rules": ["C1"],
      "tags": ["padding"],
      "expectation": "valid",
      "op_type": "QLinearConv",
      "opset_version": 10,
      "attributes": [{"name": "pads", "ints": [0, 1, 0, 0]}],
      "inputs": [
        {"name": "x", "type": "uint8", "shape": [1, 1, 1, 3], "data": [255, 0, 7]},
        {"name": "x_scale", "type": "float", "shape": [], "data": [0.1]},
        {"name": "x_zero_point", "type": "uint8", "shape": [], "data": [255]},
        {"name": "w", "type": "int8", "shape": [1, 1, 1, 2], "data": [1, -2]},
        {"name": "w_scale", "type": "float", "shape": [], "data": [1.0]},
        {"name": "w_zero_point", "type": "int8", "shape": [], "data": [0]},
        {"name": "y_scale", "type": "float", "shape": [], "data": [1.0]},
        {"name": "y_zero_point", "type": "uint8", "shape": [], "data": [0]}
      ],
      "recorded_output": {"type": "uint8", "shape": [1, 1, 1, 17], "fill": 9}
    }
  ]
}
)";

// A whole file around one tensor that is the only input of an unknown operator.
std::string file_with_input(const std::string& tensor) {
  return R"({"format": "qconform-cases", "version": 1, "cases": [{"id": "a", "op_type": "T", "opset_version": 1,
             "inputs": [)" +
         tensor + "]}]}";
}

Tensor tensor_of(const std::string& text) {
  const Result<std::vector<Case>> cases = read_cases_json(file_with_input(text));
  EXPECT_TRUE(cases) << (cases ? "" : cases.error().text());
  return cases ? *cases->at(0).inputs.at(0) : Tensor{};
}

std::string error_of(const std::string& text) {
  const Result<std::vector<Case>> cases = read_cases_json(text);
  EXPECT_FALSE(cases) << text.substr(0, 200);
  return cases ? "" : cases.error().text();
}

// The sample with its first occurrence of `from` replaced.
std::string altered(std::string_view from, std::string_view to) {
  std::string text(kSampleText);
  const std::size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return text.replace(found, from.size(), to);
}

std::string written_tensor(const Tensor& tensor) {
  Case test_case;
  test_case.inputs.emplace_back(tensor);
  const std::string text = case_json(test_case);
  const std::size_t begin = text.find("{\"type\"");
  return text.substr(begin, text.find('}', begin) + 1 - begin);
}

TEST(CaseJson, WritesWhatPeopleCanReview) {
  EXPECT_EQ(case_json(sample()), kSampleText);
}

TEST(CaseJson, ReadsWhatItWrites) {
  const Result<std::vector<Case>> cases = read_cases_json(kSampleText);
  ASSERT_TRUE(cases) << cases.error().text();
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ(cases->front(), sample());
}

TEST(CaseJson, KeepsTheNodesBeforeACaseAndRefusesNodesBeforeThose) {
  Case test_case = sample();
  test_case.before = {sample(), sample()};
  test_case.before[0].inputs[2] = make::uint8({}, {9});
  const auto again = read_cases_json(case_json(test_case));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->front(), test_case);
  EXPECT_NE(digest_of(test_case), digest_of(sample()));
  test_case.before[1].before = {sample()};
  const auto nested = read_cases_json(case_json(test_case));
  ASSERT_FALSE(nested);
  EXPECT_THAT(nested.error().text(), HasSubstr("cases[0].before[1].before: a case before another has none"));
}

TEST(CaseJson, WrapsLongArrays) {
  Case test_case;
  std::vector<std::int64_t> values(100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  test_case.inputs.emplace_back(make::uint8({100}, values));
  const std::string text = case_json(test_case);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
  }
  EXPECT_THAT(text, HasSubstr("\n            0, 1, 2, 3,"));
}

TEST(CaseJson, WritesEveryKindOfElement) {
  EXPECT_THAT(written_tensor(make::integers(ElementType::int4, {3}, {-8, 7, -1})), HasSubstr("\"data\": [-8, 7, -1]"));
  EXPECT_THAT(written_tensor(make::integers(ElementType::uint2, {5}, {0, 1, 2, 3, 1})), HasSubstr("[0, 1, 2, 3, 1]"));
  const Tensor large = Tensor::of<std::uint64_t>(ElementType::uint64, {1}, std::vector<std::uint64_t>{~0ULL});
  EXPECT_THAT(written_tensor(large), HasSubstr("[18446744073709551615]"));
  const Tensor halves = Tensor::of<std::uint16_t>(ElementType::float16, {1}, std::vector<std::uint16_t>{0x3C00});
  EXPECT_THAT(written_tensor(halves), HasSubstr("[\"0x3c00\"]"));
  const Tensor complex =
      Tensor::of<std::uint64_t>(ElementType::complex128, {1}, std::vector<std::uint64_t>{0x11, 0xAB});
  EXPECT_THAT(written_tensor(complex), HasSubstr("[\"0x00000000000000ab0000000000000011\"]"));
}

TEST(CaseJson, WritesFloatsShort) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto bits = [](std::uint32_t pattern) { return std::bit_cast<float>(pattern); };
  EXPECT_THAT(written_tensor(make::float32({4}, {0.1F, -0.0F, 16777216.0F, 1e-45F})),
              HasSubstr("[0.1, -0.0, 16777216.0, 1e-45]"));
  EXPECT_THAT(written_tensor(make::float32({4}, {inf, -inf, bits(0x7FC00000), bits(0x7FC00001)})),
              HasSubstr(R"(["inf", "-inf", "nan", "0x7fc00001"])"));
}

TEST(CaseJson, TextThatIsNotUtf8IsKept) {
  Case test_case = sample();
  test_case.node().attributes.push_back({"mode\xFF", std::string("\xC0\x80", 2)});
  const std::string text = case_json(test_case);
  EXPECT_THAT(text, HasSubstr(R"({"name": {"hex": "6d6f6465ff"}, "string": {"hex": "c080"}})"));
  EXPECT_EQ(read_cases_json(text).value().front(), test_case);
}

TEST(CaseJson, KeepsListsOfStrings) {
  Case test_case = sample();
  test_case.node().attributes.push_back({"activations", std::vector<std::string>{"Tanh", "", "\xFF"}});
  test_case.node().attributes.push_back({"none", std::vector<std::string>()});
  const std::string text = case_json(test_case);
  EXPECT_THAT(text, HasSubstr(R"({"name": "activations", "strings": ["Tanh", "", {"hex": "ff"}]})"));
  EXPECT_EQ(read_cases_json(text).value().front(), test_case);
}

TEST(CaseJson, ReadsFloatsFromIntegersAndKeepsNegativeZero) {
  const Tensor tensor = tensor_of(R"({"type": "float", "shape": [4], "data": [1, -2, -0, 0]})");
  EXPECT_EQ(tensor, make::float32({4}, {1.0F, -2.0F, -0.0F, 0.0F}));
}

TEST(CaseJson, SaysHowElementsAreWritten) {
  const auto error_of_one = [](const std::string& type, const std::string& value) {
    return error_of(altered(R"("x", "type": "uint8", "shape": [1, 1, 1, 3], "data": [255, 0, 7])",
                            fmt::format(R"("x", "type": "{}", "shape": [1], "data": [{}])", type, value)));
  };
  EXPECT_EQ(
      error_of_one("float", "\"0.5\""),
      "cases[0].inputs[0].data[0]: \"0.5\" is not a float: expected a number without quotes, or its bits as \"0x\" "
      "and 8 digits of 0 to f");
  EXPECT_EQ(error_of_one("float16", "0.5"),
            "cases[0].inputs[0].data[0]: 0.5 is not a float16: expected its bits as \"0x\" and 4 digits of 0 to f");
}

TEST(CaseJson, NamesThePlaceOfAnError) {
  EXPECT_EQ(error_of(altered("[255, 0, 7]", "[255, 300, 7]")), "cases[0].inputs[0].data[1]: 300 is not a uint8");
  EXPECT_EQ(error_of(altered("[255, 0, 7]", "[255, \"0\", 7]")),
            "cases[0].inputs[0].data[1]: \"0\" is not a uint8: expected a number without quotes");
  EXPECT_EQ(
      error_of(altered("\"type\": \"uint8\", \"shape\": [1, 1, 1, 3]", "\"type\": \"u8\", \"shape\": [1, 1, 1, 3]")),
      "cases[0].inputs[0].type: \"u8\" is not an element type, such as \"uint8\" or \"float\"");
  EXPECT_EQ(error_of(altered("[255, 0, 7]", "[255, 7]")),
            "cases[0].inputs[0].data: expected 3 values for shape [1, 1, 1, 3], got 2");
  EXPECT_EQ(error_of(altered("\"name\": \"w\"", "\"name\": \"x\"")),
            "cases[0].inputs[3].name: \"x\" is not input 3 of QLinearConv, which is \"w\"");
  EXPECT_THAT(error_of(altered("\"note\"", "\"nota\"")), HasSubstr("cases[0]: unknown key \"nota\""));
  EXPECT_EQ(error_of(altered("\"id\": \"left-pad-only\",", "")), "cases[0]: misses the key \"id\"");
  EXPECT_EQ(error_of(altered("\"version\": 1", "\"version\": 2")), "version: expected 1, got 2");
  EXPECT_THAT(error_of(altered("qconform-cases", "other")), HasSubstr("format: expected \"qconform-cases\""));
  EXPECT_THAT(error_of(altered("\"valid\"", "\"good\"")), HasSubstr("cases[0].expectation: expected"));
  EXPECT_EQ(error_of(altered("\"ints\": [0, 1, 0, 0]", "\"ints\": [0, 1.5, 0, 0]")),
            "cases[0].attributes[0].ints[1]: expected an integer, got 1.5");
  EXPECT_THAT(error_of(altered("\"ints\"", "\"int\": 1, \"ints\"")), HasSubstr("expected one of int"));
  EXPECT_EQ(error_of(altered("\"ints\": [0, 1, 0, 0]", "\"strings\": [\"Tanh\", 1]")),
            "cases[0].attributes[0].strings[1]: expected a string, got 1");
  EXPECT_EQ(error_of(altered("\"ints\": [0, 1, 0, 0]", "\"ints\": [0, \"Tanh\"]")),
            "cases[0].attributes[0].ints[1]: expected an integer, got \"Tanh\"");
  EXPECT_EQ(error_of(altered("\"note\"", "\"defect\": {\"verdict\": \"pass\"}, \"note\"")),
            "cases[0].defect.verdict: expected a failing verdict, got \"pass\"");
  EXPECT_EQ(error_of(altered("\"opset_version\": 10", "\"opset_version\": \"10\"")),
            "cases[0].opset_version: expected an integer, got \"10\"");
  EXPECT_THAT(error_of(altered("\"type\": \"uint8\"", "\"type\": \"octet\"")), HasSubstr("cases[0].inputs[0].type"));
}

TEST(CaseJson, RefusesValuesOutOfTheTypesRange) {
  for (const auto& [type, value] : std::vector<std::pair<std::string, std::string>>{{"uint8", "-1"},
                                                                                    {"uint8", "256"},
                                                                                    {"uint8", "1.0"},
                                                                                    {"int8", "128"},
                                                                                    {"int8", "-129"},
                                                                                    {"int4", "8"},
                                                                                    {"uint2", "4"},
                                                                                    {"int64", "9223372036854775808"},
                                                                                    {"uint64", "-1"},
                                                                                    {"uint64", "18446744073709551616"},
                                                                                    {"float", "1e39"},
                                                                                    {"float", "\"NaN\""},
                                                                                    {"float", "\"0x7fc0000\""},
                                                                                    {"float", "null"},
                                                                                    {"float16", "1"},
                                                                                    {"float16", "\"0x3C00\""},
                                                                                    {"bool", "true"}}) {
    EXPECT_THAT(error_of(file_with_input(R"({"type": ")" + type + R"(", "shape": [1], "data": [)" + value + "]}")),
                HasSubstr("cases[0].inputs[0].data[0]: "))
        << type << " " << value;
  }
}

TEST(CaseJson, ExtremesOfEveryIntegerTypeAreRead) {
  for (const ElementType type : testing::known_types()) {
    if (!is_integer(type)) continue;
    const int bits = bits_of(type);
    Tensor tensor{type, {2}, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(type, 2)))};
    set_raw_bits_at(tensor.bytes, bits, 0, std::uint64_t{1} << (bits - 1));
    set_raw_bits_at(tensor.bytes, bits, 1, (std::uint64_t{1} << (bits - 1)) - 1);
    EXPECT_EQ(tensor_of(written_tensor(tensor)), tensor) << name_of(type);
  }
}

TEST(CaseJson, FillStandsForManyEqualElements) {
  const Tensor tensor = tensor_of(R"({"type": "int4", "shape": [3, 7], "fill": -3})");
  EXPECT_EQ(tensor, make::filled(ElementType::int4, {3, 7}, -3));
  EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "shape": [2], "fill": 256})")),
              HasSubstr("cases[0].inputs[0].fill: 256 is not a uint8"));
  EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "shape": [0], "fill": 256})")), HasSubstr("fill: 256"));
  EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "shape": [1], "fill": 1, "data": [1]})")),
              HasSubstr("expected either \"data\" or \"fill\""));
  EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "shape": [1]})")), HasSubstr("expected either"));
}

TEST(CaseJson, HugeShapesCostNothing) {
  for (const std::string shape : {"[1073741825]", "[65536, 65536]", "[9223372036854775807, 2]", "[0, 4294967296]",
                                  "[1, -1]", "[1073741824, 1, 2]"}) {
    EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "fill": 0, "shape": )" + shape + "}")),
                HasSubstr("cases[0].inputs[0].shape"))
        << shape;
  }
  std::string rank = "[1";
  for (int i = 0; i < 40; ++i) rank += ", 1";
  EXPECT_THAT(error_of(file_with_input(R"({"type": "uint8", "fill": 0, "shape": )" + rank + "]}")),
              HasSubstr("exceed the limit of 32"));
  // Data is counted before memory is taken for the claimed shape.
  EXPECT_THAT(error_of(file_with_input(R"({"type": "int8", "data": [1], "shape": [1073741824]})")),
              HasSubstr("expected 1073741824 values"));
}

TEST(CaseJson, TensorsOfOneFileShareTheirLimit) {
  const std::string tensor = R"({"type": "uint8", "shape": [600], "fill": 1})";
  const std::string text = file_with_input(tensor + ", " + tensor);
  EXPECT_TRUE(read_cases_json(text, {.tensor_bytes = 1200}));
  const Result<std::vector<Case>> cases = read_cases_json(text, {.tensor_bytes = 1199});
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().text(), "cases[0].inputs[1].shape: the tensors of the file exceed the limit [rule limit]");
}

TEST(CaseJson, SavesAndLoadsFiles) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "qconform_case_json_test.json";
  const std::vector<Case> cases{sample(), sample()};
  ASSERT_TRUE(save_cases(path, cases));
  EXPECT_EQ(load_cases(path).value(), cases);
  EXPECT_THAT(load_case(path).error().text(), HasSubstr("cases: expected one case, got 2"));
  ASSERT_TRUE(save_cases(path, std::span(cases).first(1)));
  EXPECT_EQ(load_case(path).value(), sample());
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(limits::kJsonFileBytes) + 1);
  EXPECT_THAT(load_cases(path).error().text(), HasSubstr("larger than the limit of 67108864 bytes"));
  std::filesystem::remove(path);
  EXPECT_THAT(load_cases(path).error().text(), HasSubstr("cannot be opened"));
  EXPECT_THAT(load_cases(::testing::TempDir()).error().text(), HasSubstr("is a folder"));
}

// Damaged and hostile files: an error or a case, at bounded cost; never a crash or an exception.

std::string sample_text() {
  Case test_case = QLinearConvBuilder()
                       .id("sample")
                       .x(make::uint8({1, 2, 1, 3}, {255, 0, 7, 1, 2, 3}))
                       .w(make::int8({1, 2, 1, 2}, {1, -2, 3, -4}))
                       .w_zero_point(std::vector<std::int64_t>{5})
                       .pads({0, 1, 0, 0})
                       .attribute("alpha", 0.5F)
                       .attribute("mode", std::string("a\tb"))
                       .attribute("activations", std::vector<std::string>{"Tanh", "\xFF"})
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
  Rng rng(20261121);
  for (int round = 0; round < testing::scaled(20000); ++round) {
    std::string damaged = text;
    const std::uint64_t changes = 1 + rng.next() % 3;
    for (std::uint64_t i = 0; i < changes; ++i) {
      // Half of the bytes come from the file itself: they keep the grammar more often.
      const char byte = rng.next() % 2 == 0 ? static_cast<char>(rng.next() & 0xFFU) : text[rng.next() % text.size()];
      damaged[rng.next() % damaged.size()] = byte;
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

TEST(CaseJson, SeveralRecordedAnswersOfOneOutputAreNotLost) {
  Case test_case = QLinearConvBuilder().x(make::uint8({1, 1, 1}, {1})).w(make::int8({1, 1, 1}, {1})).build();
  test_case.recorded_outputs.assign(3, make::uint8({1, 1, 1}, {1}));
  const auto read = read_cases_json(case_json(test_case));
  ASSERT_FALSE(read) << "a case without them is another one";
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr("recorded_outputs"));
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

using testing::bitwise_equal;

RC_GTEST_PROP(CaseJsonProperty, EveryCaseComesBackBitForBit, (const Case& first, const Case& second)) {
  const std::vector<Case> cases{first, second};
  const Result<std::vector<Case>> again = read_cases_json(cases_json(cases));
  if (!again) RC_FAIL(again.error().text());
  RC_ASSERT(again->size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) RC_ASSERT(bitwise_equal(cases[i], (*again)[i]));
}

RC_GTEST_PROP(CaseJsonProperty, EveryElementComesBackBitForBit, (std::uint64_t raw)) {
  for (const ElementType type : testing::known_types()) {
    const int bits = bits_of(type);
    if (bits > 64) continue;
    const std::uint64_t kept = raw & (~std::uint64_t{0} >> (64 - bits));
    RC_ASSERT(element_bits(type, element_json(type, kept)) == std::optional(kept));
  }
}

// Lines stay reviewable: nothing but a long string makes one longer than the page.
RC_GTEST_PROP(CaseJsonProperty, NumbersStayWithinThePage, (const Tensor& tensor)) {
  Case test_case;
  test_case.inputs.emplace_back(tensor);
  const std::string text = case_json(test_case);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    RC_ASSERT(end - begin <= 100U);
  }
}

}  // namespace
}  // namespace qconform
