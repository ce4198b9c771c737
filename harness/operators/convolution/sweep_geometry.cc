#include "harness/operators/convolution/sweep_model.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace qconform::sweep::convolution {
namespace {

using reference::SpatialAxis;
using Axes = std::vector<SpatialAxis>;

template <typename Predicate>
bool all(const Axes& axes, Predicate predicate) {
  return std::all_of(axes.begin(), axes.end(), predicate);
}
template <typename Predicate>
bool any(const Axes& axes, Predicate predicate) {
  return std::any_of(axes.begin(), axes.end(), predicate);
}

std::uint8_t kernel_class(const Axes& axes) {
  if (axes.back().kernel >= 5) return kLarge;
  if (all(axes, [](const SpatialAxis& a) { return a.kernel == 1; })) return kPointwise;
  if (all(axes, [](const SpatialAxis& a) { return a.kernel % 2 == 0; })) return kEven;
  return all(axes, [](const SpatialAxis& a) { return a.kernel == 3; }) ? kThree : kUneven;
}

// 0, 1 or 2 for 1, 2, 3 or more on every axis; 3 for uneven.
std::uint8_t steps_class(const Axes& axes, std::int64_t SpatialAxis::*step) {
  const std::int64_t first = axes[0].*step;
  if (any(axes, [&](const SpatialAxis& a) { return a.*step != first; })) return 3;
  return static_cast<std::uint8_t>(std::min<std::int64_t>(first, 3) - 1);
}

std::uint8_t stride_class(const Axes& axes) {
  const bool beyond = any(axes, [](const SpatialAxis& a) { return a.stride > a.kernel_extent(); });
  return beyond ? std::uint8_t{kStrideBeyond} : steps_class(axes, &SpatialAxis::stride);
}

std::uint8_t pads_class(const Axes& axes) {
  if (all(axes, [](const SpatialAxis& a) { return a.pad_begin == 0 && a.pad_end == 0; })) return kNoPads;
  if (any(axes, [](const SpatialAxis& a) { return std::max(a.pad_begin, a.pad_end) >= a.kernel_extent(); })) {
    return kPadsBeyond;
  }
  if (all(axes, [](const SpatialAxis& a) { return a.pad_begin == a.pad_end; })) return kSymmetric;
  return all(axes, [](const SpatialAxis& a) { return a.pad_begin == 0; }) ? kEndOnly : kAsymmetric;
}

std::int64_t step_of(Rng& rng, std::uint8_t step_class, std::size_t axis, std::size_t odd_one) {
  if (step_class < 3) return step_class + 1;
  return axis == odd_one ? rng.between(2, 3) : 1;
}

// A kernel whose extent is `least` or more, of the class.
std::int64_t draw_kernel(Rng& rng, std::uint8_t kernel, bool last, bool odd_one, std::int64_t dilation,
                         std::int64_t least) {
  const auto reaches = [&](std::int64_t k) { return (k - 1) * dilation + 1 >= least; };
  switch (kernel) {
    case kPointwise: return 1;
    case kEven: return reaches(2) && rng.chance(3, 4) ? 2 : 4;
    case kThree: return 3;
    // The odd one has 3, the others 2 or, where that is too little, 4.
    case kUneven: return odd_one ? 3 : reaches(2) ? 2 : 4;
    default: return last ? rng.between(5, 7) : reaches(2) ? 2 : 3;
  }
}

// The strides that are not beyond the kernel must not be by accident.
std::int64_t least_extent(std::uint8_t stride, bool odd_stride) {
  switch (stride) {
    case kStride2: return 2;
    case kStride3: return 3;
    case kStrideUneven: return odd_stride ? 3 : 1;
    default: return 1;
  }
}

struct Pads {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Pads below the kernel's extent, which is 2 or more; `first`: on the axis that must have them. `behind`: those beyond
// it.
Pads draw_pads(Rng& rng, std::uint8_t pads, std::int64_t extent, bool first, bool behind) {
  const std::int64_t most = extent - 1;
  switch (pads) {
    case kSymmetric: {
      const std::int64_t pad = rng.between(first ? 1 : 0, most);
      return {pad, pad};
    }
    case kEndOnly: return {0, rng.between(first ? 1 : 0, most)};
    case kAsymmetric: {
      const std::int64_t begin = rng.between(first ? 1 : 0, most);
      const std::int64_t end = rng.between(0, most);
      return {begin, end == begin && first ? begin - 1 : end};
    }
    case kPadsBeyond: {
      if (!first) return {};
      const Pads before{extent + rng.between(0, 1), rng.between(0, 1)};
      return behind ? Pads{before.end, before.begin} : before;
    }
    default: return {};
  }
}

// The input that gives the axis its output, with up to stride - 1 elements that no window begins at.
std::int64_t input_for(const SpatialAxis& axis, bool same, std::int64_t slack) {
  if (same) return (axis.output - 1) * axis.stride + 1 + slack;
  return (axis.output - 1) * axis.stride + axis.kernel_extent() - axis.pad_begin - axis.pad_end + slack;
}

// Sets pads and input; false when these pads leave no input.
bool place(Rng& rng, std::uint8_t pads_class, bool same, bool first, bool pads_behind, SpatialAxis& axis) {
  const Pads pads = draw_pads(rng, pads_class, axis.kernel_extent(), first, pads_behind);
  axis.pad_begin = pads.begin;
  axis.pad_end = pads.end;
  axis.input = input_for(axis, same, rng.between(0, axis.stride - 1));
  return axis.input >= 1;
}

Axes draw_once(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  const std::size_t rank = row[kRank] + std::size_t{1};
  const auto count = static_cast<std::uint32_t>(rank);
  const std::size_t odd_stride = rng.below(count);
  const std::size_t odd_dilation = rng.below(count);
  const std::size_t odd_kernel = rng.below(count);
  const std::size_t padded = rng.below(count);
  const bool same = row[kAutoPad] == kSameUpper || row[kAutoPad] == kSameLower;
  Axes axes;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool last = i + 1 == rank;
    SpatialAxis axis{};
    axis.dilation = step_of(rng, row[kDilation], i, odd_dilation);
    const std::int64_t least = least_extent(row[kStride], i == odd_stride);
    axis.kernel = draw_kernel(rng, row[kKernel], last, i == odd_kernel, axis.dilation, least);
    const bool beyond = row[kStride] == kStrideBeyond;
    axis.stride = !beyond           ? step_of(rng, row[kStride], i, odd_stride)
                  : i == odd_stride ? axis.kernel_extent() + rng.between(1, 2)
                                    : rng.between(1, 2);
    axis.output = last ? kWidths[row[kWidth]] : rng.between(1, std::clamp<std::int64_t>(positions, 1, 4));
    if (!last) positions /= axis.output;
    const bool placed = place(rng, row[kPads], same, i == padded, pads_behind, axis);
    if (!placed) return {};
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

void classify_axes(const Axes& axes, Row& row) {
  row[kRank] = static_cast<std::uint8_t>(axes.size() - 1);
  row[kKernel] = kernel_class(axes);
  row[kStride] = stride_class(axes);
  row[kDilation] = steps_class(axes, &SpatialAxis::dilation);
  row[kPads] = pads_class(axes);
  const auto* const width = std::find(std::begin(kWidths), std::end(kWidths), axes.back().output);
  row[kWidth] = static_cast<std::uint8_t>(width - std::begin(kWidths));
}

Axes draw_axes(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  // Most draws succeed; a few have more padding than windows, or another class by chance.
  for (int attempt = 0; attempt < 10000; ++attempt) {
    // A little more room when it turns out that none is too little.
    const Axes axes = draw_once(rng, row, attempt < 16 ? positions : std::max<std::int64_t>(positions, 4), pads_behind);
    if (axes.empty()) continue;
    Row found(row);
    classify_axes(axes, found);
    if (found == row) return axes;
  }
  assert(false && "the model allows classes that no geometry has");
  return {};
}

}  // namespace qconform::sweep::convolution
