#include <algorithm>

#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/convolution/relations.h"

namespace qconform::relations {
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
