#include "harness/engine/shrink/attribute_edit.h"

#include <algorithm>
#include <string>
#include <utility>

namespace qconform::shrink {

void set_attribute(Case& test_case, std::string_view name, Attribute::Value value) {
  for (Attribute& attribute : test_case.node().attributes) {
    if (attribute.name != name) continue;
    attribute.value = std::move(value);
    return;
  }
  test_case.node().attributes.push_back({std::string(name), std::move(value)});
}

void erase_attribute(Case& test_case, std::string_view name) {
  std::erase_if(test_case.node().attributes, [&](const Attribute& attribute) { return attribute.name == name; });
}

std::vector<std::int64_t>* integers_of(Case& test_case, std::string_view name) {
  for (Attribute& attribute : test_case.node().attributes) {
    if (attribute.name == name) return std::get_if<std::vector<std::int64_t>>(&attribute.value);
  }
  return nullptr;
}

const std::vector<std::int64_t>* integers_of(const Case& test_case, std::string_view name) {
  const Attribute* attribute = test_case.attribute(name);
  return attribute == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&attribute->value);
}

std::int64_t integer_of(const Case& test_case, std::string_view name, std::int64_t absent) {
  const Attribute* attribute = test_case.attribute(name);
  const auto* value = attribute == nullptr ? nullptr : std::get_if<std::int64_t>(&attribute->value);
  return value == nullptr ? absent : *value;
}

}  // namespace qconform::shrink
