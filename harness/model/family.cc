#include "harness/model/family.h"

#include <algorithm>
#include <array>
#include <variant>

namespace qconform {
namespace {

constexpr std::array<const char*, std::variant_size_v<Attribute::Value>> kAttributeTypeNames{
    "an integer", "a float", "a string", "a list of integers", "a list of floats", "a list of strings"};

std::string names_of(std::initializer_list<ElementType> types) {
  std::string text;
  for (const ElementType type : types) text += (text.empty() ? "" : " or ") + name_of(type);
  return text;
}

}  // namespace

bool NodeReader::check_signature(std::span<const AttributeSignature> attributes) {
  if (case_.inputs.size() > inputs_.size()) {
    return contract_.violate(
        "signature", "inputs",
        "expected at most " + std::to_string(inputs_.size()) + " inputs, got " + std::to_string(case_.inputs.size()));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].required && case_.input(i) == nullptr) {
      return contract_.violate("C15", std::string(inputs_[i].name), "required input is missing");
    }
  }
  for (std::size_t i = 0; i < case_.node().attributes.size(); ++i) {
    const Attribute& attribute = case_.node().attributes[i];
    const auto known = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const AttributeSignature& s) { return s.name == attribute.name; });
    if (known == attributes.end()) {
      return contract_.violate(
          "signature", attribute.name,
          case_.node().op_type + " has no such attribute at opset " + std::to_string(case_.node().opset_version));
    }
    if (attribute.value.index() != known->value_index) {
      return contract_.violate("signature", attribute.name,
                               std::string("expected ") + kAttributeTypeNames[known->value_index] + ", got " +
                                   kAttributeTypeNames[attribute.value.index()]);
    }
    if (case_.attribute(attribute.name) != &attribute) {
      return contract_.violate("signature", attribute.name, "attribute is given twice");
    }
  }
  return true;
}

std::int64_t NodeReader::int_attribute(std::string_view name, std::int64_t absent) const {
  return case_.node().get_or(name, absent);
}

std::string NodeReader::string_attribute(std::string_view name, std::string_view absent) const {
  return case_.node().get_or(name, std::string(absent));
}

std::optional<std::vector<std::int64_t>> NodeReader::ints_attribute(std::string_view name) const {
  const auto* values = case_.node().get<std::vector<std::int64_t>>(name);
  return values == nullptr ? std::nullopt : std::optional(*values);
}

const Tensor* NodeReader::input(std::string_view name) const {
  const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const InputSignature& signature) {
    // Names of one length mostly differ in their first letter already.
    return signature.name.front() == name.front() && signature.name == name;
  });
  return case_.input(static_cast<std::size_t>(found - inputs_.begin()));
}

bool NodeReader::check_type(std::string_view name, std::initializer_list<ElementType> types, const char* rule) {
  const Tensor* tensor = input(name);
  if (tensor == nullptr || std::find(types.begin(), types.end(), tensor->type) != types.end()) return true;
  return contract_.violate(rule, std::string(name),
                           "expected element type " + names_of(types) + ", got " + name_of(tensor->type));
}

bool NodeReader::check_same_type(std::string_view name, std::string_view other, const char* rule) {
  const Tensor* tensor = input(name);
  const Tensor* model = input(other);
  if (tensor == nullptr || model == nullptr || tensor->type == model->type) return true;
  return contract_.violate(rule, std::string(name),
                           "expected the element type of " + std::string(other) + " (" + name_of(model->type) +
                               "), got " + name_of(tensor->type));
}

bool NodeReader::check_scalar(std::string_view name) {
  const Tensor* tensor = input(name);
  if (tensor == nullptr || tensor->elements() == 1) return true;
  return contract_.violate("C11", std::string(name), "expected a scalar, got shape " + shape_text(tensor->shape));
}

std::vector<std::int32_t> int32_values(const Tensor& tensor) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(integer_at(tensor, static_cast<std::int64_t>(i)));
  }
  return values;
}

std::vector<float> float_values(const Tensor& tensor) {
  return tensor.values<float>();
}

std::int32_t scalar_or(const Tensor* tensor, std::int32_t absent) {
  return tensor == nullptr ? absent : static_cast<std::int32_t>(integer_at(*tensor, 0));
}

Tensor LoweredElementwise::evaluate(RoundingProfile) const {
  Tensor y{y_type_, x_.shape, {}};
  y.bytes.resize(static_cast<std::size_t>(bytes_for(y_type_, y.elements())));
  compute(x_.bytes, y.bytes);
  return y;
}

std::uint64_t LoweredElementwise::x_bits(std::int64_t index) const {
  return raw_bits_at(x_.bytes, bits_of(x_.type), index);
}

}  // namespace qconform
