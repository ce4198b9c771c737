#include <algorithm>
#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/model/relations/relation.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::relations {

Case LinearParts::derive(LinearQuantization derived, std::string_view suffix) const {
  Case result = build_linear(std::move(derived), frame);
  result.id += suffix;
  return result;
}

const LinearParts* linear_of(const RelationSubject& subject) {
  return dynamic_cast<const LinearParts*>(subject.parts.get());
}

std::unique_ptr<const Parts> take_linear_apart(const Case& test_case, const Lowered& lowered) {
  auto parts = std::make_unique<LinearParts>();
  parts->frame = test_case;
  parts->frame.inputs.clear();
  forget_answers(parts->frame);
  parts->stated = read_linear(test_case).value();
  parts->layout = *layout_of(lowered);
  return parts;
}

namespace {

// More derived cases than this cost more than they show.
constexpr std::size_t kMaxParameters = 64;

// Chosen elements of a tensor of any type.
Tensor picked(const Tensor& tensor, const Values& elements, Values shape) {
  const int bits = bits_of(tensor.type);
  const auto size = static_cast<std::size_t>(bytes_for(tensor.type, static_cast<std::int64_t>(elements.size())));
  Tensor result{tensor.type, std::move(shape), std::vector<std::byte>(size)};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    set_raw_bits_at(result.bytes, bits, static_cast<std::int64_t>(i), raw_bits_at(tensor.bytes, bits, elements[i]));
  }
  return result;
}

// Each parameter with its elements, in one dimension.
Applied parameters_apart(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  const reference::QuantizationLayout& layout = base.layout;
  if (base.stated.scale.is_scalar()) return NotApplicable{"one scale for the whole tensor"};
  const auto parameters = static_cast<std::size_t>(layout.parameters());
  if (parameters > kMaxParameters) return NotApplicable{"too many parameters"};
  std::vector<Values> members(parameters);
  for (std::int64_t i = 0; i < layout.elements(); ++i) members[layout.parameter_of(i)].push_back(i);
  Application result;
  for (std::size_t p = 0; p < parameters; ++p) {
    LinearQuantization part = base.stated;
    part.axis.reset();
    part.block_size.reset();
    for (std::size_t i = 0; i < members[p].size(); ++i) {
      result.links.push_back({members[p][i], p, static_cast<std::int64_t>(i)});
    }
    part.x = picked(part.x, members[p], {static_cast<std::int64_t>(members[p].size())});
    part.visit_parameters([&](Tensor& all) { all = picked(all, {static_cast<std::int64_t>(p)}, {}); });
    result.derived.push_back(base.derive(std::move(part), "/parameter-" + std::to_string(p)));
  }
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

Applied reverse_elements(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  if (!base.stated.scale.is_scalar()) return NotApplicable{"more than one scale"};
  const std::int64_t count = base.stated.x.elements();
  if (count < 2) return NotApplicable{"one element"};
  LinearQuantization derived = base.stated;
  derived.x = picked(derived.x, counting_down(count), derived.x.shape);
  Application result;
  result.derived.push_back(base.derive(std::move(derived), "/elements-reversed"));
  for (std::int64_t i = 0; i < count; ++i) result.links.push_back({i, 0, count - 1 - i});
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

// axis counted from the other end.
Applied recount_axis(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  LinearQuantization derived = base.stated;
  if (derived.opset_version < 13 || derived.scale.is_scalar()) return NotApplicable{"no axis is used"};
  const auto rank = static_cast<std::int64_t>(derived.x.shape.size());
  const std::int64_t axis = derived.axis_or_default();
  derived.axis = axis < 0 ? axis + rank : axis - rank;
  return same_output(base.derive(std::move(derived), "/axis-recounted"));
}

constexpr FamilyRelation kElementRelations[] = {
    {{RelationTopic::elements, "parameters-apart",
      "The elements of one scale and zero point, along an axis or in a block, give what they give by themselves.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     parameters_apart},
    {{RelationTopic::elements, "elements-reversed",
      "The elements of a tensor with one scale in reverse order give y in reverse order.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     reverse_elements},
    {{RelationTopic::elements, "axis-recounted", "axis counted from the other end of the shape is the same axis.",
      "axis and axis - rank name one axis (D7)."},
     "QuantizeLinear, DequantizeLinear",
     recount_axis},
};

}  // namespace

std::span<const FamilyRelation> element_relations() {
  return kElementRelations;
}

// Relations of scales and zero points.

namespace {

// An omitted zero point is a 0 like the scale in shape.
Tensor stated_zero_point(const LinearQuantization& node, ElementType type) {
  return node.zero_point ? *node.zero_point : make::filled(type, node.scale.shape, 0);
}

Applied shift_linear_x(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  LinearQuantization derived = base.stated;
  if (derived.quantizes) return NotApplicable{"x has no zero point"};
  if (!is_8bit_integer(derived.x.type)) return NotApplicable{"x is not of 8 bits"};
  derived.zero_point = shifted(stated_zero_point(derived, derived.x.type));
  derived.x = shifted(derived.x);
  return same_output(base.derive(std::move(derived), "/x-shift-128"));
}

Applied shift_linear_y(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  LinearQuantization derived = base.stated;
  if (!derived.quantizes) return NotApplicable{"y has no zero point"};
  const ElementType type = derived.y_type();
  if (!is_8bit_integer(type)) return NotApplicable{"y is not of 8 bits"};
  if (derived.output_dtype) return NotApplicable{"output_dtype pins the type of y"};
  derived.zero_point = shifted(stated_zero_point(derived, type));
  return shifted_output(base.derive(std::move(derived), "/y-shift-128"), shift_to_other_sign(type));
}

Tensor scaled(const Tensor& tensor) {
  std::vector<float> values = tensor.values<float>();
  for (float& value : values) value *= kScaleFactor;
  return Tensor::of(ElementType::float32, tensor.shape, values);
}

bool is_in_float32(const LinearQuantization& node) {
  return (node.quantizes ? node.x.type : node.y_type()) == ElementType::float32 &&
         node.scale.type == ElementType::float32 && !node.precision;
}

// Far from over- and underflow, so that every rounding is relative. They are of float32.
bool scales_are_moderate(const LinearQuantization& node) {
  const std::vector<float> scales = node.scale.values<float>();
  return std::all_of(scales.begin(), scales.end(), is_moderate);
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

Applied scale_linear(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  LinearQuantization derived = base.stated;
  if (!is_in_float32(derived)) return NotApplicable{"not in float32"};
  if (!scales_are_moderate(derived)) return kFarScales;
  derived.scale = scaled(derived.scale);
  if (derived.quantizes) {
    std::vector<Link> links = links_where_exact(derived.x);
    if (links.empty()) return NotApplicable{"no element of x can be scaled exactly"};
    derived.x = scaled(derived.x);
    return Derivation(
        [result = base.derive(std::move(derived), "/scale-times-8"), links = std::move(links)](const Tensor&) {
          return Application{{result}, links, nullptr};
        });
  }
  return Derivation([result = base.derive(std::move(derived), "/scale-times-8")](const Tensor& y) {
    return Application{{result}, links_where_exact(y), std::make_shared<EightTimes>()};
  });
}

Applied move_linear_zero_point(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  LinearQuantization derived = base.stated;
  if (!derived.quantizes) return NotApplicable{"y has no zero point"};
  const ElementType type = derived.y_type();
  if (!is_integer(type)) return NotApplicable{"y is not of an integer type"};
  const Tensor zero_point = stated_zero_point(derived, type);
  Values zeros = integer_values(zero_point);
  const IntegerEnds ends = ends_of(type);
  const auto [least, most] = std::minmax_element(zeros.begin(), zeros.end());
  if (*most == ends.hi && *least == ends.lo) return NotApplicable{"zero points at both ends of the range"};
  const std::int64_t step = *most < ends.hi ? 1 : -1;
  for (std::int64_t& value : zeros) value += step;
  derived.zero_point = make::integers(type, zero_point.shape, zeros);
  return moved_output(base.derive(std::move(derived), "/y-zero-point-moved"), ends, step);
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

namespace {

using reference::Wide256;

// Magnitudes below it, and 25 bits more, fit 256 bits in units of 2^-149.
constexpr double kLargest = 0x1p+60;

// |value| in units of the smallest float32, exactly.
Wide256 fixed(float value) {
  const reference::FloatParts parts = reference::parts_of(value);
  return Wide256(parts.mantissa) << (parts.exponent + 149);
}

// |a - b| likewise.
Wide256 distance(float a, float b) {
  const Wide256 x = fixed(a);
  const Wide256 y = fixed(b);
  if (std::signbit(a) != std::signbit(b)) return x + y;
  return x < y ? y - x : x - y;
}

// |x - r| <= s/2 + u|x| + u|n|s, with u = 2^-24: the quotient x/s and the product n*s are rounded once
// each at most, and n is the integer nearest to the quotient. Times 2^25.
bool is_near(float x, float restored, float scale, std::int64_t steps) {
  if (!(std::fabs(x) < kLargest) || !(std::fabs(restored) < kLargest)) return false;
  const Wide256 s = fixed(scale);
  const Wide256 product = s * Wide256(static_cast<std::uint64_t>(std::abs(steps)));
  return (distance(x, restored) << 25) <= (s << 24) + (fixed(x) << 1) + (product << 1);
}

// The base quantizes x to q; the derived case gives r, what q stands for.
class NearX final : public Agreement {
 public:
  NearX(const LinearParts& base) : base_(base), ends_(ends_of(base.stated.y_type())) {}

  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    const float x = float_at(base_.stated.x, link.base);
    const float restored = float_at(derived, link.element);
    const std::int64_t quantized = integer_at(base, link.base);
    if (quantized == ends_.hi && x >= restored) return true;
    if (quantized == ends_.lo && x <= restored) return true;
    const auto& zero_point = base_.stated.zero_point;
    const std::int64_t zero = zero_point ? integer_at(*zero_point, parameter_of(link)) : 0;
    return is_near(x, restored, scale_of(link), quantized - zero);
  }
  [[nodiscard]] std::string required(const Tensor&, const Link& link) const override {
    return std::to_string(float_at(base_.stated.x, link.base)) + " within half of " + std::to_string(scale_of(link));
  }

 private:
  [[nodiscard]] std::int64_t parameter_of(const Link& link) const {
    return static_cast<std::int64_t>(base_.layout.parameter_of(link.base));
  }
  [[nodiscard]] float scale_of(const Link& link) const { return float_at(base_.stated.scale, parameter_of(link)); }

  const LinearParts& base_;
  IntegerEnds ends_;
};

// The base dequantizes q; the derived case gives it back.
class Original final : public Agreement {
 public:
  explicit Original(const Tensor& original) : original_(original) {}
  [[nodiscard]] bool holds(const Tensor&, const Tensor& derived, const Link& link) const override {
    return integer_at(derived, link.element) == integer_at(original_, link.base);
  }
  [[nodiscard]] std::string required(const Tensor&, const Link& link) const override {
    return std::to_string(integer_at(original_, link.base));
  }

 private:
  const Tensor& original_;
};

// The operator of the other direction on `x`, with the same parameters and the attributes that place them.
LinearQuantization opposite(const LinearQuantization& node, Tensor x) {
  return {.quantizes = !node.quantizes,
          .opset_version = node.opset_version,
          .axis = node.axis,
          .block_size = node.block_size,
          .x = std::move(x),
          .scale = node.scale,
          .zero_point = node.zero_point};
}

constexpr NotApplicable kMayUnderflow{"a scale is so far from 1 that float32 might underflow"};

Applied restore(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  if (!base.stated.quantizes) return NotApplicable{"not QuantizeLinear"};
  if (!is_integer(base.stated.y_type()) || !is_in_float32(base.stated) || base.stated.output_dtype) {
    return NotApplicable{"not from float32 to integers"};
  }
  if (!scales_are_moderate(base.stated)) return kMayUnderflow;
  return Derivation([&base](const Tensor& y) {
    Application result{{base.derive(opposite(base.stated, y), "/dequantized")}, {}, std::make_shared<NearX>(base)};
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (!std::isnan(float_at(base.stated.x, i))) result.links.push_back({i, 0, i});
    }
    return result;
  });
}

Applied return_to(const RelationSubject& subject) {
  const LinearParts& base = *linear_of(subject);
  if (base.stated.quantizes) return NotApplicable{"not DequantizeLinear"};
  const ElementType type = base.stated.x.type;
  if (!is_integer(type) || bits_of(type) > 16 || !is_in_float32(base.stated) || base.stated.output_dtype) {
    return NotApplicable{"not from integers of at most 16 bits to float32"};
  }
  if (!scales_are_moderate(base.stated)) return kMayUnderflow;
  return Derivation([&base, type](const Tensor& y) {
    LinearQuantization derived = opposite(base.stated, y);
    // Stated in any case: it gives y its type.
    derived.zero_point = stated_zero_point(base.stated, type);
    return Application{
        {base.derive(std::move(derived), "/quantized-again")}, {}, std::make_shared<Original>(base.stated.x)};
  });
}

constexpr FamilyRelation kRoundTripRelations[] = {
    {{RelationTopic::round_trip, "dequantize-after-quantize",
      "What is quantized and dequantized comes back within half a scale and two float32 roundings, unless saturated.",
      "Rounding to an integer moves by half a step at most; the bound is judged exactly."},
     "QuantizeLinear, DequantizeLinear",
     restore},
    {{RelationTopic::round_trip, "quantize-after-dequantize",
      "What is dequantized and quantized again comes back as it was.",
      "The product and the quotient are off by less than 2^-6 of a step, as integers of 16 bits are."},
     "DequantizeLinear, QuantizeLinear",
     return_to},
};

}  // namespace

std::span<const FamilyRelation> round_trip_relations() {
  return kRoundTripRelations;
}

}  // namespace qconform::relations
