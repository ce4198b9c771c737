// Merges the journals of one campaign, from many machines. A block counts once, however many of them hold it, so the
// order and the repetition of journals make no difference.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/campaign/build_report.h"
#include "harness/campaign/journal_store.h"

namespace qconform::campaign {

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
