// A journal that was cut short, or damaged, or that another process writes to.
#include "harness/campaign/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "harness/base/file.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::campaign {
namespace {

namespace fs = std::filesystem;
using qconform::testing::TemporaryFolder;

constexpr std::int64_t kMost = 1 << 20;

std::vector<Record> some_records() {
  std::vector<Record> records{{RecordKind::identity, {}, "identity"}};
  for (std::uint64_t block = 0; block < 4; ++block) {
    records.push_back(
        {RecordKind::blocks, {block, 1, kBlockCases}, std::string(20 + block, static_cast<char>('a' + block))});
  }
  return records;
}

struct Contents {
  std::vector<std::string> payloads;
  std::vector<JournalDamage> damage;
};

Contents contents_of(const fs::path& path) {
  Contents contents;
  auto reader = JournalReader::open(path);
  if (!reader) return contents;
  for (auto record = reader->next(); record && *record; record = reader->next()) {
    contents.payloads.push_back((*record)->payload);
  }
  contents.damage = reader->damage();
  return contents;
}

class Journal : public ::testing::Test {
 protected:
  void SetUp() override {
    JournalWriter writer;
    ASSERT_TRUE(writer.open(path_).has_value());
    ASSERT_TRUE(writer.append(some_records()).has_value());
    bytes_ = *read_file(path_, kMost);
  }

  void put(const std::string& bytes) const { ASSERT_TRUE(write_file(path_, bytes).has_value()); }

  TemporaryFolder folder_;
  fs::path path_ = folder_.path() / kJournalName;
  std::string bytes_;
};

TEST_F(Journal, GivesBackWhatWasWritten) {
  const Contents contents = contents_of(path_);
  const auto records = some_records();
  ASSERT_EQ(contents.payloads.size(), records.size());
  for (std::size_t i = 0; i < records.size(); ++i) EXPECT_EQ(contents.payloads[i], records[i].payload);
  EXPECT_TRUE(contents.damage.empty());
}

TEST_F(Journal, CutAnywhereKeepsTheRecordsBeforeTheCut) {
  for (std::size_t size = bytes_.size() - 1; size > bytes_.size() / 4; --size) {
    put(bytes_.substr(0, size));
    const Contents contents = contents_of(path_);
    std::size_t whole = 0;
    std::size_t end = 0;
    for (const Record& record : some_records()) {
      const std::size_t next = end + 56 + record.payload.size();
      if (next > size) break;
      end = next;
      ++whole;
    }
    ASSERT_EQ(contents.payloads.size(), whole) << size;
    ASSERT_EQ(contents.damage.size(), end == size ? 0U : 1U) << size;
    if (end == size) continue;
    EXPECT_TRUE(contents.damage[0].is_tail);
    EXPECT_EQ(contents.damage[0].offset, end);
    EXPECT_TRUE(refuse_damage(path_, contents.damage).has_value());
  }
}

TEST_F(Journal, NoticesEveryDamagedByteAndLosesNoOtherRecord) {
  const std::size_t first = 56 + some_records()[0].payload.size();
  const std::size_t last = bytes_.size() - 56 - some_records().back().payload.size();
  for (std::size_t at = first; at < last; ++at) {
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    put(damaged);
    const Contents contents = contents_of(path_);
    ASSERT_EQ(contents.payloads.size(), some_records().size() - 1) << at;
    ASSERT_EQ(contents.damage.size(), 1U) << at;
    EXPECT_FALSE(contents.damage[0].is_tail);
    const auto refused = refuse_damage(path_, contents.damage);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().text().find("--repair"), std::string::npos);
  }
}

TEST_F(Journal, IsRefusedWithoutItsHeader) {
  put(bytes_.substr(10));
  EXPECT_FALSE(JournalReader::open(path_).has_value());
  put("{}");
  EXPECT_FALSE(JournalReader::open(path_).has_value());
}

TEST_F(Journal, HasOneWriter) {
  JournalWriter writer;
  ASSERT_TRUE(writer.open(path_).has_value());
  {
    const auto reader = JournalReader::open(path_);  // the end of this reader leaves the lock alone
    ASSERT_TRUE(reader.has_value());
  }
  JournalWriter other;
  const auto opened = other.open(path_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().field, "--out");
  ASSERT_TRUE(writer.replace([](const JournalWriter::Put& put) { return put(some_records()[0]); }).has_value());
  EXPECT_FALSE(other.open(path_).has_value()) << "the new file is locked too";
  writer.close();
  EXPECT_TRUE(other.open(path_).has_value());
}

TEST_F(Journal, StaysUnchangedWhenReplacingFails) {
  JournalWriter writer;
  ASSERT_TRUE(writer.open(path_).has_value());
  const auto replaced = writer.replace([](const JournalWriter::Put&) -> Result<void> { return fail("disk", "full"); });
  EXPECT_FALSE(replaced.has_value());
  EXPECT_EQ(*read_file(path_, kMost), bytes_);
  EXPECT_FALSE(fs::exists(path_.string() + ".part"));
  ASSERT_TRUE(writer.append({some_records()[1]}).has_value());
  EXPECT_EQ(contents_of(path_).payloads.size(), some_records().size() + 1);
}

TEST_F(Journal, RemovesWhatAKilledProcessHalfWroteAndNothingElse) {
  fs::create_directory(folder_.path() / "minimal");
  const std::string own = std::string(kJournalName) + ".part";
  const std::vector<std::string> halves = {"first-2.json.1htm1px1ufw4.part", "report.json.abcdefghijkl.part",
                                           "minimal/F1.json.012345abcdef.part", own};
  for (const std::string& name : halves) ASSERT_TRUE(write_file(folder_.path() / name, "half").has_value());
  ASSERT_TRUE(write_file(folder_.path() / "mine.part", "whole").has_value());
  JournalStore store;
  std::vector<std::string> remarks;
  ASSERT_TRUE(store.open(folder_.path(), JournalStore::Take::anew, remarks).has_value());
  for (const std::string& name : halves) EXPECT_FALSE(fs::exists(folder_.path() / name)) << name;
  EXPECT_TRUE(fs::exists(folder_.path() / "mine.part"));
}

}  // namespace
}  // namespace qconform::campaign
