// Lists the features that tell cases of QuantizeLinear and DequantizeLinear apart in a few words.
#include "harness/operators/linear/diagnosis.h"
#include "harness/operators/linear/linear.h"

namespace qconform::diagnose {
namespace {

struct LinearView {
  LinearView(const Case& of, const Expected& with)
      : test_case(of), expected(with), layout(*layout_of(*with.classification.lowered)) {}

  const Case& test_case;
  const Expected& expected;
  const reference::QuantizationLayout& layout;

  [[nodiscard]] const Tensor& x() const { return *test_case.input(0); }
};

using Questions = FeatureQuestions<LinearView>;

bool has_zero_point(const LinearView& v) {
  const Lowered& lowered = *v.expected.classification.lowered;
  if (const auto* quantize = quantize_linear_of(lowered)) return any_nonzero(quantize->y_zero_point);
  return any_nonzero(dequantize_linear_of(lowered)->x_zero_point);
}

bool has_negative_axis(const LinearView& v) {
  const Attribute* axis = v.test_case.attribute("axis");
  const auto* value = axis == nullptr ? nullptr : std::get_if<std::int64_t>(&axis->value);
  return value != nullptr && *value < 0;
}

}  // namespace

void place_by_parameter(const Lowered& lowered, std::span<Element> elements) {
  const reference::QuantizationLayout& layout = *layout_of(lowered);
  for (Element& element : elements) element.channel = static_cast<std::int64_t>(layout.parameter_of(element.index));
}

const FeatureList& linear_case_features() {
  static const FeatureList all = [] {
    Questions questions;
    for (const ElementType type :
         {ElementType::float32, ElementType::float16, ElementType::bfloat16, ElementType::int32, ElementType::uint8,
          ElementType::int8, ElementType::uint16, ElementType::int16, ElementType::uint4, ElementType::int4}) {
      const std::string name(qconform::name_of(type));
      questions.add("x " + name, [=](const LinearView& v) { return v.x().type == type; });
      questions.add("y " + name, [=](const LinearView& v) { return v.expected.output->type == type; });
    }
    questions.add_both("several scales", "one scale", [](const LinearView& v) { return v.layout.parameters() > 1; });
    questions.add_both("block_size given", "no block_size", [](const LinearView& v) { return v.layout.is_blocked(); });
    questions.add_both("axis negative", "axis not negative", has_negative_axis);
    questions.add_both("2 dimensions or more", "at most 1 dimension",
                       [](const LinearView& v) { return v.x().shape.size() > 1; });
    questions.add_both("a zero point != 0", "zero points 0", has_zero_point);
    questions.add_remainders("elements", [](const LinearView& v) { return v.x().elements(); });
    return std::move(questions).list();
  }();
  return all;
}

}  // namespace qconform::diagnose
