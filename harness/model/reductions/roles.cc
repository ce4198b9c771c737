#include "harness/model/reductions/roles.h"

#include <string>

#include "harness/model/operator.h"

namespace qconform::shrink {
namespace {

Part part_of(std::string_view name) {
  if (name.ends_with("_scale")) return Part::scale;
  return name.ends_with("_zero_point") ? Part::zero_point : Part::data;
}

// Finds the role of a tensor that a QuantizeLinear or DequantizeLinear node reads, by its position there; every other
// tensor is data.
Role role_in_graph(const Case& test_case, std::size_t position) {
  const std::string& name = test_case.input_names[position];
  Role role{position, Part::data, name, true, nullptr};
  const auto tensor_called = [&](const std::string& wanted) -> const Tensor* {
    for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
      if (test_case.input_names[i] == wanted && test_case.inputs[i]) return &*test_case.inputs[i];
    }
    return nullptr;
  };
  for (const Node& node : test_case.nodes) {
    if (node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear") continue;
    if (node.inputs.size() > 1 && node.inputs[1] == name) role.part = Part::scale;
    if (node.inputs.size() > 2 && node.inputs[2] == name) role.part = Part::zero_point;
    if (node.inputs.size() < 3 || node.inputs[0] != name) continue;
    const Tensor* zero_point = tensor_called(node.inputs[2]);
    if (zero_point != nullptr && zero_point->type == test_case.inputs[position]->type) role.zero_point = zero_point;
  }
  return role;
}

std::vector<Role> roles_in_graph(const Case& test_case) {
  std::vector<Role> roles;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    // Shapes, axes and the like are no values that become plainer.
    if (test_case.inputs[i] && test_case.inputs[i]->type != ElementType::int64) {
      roles.push_back(role_in_graph(test_case, i));
    }
  }
  return roles;
}

}  // namespace

std::optional<std::size_t> position_of(const Case& test_case, std::string_view name) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < known->inputs.size(); ++i) {
    if (known->inputs[i].name == name) return i;
  }
  return std::nullopt;
}

const Tensor* tensor_named(const Case& test_case, std::string_view name) {
  const auto position = position_of(test_case, name);
  return position ? test_case.input(*position) : nullptr;
}

std::vector<Role> roles_of(const Case& test_case) {
  if (!test_case.is_one_node()) return roles_in_graph(test_case);
  std::vector<Role> roles;
  const Operator* known = operator_of(test_case);
  if (known == nullptr) return roles;
  for (std::size_t i = 0; i < known->inputs.size(); ++i) {
    if (test_case.input(i) == nullptr) continue;
    const std::string_view name = known->inputs[i].name;
    Role role{i, part_of(name), name, known->inputs[i].required, nullptr};
    if (role.part == Part::data) {
      const Tensor* zero_point = tensor_named(test_case, std::string(name) + "_zero_point");
      if (zero_point != nullptr && zero_point->type == test_case.input(i)->type) role.zero_point = zero_point;
    }
    roles.push_back(role);
  }
  return roles;
}

std::int64_t neutral_value(const Case& test_case, const Role& role, std::int64_t index) {
  const Tensor* zero_point = role.zero_point;
  if (zero_point == nullptr || !is_integer(zero_point->type)) return 0;
  if (zero_point->elements() == 1) return integer_at(*zero_point, 0);
  const Tensor& data = *test_case.input(role.position);
  // Parameters along the first axis: of weights, their output channels.
  if (zero_point->shape.size() != 1 || data.shape.empty() || zero_point->shape[0] != data.shape[0]) return 0;
  const std::int64_t row = data.elements() / data.shape[0];
  return row == 0 ? 0 : integer_at(*zero_point, index / row);
}

}  // namespace qconform::shrink
