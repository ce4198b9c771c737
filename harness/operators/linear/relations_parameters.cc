// Relations of scales and zero points.
#include <algorithm>
#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/model/relations/relation.h"
#include "harness/operators/linear/relation_parts.h"

namespace qconform::relations {
namespace {

bool is_8bit(ElementType type) {
  return type == ElementType::int8 || type == ElementType::uint8;
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

Applied shift_linear_x(const Subject& subject) {
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

Applied shift_linear_y(const Subject& subject) {
  const Case& base = *subject.base;
  if (!subject.is("QuantizeLinear")) return NotApplicable{"y has no zero point"};
  const ElementType type = linear_of(subject)->y_type;
  if (!is_8bit(type)) return NotApplicable{"y is not of 8 bits"};
  if (base.attribute("output_dtype") != nullptr) return NotApplicable{"output_dtype pins the type of y"};
  Case derived = with_zero_point(base, shifted_zero_point(base, type));
  derived.id += "/y-shift-128";
  return shifted_output(std::move(derived), shift_to_other_sign(type));
}

Tensor scaled(const Tensor& tensor) {
  std::vector<float> values = tensor.values<float>();
  for (float& value : values) value *= kScaleFactor;
  return Tensor::of(ElementType::float32, tensor.shape, values);
}

// y of the derived case is 8 times the base's; elements where that is not exact are not linked.
class EightTimes final : public Agreement {
 public:
  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    return float_at(derived, link.element) == kScaleFactor * float_at(base, link.base);
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    return std::to_string(kScaleFactor * float_at(base, link.base));
  }
};

bool is_scaled_exactly(float value) {
  return value == 0 || (std::fabs(value) >= 0x1p-120F && std::fabs(value) <= 0x1p+120F);
}

// Links for the elements of `tensor` that may be multiplied.
std::vector<Link> links_where_exact(const Tensor& tensor) {
  std::vector<Link> links;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (is_scaled_exactly(float_at(tensor, i))) links.push_back({i, 0, i});
  }
  return links;
}

Applied scale_linear(const Subject& subject) {
  const Case& base = *subject.base;
  const bool quantizes = subject.is("QuantizeLinear");
  const Tensor& real = *base.input(quantizes ? 0 : 1);
  const bool plain = real.type == ElementType::float32 && base.input(1)->type == ElementType::float32 &&
                     (quantizes || linear_of(subject)->y_type == ElementType::float32) &&
                     base.attribute("precision") == nullptr;
  if (!plain) return NotApplicable{"not in float32"};
  for (const double scale : linear_of(subject)->scale) {
    if (!is_moderate(static_cast<float>(scale))) return kFarScales;
  }
  Case derived = base;
  derived.id += "/scale-times-8";
  derived.inputs[1] = scaled(*base.input(1));
  if (quantizes) {
    derived.inputs[0] = scaled(*base.input(0));
    std::vector<Link> links = links_where_exact(*base.input(0));
    if (links.empty()) return NotApplicable{"no element of x can be scaled exactly"};
    return Derivation([derived, links = std::move(links)](const Tensor&) {
      return Application{{derived}, links, nullptr};
    });
  }
  return Derivation([derived](const Tensor& y) {
    return Application{{derived}, links_where_exact(y), std::make_shared<EightTimes>()};
  });
}

Applied move_linear_zero_point(const Subject& subject) {
  if (!subject.is("QuantizeLinear")) return NotApplicable{"y has no zero point"};
  const ElementType type = linear_of(subject)->y_type;
  if (!is_integer(type)) return NotApplicable{"y is not of an integer type"};
  const Case& base = *subject.base;
  Grid zero_point =
      base.input(2) != nullptr ? grid_of(*base.input(2)) : grid_of(make::filled(type, base.input(1)->shape, 0));
  const Range range = range_of(type);
  const auto [least, most] = std::minmax_element(zero_point.values.begin(), zero_point.values.end());
  if (*most == range.hi && *least == range.lo) return NotApplicable{"zero points at both ends of the range"};
  const std::int64_t step = *most < range.hi ? 1 : -1;
  for (std::int64_t& value : zero_point.values) value += step;
  Case derived = base;
  derived.inputs.resize(3);
  derived.inputs[2] = zero_point.tensor();
  derived.id += "/y-zero-point-moved";
  return moved_output(std::move(derived), range, step);
}

constexpr FamilyRelation kParameterRelations[] = {
    {kXShift, "DequantizeLinear", shift_linear_x},
    {kYShift, "QuantizeLinear", shift_linear_y},
    {kScalesPowerOfTwo, "QuantizeLinear, DequantizeLinear", scale_linear},
    {kYZeroPointMoved, "QuantizeLinear", move_linear_zero_point},
};

}  // namespace

std::span<const FamilyRelation> parameter_relations() {
  return kParameterRelations;
}

}  // namespace qconform::relations
