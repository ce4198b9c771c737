// The blocks of a campaign that are done, and what they found.
//
// Blocks are put together in aligned spans of a power of two, as an odometer carries: of two such spans one
// holds the other, or they share no block. So a block counts once however often it was run, and whichever
// spans it arrives in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "harness/campaign/campaign_aggregate.h"

namespace qconform::campaign {

/// Cases of a whole block: a full turn of fuzz_case() through directed and random cases.
inline constexpr std::uint64_t kBlockCases = 512;

/// Whole blocks [first, first + blocks), first a multiple of blocks, a power of two; or, where `cases` is not
/// kBlockCases, the first cases of one block.
struct Span {
  std::uint64_t first = 0;
  std::uint64_t blocks = 1;
  std::uint64_t cases = kBlockCases;  ///< cases of each block

  [[nodiscard]] bool is_whole() const { return cases == kBlockCases; }
  [[nodiscard]] bool is_valid() const;
  /// Whether all of the other one's cases are in this one.
  [[nodiscard]] bool holds(const Span& other) const;
  bool operator==(const Span&) const = default;
};

/// Spans none of which holds another, with something for each.
template <typename Value>
class Spans {
 public:
  /// False, and no change, where a span that holds the new one is there. Those that it holds go.
  bool insert(const Span& span, Value value) {
    if (holds(span)) return false;
    if (const auto part = parts_.find(span.first); part != parts_.end() && span.holds(part->second.first)) {
      parts_.erase(part);
    }
    if (!span.is_whole()) {
      parts_.emplace(span.first, Entry(span, std::move(value)));
      return true;
    }
    parts_.erase(parts_.lower_bound(span.first), parts_.lower_bound(span.first + span.blocks));
    whole_.erase(whole_.lower_bound(span.first), whole_.lower_bound(span.first + span.blocks));
    whole_.emplace(span.first, Entry(span, std::move(value)));
    return true;
  }

  [[nodiscard]] bool holds(const Span& span) const {
    const auto behind = whole_.upper_bound(span.first);
    if (behind != whole_.begin() && std::prev(behind)->second.first.holds(span)) return true;
    const auto part = parts_.find(span.first);
    return part != parts_.end() && part->second.first.holds(span);
  }

  using Entry = std::pair<Span, Value>;
  using Map = std::map<std::uint64_t, Entry>;
  /// By their first block.
  [[nodiscard]] const Map& whole() const { return whole_; }
  [[nodiscard]] const Map& parts() const { return parts_; }
  [[nodiscard]] Map& whole() { return whole_; }

 private:
  Map whole_;
  Map parts_;
};

/// The blocks with their aggregates: neighbours that make up a larger span are added up, so that as many aggregates
/// are held as the number of blocks has digits, and a few for blocks that run ahead.
class Blocks {
 public:
  /// False where those cases are counted already.
  bool insert(const Span& span, CampaignAggregate aggregate);

  [[nodiscard]] bool holds(const Span& span) const { return spans_.holds(span); }
  [[nodiscard]] const Spans<CampaignAggregate>& spans() const { return spans_; }
  /// Adds up the aggregates of all blocks.
  [[nodiscard]] CampaignAggregate total() const;

 private:
  Spans<CampaignAggregate> spans_;
};

/// For the report: ranges that touch are one.
template <typename Value>
void describe(const Spans<Value>& spans, CampaignResult& result) {
  result.block_cases = kBlockCases;
  result.blocks.clear();
  result.parts.clear();
  for (const auto& [first, entry] : spans.whole()) {
    const std::uint64_t end = first + entry.first.blocks;
    if (!result.blocks.empty() && result.blocks.back().end == first) {
      result.blocks.back().end = end;
    } else {
      result.blocks.push_back({first, end});
    }
  }
  for (const auto& [block, entry] : spans.parts()) result.parts.push_back({block, entry.first.cases});
}

}  // namespace qconform::campaign
