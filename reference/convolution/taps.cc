#include "reference/convolution/taps.h"

#include <algorithm>

namespace qconform::reference {
namespace {

// Writes those of the taps in `outer` that have one axis' taps too, and gives their end.
Tap* refine(std::span<const Tap> outer, const SpatialAxis& axis, std::int64_t output, Tap* out) {
  const TapRange inside = axis.taps_inside(output);
  const std::int64_t first = output * axis.stride - axis.pad_begin;
  for (const Tap& tap : outer) {
    for (std::int64_t i = inside.begin; i < inside.end; ++i) {
      *out++ = {static_cast<std::int32_t>(tap.weight * axis.kernel + i),
                static_cast<std::int32_t>(tap.input * axis.input + first + i * axis.dilation)};
    }
  }
  return out;
}

}  // namespace

TapsInside::TapsInside(const std::vector<SpatialAxis>& axes) : axes_(axes) {
  for (const SpatialAxis& axis : axes_) most_ *= static_cast<std::size_t>(std::min(axis.kernel, axis.input));
}

void TapsInside::select(std::int64_t first, std::int64_t count) {
  const std::size_t room = static_cast<std::size_t>(count) * most_;
  if (room > room_) taps_ = std::make_unique_for_overwrite<Tap[]>(room_ = room);
  ends_.assign(1, 0);
  const SpatialAxis& last = axes_.back();
  std::int64_t row = first / last.output;
  std::int64_t output = first % last.output;
  locate_row(row);
  Tap* end = taps_.get();
  for (std::int64_t i = 0; i < count; ++i, ++output) {
    if (output == last.output) {
      locate_row(++row);
      output = 0;
    }
    end = refine(row_, last, output, end);
    ends_.push_back(static_cast<std::size_t>(end - taps_.get()));
  }
}

void TapsInside::locate_row(std::int64_t row) {
  row_.assign(1, {0, 0});
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) rows *= axes_[i].output;
  for (std::size_t i = 0; i + 1 < axes_.size(); ++i) {
    rows /= axes_[i].output;
    outer_.swap(row_);
    row_.resize(outer_.size() * static_cast<std::size_t>(std::min(axes_[i].kernel, axes_[i].input)));
    const Tap* const end = refine(outer_, axes_[i], row / rows % axes_[i].output, row_.data());
    row_.resize(static_cast<std::size_t>(end - row_.data()));
  }
}

}  // namespace qconform::reference
