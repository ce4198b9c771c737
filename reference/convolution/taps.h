// Which taps of a window lie inside the input, and where.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/convolution/geometry.h"

namespace qconform::reference {

/// A tap whose input element exists: offsets within one channel of w and of x.
struct Tap {
  std::int64_t weight;
  std::int64_t input;
};

/// The taps of one output position that lie inside the input, in row-major order. A tap in the padding
/// contributes zero (rule C1) and is left out. The same for all images and channels.
class TapsInside {
 public:
  /// `axes` must stay.
  explicit TapsInside(const std::vector<SpatialAxis>& axes) : axes_(axes) {}

  /// Of output position `position`, in row-major order; valid until the next call.
  [[nodiscard]] const std::vector<Tap>& at(std::int64_t position);

 private:
  void refine(const SpatialAxis& axis, std::int64_t output);

  const std::vector<SpatialAxis>& axes_;
  std::vector<Tap> taps_;
  std::vector<Tap> outer_;
};

}  // namespace qconform::reference
