// Tests that the lint finds each kind of mistake and names it, and that --write makes the corpus' files from less.
#include "corpus/lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "harness/base/file.h"
#include "harness/forms/json/json_text.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::lint {
namespace {

using ::testing::StartsWith;

std::string committed(const std::string& file) {
  const Result<std::string> text = read_file(QCONFORM_CORPUS_DIRECTORY "/" + file, 1 << 22);
  EXPECT_TRUE(text) << text.error().text();
  return text.value_or("");
}

// The program on one file with that text.
struct Linted {
  int exit_code;
  std::string said;  // without the path at the beginning
  std::string text;  // the file afterwards
};
Linted lint_text(const std::string& file, const std::string& text, bool write = false) {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / std::filesystem::path(file).filename()).string();
  EXPECT_TRUE(write_file(path, text));
  std::ostringstream out;
  const int code = run(write ? std::vector<std::string>{"--write", path} : std::vector{path}, out, out);
  const std::string said = out.str();
  EXPECT_TRUE(said.empty() || said.starts_with(path + ": ")) << said;
  return {code, said.empty() ? "" : said.substr(path.size() + 2), read_file(path, 1 << 22).value_or("")};
}

// A committed file with one member of a vector changed, or left out where `value` is empty.
struct VectorChange {
  const char* file;
  const char* vector;
  const char* member;  // a JSON pointer
  std::string value;
};
std::string text_of(const VectorChange& change) {
  Json document = parse_json(committed(change.file)).value();
  for (Json& vector : document["cases"]) {
    if (vector["id"] != change.vector) continue;
    const Json::json_pointer member(change.member);
    if (change.value.empty()) {
      vector[member.parent_pointer()].erase(member.back());
    } else {
      vector[member] = parse_json(change.value).value();
    }
    return print_json(document);
  }
  ADD_FAILURE() << change.vector;
  return "";
}

constexpr const char* kPad = "qlinear_conv/padding.json";
constexpr const char* kRefusal = "qlinear_conv/geometry_refusals.json";
constexpr const char* kDml = "dml_quantized_linear_convolution/arithmetic.dml.json";
constexpr const char* kDmlRefusal = "dml_quantized_linear_convolution/refusals.dml.json";
constexpr const char* kTensor = R"({"type": "int8", "shape": [1], "data": [1]})";

struct Mistake {
  VectorChange change;
  const char* said;
};

const Mistake kMistakes[] = {
    {{kPad, "pad-at-the-end-only", "/id", R"("pads-top-right-zero-point-255")"},
     "pads-top-right-zero-point-255: id: expected one of its own"},
    {{kPad, "pad-at-the-end-only", "/id", R"("")"}, R"(cases[2]: id: expected one of its own)"},
    {{kPad, "pad-at-the-end-only", "/note", ""}, R"(: note: expected a line of 10 characters or more, got "")"},
    {{kPad, "pad-at-the-end-only", "/note", R"("one and\nanother")"}, R"(: note: expected a line of 10 characters or)"},
    {{kPad, "pad-at-the-end-only", "/rules", R"(["C1", "C99"])"},
     R"(: rules: expected rules of docs/numerics.md, got "C99")"},
    {{kPad, "pad-at-the-end-only", "/rules", R"(["C1", "10"])"},
     R"(: rules: expected rules of docs/numerics.md, got "10")"},
    {{kPad, "pad-at-the-end-only", "/tags", R"(["power-none"])"}, R"(: tags: "power-none" promises a meaning)"},
    {{kPad, "pad-at-the-end-only", "/tags", R"(["profile:none"])"}, R"(: tags: "profile:none" promises a profile)"},
    {{kPad, "pad-at-the-end-only", "/tags", R"(["refusal"])"},
     R"(: tags: "refusal" promises a vector that must be ref)"},
    {{"quantize_linear/saturation.json", "saturate-at-the-bounds-v10", "/tags", R"(["float16"])"},
     R"(: tags: "float16" promises a tensor of that type, got none)"},
    {{kPad, "pad-at-the-end-only", "/expectation", R"("invalid")"},
     ": expectation: expected valid (it keeps every rule), got invalid"},
    {{kPad, "pad-at-the-end-only", "/expectation", ""}, ": expectation: expected valid, got nothing; --write adds it"},
    {{kRefusal, "kernel-larger-than-input", "/expectation", R"("valid")"}, ": expectation: expected invalid ("},
    {{kRefusal, "kernel-larger-than-input", "/rules", R"(["C7"])"},
     ": rules: expected the one that makes it invalid ("},
    {{kRefusal, "kernel-larger-than-input", "/recorded_output", kTensor},
     ": recorded_output: expected none, since the vector must be refused, got {"},
    {{"qlinear_conv/near_ties.json", "one-ulp-below-ties", "/recorded_output", kTensor},
     ": recorded_output: expected none, since more than one answer is right, got {"},
    {{kPad, "pad-at-the-end-only", "/recorded_output", ""},
     R"(: recorded_output: expected {"type":"int8","shape":[1,1,5])"},
    {{kPad, "pad-at-the-end-only", "/recorded_output/data/4", "1"},
     R"(: recorded_output: expected {"type":"int8","shape")"},
    {{kPad, "pad-at-the-end-only", "/inputs/0/data/0", "256"}, "cases[2].inputs[0].data[0]: 256 is not a uint8"},
    {{kDml, "quarters", "/OutputTensor/data/0", "7"}, ": OutputTensor.data: expected {"},
    {{kDml, "quarters", "/OutputTensor/data", ""}, ": OutputTensor.data: expected {"},
    {{kDml, "ties", "/OutputTensor/data", "[0, 2, 2]"},
     ": OutputTensor.data: expected none, since more than one answer"},
    {{kDml, "ties", "/expectation", R"("implementation-defined")"}, ": expectation: expected valid ("},
    {{kDmlRefusal, "input-null", "/rules", R"(["X1", "X99"])"},
     ": rules: expected rules of docs/numerics.md, got \"X99\""},
    {{kDmlRefusal, "input-null", "/tags", R"(["power-tie"])"}, ": tags: \"power-tie\" promises a valid vector"},
    {{kDmlRefusal, "input-null", "/rules", R"(["X2"])"},
     "cases[0].expectation: expected a description that breaks rule X2"},
};

TEST(CorpusLint, FindsAndNamesEachMistake) {
  for (const auto& [change, said] : kMistakes) {
    const Linted linted = lint_text(change.file, text_of(change));
    EXPECT_EQ(linted.exit_code, 1) << said;
    EXPECT_THAT(linted.said, StartsWith(std::string(*said == ':' ? change.vector : "") + said));
    EXPECT_EQ(std::count(linted.said.begin(), linted.said.end(), '\n'), 1) << linted.said;
  }
}

// On a plain vector, which reaches no corner case.
TEST(CorpusLint, FindsTagsWithoutTheirMeaning) {
  for (const TagClaim& claim : tag_claims()) {
    if (claim.corner_cases.empty() && claim.holds == nullptr) continue;
    const std::string tag = "\"" + std::string(claim.tag) + "\"";
    const VectorChange change{"qlinear_conv/bias.json", "bias-in-units-of-the-product", "/tags", "[" + tag + "]"};
    EXPECT_THAT(lint_text(change.file, text_of(change)).said,
                StartsWith(std::string(change.vector) + ": tags: " + tag));
  }
}

struct Misprint {
  const char* file;
  const char* right;
  const char* wrong;
  const char* said;
};

TEST(CorpusLint, FindsWhatIsNotInNormalFormAndPutsItRight) {
  for (const auto& [file, right, wrong, said] : {
           Misprint{kPad, "[1.0]", "[1.00]", "pads-top-right-zero-point-255: line 16: expected `"},
           Misprint{kPad, "\"tags\": [", "\"tags\":  [", "pads-top-right-zero-point-255: line 9: expected `"},
           Misprint{kPad, "\n}\n", "\n}",
                    "windows-wholly-in-padding-with-stride-and-dilation: line 273: expected `}`, got the end"},
           Misprint{kPad, "\"op_type\": \"QLinearConv\",\n      \"opset_version\": 10,",
                    "\"opset_version\": 10,\n      \"op_type\": \"QLinearConv\",",
                    "pads-top-right-zero-point-255: line 11: expected `"},
           Misprint{kDml, "\"DimensionCount\": 2,\n      \"Strides\": [1, 1],",
                    "\"Strides\": [1, 1],\n      \"DimensionCount\": 2,",
                    "ties: line 21: expected `      \"DimensionCount\": 2,`, got `"},
       }) {
    std::string text = committed(file);
    const std::size_t at = text.find(right);
    ASSERT_NE(at, std::string::npos) << right;
    text.replace(at, std::string_view(right).size(), wrong);
    const Linted linted = lint_text(file, text);
    EXPECT_EQ(linted.exit_code, 1) << wrong;
    EXPECT_THAT(linted.said, StartsWith(said)) << wrong;
    EXPECT_TRUE(lint_text(file, text, true).text == committed(file)) << wrong;
  }
}

// A person writes inputs, notes and rules. What else the files hold follows, and so does their form.
TEST(CorpusLint, WritesTheCorpusFromItsInputs) {
  const auto paths = case_files_at(QCONFORM_CORPUS_DIRECTORY);
  ASSERT_TRUE(paths) << paths.error().text();
  for (const std::filesystem::path& path : *paths) {
    const std::string text = read_file(path, 1 << 22).value();
    Json document = parse_json(text).value();
    for (Json& vector : document["cases"]) {
      if (vector.contains("InputTensor") && vector["expectation"] == "invalid") continue;
      vector.erase("recorded_output");
      vector.erase("expectation");
      if (vector.contains("OutputTensor")) vector["OutputTensor"].erase("data");
    }
    const Linted linted = lint_text(path.string(), document.dump(), true);
    EXPECT_EQ(linted.said, "");
    EXPECT_TRUE(linted.text == text) << path;
  }
}

TEST(CorpusLint, FindsNothingInTheCorpus) {
  std::ostringstream out;
  EXPECT_EQ(run(std::vector<std::string>{QCONFORM_CORPUS_DIRECTORY}, out, out), 0);
  EXPECT_EQ(out.str(), "");
}

TEST(CorpusLint, TellsWrongUseFromWrongVectors) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--write"}, {"--check", "."}, {"no-such-file.json"}}) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(run(arguments, out, err), 2);
    EXPECT_EQ(out.str(), "");
    EXPECT_NE(err.str(), "");
  }
  std::ostringstream out;
  EXPECT_EQ(run(std::vector<std::string>{"--help"}, out, out), 0);
  EXPECT_EQ(lint_text("broken.json", "{").exit_code, 1);
}

}  // namespace
}  // namespace qconform::lint
