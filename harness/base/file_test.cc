#include "harness/base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <vector>

#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(WriteIn, WritesAgainWhereTheFolderWasRemovedMeanwhile) {
  const testing::TemporaryFolder above;
  const fs::path folder = above.path() / "a" / "b";
  int calls = 0;
  const auto written = write_in("--out", folder, [&]() -> Result<void> {
    if (auto first = write_file(folder / "first", "1"); !first) return first;
    if (++calls < 3) fs::remove_all(folder);
    return write_file(folder / "second", "2");
  });
  EXPECT_TRUE(written.has_value());
  EXPECT_EQ(calls, 3);
  for (const char* name : {"first", "second"}) EXPECT_TRUE(fs::exists(folder / name)) << name;
}

TEST(WriteIn, WritesAgainWhereSomebodyMadeAnotherFolder) {
  const testing::TemporaryFolder above;
  const fs::path folder = above.path() / "out";
  int calls = 0;
  const auto written = write_in("--out", folder, [&]() -> Result<void> {
    if (auto first = write_file(folder / "first", "1"); !first) return first;
    if (++calls == 1) {
      fs::rename(folder, above.path() / "moved");
      fs::create_directory(folder);
    }
    return {};
  });
  EXPECT_TRUE(written.has_value());
  EXPECT_TRUE(fs::exists(folder / "first"));
}

TEST(WriteIn, EndsWithAnError) {
  const testing::TemporaryFolder above;
  const fs::path folder = above.path() / "out";
  const auto removed = write_in("--out", folder, [&]() -> Result<void> {
    fs::remove_all(folder);
    return {};
  });
  EXPECT_THAT(removed.error().text(), HasSubstr("does not stay"));
  const auto failed = write_in("--out", folder, [&]() -> Result<void> { return fail("x", "is wrong"); });
  EXPECT_THAT(failed.error().text(), HasSubstr("is wrong"));
  ASSERT_TRUE(write_file(above.path() / "file", "").has_value());
  const auto blocked = write_in("--out", above.path() / "file" / "out", [] { return Result<void>(); });
  EXPECT_THAT(blocked.error().text(), HasSubstr("cannot make the folder"));
}

TEST(WriteFile, LeavesANameByWhichTheHalfOfAFileIsKnownWhereItsProcessIsKilled) {
  const testing::TemporaryFolder folder;
  const auto write_too_much = [&] {
    const rlimit few{1, 1};
    (void)setrlimit(RLIMIT_FSIZE, &few);
    (void)write_file(folder.path() / "case.json", "0123456789");
  };
  EXPECT_EXIT(write_too_much(), ::testing::KilledBySignal(SIGXFSZ), "");
  std::vector<fs::path> left(fs::directory_iterator(folder.path()), {});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(is_half_written(left[0])) << left[0];
  for (const char* other :
       {"case.json", "case.json.part", "case.part", "case.json.abcdefghijkl", "a.ABCDEFGHIJKL.part"})
    EXPECT_FALSE(is_half_written(other)) << other;
}

}  // namespace
}  // namespace qconform
