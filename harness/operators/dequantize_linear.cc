#include "harness/operators/dequantize_linear.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/operators/quantization_parameters.h"
#include "reference/numerics/float_parts.h"

namespace qconform {
namespace {

constexpr std::array kInputs{
    InputSignature{"x", true, InputRole::data},
    InputSignature{"x_scale", true, InputRole::parameter},
    InputSignature{"x_zero_point", false, InputRole::parameter},
};
constexpr std::array<std::int64_t, 2> kVersions{10, 13};
constexpr AttributeSignature kAxis[] = {{"axis", kIntAttribute}};

class LoweredDequantizeLinear final : public Lowered {
 public:
  LoweredDequantizeLinear(reference::DequantizeLinear node, const Tensor& x) : node_(std::move(node)), x_(x) {}

  [[nodiscard]] ElementType output_type() const override { return ElementType::float32; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override { return x_.shape; }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    std::vector<float> y(static_cast<std::size_t>(x_.elements()));
    reference::dequantize_linear(node_, x_.bytes, y);
    return Tensor::of(ElementType::float32, x_.shape, y);
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile) const override {
    return kernels.dequantize_linear(node_);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const auto channel = static_cast<std::size_t>(index / node_.layout.inner % node_.layout.channels);
    return fmt::format("({} - {}) * {}", integer_at(x_, index), node_.x_zero_point[channel], node_.x_scale[channel]);
  }

 private:
  reference::DequantizeLinear node_;
  const Tensor& x_;
};

reference::DequantizeInput input_type(ElementType type) {
  if (type == ElementType::int32) return reference::DequantizeInput::int32;
  return type == ElementType::int8 ? reference::DequantizeInput::int8 : reference::DequantizeInput::uint8;
}

bool check_values(const QuantizationParameters& parameters, ElementType x_type, reference::Contract& contract) {
  const auto& zero_points = parameters.zero_point;
  const auto nonzero = std::find_if(zero_points.begin(), zero_points.end(), [](std::int32_t zp) { return zp != 0; });
  if (x_type == ElementType::int32 && nonzero != zero_points.end()) {
    return contract.violate("D3", "x_zero_point", fmt::format("expected 0 for int32 x, got {}", *nonzero));
  }
  for (const float scale : parameters.scale) {
    if (!reference::is_finite(scale) || scale == 0) {
      contract.allow("D6", "x_scale", fmt::format("expected a finite nonzero scale, got {}", scale));
    }
  }
  return true;
}

Classification classify_dequantize_linear(const Case& test_case) {
  Classification result;
  NodeReader reader(test_case, kInputs, result.contract);
  const bool has_axis = dequantize_linear_operator().version_at(test_case.opset_version) >= 13;
  if (!reader.check_signature(has_axis ? std::span<const AttributeSignature>(kAxis)
                                       : std::span<const AttributeSignature>())) {
    return result;
  }
  if (!reader.check_type("x", {ElementType::uint8, ElementType::int8, ElementType::int32}, "signature")) return result;
  if (!reader.check_type("x_scale", {ElementType::float32}, "signature")) return result;
  if (!reader.check_same_type("x_zero_point", "x", "signature")) return result;
  auto parameters = read_quantization(reader, "x_scale", "x_zero_point", has_axis, result.contract);
  if (!parameters) return result;
  const Tensor& x = *reader.input("x");
  if (!check_values(*parameters, x.type, result.contract)) return result;
  reference::DequantizeLinear node{.layout = parameters->layout,
                                   .x_type = input_type(x.type),
                                   .x_scale = std::move(parameters->scale),
                                   .x_zero_point = std::move(parameters->zero_point)};
  result.lowered = std::make_unique<LoweredDequantizeLinear>(std::move(node), x);
  return result;
}

constexpr Operator kOperator{"DequantizeLinear", kInputs, kVersions, 18, classify_dequantize_linear};

}  // namespace

const Operator& dequantize_linear_operator() {
  return kOperator;
}

}  // namespace qconform
