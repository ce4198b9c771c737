// The journal of a campaign: records behind each other in one file, each with its length and checksum, made
// durable before the next block counts as done.
// In front of each payload, CBOR, stands a RecordHead (journal.cc). A span inside another counts once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/campaign/blocks.h"

namespace qconform::campaign {

/// The name of the file, beside the report.
inline constexpr const char* kJournalName = "campaign.journal";

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
  enum class Place : std::uint8_t { there, gone, taken };
  [[nodiscard]] Place place() const;
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

}  // namespace qconform::campaign
