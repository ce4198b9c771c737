// The timeline of a campaign's findings over its blocks, in their order. Merging timelines is associative and
// commutative but for seconds, and the result depends on the blocks alone: not on who ran them, or when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "harness/core/corner_cases/corner_case.h"
#include "harness/report/campaign_result.h"

namespace qconform::campaign {

/// Most groups of a timeline. Each holds neighbouring blocks; all have the smallest width at which this many groups
/// hold every block. A wider part makes the whole as wide.
inline constexpr std::size_t kMostGroups = 256;

/// By corner case: index of the first case that reached it.
using FirstCases = std::map<CornerCase, std::uint64_t>;

/// The timeline of one block; `found.first` is its number.
[[nodiscard]] CampaignTimeline timeline_of_block(const CampaignTimeline::Group& found, const FirstCases& reached);

/// `from` is of other blocks.
void merge(const CampaignTimeline& from, CampaignTimeline& into);

}  // namespace qconform::campaign
