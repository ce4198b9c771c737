#include "harness/operators/convolution/directed_draft.h"

#include "harness/operators/convolution/contract.h"
#include "harness/suites/random_values.h"

namespace qconform::directed {

void Draft::set_w_scales(const std::vector<float>& values) {
  case_.inputs[4] = Tensor::of(ElementType::float32, case_.inputs[4]->shape, values);
}

void Draft::separate_channels() {
  const std::int64_t channels = output_channels();
  for (const std::size_t position : {std::size_t{4}, std::size_t{5}}) {
    Tensor& parameter = *case_.inputs[position];
    if (!parameter.is_scalar()) continue;
    const std::vector<std::byte> one = parameter.bytes;
    for (std::int64_t m = 1; m < channels; ++m) {
      parameter.bytes.insert(parameter.bytes.end(), one.begin(), one.end());
    }
    parameter.shape = {channels};
  }
}

void Draft::set_y_zero_point(std::int64_t value) {
  case_.inputs[7] = tensor8(y_type(), {}, {value});
}

std::vector<std::int32_t> Draft::bias() {
  if (const Tensor* present = case_.input(8)) return present->values<std::int32_t>();
  return std::vector<std::int32_t>(static_cast<std::size_t>(output_channels()), 0);
}

void Draft::set_bias(const std::vector<std::int32_t>& values) {
  case_.inputs.resize(9);
  case_.inputs[8] = Tensor::of(ElementType::int32, {static_cast<std::int64_t>(values.size())}, values);
}

const reference::ConvolutionOperands& Draft::operands() const {
  if (operands_.empty()) {
    reference::Contract contract;
    NodeReader reader(case_, operator_of(case_)->inputs, contract);
    operands_.push_back(read_convolution(reader, contract).value());
  }
  return operands_.front();
}

std::vector<std::int64_t> Draft::sums() const {
  operands_.clear();  // parameters may have changed
  reference::ConvolutionOperands current = operands();
  if (const Tensor* present = is_qlinear_ ? case_.input(8) : nullptr) current.bias = present->values<std::int32_t>();
  return exact_sums(current, *case_.inputs[0], *case_.inputs[is_qlinear_ ? 3 : 1]);
}

std::int64_t Draft::channel_of(std::size_t index) const {
  const reference::ConvolutionGeometry& geometry = operands().geometry;
  return static_cast<std::int64_t>(index) / geometry.output_positions() % geometry.output_channels;
}

void sprinkle(Rng& rng, Tensor& tensor, std::int64_t value, std::uint32_t numerator, std::uint32_t denominator) {
  for (std::byte& byte : tensor.bytes) {
    if (rng.chance(numerator, denominator)) byte = static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xFFU);
  }
}

}  // namespace qconform::directed
