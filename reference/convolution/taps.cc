#include "reference/convolution/taps.h"

namespace qconform::reference {

const std::vector<Tap>& TapsInside::at(std::int64_t position) {
  taps_.assign(1, {0, 0});
  std::int64_t positions = 1;
  for (const SpatialAxis& axis : axes_) positions *= axis.output;
  for (const SpatialAxis& axis : axes_) {
    positions /= axis.output;
    refine(axis, position / positions % axis.output);
  }
  return taps_;
}

// From the taps of the axes before this one to those that have this one's too.
void TapsInside::refine(const SpatialAxis& axis, std::int64_t output) {
  outer_.swap(taps_);
  taps_.clear();
  for (const Tap& outer : outer_) {
    std::int64_t position = output * axis.stride - axis.pad_begin;
    for (std::int64_t tap = 0; tap < axis.kernel; ++tap, position += axis.dilation) {
      if (position < 0 || position >= axis.input) continue;
      taps_.push_back({outer.weight * axis.kernel + tap, outer.input * axis.input + position});
    }
  }
}

}  // namespace qconform::reference
