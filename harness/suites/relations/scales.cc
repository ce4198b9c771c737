#include <cmath>

#include "harness/operators/case_builder.h"
#include "harness/suites/relations/families.h"
#include "harness/suites/relations/rearrange.h"
#include "reference/numerics/float_parts.h"

namespace qconform::relations {
namespace {

constexpr float kFactor = 8;
constexpr NotApplicable kFarScales{"a scale is so far from 1 that float32 might over- or underflow"};

// Within it, and with a factor of 8 beside it, no association of the scales leaves the normal numbers.
bool is_moderate(float scale) {
  return scale >= 0x1p-26F && scale <= 0x1p+26F;
}

Applied scale_convolution(const Convolution& base) {
  bool moderate = is_moderate(base.x_scale) && is_moderate(base.y_scale);
  for (const float scale : base.w_scale.values) moderate = moderate && is_moderate(scale);
  if (!moderate) return kFarScales;
  Convolution x_and_y = base;
  x_and_y.x_scale *= kFactor;
  x_and_y.y_scale *= kFactor;
  Convolution w_and_y = base;
  for (float& scale : w_and_y.w_scale.values) scale /= kFactor;
  w_and_y.y_scale /= kFactor;
  Convolution x_and_w = base;
  x_and_w.x_scale /= kFactor;
  for (float& scale : x_and_w.w_scale.values) scale *= kFactor;
  std::vector<Case> derived{x_and_y.build("/x-and-y-scale-times-8"), w_and_y.build("/w-and-y-scale-by-8"),
                            x_and_w.build("/x-scale-by-8-w-scale-times-8")};
  return Derivation([derived = std::move(derived)](const Tensor& y) {
    return Application{derived, links_to_all(derived.size(), y.elements()), nullptr};
  });
}

Tensor scaled(const Tensor& tensor) {
  std::vector<float> values = tensor.values<float>();
  for (float& value : values) value *= kFactor;
  return Tensor::of(ElementType::float32, tensor.shape, values);
}

// y of the derived case is 8 times the base's; elements where that is not exact are not linked.
class EightTimes final : public Agreement {
 public:
  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    return float_at(derived, link.element) == kFactor * float_at(base, link.base);
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    return std::to_string(kFactor * float_at(base, link.base));
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
                     (quantizes || subject.linear->y_type == ElementType::float32) &&
                     base.attribute("precision") == nullptr;
  if (!plain) return NotApplicable{"not in float32"};
  for (const double scale : subject.linear->scale) {
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

Applied scale_by_power_of_two(const Subject& subject) {
  if (subject.linear) return scale_linear(subject);
  if (!subject.convolution->is_quantized) return NotApplicable{"no scales"};
  return scale_convolution(*subject.convolution);
}

constexpr Relation kScaleRelations[] = {
    {"scales-power-of-two", "QLinearConv, QuantizeLinear, DequantizeLinear",
     "Scales multiplied by a power of two on both sides of the quotient leave it as it is.",
     "Exact in real numbers, and in any fixed float expression too: a power of two moves the exponent only, as long "
     "as nothing over- or underflows.",
     scale_by_power_of_two},
};

}  // namespace

std::span<const Relation> scale_relations() {
  return kScaleRelations;
}

}  // namespace qconform::relations
