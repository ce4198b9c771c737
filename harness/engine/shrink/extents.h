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

/// Those of more than one index. `wrong_element` indexes the output, or is empty.
[[nodiscard]] std::vector<Extent> extents_of(const Case& test_case, const std::vector<std::int64_t>& wrong_element);

/// Every axis of every input by itself.
[[nodiscard]] std::vector<Extent> single_axes_of(const Case& test_case);

}  // namespace qconform::shrink
