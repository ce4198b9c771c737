#include "harness/model/node_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/core/tensor.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

// Changes an element to another one of the type: an integer's lowest bit, a float's exponent by one, so that it stays
// a normal number where it is one.
void change_element(Tensor& tensor, std::int64_t index) {
  const std::uint64_t bits = bits_at(tensor, index);
  std::uint64_t step = 1;
  switch (tensor.type) {
    case ElementType::float32: step = std::uint64_t{1} << 23; break;
    case ElementType::float16: step = std::uint64_t{1} << 10; break;
    case ElementType::bfloat16: step = std::uint64_t{1} << 7; break;
    default: break;
  }
  set_bits_at(tensor, index, bits ^ step);
}

void change_all(Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) change_element(tensor, i);
}

void change_first(Tensor& tensor) {
  if (tensor.elements() > 1) change_element(tensor, 0);
}

void change_last(Tensor& tensor) {
  if (tensor.elements() > 1) change_element(tensor, tensor.elements() - 1);
}

// Two elements that differ change places, so that all sums stay.
void change_order(Tensor& tensor) {
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    const std::uint64_t first = bits_at(tensor, 0);
    const std::uint64_t other = bits_at(tensor, i);
    if (first == other) continue;
    set_bits_at(tensor, 0, other);
    set_bits_at(tensor, i, first);
    return;
  }
}

void change_signedness(Tensor& tensor) {
  if (tensor.type == ElementType::uint8 || tensor.type == ElementType::int8)
    tensor.type = tensor.type == ElementType::uint8 ? ElementType::int8 : ElementType::uint8;
}

NodeChange of_input(std::size_t position, void (*change)(Tensor&)) {
  return [=](Case& test_case) {
    if (position < test_case.inputs.size() && test_case.inputs[position]) change(*test_case.inputs[position]);
  };
}

// A zero point that is left out appears, and one that is there goes. The type is that of the data, where that is one of
// a zero point's, else what leaving it out stands for.
NodeChange of_zero_point(std::size_t position) {
  return [=](Case& test_case) {
    constexpr std::uint64_t kFive = 5;
    if (test_case.input(position) != nullptr) {
      test_case.inputs[position].reset();
      return;
    }
    const Tensor* data = test_case.input(0);
    const Tensor* scale = test_case.input(position - 1);
    if (data == nullptr || scale == nullptr) return;
    test_case.inputs.resize(std::max(test_case.inputs.size(), position + 1));
    Tensor& added = test_case.inputs[position].emplace();
    const std::int64_t stated = test_case.node().get_or<std::int64_t>("output_dtype", 0);
    added.type = stated != 0              ? static_cast<ElementType>(stated)
                 : is_integer(data->type) ? data->type
                                          : ElementType::uint8;
    if (!is_known(added.type)) return test_case.inputs.pop_back();
    added.shape = scale->shape;
    added.bytes.resize(static_cast<std::size_t>(bytes_for(added.type, scale->elements())));
    for (std::int64_t i = 0; i < scale->elements(); ++i) set_bits_at(added, i, kFive);
  };
}

// A pad goes from one end of an axis to the other, so that the output's shape stays; a list that is no pads grows by
// one in its last number.
void change_numbers(std::string_view name, std::vector<std::int64_t>& numbers) {
  const std::size_t half = numbers.size() / 2;
  if (name == "pads") {
    for (std::size_t i = 0; i < half; ++i) {
      const bool from_begin = numbers[i] > 0;
      if (!from_begin && numbers[i + half] == 0) continue;
      numbers[i] += from_begin ? -1 : 1;
      numbers[i + half] += from_begin ? 1 : -1;
      return;
    }
  }
  if (!numbers.empty()) ++numbers.back();
}

NodeChange of_attribute(std::size_t node, const std::string& name) {
  return [=](Case& test_case) {
    if (node >= test_case.nodes.size()) return;
    for (Attribute& attribute : test_case.nodes[node].attributes) {
      if (attribute.name != name) continue;
      if (auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) change_numbers(name, *numbers);
      if (auto* number = std::get_if<std::int64_t>(&attribute.value)) *number ^= 1;
    }
  };
}

bool is_zero_point(std::string_view name) {
  return name.ends_with("zero_point");
}

// Whether both have the same elements, counted.
bool have_same_elements(const Tensor& one, const Tensor& other) {
  std::map<std::uint64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < one.elements(); ++i) {
    ++counts[bits_at(one, i)];
    --counts[bits_at(other, i)];
  }
  return std::all_of(counts.begin(), counts.end(), [](const auto& entry) { return entry.second == 0; });
}

double sum_of(const Tensor& tensor) {
  double sum = 0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) sum += number_at(tensor, i);
  return sum;
}

enum class Wording : std::uint8_t { exact, brief };

// Nothing where they are alike. Briefly, elements go by their tensor's name.
std::optional<std::string> tensor_difference(std::string_view name, const Tensor& one, const Tensor& other,
                                             Wording wording) {
  if (one.type != other.type) return fmt::format("the type of {}", name);
  if (one.shape != other.shape) return fmt::format("the shape of {}", name);
  const std::int64_t elements = one.elements();
  std::int64_t differing = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (bits_at(one, i) == bits_at(other, i)) continue;
    ++differing;
    last = i;
  }
  if (differing == 0) return std::nullopt;
  if (wording == Wording::brief) return std::string(name);
  if (differing == 1 && elements > 1) {
    const std::string_view which = last == elements - 1 ? "the last" : last == 0 ? "the first" : "one";
    return fmt::format("{} element of {}", which, name);
  }
  if (have_same_elements(one, other)) return fmt::format("the order of {}", name);
  if (is_integer(one.type) && sum_of(one) == sum_of(other)) return fmt::format("{} of the same sum", name);
  return std::string(name);
}

void add_attribute_differences(const Node& one, const Node& other, std::vector<std::string>& names) {
  if (one.op_type != other.op_type || one.domain != other.domain) names.emplace_back("the operator");
  if (one.opset_version != other.opset_version) names.emplace_back("the operator's version");
  for (const Attribute& attribute : one.attributes) {
    const Attribute* there = other.attribute(attribute.name);
    if (there == nullptr || there->value != attribute.value) names.push_back(attribute.name);
  }
  for (const Attribute& attribute : other.attributes) {
    if (one.attribute(attribute.name) == nullptr) names.push_back(attribute.name);
  }
}

std::vector<std::string> differences(const Case& one, const Case& other, Wording wording) {
  std::vector<std::string> names;
  if (one.nodes.size() != other.nodes.size()) return {"the nodes"};
  for (std::size_t i = 0; i < one.nodes.size(); ++i) add_attribute_differences(one.nodes[i], other.nodes[i], names);
  for (std::size_t i = 0; i < std::max(one.inputs.size(), other.inputs.size()); ++i) {
    const Tensor* a = one.input(i);
    const Tensor* b = other.input(i);
    const std::string_view name = input_name(a != nullptr ? one : other, i);
    if ((a == nullptr) != (b == nullptr)) {
      names.push_back(wording == Wording::brief ? std::string(name) : fmt::format("whether {} is there", name));
    } else if (a != nullptr) {
      if (auto difference = tensor_difference(name, *a, *b, wording)) names.push_back(std::move(*difference));
    }
  }
  return names;
}

}  // namespace

std::vector<NodeChange> node_changes(const Case& test_case) {
  std::vector<NodeChange> parameters;
  std::vector<NodeChange> attributes;
  std::vector<NodeChange> values;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const Tensor* tensor = test_case.input(i);
    if (tensor == nullptr || tensor->type == ElementType::int64 || bits_of(tensor->type) == 0) continue;
    auto& list = role_of(test_case, i) == InputRole::parameter ? parameters : values;
    if (tensor->elements() > 1) {
      for (const auto change : {&change_order, &change_last, &change_first}) list.push_back(of_input(i, change));
    }
    list.push_back(of_input(i, &change_all));
    if (is_zero_point(input_name(test_case, i))) list.push_back(of_input(i, &change_signedness));
  }
  if (const Operator* known = operator_of(test_case)) {
    for (std::size_t i = 1; i < known->inputs.size(); ++i) {
      const bool is_optional = is_zero_point(known->inputs[i].name) && !known->inputs[i].required;
      if (is_optional) parameters.push_back(of_zero_point(i));
    }
  }
  for (std::size_t i = 0; i < test_case.nodes.size(); ++i) {
    for (const Attribute& attribute : test_case.nodes[i].attributes)
      attributes.push_back(of_attribute(i, attribute.name));
  }
  std::move(attributes.begin(), attributes.end(), std::back_inserter(parameters));
  std::move(values.begin(), values.end(), std::back_inserter(parameters));
  return parameters;
}

namespace {

std::string joined_differences(const Case& one, const Case& other, Wording wording) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<std::string> names = differences(one, other, wording);
  if (names.size() > kMostNamed) return {};
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

}  // namespace

std::string difference_text(const Case& one, const Case& other) {
  return joined_differences(one, other, Wording::exact);
}

std::string differing_parts(const Case& one, const Case& other) {
  return joined_differences(one, other, Wording::brief);
}

std::string after_text(const Case& test_case) {
  const std::vector<Case>& before = test_case.before;
  if (before.empty()) return "other nodes";
  const std::string difference = difference_text(before.back(), test_case);
  const std::string last = difference.empty() ? fmt::format("another node ({})", summary_of(before.back()))
                                              : fmt::format("a node that differs in {} alone", difference);
  return before.size() == 1 ? last : fmt::format("{} nodes, the last of them {}", before.size(), last);
}

}  // namespace qconform
