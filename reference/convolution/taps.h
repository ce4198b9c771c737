// The taps of a window that lie inside the input, and their places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform::reference {

/// A tap whose input element exists: offsets within one channel of w and of x, below kMaxElements (geometry.h).
struct Tap {
  std::int32_t weight;
  std::int32_t input;
};

/// The taps that lie inside the input, by output position, in row-major order. A tap in the padding contributes
/// zero (rule C1) and is left out. All images and channels have the same taps.
class TapsInside {
 public:
  /// `axes`, none of them with an empty output, must stay. Takes memory for every tap of the positions selected.
  explicit TapsInside(const std::vector<SpatialAxis>& axes);

  /// Looks at output positions [first, first + count), numbered in row-major order.
  void select(std::int64_t first, std::int64_t count);
  /// Returns the taps of output position first + `index` that lie inside the input; valid until the next selection.
  [[nodiscard]] std::span<const Tap> at(std::int64_t index) const {
    const std::size_t* const ends = ends_.data() + index;
    return {taps_.get() + ends[0], ends[1] - ends[0]};
  }

 private:
  void locate_row(std::int64_t row);

  const std::vector<SpatialAxis>& axes_;
  std::size_t most_ = 1;  // the most taps of one position
  std::unique_ptr<Tap[]> taps_;
  std::size_t room_ = 0;
  std::vector<std::size_t> ends_;  // the ends of the positions' taps, behind a 0
  std::vector<Tap> row_;           // the taps of a row of positions along all axes but the last one
  std::vector<Tap> outer_;
};

}  // namespace qconform::reference
