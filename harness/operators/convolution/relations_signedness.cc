#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/convolution/relations.h"
#include "harness/suites/relations/shared.h"

namespace qconform::relations {
namespace {

Applied shift_x(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  derived.x_zero_point += shift_to_other_sign(derived.x.type);
  derived.states_x_zero_point = true;
  shift(derived.x);
  return same_output(derived.build("/x-shift-128"));
}

Applied shift_w(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  for (std::int64_t& value : derived.w_zero_point.values) value += shift_to_other_sign(derived.w.type);
  derived.states_w_zero_point = true;
  shift(derived.w);
  return same_output(derived.build("/w-shift-128"));
}

Applied shift_y(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  if (!derived.is_quantized) return NotApplicable{"y has no zero point"};
  const std::int64_t by = shift_to_other_sign(derived.y_type);
  derived.y_zero_point += by;
  derived.y_type = other_sign(derived.y_type);
  return shifted_output(derived.build("/y-shift-128"), by);
}

constexpr FamilyRelation kSignednessRelations[] = {
    {kXShift, "QLinearConv, ConvInteger", shift_x},
    {{Topic::signedness, "w-shift-128",
      "w and its zero points moved by 128 into the other 8-bit type leave y as it is.",
      "w enters as w - zero point only: exact in integers."},
     "QLinearConv, ConvInteger",
     shift_w},
    {kYShift, "QLinearConv", shift_y},
};

}  // namespace

std::span<const FamilyRelation> signedness_relations() {
  return kSignednessRelations;
}

}  // namespace qconform::relations
