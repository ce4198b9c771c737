// Kept cases are those that are drawn, whatever happened to the file.
#include "harness/suites/cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/drawn.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::cache {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kMost = std::int64_t{1} << 30;

class CaseCache : public ::testing::Test {
 protected:
  void SetUp() override { use(folder_.path()); }
  void TearDown() override { use({}); }

  static std::unique_ptr<Suite> some(DrawnSuite::Draw draw, std::uint64_t seed, std::uint64_t count) {
    return kept(std::make_unique<DrawnSuite>("some", draw, seed, count), "some", fmt::format("{} {}", seed, count));
  }
  static std::vector<Case> all_of(Suite& suite) {
    std::vector<Case> cases;
    for (auto next = suite.next(); next && *next; next = suite.next()) cases.push_back(std::move(**next));
    return cases;
  }
  static std::vector<Case> all_of(DrawnSuite::Draw draw, std::uint64_t seed, std::uint64_t count) {
    const auto suite = some(draw, seed, count);
    EXPECT_EQ(suite->size(), count);
    return all_of(*suite);
  }
  static std::vector<Case> drawn(DrawnSuite::Draw draw, std::uint64_t seed, std::uint64_t count) {
    std::vector<Case> cases;
    for (std::uint64_t i = 0; i < count; ++i) cases.push_back(draw(seed, i));
    return cases;
  }
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "cases-some.bin"; }

 private:
  qconform::testing::TemporaryFolder folder_;
};

TEST_F(CaseCache, AreThoseThatAreDrawn) {
  for (const DrawnSuite::Draw draw : {directed_case, graph_case, fuzz_case}) {
    const auto cases = drawn(draw, 3, 70);
    std::filesystem::remove(file());
    EXPECT_EQ(all_of(draw, 3, 70), cases);
    ASSERT_TRUE(std::filesystem::exists(file()));
    EXPECT_EQ(all_of(draw, 3, 70), cases) << "read";
  }
}

// Draws that nobody may need: a suite that reads its file draws none.
Case forbidden(std::uint64_t /*seed*/, std::uint64_t index) {
  ADD_FAILURE() << "case " << index << " is drawn though it is kept";
  return fuzz_case(3, index);
}

TEST_F(CaseCache, AreNotDrawnAgain) {
  const auto cases = all_of(fuzz_case, 3, 40);
  EXPECT_EQ(all_of(forbidden, 3, 40), cases);
}

TEST_F(CaseCache, OfAnotherSeedOrNumberAreDrawn) {
  (void)all_of(fuzz_case, 3, 40);
  const std::size_t before = notes().size();
  EXPECT_EQ(all_of(fuzz_case, 4, 40), drawn(fuzz_case, 4, 40));
  EXPECT_EQ(all_of(fuzz_case, 4, 30), drawn(fuzz_case, 4, 30));
  EXPECT_EQ(notes().size(), before) << "another key is no fault";
}

TEST_F(CaseCache, OfADamagedFileAreDrawnAnewAndKeptAgain) {
  const auto cases = all_of(fuzz_case, 3, 20);
  const std::string bytes = *read_file(file(), kMost);
  std::string changed = bytes;
  changed[changed.size() / 2] ^= 4;
  for (const std::string& damaged : {changed, bytes.substr(0, bytes.size() / 2), std::string("x"), bytes + "more"}) {
    ASSERT_TRUE(write_file(file(), damaged).has_value());
    const std::size_t before = notes().size();
    EXPECT_EQ(all_of(fuzz_case, 3, 20), cases);
    ASSERT_EQ(notes().size(), before + 1);
    EXPECT_THAT(notes().back(), HasSubstr("is damaged; its cases are drawn anew"));
    EXPECT_EQ(*read_file(file(), kMost), bytes);
  }
}

// Nobody but this program writes such a file, unless it has a defect: its cases are not lost by that.
TEST_F(CaseCache, GoOnFromTheirSuiteWhereAFileThatHasItsDigestCannotBeRead) {
  const auto cases = all_of(fuzz_case, 3, 20);
  constexpr std::size_t kDigest = 16;  // place of the digest, which ends the head
  constexpr std::size_t kHead = kDigest + sizeof(std::uint64_t);
  std::string bytes = *read_file(file(), kMost);
  bytes.resize(bytes.size() - 5);  // of the last case
  Digest digest;
  digest.add(std::string_view(bytes).substr(kHead));
  const std::uint64_t value = digest.value();
  std::memcpy(bytes.data() + kDigest, &value, sizeof value);
  ASSERT_TRUE(write_file(file(), bytes).has_value());
  const std::size_t before = notes().size();
  EXPECT_EQ(all_of(fuzz_case, 3, 20), cases);
  EXPECT_EQ(notes().size(), before + 1);
}

// A suite that says what its cases cover says it of those that are read, too.
TEST_F(CaseCache, CoverWhatTheirSuiteDoes) {
  const auto cases = all_of(*sweep::sizes_suite("some sizes", {}, 1));
  sweep::SweepSuite units("some units", sweep::unit_plans, 1);
  const auto covering = all_of(units);
  for (const char* once : {"made", "read"}) {
    EXPECT_EQ(all_of(*kept(sweep::sizes_suite("some sizes", {}, 1), "sizes", "1")), cases) << once;
    const auto suite = kept(std::make_unique<sweep::SweepSuite>("some units", sweep::unit_plans, 1), "units", "1");
    EXPECT_EQ(all_of(*suite), covering) << once;
    EXPECT_EQ(suite->coverage(), units.coverage()) << once;
    const std::vector<bool> few(covering.size() / 2, true);
    EXPECT_EQ(suite->coverage_of(few), units.coverage_of(few)) << once;
  }
  for (const char* name : {"cases-sizes.bin", "cases-units.bin"})
    EXPECT_TRUE(std::filesystem::exists(file().replace_filename(name))) << name;
}

TEST_F(CaseCache, AreToldOnceWhereTheFolderTakesNoFile) {
  use("/proc/nothing");
  const std::size_t before = notes().size();
  for (const std::uint64_t seed : {1U, 2U}) EXPECT_EQ(all_of(fuzz_case, seed, 20), drawn(fuzz_case, seed, 20));
  ASSERT_EQ(notes().size(), before + 1);
  EXPECT_THAT(notes().back(), HasSubstr("the cases of the suite some cannot be kept"));
  use("/proc/other");
  (void)all_of(fuzz_case, 1, 20);
  EXPECT_EQ(notes().size(), before + 2) << "another folder";
}

TEST_F(CaseCache, AreNotKeptWhereASuiteEndsEarly) {
  {
    const auto suite = some(fuzz_case, 3, 20);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(suite->next().has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace qconform::cache
