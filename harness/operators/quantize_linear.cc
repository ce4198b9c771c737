#include "harness/operators/quantize_linear.h"

#include <fmt/format.h>

#include <array>

#include "harness/operators/quantization_parameters.h"
#include "reference/numerics/float_parts.h"

namespace qconform {
namespace {

constexpr std::array kInputs{
    InputSignature{"x", true, InputRole::data},
    InputSignature{"y_scale", true, InputRole::parameter},
    InputSignature{"y_zero_point", false, InputRole::parameter},
};
constexpr std::array<std::int64_t, 2> kVersions{10, 13};
constexpr AttributeSignature kAxis[] = {{"axis", kIntAttribute}};

class LoweredQuantizeLinear final : public Lowered {
 public:
  LoweredQuantizeLinear(reference::QuantizeLinear node, const Tensor& x, ElementType y_type)
      : node_(std::move(node)), x_(x), y_type_(y_type) {}

  [[nodiscard]] ElementType output_type() const override { return y_type_; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return x_.shape; }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    Tensor y{y_type_, x_.shape, {}};
    y.bytes.resize(static_cast<std::size_t>(y.elements()));
    reference::quantize_linear(node_, x_.bytes, y.bytes);
    return y;
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile) const override {
    return kernels.quantize_linear(node_);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const auto channel = static_cast<std::size_t>(index / node_.layout.inner % node_.layout.channels);
    const double x = node_.x_type == reference::QuantizeInput::float32 ? static_cast<double>(float_at(x_, index))
                                                                       : static_cast<double>(integer_at(x_, index));
    return fmt::format("{} / {}, zero point {}", x, node_.y_scale[channel], node_.y_zero_point[channel]);
  }

 private:
  reference::QuantizeLinear node_;
  const Tensor& x_;
  ElementType y_type_;
};

// Rule Q5 (bad scales as C21). Returns whether any in-range value is right.
bool note_odd_scales(const std::vector<float>& scales, reference::Contract& contract) {
  bool open = false;
  for (const float scale : scales) {
    if (!reference::is_finite(scale) || scale == 0) {
      contract.allow("C21", "y_scale", fmt::format("expected a finite nonzero scale, got {}", scale));
      open = true;
    } else if (scale < 0) {
      contract.allow("C21", "y_scale", fmt::format("expected a positive scale, got {}", scale));
    }
  }
  return open;
}

Classification classify_quantize_linear(const Case& test_case) {
  Classification result;
  NodeReader reader(test_case, kInputs, result.contract);
  const bool has_axis = quantize_linear_operator().version_at(test_case.opset_version) >= 13;
  if (!reader.check_signature(has_axis ? std::span<const AttributeSignature>(kAxis)
                                       : std::span<const AttributeSignature>())) {
    return result;
  }
  if (!reader.check_type("x", {ElementType::float32, ElementType::int32}, "signature")) return result;
  if (!reader.check_type("y_scale", {ElementType::float32}, "signature")) return result;
  if (!reader.check_type("y_zero_point", {ElementType::uint8, ElementType::int8}, "Q7")) return result;
  auto parameters = read_quantization(reader, "y_scale", "y_zero_point", has_axis, result.contract);
  if (!parameters) return result;
  const Tensor& x = *reader.input("x");
  const Tensor* zero_point = reader.input("y_zero_point");
  const ElementType y_type = zero_point == nullptr ? ElementType::uint8 : zero_point->type;
  result.value_is_open = note_odd_scales(parameters->scale, result.contract);
  reference::QuantizeLinear node{
      .layout = parameters->layout,
      .x_type = x.type == ElementType::int32 ? reference::QuantizeInput::int32 : reference::QuantizeInput::float32,
      .y_type = integer8_of(y_type),
      .y_scale = std::move(parameters->scale),
      .y_zero_point = std::move(parameters->zero_point)};
  result.lowered = std::make_unique<LoweredQuantizeLinear>(std::move(node), x, y_type);
  return result;
}

constexpr Operator kOperator{"QuantizeLinear", kInputs, kVersions, 18, classify_quantize_linear};

}  // namespace

const Operator& quantize_linear_operator() {
  return kOperator;
}

}  // namespace qconform
