// The state of a campaign as its journal holds it: read on --resume, updated while the campaign runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/blocks.h"
#include "harness/campaign/identity.h"
#include "harness/campaign/journal.h"

namespace qconform::campaign {

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
  /// campaign.journal.previous-2 and so on.
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

  [[nodiscard]] const Blocks& blocks() const { return blocks_; }
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
  Blocks blocks_;
  std::map<std::string, CampaignRun> runs_;  ///< by id
  std::vector<ProgressPoint> progress_;
  std::vector<Record> pending_;
};

}  // namespace qconform::campaign
