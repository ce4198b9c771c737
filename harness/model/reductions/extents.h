// The index spaces of a case: images, groups, channels, positions, taps, blocks. Removing indices
// from one of them gives a smaller case that is still put together rightly.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/core/case.h"

namespace qconform::shrink {

struct Extent {
  std::string name;     ///< unique within the case: "input channel", "tap 0"
  std::int64_t length;  ///< of the index space
  std::int64_t focus;   ///< the index that the wrong element belongs to; -1 when not known
  /// The case with only the indices `keep` (not empty, ascending) of [0, length). Refers to nothing.
  std::function<Case(const Case&, const std::vector<std::int64_t>& keep)> cut;
};

/// Every axis of every input by itself.
[[nodiscard]] std::vector<Extent> single_axes_of(const Case& test_case);

/// The indices, below `length`, of the blocks that `keep` names, each of `size` neighbouring ones.
[[nodiscard]] std::vector<std::int64_t> expand_blocks(const std::vector<std::int64_t>& keep, std::int64_t size,
                                                      std::int64_t length);

/// The indices that `keep` names within a block, in each of `blocks` blocks of `size`.
[[nodiscard]] std::vector<std::int64_t> repeat_in_blocks(const std::vector<std::int64_t>& keep, std::int64_t size,
                                                         std::int64_t blocks);

}  // namespace qconform::shrink
