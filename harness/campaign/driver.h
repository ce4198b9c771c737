// Runs a campaign: hands out blocks to jobs, keeps the journal, and writes findings while it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/campaign/block_run.h"
#include "harness/campaign/build_report.h"
#include "harness/campaign/identity.h"
#include "harness/campaign/jobs.h"
#include "harness/campaign/journal_store.h"
#include "harness/campaign/run_log.h"

namespace qconform::campaign {

struct DriverOptions {
  std::filesystem::path folder;
  JournalStore::Take take = JournalStore::Take::anew;
  int jobs = 1;
  Identity identity;                   ///< without infos
  std::optional<std::uint64_t> cases;  ///< cases of the whole campaign; absent: no end
  std::optional<double> seconds;       ///< seconds of this run; absent: no end
  OpenBackends open;
  BlockOptions block;
  std::function<bool()> interrupted;               ///< polled; true ends the run
  std::function<void(const Progress&)> progress;   ///< called several times a second
  std::function<void(const std::string&)> remark;  ///< a line for the user
  /// Called in a child process when there are new failures, while the campaign runs on: writes the report, and
  /// returns its findings in a few words for progress lines.
  std::function<std::string(const CampaignSnapshot&)> build_report;
};

/// The blocks of a shard: [first, end). Without a number of cases shards are so far apart that they do not meet.
struct BlockRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
[[nodiscard]] BlockRange blocks_of(const Shard& shard, std::optional<std::uint64_t> cases);

/// Errors: what keeps it from beginning. What ends it later is CampaignSnapshot::fault, and the journal still holds the
/// blocks that were finished before it.
[[nodiscard]] Result<CampaignSnapshot> drive(const DriverOptions& options);

}  // namespace qconform::campaign
