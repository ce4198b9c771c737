// Convolutions written down by hand, for tests: the members of the family's description, one after the other.
//
//   const Case c = QLinearConvBuilder()
//                      .id("left-pad-only")
//                      .x(make::uint8({1, 1, 1, 3}, {255, 0, 7})).x_zero_point(255)
//                      .w(make::int8({1, 1, 1, 2}, {1, -2})).y_scale(2.0F)
//                      .pads({0, 1, 0, 0})
//                      .build();
//
// Nothing is checked, and input() and attribute() state what the description cannot: wrong cases are built on purpose.
// A member that a test does not state has the plainest value: a scale is 1, a zero point is 0 in the type of its tensor
// (ConvInteger omits it), and the operator has version 10.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/convolution/description.h"

namespace qconform {

template <typename Self>
class ConvolutionBuilder : public CaseBuilder<Self> {
 public:
  using List = Convolution::List;

  Self& x(Tensor tensor) { return this->set(node_.x, std::move(tensor)); }
  Self& w(Tensor tensor) { return this->set(node_.w, std::move(tensor)); }
  Self& x_zero_point(std::int64_t value) { return this->set(node_.x_zero_point, value); }
  /// Per tensor.
  Self& w_zero_point(std::int64_t value) { return this->set(node_.w_zero_point, value); }
  /// Per output channel: shape [number of values].
  Self& w_zero_point(const List& values) { return this->set(node_.w_zero_point, ParameterValues(values)); }
  Self& pads(List values) { return this->set(node_.pads, std::move(values)); }
  Self& strides(List values) { return this->set(node_.strides, std::move(values)); }
  Self& dilations(List values) { return this->set(node_.dilations, std::move(values)); }
  Self& kernel_shape(List values) { return this->set(node_.kernel_shape, std::move(values)); }
  Self& auto_pad(std::string value) { return this->set(node_.auto_pad, std::move(value)); }
  Self& group(std::int64_t value) { return this->set(node_.group, value); }

  [[nodiscard]] Case build() const { return this->with_node(build_convolution(node_)); }

 protected:
  explicit ConvolutionBuilder(bool is_quantized) : CaseBuilder<Self>(is_quantized ? "QLinearConv" : "ConvInteger") {
    node_.is_quantized = is_quantized;
    node_.x = make::uint8({1, 1, 1, 1}, {1});
    node_.w = make::int8({1, 1, 1, 1}, {1});
  }
  Convolution node_;
};

class QLinearConvBuilder : public ConvolutionBuilder<QLinearConvBuilder> {
 public:
  QLinearConvBuilder() : ConvolutionBuilder(true) {}
  QLinearConvBuilder& x_scale(float value) { return set(node_.x_scale, value); }
  /// Per tensor.
  QLinearConvBuilder& w_scale(float value) { return set(node_.w_scale, value); }
  /// Per output channel: shape [number of values].
  QLinearConvBuilder& w_scale(const std::vector<float>& values) { return set(node_.w_scale, ParameterValues(values)); }
  QLinearConvBuilder& y_type(ElementType type) { return set(node_.y_type, type); }
  QLinearConvBuilder& y_scale(float value) { return set(node_.y_scale, value); }
  QLinearConvBuilder& y_zero_point(std::int64_t value) { return set(node_.y_zero_point, value); }
  QLinearConvBuilder& bias(const List& values) {
    return set(node_.bias, std::vector<std::int32_t>(values.begin(), values.end()));
  }
};

class ConvIntegerBuilder : public ConvolutionBuilder<ConvIntegerBuilder> {
 public:
  ConvIntegerBuilder() : ConvolutionBuilder(false) {}
};

}  // namespace qconform
