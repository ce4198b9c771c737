#include "harness/operators/convolution/convolution.h"

#include <algorithm>
#include <array>

#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/hazards.h"
#include "harness/operators/convolution/lowered_convolution.h"
#include "harness/operators/convolution/suites.h"
#include "reference/numerics/saturate.h"

namespace qconform {
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

  [[nodiscard]] ElementOpinion examine(std::int64_t index, const Tensor& got, const Policy& policy) const override {
    return {.right = right_sums(index, policy).contains(static_cast<std::int32_t>(integer_at(got, index))),
            .tiers = {}};
  }

  [[nodiscard]] bool is_determined(std::int64_t index, const Policy& policy) const override {
    return right_sums(index, policy).is_singleton();
  }

  [[nodiscard]] RightValues right_values(std::int64_t index, const Policy& policy) const override {
    return right_values_of(right_sums(index, policy), output_type());
  }

  [[nodiscard]] CaseStatistics statistics(const Policy&) const override {
    CaseStatistics statistics;
    count_convolution_hazards({.operands = node_.operands,
                               .same_padding = same_padding_,
                               .w_scale = {},
                               .x = x_.bytes,
                               .w = w_.bytes,
                               .sums = sums()},
                              statistics.hazards);
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
  auto operands = read_convolution(reader, result.contract);
  if (!operands) return result;
  result.lowered = std::make_unique<LoweredConvInteger>(
      reference::ConvInteger{std::move(*operands)}, *reader.input("x"), *reader.input("w"), has_same_padding(reader));
  return result;
}

constexpr Operator kConvInteger{
    .name = "ConvInteger",
    .inputs = kConvIntegerInputs,
    .versions = kConvIntegerVersions,
    .classify = classify_conv_integer,
    .hazards = {HazardTopic::sums, HazardTopic::differences, HazardTopic::windows, HazardTopic::channels},
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
