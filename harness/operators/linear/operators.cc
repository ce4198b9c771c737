#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/family.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"

namespace qconform {

namespace {

using enum ElementType;

constexpr std::array kQuantizeInputs{
    InputSignature{"x", true, InputRole::data, float32, "y_scale"},
    InputSignature{"y_scale", true, InputRole::parameter, float32, "x"},
    InputSignature{"y_zero_point", false, InputRole::parameter, uint8, "y"},
};
constexpr std::array<std::int64_t, 7> kQuantizeVersions{10, 13, 19, 21, 23, 24, 25};

// In the order in which versions added them.
constexpr AttributeSignature kQuantizeAttributes[] = {{"axis", kIntAttribute},
                                                      {"saturate", kIntAttribute},
                                                      {"block_size", kIntAttribute},
                                                      {"output_dtype", kIntAttribute},
                                                      {"precision", kIntAttribute}};

constexpr TypeSet kReals{float32, float16, bfloat16, int32};
constexpr TypeSet kOutputs8{uint8, int8};
constexpr TypeSet kOutputs19 = kOutputs8.with(kFloat8Types);
constexpr TypeSet kOutputs21 = kOutputs19.with({uint16, int16, uint4, int4});
constexpr TypeSet kOutputs23 = kOutputs21.with({float4e2m1});

// Versions 19 and 21 have one type for x and scale.
constexpr LinearVersion kQuantizeByVersion[] = {
    {10, {float32, int32}, {float32}, kOutputs8, 0},
    {13, {float32, int32}, {float32}, kOutputs8, 1},
    {19, kReals, kReals, kOutputs19, 2},
    {21, kReals, kReals, kOutputs21, 4},
    {23, kReals, kReals, kOutputs23, 5},
    {24, kReals, kReals.with({float8e8m0}), kOutputs23, 5},
    {25, kReals, kReals.with({float8e8m0}), kOutputs23.with({uint2, int2}), 5},
};

constexpr TypeSet kPrecisions{float32, float16, bfloat16, float64};

reference::Wording wording_under(const Policy& policy) {
  return policy.profile == Profile::dml_doc ? reference::Wording::directml : reference::Wording::onnx;
}

class LoweredQuantizeLinear final : public LoweredElementwise {
 public:
  LoweredQuantizeLinear(reference::QuantizeLinear node, const Tensor& x, ElementType y_type, std::int64_t axis)
      : LoweredElementwise(x, y_type), node_(std::move(node)), axis_(axis) {}

  [[nodiscard]] CaseStatistics statistics(const Policy&) const override {
    CaseStatistics statistics;
    count_quantize_corner_cases(node_, axis_, x().bytes, statistics.corner_cases);
    return statistics;
  }

  [[nodiscard]] const reference::QuantizeLinear& node() const { return node_; }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    return admissible_quantize(node_, x_bits(index), node_.layout.parameter_of(index), wording_under(policy));
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile) const override {
    return kernels.quantize_linear(node_);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const std::size_t parameter = node_.layout.parameter_of(index);
    return fmt::format("{} / {}, zero point {}", number_at(x(), index), node_.y_scale[parameter],
                       node_.y_zero_point[parameter]);
  }

 private:
  void compute(std::span<const std::byte> x, std::span<std::byte> y) const override {
    reference::quantize_linear(node_, x, y);
  }

  reference::QuantizeLinear node_;
  std::int64_t axis_;  ///< axis as the node states it, for corner cases
};

// Rule Q5 (bad scales as C21). Returns whether any in-range value is right.
bool note_odd_quantize_scales(const std::vector<double>& scales, reference::Contract& contract) {
  bool open = false;
  for (const double scale : scales) {
    if (!std::isfinite(scale) || scale == 0) {
      contract.allow("C21", "y_scale", fmt::format("expected a finite nonzero scale, got {}", scale));
      open = true;
    } else if (scale < 0) {
      contract.allow("C21", "y_scale", fmt::format("expected a positive scale, got {}", scale));
    }
  }
  return open;
}

// Rule Q8. Returns whether any value is right: the formula does not say in which precision a zero
// point is added to a float.
bool note_float_zero_points(const std::vector<double>& zero_points, ElementType y_type, reference::Contract& contract) {
  if (is_integer(y_type)) return false;
  const auto nonzero = std::find_if(zero_points.begin(), zero_points.end(), [](double zp) { return zp != 0; });
  if (nonzero == zero_points.end()) return false;
  contract.allow("Q8", "y_zero_point", fmt::format("expected 0 for {} y, got {}", name_of(y_type), *nonzero));
  return true;
}

bool check_types(NodeReader& reader, const LinearVersion& version, reference::Contract& contract) {
  if (!check_type_in(reader, "x", version.x, "signature", contract)) return false;
  if (!check_type_in(reader, "y_scale", version.scale, "signature", contract)) return false;
  const bool has_one_type = version.version == 19 || version.version == 21;
  if (has_one_type && !reader.check_same_type("y_scale", "x", "signature")) return false;
  return check_type_in(reader, "y_zero_point", version.y, "Q7", contract);
}

// The type of y: output_dtype, which must be that of the zero point (rule Q7); uint8 without either.
std::optional<ElementType> quantize_output_type(const NodeReader& reader, const LinearVersion& version,
                                                reference::Contract& contract) {
  const auto stated = read_type_attribute(reader, "output_dtype", version.y, "Q7", contract);
  if (!stated) return std::nullopt;
  const Tensor* zero_point = reader.input("y_zero_point");
  if (zero_point == nullptr) return *stated == undefined ? uint8 : *stated;
  if (*stated == undefined || *stated == zero_point->type) return zero_point->type;
  contract.violate(
      "Q7", "output_dtype",
      "expected the element type of y_zero_point (" + name_of(zero_point->type) + "), got " + name_of(*stated));
  return std::nullopt;
}

std::vector<std::int32_t> integers(const std::vector<double>& values, bool are_integers) {
  std::vector<std::int32_t> result(values.size(), 0);
  if (!are_integers) return result;
  std::transform(values.begin(), values.end(), result.begin(), [](double v) { return static_cast<std::int32_t>(v); });
  return result;
}

void note_odd_attributes(const NodeReader& reader, ElementType precision, reference::Contract& contract) {
  const std::int64_t saturate = reader.int_attribute("saturate", 1);
  if (saturate != 0 && saturate != 1) {
    contract.allow("signature", "saturate", fmt::format("expected 0 or 1, got {}", saturate));
  }
  if (precision == float64) contract.allow("signature", "precision", "wider than any type of x");
  const ElementType scale = reader.input("y_scale")->type;
  if (scale == int32 && precision == undefined) {
    contract.allow("Q6", "y_scale", "no precision is stated for an int32 scale");
  }
}

Classification classify_quantize_linear(const Case& test_case) {
  Classification result;
  reference::Contract& contract = result.contract;
  NodeReader reader(test_case, kQuantizeInputs, contract);
  const LinearVersion& version = version_for(kQuantizeByVersion, test_case.node().opset_version);
  if (!reader.check_signature(std::span(kQuantizeAttributes).first(version.attributes))) return result;
  if (!check_types(reader, version, contract)) return result;
  const auto y_type = quantize_output_type(reader, version, contract);
  if (!y_type) return result;
  const auto precision = read_type_attribute(reader, "precision", kPrecisions, "signature", contract);
  if (!precision) return result;
  auto parameters = read_quantization(reader, "y_scale", "y_zero_point", version.version, contract);
  if (!parameters) return result;
  note_odd_attributes(reader, *precision, contract);
  result.value_is_open = note_odd_quantize_scales(parameters->scale, contract);
  if (note_float_zero_points(parameters->zero_point, *y_type, contract)) result.value_is_open = true;
  const Tensor& x = *reader.input("x");
  reference::QuantizeLinear node{.layout = parameters->layout,
                                 .x_type = x.type,
                                 .scale_type = reader.input("y_scale")->type,
                                 .y_type = *y_type,
                                 .precision = *precision,
                                 .saturate = reader.int_attribute("saturate", 1) != 0,
                                 .version = version.version,
                                 .y_scale = std::move(parameters->scale),
                                 .y_zero_point = integers(parameters->zero_point, is_integer(*y_type))};
  result.lowered =
      std::make_unique<LoweredQuantizeLinear>(std::move(node), x, *y_type, reader.int_attribute("axis", 1));
  return result;
}

constexpr Operator kQuantizeLinear{
    .name = "QuantizeLinear",
    .inputs = kQuantizeInputs,
    .versions = kQuantizeVersions,
    .classify = classify_quantize_linear,
    .quantizes = true,
    .corner_cases = {CornerCaseTopic::rounding, CornerCaseTopic::scales, CornerCaseTopic::elements},
    .draw = [](Rng& rng, const Swarm&) { return random_quantize_linear(rng); },
    .usual_weight = 2,
    .feature = feature::quantize_linear};

}  // namespace

const Operator& quantize_linear_operator() {
  return kQuantizeLinear;
}

const reference::QuantizeLinear* quantize_linear_of(const Lowered& lowered) {
  const auto* found = dynamic_cast<const LoweredQuantizeLinear*>(&lowered);
  return found == nullptr ? nullptr : &found->node();
}

namespace {

constexpr std::array kDequantizeInputs{
    InputSignature{"x", true, InputRole::data, uint8, "x_zero_point"},
    InputSignature{"x_scale", true, InputRole::parameter, float32, "y"},
    InputSignature{"x_zero_point", false, InputRole::parameter, uint8, "x"},
};
constexpr std::array<std::int64_t, 7> kDequantizeVersions{10, 13, 19, 21, 23, 24, 25};

// In the order in which versions added them.
constexpr AttributeSignature kDequantizeAttributes[] = {
    {"axis", kIntAttribute}, {"block_size", kIntAttribute}, {"output_dtype", kIntAttribute}};

constexpr TypeSet kIntegers{uint8, int8, int32};
constexpr TypeSet kInputs19 = kIntegers.with(kFloat8Types);
constexpr TypeSet kInputs21 = kInputs19.with({uint16, int16, uint4, int4});
constexpr TypeSet kInputs23 = kInputs21.with({float4e2m1});
constexpr TypeSet kFloats{float32, float16, bfloat16};

constexpr LinearVersion kDequantizeByVersion[] = {
    {10, kIntegers, {float32}, {float32}, 0},
    {13, kIntegers, {float32}, {float32}, 1},
    {19, kInputs19, kFloats, kFloats, 1},
    {21, kInputs21, kFloats, kFloats, 2},
    {23, kInputs23, kFloats, kFloats, 3},
    {24, kInputs23, kFloats.with({float8e8m0}), kFloats, 3},
    {25, kInputs23.with({uint2, int2}), kFloats.with({float8e8m0}), kFloats, 3},
};

class LoweredDequantizeLinear final : public LoweredElementwise {
 public:
  LoweredDequantizeLinear(reference::DequantizeLinear node, const Tensor& x, ElementType y_type, std::int64_t axis)
      : LoweredElementwise(x, y_type), node_(std::move(node)), axis_(axis) {}

  [[nodiscard]] CaseStatistics statistics(const Policy&) const override {
    CaseStatistics statistics;
    count_dequantize_corner_cases(node_, axis_, x().bytes, statistics.corner_cases);
    return statistics;
  }

  [[nodiscard]] const reference::DequantizeLinear& node() const { return node_; }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    return admissible_dequantize(node_, x_bits(index), node_.layout.parameter_of(index), wording_under(policy));
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile) const override {
    return kernels.dequantize_linear(node_);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const std::size_t parameter = node_.layout.parameter_of(index);
    return fmt::format("({} - {}) * {}", number_at(x(), index), node_.x_zero_point[parameter],
                       node_.x_scale[parameter]);
  }

 private:
  void compute(std::span<const std::byte> x, std::span<std::byte> y) const override {
    reference::dequantize_linear(node_, x, y);
  }

  reference::DequantizeLinear node_;
  std::int64_t axis_;  ///< axis as the node states it, for corner cases
};

// Rule D3: the text calls such a zero point 0 by supposition, and backends exist that compute with another.
void note_odd_zero_points(const std::vector<double>& zero_points, ElementType x_type, reference::Contract& contract) {
  const bool may_be_nonzero = is_integer(x_type) && x_type != int32;
  const auto nonzero = std::find_if(zero_points.begin(), zero_points.end(), [](double zp) { return zp != 0; });
  if (may_be_nonzero || nonzero == zero_points.end()) return;
  contract.allow("D3", "x_zero_point", fmt::format("expected 0 for {} x, got {}", name_of(x_type), *nonzero));
}

// Rule D6.
void note_odd_dequantize_scales(const std::vector<double>& scales, reference::Contract& contract) {
  for (const double scale : scales) {
    if (!std::isfinite(scale) || scale == 0) {
      contract.allow("D6", "x_scale", fmt::format("expected a finite nonzero scale, got {}", scale));
    }
  }
}

// The type of y: output_dtype, or that of the scale.
std::optional<ElementType> dequantize_output_type(const NodeReader& reader, const LinearVersion& version,
                                                  reference::Contract& contract) {
  const auto stated = read_type_attribute(reader, "output_dtype", version.y, "signature", contract);
  if (!stated) return std::nullopt;
  if (*stated != undefined) return *stated;
  const ElementType scale = reader.input("x_scale")->type;
  if (version.y.contains(scale)) return scale;
  contract.violate("signature", "output_dtype",
                   "expected " + version.y.text() + " beside a scale of " + name_of(scale) + ", got none");
  return std::nullopt;
}

Classification classify_dequantize_linear(const Case& test_case) {
  Classification result;
  reference::Contract& contract = result.contract;
  NodeReader reader(test_case, kDequantizeInputs, contract);
  const LinearVersion& version = version_for(kDequantizeByVersion, test_case.node().opset_version);
  if (!reader.check_signature(std::span(kDequantizeAttributes).first(version.attributes))) return result;
  if (!check_type_in(reader, "x", version.x, "signature", contract)) return result;
  if (!check_type_in(reader, "x_scale", version.scale, "signature", contract)) return result;
  if (!reader.check_same_type("x_zero_point", "x", "signature")) return result;
  const auto y_type = dequantize_output_type(reader, version, contract);
  if (!y_type) return result;
  auto parameters = read_quantization(reader, "x_scale", "x_zero_point", version.version, contract);
  if (!parameters) return result;
  const Tensor& x = *reader.input("x");
  note_odd_zero_points(parameters->zero_point, x.type, contract);
  note_odd_dequantize_scales(parameters->scale, contract);
  reference::DequantizeLinear node{.layout = parameters->layout,
                                   .x_type = x.type,
                                   .scale_type = reader.input("x_scale")->type,
                                   .y_type = *y_type,
                                   .version = version.version,
                                   .x_scale = std::move(parameters->scale),
                                   .x_zero_point = std::move(parameters->zero_point)};
  result.lowered =
      std::make_unique<LoweredDequantizeLinear>(std::move(node), x, *y_type, reader.int_attribute("axis", 1));
  return result;
}

constexpr Operator kDequantizeLinear{.name = "DequantizeLinear",
                                     .inputs = kDequantizeInputs,
                                     .versions = kDequantizeVersions,
                                     .classify = classify_dequantize_linear,
                                     .corner_cases = {CornerCaseTopic::scales, CornerCaseTopic::differences,
                                                      CornerCaseTopic::elements, CornerCaseTopic::dequantization},
                                     .draw = [](Rng& rng, const Swarm&) { return random_dequantize_linear(rng); },
                                     .usual_weight = 2,
                                     .feature = feature::dequantize_linear};

}  // namespace

const Operator& dequantize_linear_operator() {
  return kDequantizeLinear;
}

const reference::DequantizeLinear* dequantize_linear_of(const Lowered& lowered) {
  const auto* found = dynamic_cast<const LoweredDequantizeLinear*>(&lowered);
  return found == nullptr ? nullptr : &found->node();
}

}  // namespace qconform
