#include "harness/suites/cache.h"
#include "harness/suites/sweep/covering_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "harness/base/file.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::sweep {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Model small_model(std::uint8_t together) {
  Model model{"small", {}, {}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    model.parameters.push_back({name, {"0", "1", "2"}, 0, ParameterRole::extent});
  }
  model.constraints.push_back(
      {"a and b", {0, 1}, [together](const Row& row) { return row[0] != together || row[1] != together; }});
  return model;
}

class ArrayCache : public ::testing::Test {
 protected:
  void SetUp() override { cache::use(folder()); }
  void TearDown() override { cache::use({}); }

  [[nodiscard]] fs::path folder() const { return folder_.path() / "arrays"; }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder())) files.push_back(entry.path());
    return files;
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(ArrayCache, GivesBackWhatWasSolvedWithItsProof) {
  for (const std::size_t strength : {3U, 4U}) {
    const Model model = small_model(1);
    const SolvedArray solved = solved_array(model, strength);
    const SolvedArray kept = solved_array(model, strength);
    EXPECT_EQ(kept.rows, solved.rows);
    EXPECT_EQ(kept.proof.coverage, solved.proof.coverage);
    EXPECT_EQ(kept.proof.coverage.covered, kept.proof.coverage.feasible);
    EXPECT_EQ(kept.proof.excluded_by, solved.proof.excluded_by);
  }
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(ArrayCache, KeepsModelsWithManyClasses) {
  for (const std::size_t classes : {std::size_t{33}, kMaxClasses}) {
    Model model = small_model(1);
    while (model.parameters[2].classes.size() < classes) {
      model.parameters[2].classes.push_back(std::to_string(model.parameters[2].classes.size()));
    }
    const std::size_t notes = cache::notes().size();
    const SolvedArray solved = solved_array(model);
    EXPECT_EQ(solved_array(model).rows, solved.rows) << classes;
    EXPECT_EQ(cache::notes().size(), notes) << classes;
  }
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(ArrayCache, TellsModelsApartByWhatTheirConstraintsAllow) {
  const SolvedArray one = solved_array(small_model(1));
  const SolvedArray other = solved_array(small_model(2));
  EXPECT_NE(one.rows, other.rows);
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(ArrayCache, SolvesAnewAndSaysSoWhereAFileIsDamaged) {
  const Model model = small_model(1);
  const SolvedArray solved = solved_array(model);
  const fs::path file = files().front();
  const std::string text = *read_file(file, 1 << 20);
  const auto row = text.find('\n', text.find('\n', text.find('\n') + 1) + 1) + 1;
  std::string changed = text;
  changed[row] = changed[row] == '0' ? '1' : '0';
  for (const std::string& damaged : {changed, text.substr(0, text.size() / 2), std::string(), text + "more"}) {
    std::ofstream(file, std::ios::trunc) << damaged;
    const std::size_t before = cache::notes().size();
    EXPECT_EQ(solved_array(model).rows, solved.rows);
    ASSERT_EQ(cache::notes().size(), before + 1);
    EXPECT_THAT(cache::notes().back(), HasSubstr("is damaged; its array is solved anew"));
    EXPECT_EQ(*read_file(file, 1 << 20), text) << "and is kept again";
  }
}

TEST_F(ArrayCache, DoesWithoutAFolderThatCannotBeWritten) {
  std::ofstream(folder()) << "a file";
  const std::size_t before = cache::notes().size();
  EXPECT_FALSE(solved_array(small_model(1)).rows.empty());
  ASSERT_EQ(cache::notes().size(), before + 1);
  EXPECT_THAT(cache::notes().back(), HasSubstr("cannot be kept"));
}

}  // namespace
}  // namespace qconform::sweep
