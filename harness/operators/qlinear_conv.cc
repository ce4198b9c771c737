#include "harness/operators/qlinear_conv.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/operators/convolution.h"
#include "harness/operators/exact_text.h"
#include "reference/numerics/float_parts.h"
#include "reference/numerics/saturate.h"

namespace qconform {
namespace {

constexpr std::array kInputs{
    InputSignature{"x", true, InputRole::data},
    InputSignature{"x_scale", true, InputRole::parameter},
    InputSignature{"x_zero_point", true, InputRole::parameter},
    InputSignature{"w", true, InputRole::weight},
    InputSignature{"w_scale", true, InputRole::parameter},
    InputSignature{"w_zero_point", true, InputRole::parameter},
    InputSignature{"y_scale", true, InputRole::parameter},
    InputSignature{"y_zero_point", true, InputRole::parameter},
    InputSignature{"B", false, InputRole::parameter},
};
constexpr std::array<std::int64_t, 1> kVersions{10};

class LoweredQLinearConv final : public Lowered {
 public:
  LoweredQLinearConv(reference::QLinearConv node, const Tensor& x, const Tensor& w, ElementType y_type)
      : node_(std::move(node)), x_(x), w_(w), y_type_(y_type) {}

  [[nodiscard]] ElementType output_type() const override { return y_type_; }
  [[nodiscard]] std::vector<std::int64_t> output_shape() const override {
    return node_.operands.geometry.output_shape();
  }

  [[nodiscard]] Tensor evaluate(RoundingProfile profile) const override {
    Tensor y{y_type_, output_shape(), {}};
    y.bytes.resize(static_cast<std::size_t>(y.elements()));
    reference::qlinear_conv(node_, profile, x_.bytes, w_.bytes, y.bytes);
    return y;
  }

  // Rule C17: beyond int32 the requantized exact sum is as right as the requantized wrapped one.
  [[nodiscard]] std::optional<Tensor> alternative(RoundingProfile profile) const override {
    if (!may_overflow_int32(node_.operands)) return std::nullopt;
    const std::vector<std::int64_t> sums = exact_sums(node_.operands, x_, w_);
    const auto fits = [](std::int64_t sum) { return sum == reference::wrap_to_int32(sum); };
    if (std::all_of(sums.begin(), sums.end(), fits)) return std::nullopt;
    Tensor y{y_type_, output_shape(), std::vector<std::byte>(sums.size())};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      y.bytes[i] = reference::store8(reference::requantize(profile, sums[i], node_.requantization(channel_of(i))));
    }
    return y;
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile profile) const override {
    return kernels.qlinear_conv(node_, profile, w_.bytes);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const std::vector<std::int64_t> sums = exact_sums(node_.operands, x_, w_);
    const auto i = static_cast<std::size_t>(index);
    const std::string zero_point = node_.y_zero_point == 0 ? "" : ", zero point " + std::to_string(node_.y_zero_point);
    return scaled_value_text(sums[i], node_.x_scale, node_.w_scale[channel_of(i)], node_.y_scale) + zero_point;
  }

 private:
  [[nodiscard]] std::size_t channel_of(std::size_t index) const {
    const reference::ConvolutionGeometry& g = node_.operands.geometry;
    return index / static_cast<std::size_t>(g.output_positions()) % static_cast<std::size_t>(g.output_channels);
  }

  reference::QLinearConv node_;
  const Tensor& x_;
  const Tensor& w_;
  ElementType y_type_;
};

bool check_bias(NodeReader& reader, std::int64_t output_channels, reference::Contract& contract) {
  const Tensor* bias = reader.input("B");
  if (bias == nullptr) return true;
  if (!reader.check_type("B", {ElementType::int32}, "C16")) return false;
  if (bias->shape.size() == 1 && bias->shape[0] == output_channels) return true;
  return contract.violate("C16", "B",
                          "expected shape [" + std::to_string(output_channels) +
                              "] (one value per output channel), got " + shape_text(bias->shape));
}

bool check_parameters(NodeReader& reader, std::int64_t output_channels, reference::Contract& contract) {
  for (const char* scale : {"x_scale", "w_scale", "y_scale"}) {
    if (!reader.check_type(scale, {ElementType::float32}, "signature")) return false;
  }
  if (!reader.check_type("y_zero_point", {ElementType::uint8, ElementType::int8}, "C14")) return false;
  for (const char* scalar : {"x_scale", "y_scale", "y_zero_point"}) {
    if (!reader.check_scalar(scalar)) return false;
  }
  if (!check_weight_parameter(reader, "w_scale", output_channels, contract)) return false;
  const std::size_t scale_rank = reader.input("w_scale")->shape.size();
  const std::size_t zero_point_rank = reader.input("w_zero_point")->shape.size();
  if (scale_rank != zero_point_rank) {
    contract.allow("C12", "w_zero_point", "w_scale and w_zero_point have different shapes");
  }
  return check_bias(reader, output_channels, contract);
}

// Rule C21. Returns whether the values have lost their meaning, so that any output is right.
bool note_odd_scales(const reference::QLinearConv& node, reference::Contract& contract) {
  bool open = false;
  const auto note = [&](const char* field, float scale, bool may_be_zero) {
    if (!reference::is_finite(scale)) {
      contract.allow("C21", field, "expected a finite scale, got " + std::to_string(scale));
      open = true;
    } else if (scale == 0 && !may_be_zero) {
      contract.allow("C21", field, "expected a nonzero scale, got 0");
      open = true;
    } else if (scale <= 0) {
      contract.allow("C21", field, "expected a positive scale, got " + std::to_string(scale));
    }
  };
  note("x_scale", node.x_scale, true);
  for (const float scale : node.w_scale) note("w_scale", scale, true);
  note("y_scale", node.y_scale, false);
  return open;
}

Classification classify_qlinear_conv(const Case& test_case) {
  Classification result;
  NodeReader reader(test_case, kInputs, result.contract);
  if (!reader.check_signature(convolution_attributes())) return result;
  auto operands = read_convolution(reader, result.contract);
  if (!operands) return result;
  const std::int64_t channels = operands->geometry.output_channels;
  if (!check_parameters(reader, channels, result.contract)) return result;
  if (const Tensor* bias = reader.input("B")) operands->bias = int32_values(*bias);
  const ElementType y_type = reader.input("y_zero_point")->type;
  reference::QLinearConv node{.operands = std::move(*operands),
                              .y_type = integer8_of(y_type),
                              .x_scale = float_at(*reader.input("x_scale"), 0),
                              .w_scale = expand(float_values(*reader.input("w_scale")), channels),
                              .y_scale = float_at(*reader.input("y_scale"), 0),
                              .y_zero_point = scalar_or(reader.input("y_zero_point"), 0)};
  result.value_is_open = note_odd_scales(node, result.contract);
  result.lowered =
      std::make_unique<LoweredQLinearConv>(std::move(node), *reader.input("x"), *reader.input("w"), y_type);
  return result;
}

constexpr Operator kOperator{"QLinearConv", kInputs, kVersions, kNewestOpset, classify_qlinear_conv};

}  // namespace

const Operator& qlinear_conv_operator() {
  return kOperator;
}

}  // namespace qconform
