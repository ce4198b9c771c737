// Cases written down by hand: for the corpus and for tests.
//
//   const Case c = QLinearConvBuilder()
//                      .id("left-pad-only")
//                      .x(make::uint8({1, 1, 1, 3}, {255, 0, 7})).x_zero_point(255)
//                      .w(make::int8({1, 1, 1, 2}, {1, -2})).y_scale(2.0F)
//                      .pads({0, 1, 0, 0})
//                      .build();
//
// Nothing is checked: wrong cases are built on purpose. What is not stated has the plainest value:
// scales 1, zero points 0 of the type of their tensor, version 10 of the operator.
//
// `{5}` is a scalar where a scalar and a list are both taken; write `std::vector<float>{5}` for shape [1].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/case.h"

namespace qconform {

/// Tensors from values in row-major order.
namespace make {

using Shape = std::vector<std::int64_t>;

/// Any integer type (packed ones too) or bool; every value must fit it, and their number the shape.
[[nodiscard]] Tensor integers(ElementType type, Shape shape, const std::vector<std::int64_t>& values);
[[nodiscard]] Tensor filled(ElementType type, Shape shape, std::int64_t value);
[[nodiscard]] Tensor uint8(Shape shape, const std::vector<std::int64_t>& values);
[[nodiscard]] Tensor int8(Shape shape, const std::vector<std::int64_t>& values);
[[nodiscard]] Tensor int32(Shape shape, const std::vector<std::int64_t>& values);
[[nodiscard]] Tensor float32(Shape shape, const std::vector<float>& values);
/// Scalars: shape [].
[[nodiscard]] Tensor integer(ElementType type, std::int64_t value);
[[nodiscard]] Tensor float32(float value);

}  // namespace make

/// The base of every builder. `Self` is the derived builder, so that calls chain.
template <typename Self>
class CaseBuilder {
 public:
  Self& id(std::string value) { return set(case_.id, std::move(value)); }
  Self& note(std::string value) { return set(case_.note, std::move(value)); }
  Self& rules(std::vector<std::string> value) { return set(case_.rules, std::move(value)); }
  Self& tags(std::vector<std::string> value) { return set(case_.tags, std::move(value)); }
  Self& expect(Expectation value) { return set(case_.expectation, value); }
  Self& version(std::int64_t opset) { return set(case_.node().opset_version, opset); }
  Self& domain(std::string value) { return set(case_.node().domain, std::move(value)); }
  Self& op_type(std::string value) { return set(case_.node().op_type, std::move(value)); }
  Self& recorded_output(Tensor value) { return set(case_.recorded_outputs, std::vector<Tensor>{std::move(value)}); }

  /// Adds an attribute, or replaces the one of that name.
  Self& attribute(const std::string& name, Attribute::Value value) {
    for (Attribute& present : case_.node().attributes) {
      if (present.name == name) return set(present.value, std::move(value));
    }
    case_.node().attributes.push_back({name, std::move(value)});
    return self();
  }
  /// Puts any tensor at an input position (ONNX's order), or nothing: the last word on that input.
  Self& input(std::size_t position, std::optional<Tensor> tensor) {
    overrides_[position] = std::move(tensor);
    return self();
  }

 protected:
  explicit CaseBuilder(std::string op_type) {
    case_.node().op_type = std::move(op_type);
    case_.node().opset_version = 10;
  }
  Self& self() { return static_cast<Self&>(*this); }
  template <typename Member, typename Value>
  Self& set(Member& member, Value&& value) {
    member = std::forward<Value>(value);
    return self();
  }
  /// The case with these inputs, overridden, and without omitted ones at the end.
  [[nodiscard]] Case with_inputs(std::vector<std::optional<Tensor>> inputs) const {
    Case result = case_;
    for (const auto& [position, tensor] : overrides_) {
      if (inputs.size() <= position) inputs.resize(position + 1);
      inputs[position] = tensor;
    }
    while (!inputs.empty() && !inputs.back()) inputs.pop_back();
    result.inputs = std::move(inputs);
    return result;
  }

 private:
  Case case_;
  std::map<std::size_t, std::optional<Tensor>> overrides_;
};

/// The attributes that both convolutions have. Lists have one value per spatial dimension; pads has
/// all begins, then all ends.
template <typename Self>
class ConvolutionBuilder : public CaseBuilder<Self> {
 public:
  Self& x(Tensor tensor) { return this->set(x_, std::move(tensor)); }
  Self& w(Tensor tensor) { return this->set(w_, std::move(tensor)); }
  Self& pads(std::vector<std::int64_t> values) { return this->attribute("pads", std::move(values)); }
  Self& strides(std::vector<std::int64_t> values) { return this->attribute("strides", std::move(values)); }
  Self& dilations(std::vector<std::int64_t> values) { return this->attribute("dilations", std::move(values)); }
  Self& kernel_shape(std::vector<std::int64_t> values) { return this->attribute("kernel_shape", std::move(values)); }
  Self& auto_pad(std::string value) { return this->attribute("auto_pad", std::move(value)); }
  Self& group(std::int64_t value) { return this->attribute("group", value); }

 protected:
  using CaseBuilder<Self>::CaseBuilder;
  Tensor x_ = make::uint8({1, 1, 1, 1}, {1});
  Tensor w_ = make::int8({1, 1, 1, 1}, {1});
};

class QLinearConvBuilder : public ConvolutionBuilder<QLinearConvBuilder> {
 public:
  QLinearConvBuilder() : ConvolutionBuilder("QLinearConv") {}
  QLinearConvBuilder& x_scale(float value) { return set(x_scale_, value); }
  QLinearConvBuilder& x_zero_point(std::int64_t value) { return set(x_zero_point_, value); }
  /// Per tensor.
  QLinearConvBuilder& w_scale(float value) { return set(w_scale_, make::float32(value)); }
  QLinearConvBuilder& w_zero_point(std::int64_t value);
  /// Per output channel: shape [number of values].
  QLinearConvBuilder& w_scale(const std::vector<float>& values);
  QLinearConvBuilder& w_zero_point(const std::vector<std::int64_t>& values);
  QLinearConvBuilder& y_type(ElementType type) { return set(y_type_, type); }
  QLinearConvBuilder& y_scale(float value) { return set(y_scale_, value); }
  QLinearConvBuilder& y_zero_point(std::int64_t value) { return set(y_zero_point_, value); }
  /// int32, shape [number of values].
  QLinearConvBuilder& bias(const std::vector<std::int64_t>& values);
  [[nodiscard]] Case build() const;

 private:
  float x_scale_ = 1;
  std::int64_t x_zero_point_ = 0;
  Tensor w_scale_ = make::float32(1.0F);
  make::Shape w_zero_point_shape_;
  std::vector<std::int64_t> w_zero_point_{0};
  ElementType y_type_ = ElementType::uint8;
  float y_scale_ = 1;
  std::int64_t y_zero_point_ = 0;
  std::optional<Tensor> bias_;
};

/// Zero points that are not stated are omitted.
class ConvIntegerBuilder : public ConvolutionBuilder<ConvIntegerBuilder> {
 public:
  ConvIntegerBuilder() : ConvolutionBuilder("ConvInteger") {}
  ConvIntegerBuilder& x_zero_point(std::int64_t value) { return set(x_zero_point_, std::optional(value)); }
  ConvIntegerBuilder& w_zero_point(std::int64_t value);
  ConvIntegerBuilder& w_zero_point(const std::vector<std::int64_t>& values);
  [[nodiscard]] Case build() const;

 private:
  std::optional<std::int64_t> x_zero_point_;
  make::Shape w_zero_point_shape_;
  std::vector<std::int64_t> w_zero_point_;  // empty: omitted
};

/// QuantizeLinear and DequantizeLinear: x, scale, zero point. A zero point that is not stated is omitted.
class LinearBuilder : public CaseBuilder<LinearBuilder> {
 public:
  [[nodiscard]] static LinearBuilder quantize() { return LinearBuilder("QuantizeLinear"); }
  [[nodiscard]] static LinearBuilder dequantize() { return LinearBuilder("DequantizeLinear"); }
  LinearBuilder& x(Tensor tensor) { return set(x_, std::move(tensor)); }
  LinearBuilder& scale(float value) { return set(scale_, make::float32(value)); }
  LinearBuilder& scale(const std::vector<float>& values);
  LinearBuilder& zero_point(Tensor tensor) { return set(zero_point_, std::optional(std::move(tensor))); }
  LinearBuilder& axis(std::int64_t value) { return attribute("axis", value); }
  [[nodiscard]] Case build() const { return with_inputs({x_, scale_, zero_point_}); }

 private:
  using CaseBuilder::CaseBuilder;
  Tensor x_ = make::float32({1}, {1.0F});
  Tensor scale_ = make::float32(1.0F);
  std::optional<Tensor> zero_point_;
};

}  // namespace qconform
