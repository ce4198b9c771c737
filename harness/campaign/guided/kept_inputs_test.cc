// Files of an engine as cases.
#include "harness/campaign/guided/kept_inputs.h"

#include <gtest/gtest.h>

#include "harness/base/file.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/random.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::guided {
namespace {

using qconform::testing::TemporaryFolder;

void put(const std::filesystem::path& file, const Case& test_case) {
  const auto model = case_to_model(test_case);
  ASSERT_TRUE(model.has_value());
  ASSERT_TRUE(write_file(file, *model).has_value());
}

std::vector<Case> all(Suite& source) {
  std::vector<Case> cases;
  for (;;) {
    auto next = source.next();
    if (!next || !*next) return cases;
    cases.push_back(std::move(**next));
  }
}

TEST(KeptInputs, AreReadOnceAndKeepTheirNumbers) {
  const TemporaryFolder folder;
  KeptInputs inputs(7);
  put(folder.path() / "b", random_case(1, 1));
  put(folder.path() / "a", random_case(1, 2));
  const auto first = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].id, "libfuzzer-a");
  EXPECT_EQ(digest_of(first[0]), digest_of(random_case(1, 2)));
  EXPECT_EQ(first[1].provenance, (Provenance{"libfuzzer", 7, 1}));
  EXPECT_TRUE(inputs.fresh(folder.path()).empty());
  put(folder.path() / "c", random_case(1, 3));
  const auto second = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].provenance.index, 2U);
  inputs.forget_all_but({1});
  EXPECT_EQ(inputs.at(1), first[1]);
}

TEST(KeptInputs, HaveNeitherTagsNorExpectation) {
  const TemporaryFolder folder;
  Case drawn = random_case(1, 4);
  drawn.tags = {"profile:ort-f32"};
  drawn.expectation = Expectation::invalid;
  drawn.note = "a note";
  put(folder.path() / "a", drawn);
  KeptInputs inputs(7);
  const auto cases = all(*inputs.source(inputs.fresh(folder.path())));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_TRUE(cases[0].tags.empty());
  EXPECT_EQ(cases[0].expectation, Expectation::unstated);
}

TEST(KeptInputs, CountFilesWithoutACaseAndPostponeUnfinishedOnes) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "damaged", "no model").has_value());
  std::filesystem::rename(folder.path() / "damaged", folder.path() / "x.part");
  KeptInputs inputs(7);
  EXPECT_TRUE(inputs.fresh(folder.path()).empty());
  std::filesystem::rename(folder.path() / "x.part", folder.path() / "x");
  auto files = inputs.fresh(folder.path());
  files.push_back(folder.path() / "gone");
  const auto source = inputs.source(std::move(files));
  EXPECT_TRUE(all(*source).empty());
  ASSERT_EQ(source->skipped().size(), 1U);
  EXPECT_EQ(source->skipped().begin()->second, 1U);
}

}  // namespace
}  // namespace qconform::guided
