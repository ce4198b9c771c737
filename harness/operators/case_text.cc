#include "harness/operators/case_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/operators/operator.h"

namespace qconform {
namespace {

std::string value_text(const Attribute::Value& value) {
  return std::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::vector<std::int64_t>> || std::is_same_v<Held, std::vector<float>>) {
          return fmt::format("[{}]", fmt::join(held, ","));
        } else {
          return fmt::format("{}", held);
        }
      },
      value);
}

bool multiplies_weights(const Operator* known, std::size_t position) {
  return known != nullptr && position < known->inputs.size() && known->inputs[position].role == InputRole::weight;
}

}  // namespace

std::string summary_of(const Case& test_case) {
  static const std::vector<Attribute> kNone;
  const Operator* known = operator_of(test_case);
  const bool has_weights = multiplies_weights(known, 1) || multiplies_weights(known, 3);
  std::string text;
  std::string parameters;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const Tensor* tensor = test_case.input(i);
    if (tensor == nullptr || (tensor->shape.empty() && i != 0)) continue;
    const std::string_view given = input_name(test_case, i);
    const std::string name = given.empty() ? fmt::format("input {}", i) : std::string(given);
    const std::string type = has_weights ? "" : name_of(tensor->type) + " ";
    const std::string piece = fmt::format("{} {}[{}]", name, type, fmt::join(tensor->shape, ","));
    const bool is_weight = multiplies_weights(known, i);
    if (i == 0 || is_weight) {
      text += (is_weight && !text.empty() ? " * " : "") + piece;
    } else {
      parameters += (text.empty() && parameters.empty() ? "" : ", ") + piece;
    }
  }
  for (const Attribute& attribute : test_case.is_one_node() ? test_case.node().attributes : kNone) {
    if (attribute.name != "kernel_shape") parameters += ", " + attribute.name + " " + value_text(attribute.value);
  }
  return text + parameters;
}

}  // namespace qconform
