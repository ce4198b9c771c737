#include "harness/suites/stored_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/suites/select.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;
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
