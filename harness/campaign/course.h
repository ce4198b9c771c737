// How a campaign went, in the order of its blocks. Adding courses up is associative and commutative but for
// seconds, and what comes out depends on the blocks alone: not on who ran them, or when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "harness/core/campaign_state.h"
#include "harness/hazards/hazard.h"

namespace qconform::campaign {

/// Neighbouring blocks are one group, of the smallest width at which no more than kMostGroups groups hold any block.
/// A wider part makes the whole as wide: what is known of the parts of a sum tells what is known of the sum.
class Course {
 public:
  static constexpr std::size_t kMostGroups = 256;

  struct Group {
    std::uint64_t cases = 0;
    std::uint64_t failures = 0;  ///< failing verdicts that no waiver covers
    double seconds = 0;          ///< of the jobs that ran them
  };

  /// By hazard: index of the first case that reached it.
  using Reached = std::map<Hazard, std::uint64_t>;

  /// A block that is not in it yet.
  void add(std::uint64_t block, const Group& found, const Reached& reached);
  /// Of other blocks.
  void add(const Course& other);

  /// In blocks, a power of two.
  [[nodiscard]] std::uint64_t group_blocks() const { return group_blocks_; }
  /// By first block, a multiple of group_blocks().
  [[nodiscard]] const std::map<std::uint64_t, Group>& groups() const { return groups_; }
  [[nodiscard]] const Reached& reached() const { return reached_; }

  /// As groups() and reached() gave it.
  [[nodiscard]] static Course of(std::uint64_t group_blocks, std::map<std::uint64_t, Group> groups, Reached reached);
  [[nodiscard]] CampaignCourse described() const;

 private:
  void widen(std::uint64_t group_blocks);

  std::uint64_t group_blocks_ = 1;
  std::map<std::uint64_t, Group> groups_;
  Reached reached_;
};

}  // namespace qconform::campaign
