#include "harness/operators/case_builder.h"
#include "harness/suites/relations/families.h"
#include "harness/suites/relations/rearrange.h"

namespace qconform::relations {
namespace {

bool is_8bit(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
}

void shift(Grid& grid) {
  const std::int64_t by = shift_to_other_sign(grid.type);
  for (std::int64_t& value : grid.values) value += by;
  grid.type = other_sign(grid.type);
}

// The zero point input of an element-wise case in the other signedness; an omitted one is a 0 like the
// scale in shape.
Tensor shifted_zero_point(const Case& test_case, ElementType type) {
  Grid zero_point = test_case.input(2) != nullptr ? grid_of(*test_case.input(2))
                                                  : grid_of(make::filled(type, test_case.input(1)->shape, 0));
  shift(zero_point);
  return zero_point.tensor();
}

Case with_zero_point(Case test_case, Tensor zero_point) {
  test_case.inputs.resize(3);
  test_case.inputs[2] = std::move(zero_point);
  return test_case;
}

Applied shift_x(const Subject& subject) {
  if (subject.convolution) {
    Convolution derived = *subject.convolution;
    derived.x_zero_point += shift_to_other_sign(derived.x.type);
    derived.states_x_zero_point = true;
    shift(derived.x);
    return same_output(derived.build("/x-shift-128"));
  }
  const Case& base = *subject.base;
  if (!subject.is("DequantizeLinear")) return NotApplicable{"x has no zero point"};
  if (!is_8bit(base.input(0)->type)) return NotApplicable{"x is not of 8 bits"};
  Case derived = with_zero_point(base, shifted_zero_point(base, base.input(0)->type));
  Grid x = grid_of(*base.input(0));
  shift(x);
  derived.inputs[0] = x.tensor();
  derived.id += "/x-shift-128";
  return same_output(std::move(derived));
}

Applied shift_w(const Subject& subject) {
  if (!subject.convolution) return NotApplicable{"no weights"};
  Convolution derived = *subject.convolution;
  for (std::int64_t& value : derived.w_zero_point.values) value += shift_to_other_sign(derived.w.type);
  derived.states_w_zero_point = true;
  shift(derived.w);
  return same_output(derived.build("/w-shift-128"));
}

Applied shifted_output(Case derived, std::int64_t by) {
  return Derivation([derived = std::move(derived), by](const Tensor&) {
    return Application{{derived}, {}, offset_by(by)};
  });
}

Applied shift_y(const Subject& subject) {
  const Case& base = *subject.base;
  if (subject.convolution && subject.convolution->is_quantized) {
    Convolution derived = *subject.convolution;
    const std::int64_t by = shift_to_other_sign(derived.y_type);
    derived.y_zero_point += by;
    derived.y_type = other_sign(derived.y_type);
    return shifted_output(derived.build("/y-shift-128"), by);
  }
  if (!subject.is("QuantizeLinear")) return NotApplicable{"y has no zero point"};
  const ElementType type = subject.linear->y_type;
  if (!is_8bit(type)) return NotApplicable{"y is not of 8 bits"};
  if (base.attribute("output_dtype") != nullptr) return NotApplicable{"output_dtype pins the type of y"};
  Case derived = with_zero_point(base, shifted_zero_point(base, type));
  derived.id += "/y-shift-128";
  return shifted_output(std::move(derived), shift_to_other_sign(type));
}

constexpr Relation kSignednessRelations[] = {
    {"x-shift-128", "QLinearConv, ConvInteger, DequantizeLinear",
     "x and its zero point moved by 128 into the other 8-bit type leave y as it is.",
     "x enters as x - zero point only: exact in integers.", shift_x},
    {"w-shift-128", "QLinearConv, ConvInteger",
     "w and its zero points moved by 128 into the other 8-bit type leave y as it is.",
     "w enters as w - zero point only: exact in integers.", shift_w},
    {"y-shift-128", "QLinearConv, QuantizeLinear",
     "With y's zero point moved by 128 into the other 8-bit type, y moves by 128.",
     "The zero point is added to a rounded integer, and the range moves with it.", shift_y},
};

}  // namespace

std::span<const Relation> signedness_relations() {
  return kSignednessRelations;
}

}  // namespace qconform::relations
