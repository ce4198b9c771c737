#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/corner_cases.h"
#include "harness/operators/convolution/hooks.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform {

namespace {

constexpr std::array kQLinearConvInputs{
    InputSignature{"x", true, InputRole::data, ElementType::uint8, "x_zero_point"},
    InputSignature{"x_scale", true, InputRole::parameter, ElementType::float32},
    InputSignature{"x_zero_point", true, InputRole::parameter, ElementType::uint8, "x"},
    InputSignature{"w", true, InputRole::weight, ElementType::int8, "w_zero_point"},
    InputSignature{"w_scale", true, InputRole::parameter, ElementType::float32},
    InputSignature{"w_zero_point", true, InputRole::parameter, ElementType::int8, "w"},
    InputSignature{"y_scale", true, InputRole::parameter, ElementType::float32},
    InputSignature{"y_zero_point", true, InputRole::parameter, ElementType::uint8, "y"},
    InputSignature{"B", false, InputRole::parameter, ElementType::int32},
};
constexpr std::array<std::int64_t, 1> kQLinearConvVersions{10};

class LoweredQLinearConv final : public LoweredConvolution {
 public:
  LoweredQLinearConv(reference::QLinearConv node, const Tensor& x, const Tensor& w, ElementType y_type,
                     bool same_padding)
      : node_(std::move(node)), x_(x), w_(w), y_type_(y_type), same_padding_(same_padding) {}

  [[nodiscard]] const reference::QLinearConv& node() const { return node_; }
  [[nodiscard]] const reference::ConvolutionOperands& operands() const override { return node_.operands; }
  [[nodiscard]] ElementType output_type() const override { return y_type_; }

  [[nodiscard]] Tensor evaluate(RoundingProfile profile) const override {
    Tensor y{y_type_, output_shape(), std::vector<std::byte>(sums().size())};
    reference::requantize_sums(node_, profile, sums(), y.bytes);
    return y;
  }

  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override {
    const auto i = static_cast<std::size_t>(index);
    const auto value = static_cast<std::int32_t>(integer_at(got, index));
    const reference::Requantization parameters = node_.requantization(channel_of(i));
    ElementOpinion opinion;
    opinion.tiers = tiers_of(value, sum_at(i), parameters, accuracy_under(policy));
    const auto tier = tier_of(policy.profile);
    opinion.right = tier ? opinion.tiers->contains(*tier) : value == pinned_value(i, policy.profile);
    return opinion;
  }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    const auto i = static_cast<std::size_t>(index);
    const auto tier = tier_of(policy.profile);
    if (!tier) return reference::AdmissibleSet(pinned_value(i, policy.profile)).in(y_type_);
    const reference::Requantization parameters = node_.requantization(channel_of(i));
    return admissible_set(*tier, sum_under(*tier, i), parameters, accuracy_under(policy)).in(y_type_);
  }

  [[nodiscard]] bool has_tiers() const override { return true; }

  [[nodiscard]] CaseStatistics statistics(const Policy& policy) const override {
    CaseStatistics statistics;
    count_convolution_corner_cases({.operands = node_.operands,
                                    .same_padding = same_padding_,
                                    .w_scale = node_.w_scale,
                                    .x = x_.bytes,
                                    .w = w_.bytes,
                                    .sums = sums()},
                                   statistics.corner_cases);
    for_each_channel([&](const reference::Requantization& parameters, std::size_t begin, std::size_t end) {
      add_channel(parameters, begin, end, policy, statistics);
    });
    return statistics;
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile profile) const override {
    return kernels.qlinear_conv(node_, profile, w_.bytes);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    const std::string zero_point = node_.y_zero_point == 0 ? "" : ", zero point " + std::to_string(node_.y_zero_point);
    return scaled_value_text(sums()[i], node_.x_scale, node_.w_scale[channel_of(i)], node_.y_scale) + zero_point;
  }

 private:
  using ChannelTest = reference::ChannelTest;

  // Computed once, and only when something asks for them.
  [[nodiscard]] const std::vector<std::int64_t>& sums() const {
    if (!sums_) sums_ = exact_sums(node_.operands, x_, w_);
    return *sums_;
  }

  // S of tier D: the sum of the products' magnitudes.
  [[nodiscard]] const std::vector<std::int64_t>& magnitudes() const {
    if (!magnitudes_) magnitudes_ = sums_of_magnitudes(node_.operands, x_, w_);
    return *magnitudes_;
  }

  [[nodiscard]] reference::ElementSum sum_at(std::size_t i) const {
    return {.accumulator = sums()[i], .magnitude = magnitudes()[i], .products = node_.operands.geometry.depth()};
  }

  // The magnitudes cost as much as the sums: they are computed where they matter only.
  [[nodiscard]] reference::ElementSum sum_under(reference::Tier tier, std::size_t i) const {
    if (tier == reference::Tier::float_convolution) return sum_at(i);
    return {.accumulator = sums()[i], .magnitude = 0, .products = node_.operands.geometry.depth()};
  }

  [[nodiscard]] std::int32_t pinned_value(std::size_t i, Profile profile) const {
    return requantize(arithmetic_of(profile), reference::wrap_to_int32(sums()[i]), node_.requantization(channel_of(i)));
  }

  static reference::FloatAccuracy accuracy_under(const Policy& policy) {
    return policy.profile == Profile::dml_doc ? reference::FloatAccuracy::directml : reference::FloatAccuracy::ieee;
  }

  // Elements of one channel. Most are plainly decided, by a multiplication and a few comparisons.
  void add_channel(const reference::Requantization& parameters, std::size_t begin, std::size_t end,
                   const Policy& policy, CaseStatistics& statistics) const {
    const ChannelTest test = channel_test(parameters);
    const RequantizationCornerCases corner_cases(parameters, traits_of(channel_of(begin)));
    const bool examine_all = policy.profile == Profile::dml_doc;
    const bool has_plain = !examine_all && corner_cases.is_plain() && test.within_domain;
    const std::span<const std::int64_t> all = sums();
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t sum = all[i];
      const double value = static_cast<double>(sum) * test.multiplier;
      if (has_plain && RequantizationCornerCases::is_small(sum) && decides_inside(test, value)) continue;
      corner_cases.count(sum, value, statistics.corner_cases);
      if (!examine_all && decided_value(test, sum)) continue;
      const auto distance = reference::tie_distance(sum, parameters.x_scale, parameters.w_scale, parameters.y_scale);
      corner_cases.count_tie(value, distance, statistics.corner_cases);
      add_ties(i, distance, parameters, policy, statistics.ties);
    }
  }

  [[nodiscard]] ChannelTraits traits_of(std::size_t channel) const {
    const auto is_end = [](std::int32_t zero_point, ElementType type) {
      const reference::IntegerRange range = reference::range_of(type);
      return zero_point == range.lo || zero_point == range.hi;
    };
    const reference::ConvolutionOperands& operands = node_.operands;
    ChannelTraits traits;
    if (!operands.bias.empty()) traits.bias = operands.bias[channel];
    traits.has_extreme_zero_points = is_end(operands.x_zero_point, operands.x_type) &&
                                     is_end(operands.w_zero_point[channel], operands.w_type) &&
                                     is_end(node_.y_zero_point, node_.y_type);
    return traits;
  }

  void add_ties(std::size_t i, reference::TieDistance distance, const reference::Requantization& parameters,
                const Policy& policy, TieCounts& ties) const {
    switch (distance) {
      case reference::TieDistance::exact: ++ties.exact; break;
      case reference::TieDistance::near: ++ties.near; break;
      case reference::TieDistance::far: break;
    }
    const auto tier = tier_of(policy.profile);
    if (tier && admissible_set(*tier, sum_under(*tier, i), parameters, accuracy_under(policy)).count() > 2) {
      ++ties.open;
    }
  }

  // Calls visit(parameters, begin, end) for every run of elements of one output channel.
  template <typename Visit>
  void for_each_channel(Visit visit) const {
    const auto positions = static_cast<std::size_t>(node_.operands.geometry.output_positions());
    for (std::size_t begin = 0; begin < sums().size(); begin += positions) {
      visit(node_.requantization(channel_of(begin)), begin, begin + positions);
    }
  }

  [[nodiscard]] std::size_t channel_of(std::size_t index) const {
    const reference::ConvolutionGeometry& g = node_.operands.geometry;
    return index / static_cast<std::size_t>(g.output_positions()) % static_cast<std::size_t>(g.output_channels);
  }

  reference::QLinearConv node_;
  const Tensor& x_;
  const Tensor& w_;
  ElementType y_type_;
  bool same_padding_;
  mutable std::optional<std::vector<std::int64_t>> sums_;
  mutable std::optional<std::vector<std::int64_t>> magnitudes_;
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
  if (reader.input("w_scale")->elements() != reader.input("w_zero_point")->elements()) {
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
  NodeReader reader(test_case, kQLinearConvInputs, result.contract);
  if (!reader.check_signature(convolution_attributes())) return result;
  auto operands = read_operands(reader, result.contract);
  if (!operands) return result;
  const std::int64_t channels = operands->geometry.output_channels;
  if (!check_parameters(reader, channels, result.contract)) return result;
  if (const Tensor* bias = reader.input("B")) operands->bias = int32_values(*bias);
  const ElementType y_type = reader.input("y_zero_point")->type;
  reference::QLinearConv node{.operands = std::move(*operands),
                              .y_type = y_type,
                              .x_scale = float_at(*reader.input("x_scale"), 0),
                              .w_scale = expand(float_values(*reader.input("w_scale")), channels),
                              .y_scale = float_at(*reader.input("y_scale"), 0),
                              .y_zero_point = scalar_or(reader.input("y_zero_point"), 0)};
  result.value_is_open = note_odd_scales(node, result.contract);
  result.lowered = std::make_unique<LoweredQLinearConv>(std::move(node), *reader.input("x"), *reader.input("w"), y_type,
                                                        has_same_padding(reader));
  return result;
}

constexpr Operator kQLinearConv{
    .name = "QLinearConv",
    .inputs = kQLinearConvInputs,
    .versions = kQLinearConvVersions,
    .classify = classify_qlinear_conv,
    .quantizes = true,
    .corner_cases = {CornerCaseTopic::rounding, CornerCaseTopic::requantization, CornerCaseTopic::scales,
                     CornerCaseTopic::sums, CornerCaseTopic::differences, CornerCaseTopic::windows,
                     CornerCaseTopic::channels},
    .draw = random_qlinear_conv,
    .usual_weight = 12,
    .feature = feature::qlinear_conv};

}  // namespace

const Operator& qlinear_conv_operator() {
  return kQLinearConv;
}

const reference::QLinearConv* qlinear_conv_of(const Lowered& lowered) {
  const auto* found = dynamic_cast<const LoweredQLinearConv*>(&lowered);
  return found == nullptr ? nullptr : &found->node();
}

namespace {

constexpr std::array kConvIntegerInputs{
    InputSignature{"x", true, InputRole::data, ElementType::uint8, "x_zero_point"},
    InputSignature{"w", true, InputRole::weight, ElementType::int8, "w_zero_point"},
    InputSignature{"x_zero_point", false, InputRole::parameter, ElementType::uint8, "x"},
    InputSignature{"w_zero_point", false, InputRole::parameter, ElementType::int8, "w"},
};
constexpr std::array<std::int64_t, 1> kConvIntegerVersions{10};

class LoweredConvInteger final : public LoweredConvolution {
 public:
  LoweredConvInteger(reference::ConvInteger node, const Tensor& x, const Tensor& w, bool same_padding)
      : node_(std::move(node)), x_(x), w_(w), same_padding_(same_padding) {}

  [[nodiscard]] const reference::ConvInteger& node() const { return node_; }
  [[nodiscard]] const reference::ConvolutionOperands& operands() const override { return node_.operands; }
  [[nodiscard]] ElementType output_type() const override { return ElementType::int32; }

  [[nodiscard]] Tensor evaluate(RoundingProfile) const override {
    std::vector<std::int32_t> wrapped(sums().size());
    std::transform(sums().begin(), sums().end(), wrapped.begin(), reference::wrap_to_int32);
    return Tensor::of(ElementType::int32, output_shape(), wrapped);
  }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    return right_sums(index, policy).in(output_type());
  }

  // Without the patterns, which take as long again.
  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override {
    return {.right = right_sums(index, policy).contains(static_cast<std::int32_t>(integer_at(got, index))),
            .tiers = {}};
  }

  [[nodiscard]] CaseStatistics statistics(const Policy&) const override {
    CaseStatistics statistics;
    count_convolution_corner_cases({.operands = node_.operands,
                                    .same_padding = same_padding_,
                                    .w_scale = {},
                                    .x = x_.bytes,
                                    .w = w_.bytes,
                                    .sums = sums()},
                                   statistics.corner_cases);
    return statistics;
  }

  [[nodiscard]] std::unique_ptr<reference::PreparedNode> prepare(const reference::KernelSet& kernels,
                                                                 RoundingProfile) const override {
    return kernels.conv_integer(node_, w_.bytes);
  }

  [[nodiscard]] std::string exact_value(std::int64_t index) const override {
    return std::to_string(sums()[static_cast<std::size_t>(index)]);
  }

 private:
  // Computed once, and only when something asks for them.
  [[nodiscard]] const std::vector<std::int64_t>& sums() const {
    if (!sums_) sums_ = exact_sums(node_.operands, x_, w_);
    return *sums_;
  }

  [[nodiscard]] reference::AdmissibleSet right_sums(std::int64_t index, const Policy& policy) const {
    return reference::conv_integer_set(sums()[static_cast<std::size_t>(index)], policy.overflow);
  }

  reference::ConvInteger node_;
  const Tensor& x_;
  const Tensor& w_;
  bool same_padding_;
  mutable std::optional<std::vector<std::int64_t>> sums_;
};

Classification classify_conv_integer(const Case& test_case) {
  Classification result;
  NodeReader reader(test_case, kConvIntegerInputs, result.contract);
  if (!reader.check_signature(convolution_attributes())) return result;
  auto operands = read_operands(reader, result.contract);
  if (!operands) return result;
  result.lowered = std::make_unique<LoweredConvInteger>(
      reference::ConvInteger{std::move(*operands)}, *reader.input("x"), *reader.input("w"), has_same_padding(reader));
  return result;
}

constexpr Operator kConvInteger{.name = "ConvInteger",
                                .inputs = kConvIntegerInputs,
                                .versions = kConvIntegerVersions,
                                .classify = classify_conv_integer,
                                .corner_cases = {CornerCaseTopic::sums, CornerCaseTopic::differences,
                                                 CornerCaseTopic::windows, CornerCaseTopic::channels},
                                .draw = random_conv_integer,
                                .usual_weight = 4,
                                .feature = feature::conv_integer};

}  // namespace

const Operator& conv_integer_operator() {
  return kConvInteger;
}

const reference::ConvInteger* conv_integer_of(const Lowered& lowered) {
  const auto* found = dynamic_cast<const LoweredConvInteger*>(&lowered);
  return found == nullptr ? nullptr : &found->node();
}

}  // namespace qconform
