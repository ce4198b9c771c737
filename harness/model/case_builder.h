// Tensors and cases written down by hand.
//
//   const Case c = LinearBuilder::quantize().id("ties").x(make::float32({2}, {0.5F, 1.5F})).scale(1.0F).build();
//
// Nothing is checked: wrong cases are built on purpose. A member that a test does not state has the plainest value: a
// scale is 1, the operator has version 10. harness/tests/convolution_builder.h has convolutions.
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
