// A campaign as its journal has it: read when it is taken up again, kept in step while it runs.
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
  /// Progress is noted at most so often; beyond that every other note goes.
  static constexpr std::size_t kMostProgress = 480;
  /// Bytes that a journal may grow by before it is written anew with neighbouring blocks put together.
  static constexpr std::uint64_t kGrowth = std::uint64_t{16} << 20;

  enum class Take : std::uint8_t { anew, resume, repair };

  /// Locks the folder's journal and, unless it is to begin anew, reads what is there. What is to be told to the
  /// user is added to `remarks`.
  [[nodiscard]] Result<void> open(const std::filesystem::path& folder, Take take, std::vector<std::string>& remarks);
  /// Whether the journal that was opened holds a campaign to go on with.
  [[nodiscard]] bool has_campaign() const { return identity_.has_value(); }
  [[nodiscard]] const Identity& identity() const { return *identity_; }
  /// Begins another campaign: a journal that was there is kept as campaign.journal.previous.
  [[nodiscard]] Result<void> begin(const Identity& identity, std::vector<std::string>& remarks);

  /// A record of a block; made durable by commit(). The error is of one that cannot be read.
  [[nodiscard]] Result<void> add(Record record);
  void note_run(const std::string& id, const CampaignRun& run);
  void note_progress(const ProgressPoint& progress);
  [[nodiscard]] Result<void> commit();
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
