#include "harness/suites/stored_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/forms/json/case_json.h"
#include "harness/model/case_builder.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/select.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;

class CorpusSuiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    root_ = fs::path(::testing::TempDir()) / ("qconform_corpus_" + test);
    fs::remove_all(root_);
    fs::create_directories(root_ / "a");
    fs::create_directories(root_ / "schema");
  }
  void TearDown() override { fs::remove_all(root_); }

  void save(const fs::path& file, const std::vector<std::string>& ids) const {
    std::vector<Case> cases;
    for (const std::string& id : ids) cases.push_back(ConvIntegerBuilder().id(id).build());
    ASSERT_TRUE(save_cases(root_ / file, cases));
  }

  // "source#index id" of every case, or the error's text at the end.
  static std::vector<std::string> read_all(const fs::path& path) {
    Result<std::unique_ptr<CorpusSuite>> source = CorpusSuite::open("corpus", path);
    if (!source) return {source.error().text()};
    std::vector<std::string> seen;
    while (true) {
      const Result<std::optional<Case>> next = (*source)->next();
      if (!next) seen.push_back(next.error().text());
      if (!next || !*next) break;
      const Provenance& from = (*next)->provenance;
      seen.push_back(from.source + "#" + std::to_string(from.index) + " " + (*next)->id);
    }
    const Result<std::optional<Case>> after = (*source)->next();
    EXPECT_TRUE(after && !*after) << "not at its end";
    return seen;
  }

  fs::path root_;
};

TEST_F(CorpusSuiteTest, ReadsAFolderInTheOrderOfPaths) {
  save("b.json", {"three"});
  save("a/x.json", {"one", "two"});
  save("c.json", {});
  save("d.json", {"four"});
  std::ofstream(root_ / "schema" / "cases-1.schema.json") << "no case file";
  std::ofstream(root_ / "README.md") << "no case file";
  std::ofstream(root_ / ".hidden.json") << "no case file";
  EXPECT_THAT(read_all(root_),
              ::testing::ElementsAre("a/x.json#0 one", "a/x.json#1 two", "b.json#0 three", "d.json#0 four"));
}

TEST_F(CorpusSuiteTest, ReadsOneFile) {
  save("a/x.json", {"one"});
  EXPECT_THAT(read_all(root_ / "a" / "x.json"), ::testing::ElementsAre("x.json#0 one"));
}

TEST_F(CorpusSuiteTest, ReadsDirectMlDescriptionsByTheirNames) {
  const fs::path sample = fs::path(QCONFORM_DIRECTML_SAMPLES) / "minimal.json";
  fs::copy_file(sample, root_ / "a" / "x.dml.json");
  save("b.json", {"two"});
  EXPECT_THAT(read_all(root_), ::testing::ElementsAre("a/x.dml.json#0 x.dml", "b.json#0 two"));
  // Taken for a case file, a description has unknown keys.
  fs::copy_file(sample, root_ / "c.json");
  EXPECT_THAT(read_all(root_).back(), ::testing::StartsWith((root_ / "c.json").string() + ": "));
}

TEST_F(CorpusSuiteTest, KeepsAStatedProvenance) {
  Case test_case = ConvIntegerBuilder().id("found").build();
  test_case.provenance = {"random", 5, 77};
  ASSERT_TRUE(save_cases(root_ / "f.json", std::span(&test_case, 1)));
  EXPECT_THAT(read_all(root_), ::testing::ElementsAre("random#77 found"));
}

// Whether a backend may compute an operator that qconform does not know is unknown too.
TEST_F(CorpusSuiteTest, LeavesUnknownOperatorsAside) {
  const std::vector<Case> cases{ConvIntegerBuilder().id("float").op_type("Conv").build(),
                                ConvIntegerBuilder().id("kept").build(),
                                ConvIntegerBuilder().id("theirs").domain("com.example").build(),
                                ConvIntegerBuilder().id("refused").op_type("Conv").expect(Expectation::invalid).build(),
                                ConvIntegerBuilder().id("too-old").version(9).build()};
  ASSERT_TRUE(save_cases(root_ / "f.json", cases));
  EXPECT_THAT(read_all(root_), ::testing::ElementsAre("f.json#1 kept", "f.json#4 too-old"));
  const auto source = CorpusSuite::open("corpus", root_);
  while (*(*source)->next()) continue;
  EXPECT_THAT((*source)->skipped(),
              ::testing::ElementsAre(::testing::Pair("operator that is judged in graphs alone: Conv", 2),
                                     ::testing::Pair("unknown operator: com.example::ConvInteger", 1)));
}

// A case that is asked for by itself cannot be left aside.
TEST_F(CorpusSuiteTest, ASingleCaseOfAnUnknownOperatorIsRefused) {
  const Case unknown = ConvIntegerBuilder().id("float").op_type("Conv").domain("com.example").build();
  ASSERT_TRUE(save_cases(root_ / "f.json", std::span(&unknown, 1)));
  ASSERT_TRUE(write_case_model(unknown, root_ / "f.onnx"));
  ASSERT_TRUE(write_case_folder(unknown, root_ / "f"));
  for (const char* name : {"f.json", "f.onnx", "f"}) {
    const auto loaded = load_single_case(root_ / name);
    ASSERT_FALSE(loaded) << name;
    EXPECT_EQ(loaded.error().text(), (root_ / name).string() +
                                         ": op_type: expected QLinearConv, ConvInteger, QuantizeLinear or "
                                         "DequantizeLinear, got com.example::Conv [rule operator]");
  }
  EXPECT_FALSE(open_suite((root_ / "f.onnx").string(), {}));
}

TEST_F(CorpusSuiteTest, StopsAtAnError) {
  save("a.json", {"one"});
  std::ofstream(root_ / "b.json") << "[]";
  save("c.json", {"two"});
  EXPECT_THAT(read_all(root_), ::testing::ElementsAre(
                                   "a.json#0 one", (root_ / "b.json").string() + ": expected an object, got an array"));
}

TEST_F(CorpusSuiteTest, NamesWhatIsMissing) {
  EXPECT_THAT(read_all(root_ / "none"), ::testing::ElementsAre(::testing::HasSubstr("no such file or folder")));
  EXPECT_THAT(read_all(root_), ::testing::ElementsAre(::testing::HasSubstr("holds no case files")));
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ids_of(Suite& source) {
  std::vector<std::string> ids;
  while (true) {
    const Result<std::optional<Case>> next = source.next();
    EXPECT_TRUE(next);
    if (!next || !*next) return ids;
    ids.push_back((*next)->id + " " + (*next)->provenance.source + "#" + std::to_string((*next)->provenance.index));
  }
}

TEST(DirectMlSuite, GivesTheDescriptionsOfAFile) {
  const auto path = fs::path(QCONFORM_DIRECTML_SAMPLES) / "layouts.json";
  const auto opened = DirectMlSuite::open(path);
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_EQ((*opened)->name(), "dml:" + path.string());
  EXPECT_EQ((*opened)->size(), 4U);
  EXPECT_THAT(ids_of(**opened), ElementsAre("nhwc-input layouts.json#0", "padded-rows layouts.json#1",
                                            "broadcast layouts.json#2", "recorded-output layouts.json#3"));
  EXPECT_THAT(ids_of(**opened), ElementsAre()) << "not at its end";
}

TEST(DirectMlSuite, NamesWhatHasNoId) {
  const auto opened = DirectMlSuite::open(fs::path(QCONFORM_DIRECTML_SAMPLES) / "minimal.json");
  ASSERT_TRUE(opened) << opened.error().text();
  EXPECT_THAT(ids_of(**opened), ElementsAre("minimal minimal.json#0"));
}

TEST(DirectMlSuite, IsASuite) {
  const std::string name = "dml:" QCONFORM_DIRECTML_SAMPLES "/every_member.json";
  const auto opened = open_suite(name, {});
  ASSERT_TRUE(opened) << opened.error().text();
  ASSERT_EQ(opened->size(), 1U);
  EXPECT_EQ(opened->front()->name(), name);
}

// Another operator is no description, not even where its file says that DirectML refuses it.
TEST(DirectMlSuite, RefusesOtherOperators) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "other.json";
  for (const char* labels : {"", R"("expectation": "invalid", "rules": ["X1"], )"}) {
    std::ofstream(file) << "{" << labels << R"("Type": "DML_OPERATOR_CONVOLUTION", "Desc": {}})";
    const auto opened = DirectMlSuite::open(file);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().text(),
              file.string() +
                  ": Type: expected a description of DML_OPERATOR_QUANTIZED_LINEAR_CONVOLUTION without its type, got "
                  "\"DML_OPERATOR_CONVOLUTION\" [rule operator]");
  }
}

TEST(DirectMlSuite, ErrorsNameTheFile) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.path() / "bad.json";
  std::ofstream(file) << "{}";
  EXPECT_EQ(DirectMlSuite::open(file).error().text(), file.string() + ": misses the key \"InputTensor\"");
  EXPECT_THAT(DirectMlSuite::open(folder.path() / "none.json").error().text(), HasSubstr("none.json"));
}

}  // namespace
}  // namespace qconform
