#include "harness/campaign/blocks.h"

#include <bit>
#include <limits>

namespace qconform::campaign {

bool Span::is_valid() const {
  if (!is_whole()) return blocks == 1 && cases > 0 && cases < kBlockCases;
  return std::has_single_bit(blocks) && first % blocks == 0 &&
         first <= std::numeric_limits<std::uint64_t>::max() / kBlockCases - blocks;
}

bool Span::holds(const Span& other) const {
  if (!is_whole()) return first == other.first && other.blocks == 1 && other.cases <= cases;
  return first <= other.first && other.first - first < blocks && other.blocks <= blocks;
}

// Joins the new span with its neighbour, that one with its own, and so on.
bool Blocks::insert(const Span& span, CampaignAggregate aggregate) {
  if (!spans_.insert(span, std::move(aggregate))) return false;
  if (!span.is_whole()) return true;
  auto& whole = spans_.whole();
  for (auto at = whole.find(span.first);;) {
    Span joined = at->second.first;
    const std::uint64_t size = joined.blocks;
    const bool is_left = joined.first % (2 * size) == 0;
    const auto left = is_left ? at : whole.find(joined.first - size);
    const auto right = is_left ? whole.find(joined.first + size) : at;
    if (left == whole.end() || right == whole.end()) return true;
    if (left->second.first.blocks != size || right->second.first.blocks != size) return true;
    left->second.second.add(right->second.second);
    left->second.first.blocks = 2 * size;
    whole.erase(right);
    at = left;
  }
}

CampaignAggregate Blocks::total() const {
  CampaignAggregate sum;
  for (const auto& [first, entry] : spans_.whole()) sum.add(entry.second);
  for (const auto& [block, entry] : spans_.parts()) sum.add(entry.second);
  return sum;
}

}  // namespace qconform::campaign
