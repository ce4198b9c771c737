// Descriptions as JSON: every rule that refuses one, with its message; what is read comes back.

#include "harness/forms/directml/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "harness/forms/json/json_text.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/tests/directml_descriptions.h"
#include "harness/tests/test_scale.h"

namespace qconform::directml {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string edited(const char* pointer, const char* value) {
  Result<Json> document = parse_json(kValid);
  (*document)[Json::json_pointer(pointer)] = parse_json(value).value();
  return print_json(*document);
}

std::string error_of(const std::string& text) {
  const Result<std::vector<Description>> read = read_descriptions_json(text);
  return read ? "no error" : read.error().text();
}

TEST(DescriptionJson, TheValidOneIsRead) {
  const Result<std::vector<Description>> read = read_descriptions_json(kValid);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->front().group_count, 2U);
  EXPECT_EQ(read->front().tensors[index_of(TensorRole::input)]->bytes.size(), 18U);
}

// One edit of the valid description: a JSON pointer and what is put there.
struct Malformed {
  const char* name;
  const char* pointer;
  const char* value;
  const char* error;
};

void PrintTo(const Malformed& malformed, std::ostream* out) {
  *out << malformed.name;
}

class MalformedTest : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, NamesFieldValueAndRule) {
  EXPECT_EQ(error_of(edited(GetParam().pointer, GetParam().value)), GetParam().error);
}

const Malformed kMalformed[] = {
    {"input_null", "/InputTensor", "null", "InputTensor: is required, got null [rule X1]"},
    {"input_scale_null", "/InputScaleTensor", "null", "InputScaleTensor: is required, got null [rule X1]"},
    {"filter_null", "/FilterTensor", "null", "FilterTensor: is required, got null [rule X1]"},
    {"filter_scale_null", "/FilterScaleTensor", "null", "FilterScaleTensor: is required, got null [rule X1]"},
    {"output_scale_null", "/OutputScaleTensor", "null", "OutputScaleTensor: is required, got null [rule X1]"},
    {"output_null", "/OutputTensor", "null", "OutputTensor: is required, got null [rule X1]"},
    {"input_rank", "/InputTensor/Sizes", "[2, 3, 3]", "InputTensor.DimensionCount: expected 4, got 3 [rule X2]"},
    {"scale_rank", "/InputScaleTensor/Sizes", "[1]", "InputScaleTensor.DimensionCount: expected 4, got 1 [rule X2]"},
    {"bias_rank", "/BiasTensor/Sizes", "[4]", "BiasTensor.DimensionCount: expected 4, got 1 [rule X2]"},
    {"output_rank", "/OutputTensor/Sizes", "[1, 4, 2, 2, 1]",
     "OutputTensor.DimensionCount: expected 4, got 5 [rule X2]"},
    {"rank_not_uint", "/InputTensor/DimensionCount", "-4",
     "InputTensor.DimensionCount: expected a UINT (an integer from 0 to 4294967295), got -4 [rule X2]"},
    {"input_type", "/InputTensor/DataType", "\"INT32\"",
     "InputTensor.DataType: expected INT8 or UINT8, got INT32 [rule X3]"},
    {"scale_type", "/FilterScaleTensor/DataType", "\"FLOAT16\"",
     "FilterScaleTensor.DataType: expected FLOAT32, got FLOAT16 [rule X3]"},
    {"zero_point_type", "/InputZeroPointTensor/DataType", "\"INT32\"",
     "InputZeroPointTensor.DataType: expected INT8 or UINT8, got INT32 [rule X3]"},
    {"bias_type", "/BiasTensor/DataType", "\"FLOAT32\"", "BiasTensor.DataType: expected INT32, got FLOAT32 [rule X3]"},
    {"output_type", "/OutputTensor/DataType", "\"UNKNOWN\"",
     "OutputTensor.DataType: expected INT8 or UINT8, got UNKNOWN [rule X3]"},
    {"type_name", "/InputTensor/DataType", "\"uint8\"",
     "InputTensor.DataType: \"uint8\" is not the name of a data type, such as \"UINT8\" [rule X3]"},
    {"input_zero_point_differs", "/InputZeroPointTensor/DataType", "\"INT8\"",
     "InputZeroPointTensor.DataType: expected that of InputTensor (UINT8), got INT8 [rule C16]"},
    {"filter_zero_point_differs", "/FilterZeroPointTensor/DataType", "\"UINT8\"",
     "FilterZeroPointTensor.DataType: expected that of FilterTensor (INT8), got UINT8 [rule C16]"},
    {"output_zero_point_differs", "/OutputTensor/DataType", "\"UINT8\"",
     "OutputZeroPointTensor.DataType: expected that of OutputTensor (UINT8), got INT8 [rule C16]"},
    {"input_scale_shape", "/InputScaleTensor/Sizes", "[1, 2, 1, 1]",
     "InputScaleTensor.Sizes: expected {1, 1, 1, 1}, got {1, 2, 1, 1} [rule X4]"},
    {"input_zero_point_shape", "/InputZeroPointTensor/Sizes", "[1, 1, 3, 3]",
     "InputZeroPointTensor.Sizes: expected {1, 1, 1, 1}, got {1, 1, 3, 3} [rule X4]"},
    {"filter_scale_shape", "/FilterScaleTensor/Sizes", "[4, 1, 1, 1]",
     "FilterScaleTensor.Sizes: expected {1, 1, 1, 1} or {1, 4, 1, 1} (output channels), got {4, 1, 1, 1} [rule X4]"},
    {"filter_zero_point_shape", "/FilterZeroPointTensor/Sizes", "[1, 2, 1, 1]",
     "FilterZeroPointTensor.Sizes: expected {1, 1, 1, 1} or {1, 4, 1, 1} (output channels), got {1, 2, 1, 1} "
     "[rule X4]"},
    {"bias_shape", "/BiasTensor/Sizes", "[1, 1, 1, 1]",
     "BiasTensor.Sizes: expected {1, 4, 1, 1} (output channels), got {1, 1, 1, 1} [rule X4]"},
    {"output_scale_shape", "/OutputScaleTensor/Sizes", "[1, 4, 1, 1]",
     "OutputScaleTensor.Sizes: expected {1, 1, 1, 1}, got {1, 4, 1, 1} [rule X4]"},
    {"output_zero_point_shape", "/OutputZeroPointTensor/Sizes", "[1, 4, 1, 1]",
     "OutputZeroPointTensor.Sizes: expected {1, 1, 1, 1}, got {1, 4, 1, 1} [rule X4]"},
    {"dimension_count_range", "/DimensionCount", "4294967298",
     "DimensionCount: expected a UINT (an integer from 0 to 4294967295), got 4294967298 [rule X5]"},
    {"strides_length", "/Strides", "[1]", "Strides: expected DimensionCount = 2 values, got 1 [rule X6]"},
    {"dilations_length", "/Dilations", "[1, 1, 1]", "Dilations: expected DimensionCount = 2 values, got 3 [rule X6]"},
    {"start_padding_length", "/StartPadding", "[0, 0, 0, 0]",
     "StartPadding: expected DimensionCount = 2 values, got 4 [rule X6]"},
    {"end_padding_length", "/EndPadding", "[]", "EndPadding: expected DimensionCount = 2 values, got 0 [rule X6]"},
    {"start_padding_negative", "/StartPadding/1", "-1",
     "StartPadding[1]: expected a UINT (an integer from 0 to 4294967295), got -1 [rule X6]"},
    {"strides_fraction", "/Strides/0", "1.5",
     "Strides[0]: expected a UINT (an integer from 0 to 4294967295), got 1.5 [rule X6]"},
    {"dilations_null", "/Dilations", "null", "Dilations: expected an array, got null"},
    {"size_zero", "/InputTensor/Sizes/2", "0",
     "InputTensor.Sizes: expected sizes of at least 1, got {1, 2, 0, 3} [rule X7]"},
    {"size_negative", "/FilterTensor/Sizes/0", "-4",
     "FilterTensor.Sizes[0]: expected a UINT (an integer from 0 to 4294967295), got -4 [rule X7]"},
    {"sizes_count", "/InputTensor/DimensionCount", "5",
     "InputTensor.Sizes: expected DimensionCount = 5 values, got 4 [rule X7]"},
    {"tensor_strides_count", "/InputTensor/Strides", "[18, 9, 3]",
     "InputTensor.Strides: expected DimensionCount = 4 values, got 3 [rule X8]"},
    {"tensor_stride_range", "/InputTensor/Strides", "[18, 9, 3, 4294967296]",
     "InputTensor.Strides[3]: expected a UINT (an integer from 0 to 4294967295), got 4294967296 [rule X8]"},
    {"output_broadcast", "/OutputTensor/Strides", "[16, 0, 2, 1]",
     "OutputTensor.Strides: elements of an output must not share memory: expected a stride above 0 in dimension 1, "
     "got {16, 0, 2, 1} [rule X9]"},
    {"output_overlap", "/OutputTensor/Strides", "[16, 3, 2, 1]",
     "OutputTensor.Strides: elements of an output must not share memory: expected a stride above 3 in dimension 1, "
     "got {16, 3, 2, 1} [rule X9]"},
    {"total_size_small", "/InputTensor/TotalTensorSizeInBytes", "16",
     "InputTensor.TotalTensorSizeInBytes: expected at least 20 bytes for 18 elements of UINT8, got 16 [rule X10]"},
    {"total_size_unaligned", "/BiasTensor/TotalTensorSizeInBytes", "18",
     "BiasTensor.TotalTensorSizeInBytes: expected a multiple of 4, got 18 [rule X10]"},
    {"span_of_sizes", "/InputTensor/Sizes", "[65536, 65536, 1, 1]",
     "InputTensor.Sizes: the tensor spans more than 4294967295 elements [rule X10]"},
    {"span_of_strides", "/InputTensor/Strides", "[0, 4294967295, 3, 1]",
     "InputTensor.Strides: the tensor spans more than 4294967295 elements [rule X10]"},
    {"output_owned", "/OutputTensor/Flags", "\"OWNED_BY_DML\"",
     "OutputTensor.Flags: OWNED_BY_DML is for inputs only [rule X11]"},
    {"flag_unknown", "/FilterTensor/Flags", "\"OWNED\"",
     "FilterTensor.Flags: expected \"NONE\" or \"OWNED_BY_DML\", got \"OWNED\" [rule X11]"},
    {"alignment_no_power", "/InputTensor/GuaranteedBaseOffsetAlignment", "24",
     "InputTensor.GuaranteedBaseOffsetAlignment: expected 0 or a power of two of at least 1 (the element's size), "
     "got 24 [rule X12]"},
    {"alignment_below_element", "/BiasTensor/GuaranteedBaseOffsetAlignment", "2",
     "BiasTensor.GuaranteedBaseOffsetAlignment: expected 0 or a power of two of at least 4 (the element's size), "
     "got 2 [rule X12]"},
    {"output_sizes", "/OutputTensor/Sizes", "[1, 4, 2, 3]",
     "OutputTensor.Sizes: expected {1, 4, 2, 2} from the input, the filter, strides, dilations and padding, "
     "got {1, 4, 2, 3} [rule X13]"},
    {"output_sizes_with_padding", "/EndPadding/0", "1",
     "OutputTensor.Sizes: expected {1, 4, 3, 2} from the input, the filter, strides, dilations and padding, "
     "got {1, 4, 2, 2} [rule X13]"},
    {"data_count", "/FilterScaleTensor/data", "[1, 2, 3]",
     "FilterScaleTensor.data: expected 4 values, got 3 [rule X14]"},
    {"data_range", "/InputZeroPointTensor/data", "[256]",
     "InputZeroPointTensor.data[0]: 256 is not a uint8 [rule X14]"},
    {"data_missing", "/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 2, 3, 3]})",
     "InputTensor: expected one of \"data\", \"fill\" and \"buffer\" [rule X14]"},
    {"data_twice", "/FilterTensor/data", "[1]",
     "FilterTensor: expected one of \"data\", \"fill\" and \"buffer\" [rule X14]"},
    {"fill_range", "/FilterTensor/fill", "-129", "FilterTensor.fill: -129 is not a int8 [rule X14]"},
    {"buffer_short", "/BiasTensor",
     R"({"DataType": "INT32", "Sizes": [1, 4, 1, 1], "Strides": [8, 2, 1, 1], "buffer": [1, 0, 2, 0, 3, 0]})",
     "BiasTensor.buffer: expected 7 values, got 6 [rule X14]"},
    {"shared_element", "/FilterScaleTensor/Strides", "[4, 0, 1, 1]",
     "FilterScaleTensor.data[0]: shares its place in the buffer with an element of another value "
     "(Strides {4, 0, 1, 1}) [rule X14]"},
    {"group_zero", "/GroupCount", "0", "GroupCount (group): expected at least 1, got 0 [rule C8]"},
    {"group_channels", "/GroupCount", "4",
     "FilterTensor (w): expected shape[1] * group = x.shape[1], got 1 * 4 and 2 [rule C8]"},
    {"group_outputs", "/FilterTensor/Sizes/0", "3",
     "GroupCount (group): expected a divisor of the output channels w.shape[0] = 3, got 2 [rule C8]"},
    {"group_not_uint", "/GroupCount", "-2",
     "GroupCount: expected a UINT (an integer from 0 to 4294967295), got -2 [rule C8]"},
    {"stride_zero", "/Strides/1", "0", "Strides: expected values of at least 1, got [1, 0] [rule C8]"},
    {"dilation_zero", "/Dilations/0", "0", "Dilations: expected values of at least 1, got [0, 1] [rule C8]"},
    {"window_too_large", "/Dilations/1", "3",
     "FilterTensor (w): kernel extent 4 in spatial dimension 1 exceeds the padded input 3 [rule C6]"},
    {"padding_limit", "/StartPadding/0", "4294967295",
     "StartPadding, EndPadding (pads): expected values of at most 2147483648, got [4294967295, 0, 0, 0] "
     "[rule limit]"},
    {"not_a_tensor", "/InputTensor", "[1, 2]", "InputTensor: expected an object, got an array"},
    {"unknown_tensor_key", "/InputTensor/Size", "4",
     "InputTensor: unknown key \"Size\"; known are DataType, Sizes, Flags, DimensionCount, Strides, "
     "TotalTensorSizeInBytes, GuaranteedBaseOffsetAlignment, data, fill, buffer"},
    {"tensor_without_sizes", "/InputScaleTensor", R"({"DataType": "FLOAT32", "data": [1]})",
     "InputScaleTensor: misses the key \"Sizes\""},
    {"id_not_text", "/id", "7", "id: expected a string, got 7"},
    {"in_place_of_a_list", "/cases", "[]",
     "unknown key \"cases\"; known are InputTensor, InputScaleTensor, InputZeroPointTensor, FilterTensor, "
     "FilterScaleTensor, FilterZeroPointTensor, BiasTensor, OutputScaleTensor, OutputZeroPointTensor, OutputTensor, "
     "DimensionCount, Strides, Dilations, StartPadding, EndPadding, GroupCount, id, note, rules, "
     "tags, expectation"},
};

INSTANTIATE_TEST_SUITE_P(Rules, MalformedTest, ::testing::ValuesIn(kMalformed),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Malformed, EveryRuleOfTheDocumentHasAnExample) {
  std::set<std::string> rules;
  for (const Malformed& malformed : kMalformed) {
    const std::string error = malformed.error;
    const std::size_t at = error.rfind("[rule ");
    if (at != std::string::npos) rules.insert(error.substr(at + 6, error.size() - at - 7));
  }
  for (int i = 1; i <= 14; ++i) {
    if (i == 5) continue;  // below: it takes two members
    EXPECT_EQ(rules.count("X" + std::to_string(i)), 1U) << "X" << i;
  }
}

TEST(Malformed, DimensionCountOfThree) {
  Result<Json> document = parse_json(kValid);
  (*document)["DimensionCount"] = 3;
  for (const char* name : {"Strides", "Dilations", "StartPadding", "EndPadding"}) (*document)[name].push_back(1);
  EXPECT_EQ(error_of(print_json(*document)), "DimensionCount: expected 2, got 3 [rule X5]");
}

TEST(Malformed, EveryMemberMustBeThere) {
  const Result<Json> document = parse_json(kValid);
  for (const auto& member : document->items()) {
    Json without = *document;
    without.erase(member.key());
    EXPECT_EQ(error_of(print_json(without)), "misses the key \"" + member.key() + "\"");
  }
}

TEST(Malformed, AListNamesTheCase) {
  const std::string bad = edited("/GroupCount", "0");
  const std::string list =
      R"({"format": "qconform-directml", "version": 1, "cases": [)" + std::string(kValid) + ", " + bad + "]}";
  EXPECT_THAT(error_of(list), StartsWith("cases[1].GroupCount (group): expected at least 1"));
  EXPECT_EQ(error_of(R"({"format": "qconform-cases", "version": 1, "cases": []})"),
            "format: expected \"qconform-directml\", got \"qconform-cases\"");
  EXPECT_EQ(error_of(R"({"format": "qconform-directml", "version": 2, "cases": []})"), "version: expected 1, got 2");
  EXPECT_EQ(error_of(R"({"format": "qconform-directml", "version": 1})"), "misses the key \"cases\"");
  EXPECT_EQ(error_of("[]"), "expected an object, got an array");
}

// A list with one description, `edits` of the valid one.
std::string with_labels(const char* pointer, const char* value, const std::string& labels) {
  Result<Json> document = parse_json(edited(pointer, value));
  document->update(parse_json(labels).value());
  return R"({"format": "qconform-directml", "version": 1, "cases": [)" + print_json(*document) + "]}";
}

TEST(Refused, ADescriptionMustBreakARuleThatItNames) {
  const auto read = read_description_file_json(
      with_labels("/GroupCount", "0", R"({"id": "g", "note": "n", "rules": ["C8"], "expectation": "invalid"})"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->descriptions.empty());
  ASSERT_EQ(read->refused.size(), 1U);
  EXPECT_EQ(read->refused[0].id, "g");
  EXPECT_EQ(read->refused[0].error.text(), "cases[0].GroupCount (group): expected at least 1, got 0 [rule C8]");
  EXPECT_EQ(error_of(with_labels("/GroupCount", "0", R"({"rules": ["X4", "X5"], "expectation": "invalid"})")),
            "cases[0].expectation: expected a description that breaks rule X4 or X5, got: "
            "cases[0].GroupCount (group): expected at least 1, got 0 [rule C8]");
  EXPECT_EQ(error_of(with_labels("/GroupCount", "2", R"({"rules": ["C8"], "expectation": "invalid"})")),
            "cases[0].expectation: expected a description that breaks rule C8, got one that keeps every rule");
  EXPECT_THAT(error_of(with_labels("/GroupCount", "0", R"({"rules": ["C8"], "expectation": "valid"})")),
              HasSubstr("expected at least 1, got 0 [rule C8]"));
}

TEST(DescriptionJson, LabelsAreReadWrittenAndLowered) {
  const auto read = read_descriptions_json(
      with_labels("/GroupCount", "2", R"({"rules": ["C8", "X4"], "tags": ["group"], "expectation": "valid"})"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read_descriptions_json(descriptions_json(*read)).value(), *read);
  const Result<Case> lowered = lower(read->front());
  ASSERT_TRUE(lowered) << lowered.error().text();
  EXPECT_THAT(lowered->rules, ::testing::ElementsAre("C8", "X4"));
  EXPECT_THAT(lowered->tags, ::testing::ElementsAre("directml", kProfileTag, "group"));
  EXPECT_EQ(lowered->expectation, Expectation::valid);
}

// Mistakes that only the structs can have: JSON has no pointers.
TEST(Check, NullPointersAndForeignTensors) {
  const Description description = read_descriptions_json(kValid)->front();
  const OperatorView view(description);
  const auto violation = [](const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc) {
    reference::Contract contract;
    EXPECT_FALSE(check(desc, contract));
    return contract.violation ? contract.violation->text() : "";
  };
  auto desc = view.desc();
  desc.Dilations = nullptr;
  EXPECT_EQ(violation(desc), "Dilations: expected DimensionCount = 2 values, got null [rule X6]");
  desc = view.desc();
  DML_BUFFER_TENSOR_DESC buffer = *view.tensor(TensorRole::input);
  DML_TENSOR_DESC input{DML_TENSOR_TYPE_BUFFER, &buffer};
  desc.InputTensor = &input;
  buffer.Sizes = nullptr;
  EXPECT_EQ(violation(desc), "InputTensor.Sizes: expected 4 sizes, got null [rule X7]");
  buffer = *view.tensor(TensorRole::input);
  buffer.Flags = 6;
  EXPECT_EQ(violation(desc), "InputTensor.Flags: expected NONE (0) or OWNED_BY_DML (1), got 6 [rule X11]");
  buffer.DataType = 77;
  EXPECT_EQ(violation(desc), "InputTensor.DataType: expected INT8 or UINT8, got data type 77 [rule X3]");
  input.Desc = nullptr;
  EXPECT_EQ(violation(desc), "InputTensor.Desc: expected a buffer tensor, got null [rule X2]");
  input.Type = DML_TENSOR_TYPE_INVALID;
  EXPECT_EQ(violation(desc), "InputTensor.Type: expected DML_TENSOR_TYPE_BUFFER (1), got 0 [rule X2]");
}

TEST(DescriptionJson, SamplesComeBackUnchanged) {
  const std::vector<Description> all = samples();
  ASSERT_GE(all.size(), 6U);
  const std::string written = descriptions_json(all);
  const Result<std::vector<Description>> again = read_descriptions_json(written);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, all);
  EXPECT_EQ(descriptions_json(*again), written);
}

TEST(DescriptionJson, NeedlessMembersMakeNoDifference) {
  Result<Json> document = parse_json(kValid);
  Json& input = (*document)["InputTensor"];
  input["DimensionCount"] = 4;
  input["Flags"] = "NONE";
  input["Strides"] = nullptr;
  input["TotalTensorSizeInBytes"] = 20;
  input["GuaranteedBaseOffsetAlignment"] = 0;
  EXPECT_EQ(read_descriptions_json(print_json(*document)).value(), read_descriptions_json(kValid).value());
}

// The example in the documentation is one that works.
TEST(DescriptionJson, TheDocumentedExampleIsRead) {
  std::ifstream stream(QCONFORM_DIRECTML_PAGE);
  std::stringstream page;
  page << stream.rdbuf();
  const std::string text = page.str();
  const std::size_t begin = text.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t start = begin + 8;
  const Result<std::vector<Description>> read =
      read_descriptions_json(text.substr(start, text.find("```", start) - start));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->size(), 1U);
}

// Damaged and hostile files: an error or descriptions, at bounded cost; never a crash.

using ::testing::EndsWith;

// Every description that can be read can also be lowered to a case, and written and read again.
void expect_error_or_case(const std::string& text) {
  const Result<std::vector<Description>> read = read_descriptions_json(text, {.buffer_bytes = 1 << 20});
  if (!read) {
    EXPECT_FALSE(read.error().message.empty());
    return;
  }
  const Result<std::vector<Description>> again = read_descriptions_json(descriptions_json(*read));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *read);
  for (const Description& description : *read) {
    const Result<Case> lowered = lower(description);
    ASSERT_TRUE(lowered) << lowered.error().text();
    EXPECT_TRUE(classify(*lowered).contract.holds());
  }
}

TEST(HostileDescription, EveryTruncationIsRefused) {
  const std::string text = kValid;
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(read_descriptions_json(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(HostileDescription, ChangedBytesGiveAnErrorOrACase) {
  const std::vector<Description> all = samples();
  const std::string texts[] = {kValid, descriptions_json(all)};
  Rng rng(20261121);
  for (int round = 0; round < testing::scaled(4000); ++round) {
    std::string damaged = texts[rng.below(2)];
    const std::uint64_t changes = 1 + rng.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      const auto length = static_cast<std::uint32_t>(damaged.size());
      // Most new bytes come from the file itself or are digits: they keep the grammar more often.
      const char bytes[] = {static_cast<char>(rng.below(256)), damaged[rng.below(length)],
                            static_cast<char>('0' + static_cast<char>(rng.below(10)))};
      damaged[rng.below(length)] = rng.pick(bytes);
    }
    expect_error_or_case(damaged);
  }
}

std::string with_input(const std::string& input) {
  std::string text = kValid;
  const std::size_t begin = text.find(R"({"DataType": "UINT8", "Sizes": [1, 2, 3, 3], "fill": 7})");
  return text.replace(begin, text.find('}', begin) + 1 - begin, input);
}

TEST(HostileDescription, LargeBuffersAreRefusedBeforeTheyAreMade) {
  // 4 GiB by strides, in a file of a kilobyte.
  const Result<std::vector<Description>> strided = read_descriptions_json(
      with_input(R"({"DataType": "UINT8", "Sizes": [1, 2, 3, 3], "Strides": [0, 4000000000, 3, 1], "fill": 7})"));
  ASSERT_FALSE(strided);
  EXPECT_EQ(strided.error().text(), "InputTensor.fill: the tensors of the file exceed the limit [rule limit]");
  // Sizes beyond what the harness takes, although the buffer is tiny.
  const Result<std::vector<Description>> broadcast = read_descriptions_json(with_input(
      R"({"DataType": "UINT8", "Sizes": [4294967295, 2, 4294967295, 3], "Strides": [0, 0, 0, 0], "fill": 7})"));
  ASSERT_FALSE(broadcast);
  EXPECT_EQ(broadcast.error().text(), "InputTensor (x): more than 1073741824 elements [rule limit]");
}

TEST(HostileDescription, TensorsShareOneBudget) {
  std::string list = R"({"format": "qconform-directml", "version": 1, "cases": [)";
  for (int i = 0; i < 10; ++i) list += std::string(i == 0 ? "" : ", ") + kValid;
  list += "]}";
  EXPECT_TRUE(read_descriptions_json(list));
  const Result<std::vector<Description>> read = read_descriptions_json(list, {.buffer_bytes = 300});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), EndsWith("the tensors of the file exceed the limit [rule limit]"));
}

TEST(HostileDescription, DepthIsBounded) {
  const Result<std::vector<Description>> read = read_descriptions_json(std::string(1000000, '['));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().text(), "nested deeper than 32 levels [rule limit]");
}

TEST(HostileDescription, MissingFilesAreNamed) {
  const Result<std::vector<Description>> read = load_descriptions("/nonexistent/description.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().text(), ::testing::HasSubstr("/nonexistent/description.json"));
}

}  // namespace
}  // namespace qconform::directml
