// Tensors written down by hand, and the base of what writes down cases: harness/tests has linear_builder.h and
// convolution_builder.h.
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
  /// The case of the node that `built` has, with the overridden inputs, without omitted ones at the end, and with
  /// further attributes.
  [[nodiscard]] Case with_node(Case built) const {
    Case result = case_;
    result.inputs = std::move(built.inputs);
    for (const auto& [position, tensor] : overrides_) {
      if (result.inputs.size() <= position) result.inputs.resize(position + 1);
      result.inputs[position] = tensor;
    }
    while (!result.inputs.empty() && !result.inputs.back()) result.inputs.pop_back();
    const auto& stated = built.node().attributes;
    result.node().attributes.insert(result.node().attributes.begin(), stated.begin(), stated.end());
    return result;
  }

 private:
  Case case_;
  std::map<std::size_t, std::optional<Tensor>> overrides_;
};

}  // namespace qconform
