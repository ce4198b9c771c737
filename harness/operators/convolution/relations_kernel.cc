#include <algorithm>

#include "harness/operators/convolution/relation_parts.h"

namespace qconform::relations {
namespace {

constexpr NotApplicable kNoKernel{"no kernel"};
constexpr NotApplicable kAutoPad{"auto_pad depends on the kernel and the stride"};

// The derived outputs of stride 1 are larger; beyond this they would cost more than they show.
constexpr std::int64_t kMaxOutputs = 1 << 18;

// w on a finer grid: every tap `spread` apart, zero points between them and in `extra` taps behind.
void stuff_kernel(Convolution& convolution, const Values& spread, std::int64_t extra) {
  const Grid w = convolution.w;
  Values shape = w.shape;
  for (std::size_t axis = 0; axis < spread.size(); ++axis) {
    shape[2 + axis] = (shape[2 + axis] - 1) * spread[axis] + 1 + extra;
  }
  convolution.w = grid_from(w.type, shape, [&](Values index) {
    for (std::size_t axis = 0; axis < spread.size(); ++axis) {
      const std::int64_t position = index[2 + axis];
      index[2 + axis] = position / spread[axis];
      if (position % spread[axis] != 0 || index[2 + axis] >= w.shape[2 + axis]) {
        return convolution.w_zero_point.of(index[0]);
      }
    }
    return w.values[at(flat_index(w.shape, index))];
  });
}

Applied undo_dilation(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return kAutoPad;
  const auto& axes = derived.geometry.axes;
  if (std::none_of(axes.begin(), axes.end(), [](const auto& a) { return a.dilation > 1 && a.kernel > 1; })) {
    return NotApplicable{"nothing is dilated"};
  }
  stuff_kernel(derived, derived.dilations, 0);
  derived.dilations.assign(axes.size(), 1);
  derived.restated = true;
  return same_output(derived.build("/dilation-stuffed"));
}

Applied extend_kernel(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return kAutoPad;
  const std::size_t rank = derived.spatial_rank();
  stuff_kernel(derived, Values(rank, 1), 1);
  for (std::size_t axis = 0; axis < rank; ++axis) derived.pads[rank + axis] += derived.dilations[axis];
  derived.restated = true;
  return same_output(derived.build("/kernel-extended"));
}

Applied undo_stride(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return kAutoPad;
  const Values strides = derived.strides;
  if (std::all_of(strides.begin(), strides.end(), [](std::int64_t s) { return s == 1; })) {
    return NotApplicable{"all strides are 1"};
  }
  const Values base_shape = derived.geometry.output_shape();
  Values shape = base_shape;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const reference::SpatialAxis& a = derived.geometry.axes[axis];
    shape[2 + axis] = a.input + a.pad_begin + a.pad_end - a.kernel_extent() + 1;
  }
  if (elements_of(shape) > kMaxOutputs) return NotApplicable{"y would be too large"};
  derived.strides.assign(strides.size(), 1);
  derived.restated = true;
  return Derivation([unstrided = derived.build("/stride-subsampled"), strides, base_shape, shape](const Tensor&) {
    return Application{{unstrided},
                       links_for(base_shape, shape,
                                 [&](Values index) {
                                   for (std::size_t axis = 0; axis < strides.size(); ++axis)
                                     index[2 + axis] *= strides[axis];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kKernelRelations[] = {
    {{Topic::kernel, "dilation-stuffed",
      "A dilated kernel gives what the kernel with zero points between its taps gives undilated.",
      "A tap that is the zero point contributes 0: exact in integers."},
     "QLinearConv, ConvInteger",
     undo_dilation},
    {{Topic::kernel, "kernel-extended",
      "A row of zero-point taps behind each end of the kernel, with pads for it, leaves y as it is.",
      "A tap that is the zero point contributes 0; the taps keep their places."},
     "QLinearConv, ConvInteger",
     extend_kernel},
    {{Topic::kernel, "stride-subsampled", "A strided y is every stride-th element of the y of stride 1.",
      "The windows are the same ones; nothing is computed differently."},
     "QLinearConv, ConvInteger",
     undo_stride},
};

}  // namespace

std::span<const FamilyRelation> kernel_relations() {
  return kKernelRelations;
}

namespace {

// The derived case grows with its pads; beyond this many elements it would cost more than it shows.
constexpr std::int64_t kMaxElements = 1 << 22;

Applied write_out_pads(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (derived.has_auto_pad()) return NotApplicable{"auto_pad places the padding"};
  if (std::all_of(derived.pads.begin(), derived.pads.end(), [](std::int64_t pad) { return pad == 0; })) {
    return NotApplicable{"all pads are 0"};
  }
  const Grid x = derived.x;
  Values shape = x.shape;
  const std::size_t rank = derived.spatial_rank();
  for (std::size_t axis = 0; axis < rank; ++axis) shape[2 + axis] += derived.pads[axis] + derived.pads[rank + axis];
  if (elements_of(shape) > kMaxElements) return NotApplicable{"x would be too large"};
  derived.x = grid_from(x.type, shape, [&](Values index) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      index[2 + axis] -= derived.pads[axis];
      if (index[2 + axis] < 0 || index[2 + axis] >= x.shape[2 + axis]) return derived.x_zero_point;
    }
    return x.values[at(flat_index(x.shape, index))];
  });
  derived.pads.assign(derived.pads.size(), 0);
  derived.restated = true;
  return same_output(derived.build("/pads-written-out"));
}

Applied state_pads(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (!derived.has_auto_pad()) return NotApplicable{"auto_pad is NOTSET"};
  derived.restated = true;
  return same_output(derived.build("/auto-pad-as-pads"));
}

constexpr FamilyRelation kPaddingRelations[] = {
    {{Topic::padding, "pads-written-out", "Padding with zero points written into x gives what pads gives.",
      "A padded tap is the zero point and contributes 0 (C1): exact in integers."},
     "QLinearConv, ConvInteger",
     write_out_pads},
    {{Topic::padding, "auto-pad-as-pads", "The pads that auto_pad stands for, stated, give the same y.",
      "auto_pad names pads, nothing else (C2, C3)."},
     "QLinearConv, ConvInteger",
     state_pads},
};

}  // namespace

std::span<const FamilyRelation> padding_relations() {
  return kPaddingRelations;
}

}  // namespace qconform::relations
