#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/operators/linear/relation_parts.h"
#include "reference/numerics/float_parts.h"
#include "reference/numerics/wide_integer.h"

namespace qconform::relations {
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
  NearX(const Subject& subject) : subject_(subject), range_(range_of(linear_of(subject)->y_type)) {}

  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    const float x = float_at(*subject_.base->input(0), link.base);
    const float restored = float_at(derived, link.element);
    const std::int64_t quantized = integer_at(base, link.base);
    if (quantized == range_.hi && x >= restored) return true;
    if (quantized == range_.lo && x <= restored) return true;
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
  const Subject& subject_;
  Range range_;
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

Applied restore(const Subject& subject) {
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

Applied return_to(const Subject& subject) {
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
