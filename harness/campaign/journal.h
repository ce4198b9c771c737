// The journal of a campaign: records behind each other in one file, each with its length and checksum, made durable
// before the next block counts as done; the state of the campaign that they come to; and how journals are merged.
//
// In front of each payload, CBOR, stands a RecordHead (journal.cc). A span inside another counts once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/build_report.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/campaign/identity.h"

namespace qconform::campaign {

/// The name of the file, beside the report.
inline constexpr const char* kJournalName = "campaign.journal";
/// A new campaign renames the report that the one before left in the folder.
inline constexpr const char* kReportName = "report.json";
inline constexpr const char* kReportBefore = "report.previous.json";

enum class RecordKind : std::uint32_t {
  identity = 1,  ///< the first of every journal: what the campaign is (identity.h)
  blocks = 2,    ///< a span and its aggregate
  run = 3,       ///< a CampaignRun; the last one of an id counts
  progress = 4,  ///< a ProgressPoint
};

struct Record {
  RecordKind kind = RecordKind::blocks;
  Span span;  ///< blocks that a record of kind `blocks` is about; others keep the default
  std::string payload;
};

/// A damaged range of a journal.
struct JournalDamage {
  std::uint64_t offset = 0;     ///< offset of the first byte that belongs to no complete record
  std::uint64_t bytes = 0;      ///< up to the next whole record, or to the end
  bool is_tail = false;         ///< nothing whole follows: a write that was cut short
  std::vector<Span> lost = {};  ///< spans that can still be read in it
};

/// Reads records one by one; a file of any size takes the memory of its largest record.
class JournalReader {
 public:
  /// Errors: no such file, no journal.
  [[nodiscard]] static Result<JournalReader> open(const std::filesystem::path& path);
  JournalReader(JournalReader&& other) noexcept;
  JournalReader& operator=(JournalReader&&) = delete;
  ~JournalReader();

  /// The next complete record; nullopt at the end. Skips damage and notes it.
  [[nodiscard]] Result<std::optional<Record>> next();
  /// Position at which the record that next() gave begins.
  [[nodiscard]] std::uint64_t position() const { return begin_; }
  /// The record at a position that position() gave.
  [[nodiscard]] Result<Record> at(std::uint64_t position);
  [[nodiscard]] const std::vector<JournalDamage>& damage() const { return damage_; }

 private:
  JournalReader(std::string path, int file, std::uint64_t size) : path_(std::move(path)), file_(file), size_(size) {}
  /// The record that begins there, if a whole one does.
  [[nodiscard]] Result<std::optional<Record>> read_at(std::uint64_t offset, std::uint64_t& end);
  [[nodiscard]] Result<std::uint64_t> next_whole(std::uint64_t from);
  [[nodiscard]] Result<bool> read_bytes(std::uint64_t offset, char* to, std::size_t size);

  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;
  std::vector<JournalDamage> damage_;
};

/// An error that says what is damaged and how to go on; nothing where only the tail is damaged.
[[nodiscard]] Result<void> refuse_damage(const std::filesystem::path& path, const std::vector<JournalDamage>& damage);

/// Appends to a journal that no other process writes to.
class JournalWriter {
 public:
  JournalWriter() = default;
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;
  ~JournalWriter();

  /// Opens the file, makes it if it is not there, and locks it. The error of a file that another process writes to
  /// has the field "--out".
  [[nodiscard]] Result<void> open(const std::filesystem::path& path);
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Says whether the open file still stands at its path (there), nothing does (gone), or another file (taken).
  enum class FilePlace : std::uint8_t { there, gone, taken };
  [[nodiscard]] FilePlace place() const;
  /// Truncates the file, behind the last complete record.
  [[nodiscard]] Result<void> cut(std::uint64_t size);
  /// Appends and makes durable. After an error the journal ends where it did before.
  [[nodiscard]] Result<void> append(const std::vector<Record>& records);
  /// Replaces the journal by one with these records, in one step: after an error the old one is there.
  /// `each` gives them to the function that it gets.
  using Put = std::function<Result<void>(const Record&)>;
  [[nodiscard]] Result<void> replace(const std::function<Result<void>(const Put&)>& each);
  /// Also what a forked child does first: the lock is held as long as anyone has the file open.
  void close();

 private:
  [[nodiscard]] Result<void> lock() const;
  [[nodiscard]] Result<void> write_all(int file, const std::string& bytes) const;

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// The state of a campaign as its journal holds it: read on --resume, updated while the campaign runs.

[[nodiscard]] Record run_record(const std::string& id, const CampaignRun& run);
[[nodiscard]] Result<std::pair<std::string, CampaignRun>> decode_run(const Record& record);
[[nodiscard]] Record progress_record(const ProgressPoint& progress);
[[nodiscard]] Result<ProgressPoint> decode_progress(const Record& record);

class JournalStore {
 public:
  /// The journal keeps this many points of progress at most; beyond that it drops every other one.
  static constexpr std::size_t kMostProgress = 480;
  /// Bytes that a journal may grow by before it is written anew with neighbouring blocks put together.
  static constexpr std::uint64_t kGrowth = std::uint64_t{16} << 20;

  enum class Take : std::uint8_t { anew, resume, repair };

  /// Locks the folder's journal and reads it, unless `take` is anew. Adds messages for the user to `remarks`.
  [[nodiscard]] Result<void> open(const std::filesystem::path& folder, Take take, std::vector<std::string>& remarks);
  /// Whether the journal holds a campaign to resume.
  [[nodiscard]] bool has_campaign() const { return identity_.has_value(); }
  [[nodiscard]] const Identity& identity() const { return *identity_; }
  /// Starts a new campaign, and keeps an old journal as campaign.journal.previous, or, where that is there, as
  /// campaign.journal.previous-2 and so on; a report in the folder becomes kReportBefore.
  [[nodiscard]] Result<void> begin(const Identity& identity, std::vector<std::string>& remarks);

  /// A record of a block; made durable by commit(). The error is of one that cannot be read.
  [[nodiscard]] Result<void> add(Record record);
  void note_run(const std::string& id, const CampaignRun& run);
  void note_progress(const ProgressPoint& progress);
  /// Makes what was added durable. If the folder or the journal was removed meanwhile, makes both anew with all that is
  /// known, and says so in `remark`. Errors: another file stands in its place; it cannot be written.
  [[nodiscard]] Result<void> commit(std::string& remark);
  /// Closes the file in a forked child, which must not hold the lock on.
  void close() { journal_.close(); }

  [[nodiscard]] const BlockAggregates& blocks() const { return blocks_; }
  [[nodiscard]] const std::vector<ProgressPoint>& progress() const { return progress_; }
  /// Seconds of all runs noted but the one of that id.
  [[nodiscard]] double seconds_before(const std::string& id) const;
  [[nodiscard]] CampaignResult result() const;

 private:
  [[nodiscard]] Result<void> read(std::vector<std::string>& remarks, bool repair);
  [[nodiscard]] Result<void> take(Record record);
  [[nodiscard]] Result<void> compact();
  [[nodiscard]] Result<void> commit_once(std::string& remark);
  [[nodiscard]] Result<void> write_again();

  std::filesystem::path path_;
  JournalWriter journal_;
  std::uint64_t size_compact_ = 0;
  std::optional<Identity> identity_;
  BlockAggregates blocks_;
  std::map<std::string, CampaignRun> runs_;  ///< by id
  std::vector<ProgressPoint> progress_;
  std::vector<Record> pending_;
};

// Merges the journals of one campaign, from many machines. A block counts once, however many of them hold it, so the
// order and the repetition of journals make no difference.

struct Merged {
  CampaignSnapshot snapshot;         ///< snapshot of the whole campaign
  std::vector<std::string> remarks;  ///< for the user: tails that were cut short
};

/// Reads the journals and writes one, in place of `out`. Memory: an aggregate for each digit of the number of blocks,
/// and some dozen bytes for each span, whatever the journals take. Errors: journals of different campaigns, campaigns
/// that coverage guides, and damage but for a tail that was cut short.
[[nodiscard]] Result<Merged> merge(const std::vector<std::filesystem::path>& journals,
                                   const std::filesystem::path& out);

}  // namespace qconform::campaign
