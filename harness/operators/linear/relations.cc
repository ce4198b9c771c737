#include <algorithm>
#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/model/relations/relation.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::relations {

const Linear* linear_of(const RelationSubject& subject) {
  return dynamic_cast<const Linear*>(subject.parts.get());
}

std::unique_ptr<const Parts> take_linear_apart(const Case& test_case, const Lowered& lowered) {
  const bool quantizes = test_case.node().op_type == quantize_linear_operator().name;
  const Operator& known = *operator_of(test_case);
  reference::Contract contract;
  const NodeReader reader(test_case, known.inputs, contract);
  auto parameters =
      read_quantization(reader, quantizes ? "y_scale" : "x_scale", quantizes ? "y_zero_point" : "x_zero_point",
                        static_cast<int>(known.version_at(test_case.node().opset_version)), contract);
  auto result = std::make_unique<Linear>();
  result->layout = parameters->layout;
  result->scale = std::move(parameters->scale);
  result->zero_point = std::move(parameters->zero_point);
  result->y_type = lowered.output_type();
  return result;
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
  const Case& base = *subject.base;
  const reference::QuantizationLayout& layout = linear_of(subject)->layout;
  if (base.input(1)->is_scalar()) return NotApplicable{"one scale for the whole tensor"};
  const auto parameters = static_cast<std::size_t>(layout.parameters());
  if (parameters > kMaxParameters) return NotApplicable{"too many parameters"};
  std::vector<Values> members(parameters);
  for (std::int64_t i = 0; i < layout.elements(); ++i) members[layout.parameter_of(i)].push_back(i);
  Application result;
  for (std::size_t p = 0; p < parameters; ++p) {
    Case part = base;
    part.id += "/parameter-" + std::to_string(p);
    erase_attribute(part, "axis");
    erase_attribute(part, "block_size");
    for (std::size_t i = 0; i < members[p].size(); ++i) {
      result.links.push_back({members[p][i], p, static_cast<std::int64_t>(i)});
    }
    part.inputs[0] = picked(*base.input(0), members[p], {static_cast<std::int64_t>(members[p].size())});
    for (std::size_t i = 1; i < part.inputs.size(); ++i) {
      if (part.inputs[i]) part.inputs[i] = picked(*base.input(i), {static_cast<std::int64_t>(p)}, {});
    }
    result.derived.push_back(std::move(part));
  }
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

Applied reverse_elements(const RelationSubject& subject) {
  const Case& base = *subject.base;
  if (!base.input(1)->is_scalar()) return NotApplicable{"more than one scale"};
  const Tensor& x = *base.input(0);
  const std::int64_t count = x.elements();
  if (count < 2) return NotApplicable{"one element"};
  Application result;
  result.derived = {base};
  result.derived[0].id += "/elements-reversed";
  result.derived[0].inputs[0] = picked(x, counting_down(count), x.shape);
  for (std::int64_t i = 0; i < count; ++i) result.links.push_back({i, 0, count - 1 - i});
  return Derivation([result = std::move(result)](const Tensor&) { return result; });
}

// axis counted from the other end.
Applied recount_axis(const RelationSubject& subject) {
  const Case& base = *subject.base;
  const bool has_axis = base.node().opset_version >= 13;
  if (!has_axis || base.input(1)->is_scalar()) return NotApplicable{"no axis is used"};
  const auto rank = static_cast<std::int64_t>(base.input(0)->shape.size());
  const auto axis = base.node().get_or<std::int64_t>("axis", 1);
  Case derived = base;
  erase_attribute(derived, "axis");
  derived.node().attributes.push_back({"axis", axis < 0 ? axis + rank : axis - rank});
  derived.id += "/axis-recounted";
  return same_output(std::move(derived));
}

constexpr FamilyRelation kElementRelations[] = {
    {{Topic::elements, "parameters-apart",
      "The elements of one scale and zero point, along an axis or in a block, give what they give by themselves.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     parameters_apart},
    {{Topic::elements, "elements-reversed",
      "The elements of a tensor with one scale in reverse order give y in reverse order.",
      "No element depends on another."},
     "QuantizeLinear, DequantizeLinear",
     reverse_elements},
    {{Topic::elements, "axis-recounted", "axis counted from the other end of the shape is the same axis.",
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
Tensor stated_zero_point(const Case& test_case, ElementType type) {
  const Tensor* zero_point = test_case.input(2);
  return zero_point != nullptr ? *zero_point : make::filled(type, test_case.input(1)->shape, 0);
}

Case with_zero_point(Case test_case, Tensor zero_point) {
  test_case.inputs.resize(3);
  test_case.inputs[2] = std::move(zero_point);
  return test_case;
}

Applied shift_linear_x(const RelationSubject& subject) {
  const Case& base = *subject.base;
  if (!subject.is("DequantizeLinear")) return NotApplicable{"x has no zero point"};
  if (!is_8bit_integer(base.input(0)->type)) return NotApplicable{"x is not of 8 bits"};
  Case derived = with_zero_point(base, shifted(stated_zero_point(base, base.input(0)->type)));
  derived.inputs[0] = shifted(*base.input(0));
  derived.id += "/x-shift-128";
  return same_output(std::move(derived));
}

Applied shift_linear_y(const RelationSubject& subject) {
  const Case& base = *subject.base;
  if (!subject.is("QuantizeLinear")) return NotApplicable{"y has no zero point"};
  const ElementType type = linear_of(subject)->y_type;
  if (!is_8bit_integer(type)) return NotApplicable{"y is not of 8 bits"};
  if (base.attribute("output_dtype") != nullptr) return NotApplicable{"output_dtype pins the type of y"};
  Case derived = with_zero_point(base, shifted(stated_zero_point(base, type)));
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

Applied scale_linear(const RelationSubject& subject) {
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

Applied move_linear_zero_point(const RelationSubject& subject) {
  if (!subject.is("QuantizeLinear")) return NotApplicable{"y has no zero point"};
  const ElementType type = linear_of(subject)->y_type;
  if (!is_integer(type)) return NotApplicable{"y is not of an integer type"};
  const Case& base = *subject.base;
  const Tensor zero_point = stated_zero_point(base, type);
  Values zeros = integer_values(zero_point);
  const IntegerEnds ends = ends_of(type);
  const auto [least, most] = std::minmax_element(zeros.begin(), zeros.end());
  if (*most == ends.hi && *least == ends.lo) return NotApplicable{"zero points at both ends of the range"};
  const std::int64_t step = *most < ends.hi ? 1 : -1;
  for (std::int64_t& value : zeros) value += step;
  Case derived = with_zero_point(base, make::integers(zero_point.type, zero_point.shape, zeros));
  derived.id += "/y-zero-point-moved";
  return moved_output(std::move(derived), ends, step);
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
  NearX(const RelationSubject& subject) : subject_(subject), ends_(ends_of(linear_of(subject)->y_type)) {}

  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    const float x = float_at(*subject_.base->input(0), link.base);
    const float restored = float_at(derived, link.element);
    const std::int64_t quantized = integer_at(base, link.base);
    if (quantized == ends_.hi && x >= restored) return true;
    if (quantized == ends_.lo && x <= restored) return true;
    const std::size_t parameter = linear_of(subject_)->layout.parameter_of(link.base);
    const auto steps = quantized - static_cast<std::int64_t>(linear_of(subject_)->zero_point[parameter]);
    return is_near(x, restored, static_cast<float>(linear_of(subject_)->scale[parameter]), steps);
  }
  [[nodiscard]] std::string required(const Tensor&, const Link& link) const override {
    const std::size_t parameter = linear_of(subject_)->layout.parameter_of(link.base);
    return std::to_string(float_at(*subject_.base->input(0), link.base)) + " within half of " +
           std::to_string(linear_of(subject_)->scale[parameter]);
  }

 private:
  const RelationSubject& subject_;
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

// Far from over- and underflow, so that every rounding is relative.
bool scales_are_moderate(const Linear& linear) {
  for (const double scale : linear.scale) {
    if (!(scale >= 0x1p-26 && scale <= 0x1p+26)) return false;
  }
  return true;
}

bool in_float32(const Case& test_case, std::size_t real_input, ElementType y) {
  return test_case.input(real_input)->type == ElementType::float32 &&
         test_case.input(1)->type == ElementType::float32 && (real_input == 0 || y == ElementType::float32) &&
         test_case.attribute("precision") == nullptr && test_case.attribute("output_dtype") == nullptr;
}

// The operator of the other direction on `x`, with the same scale and the attributes that place it.
Case opposite(const Case& base, const char* op_type, Tensor x, std::optional<Tensor> zero_point) {
  Case derived = base;
  derived.node().op_type = op_type;
  forget_answers(derived);
  std::erase_if(derived.node().attributes,
                [](const Attribute& a) { return a.name != "axis" && a.name != "block_size"; });
  derived.inputs = {std::move(x), base.inputs[1]};
  if (zero_point) derived.inputs.emplace_back(std::move(zero_point));
  return derived;
}

Applied restore(const RelationSubject& subject) {
  if (!subject.is("QuantizeLinear")) return NotApplicable{"not QuantizeLinear"};
  const Case& base = *subject.base;
  if (!is_integer(linear_of(subject)->y_type) || !in_float32(base, 0, linear_of(subject)->y_type)) {
    return NotApplicable{"not from float32 to integers"};
  }
  if (!scales_are_moderate(*linear_of(subject)))
    return NotApplicable{"a scale is so far from 1 that float32 might underflow"};
  return Derivation([&subject](const Tensor& y) {
    const Tensor* zero_point = subject.base->input(2);
    Application result{{opposite(*subject.base, "DequantizeLinear", y,
                                 zero_point == nullptr ? std::nullopt : std::optional(*zero_point))},
                       {},
                       std::make_shared<NearX>(subject)};
    result.derived[0].id += "/dequantized";
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      if (!std::isnan(float_at(*subject.base->input(0), i))) result.links.push_back({i, 0, i});
    }
    return result;
  });
}

Applied return_to(const RelationSubject& subject) {
  if (!subject.is("DequantizeLinear")) return NotApplicable{"not DequantizeLinear"};
  const Case& base = *subject.base;
  const ElementType type = base.input(0)->type;
  if (!is_integer(type) || bits_of(type) > 16 || !in_float32(base, 1, linear_of(subject)->y_type)) {
    return NotApplicable{"not from integers of at most 16 bits to float32"};
  }
  if (!scales_are_moderate(*linear_of(subject)))
    return NotApplicable{"a scale is so far from 1 that float32 might underflow"};
  return Derivation([&subject, type](const Tensor& y) {
    const Case& test_case = *subject.base;
    const Tensor* zero_point = test_case.input(2);
    // Stated in any case: it gives y its type.
    Application result{
        {opposite(test_case, "QuantizeLinear", y,
                  zero_point != nullptr ? *zero_point : make::filled(type, test_case.input(1)->shape, 0))},
        {},
        std::make_shared<Original>(*test_case.input(0))};
    result.derived[0].id += "/quantized-again";
    return result;
  });
}

constexpr FamilyRelation kRoundTripRelations[] = {
    {{Topic::round_trip, "dequantize-after-quantize",
      "What is quantized and dequantized comes back within half a scale and two float32 roundings, unless saturated.",
      "Rounding to an integer moves by half a step at most; the bound is judged exactly."},
     "QuantizeLinear, DequantizeLinear",
     restore},
    {{Topic::round_trip, "quantize-after-dequantize", "What is dequantized and quantized again comes back as it was.",
      "The product and the quotient are off by less than 2^-6 of a step, as integers of 16 bits are."},
     "DequantizeLinear, QuantizeLinear",
     return_to},
};

}  // namespace

std::span<const FamilyRelation> round_trip_relations() {
  return kRoundTripRelations;
}

}  // namespace qconform::relations
