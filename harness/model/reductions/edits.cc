#include "harness/model/reductions/edits.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/small_float.h"

namespace qconform::shrink {

namespace {

std::int64_t product(std::span<const std::int64_t> dimensions) {
  return elements_of(dimensions);
}

void copy_element(const Tensor& from, std::int64_t source, Tensor& to, std::int64_t target) {
  const int bits = bits_of(from.type);
  if (bits <= 64) return set_raw_bits_at(to.bytes, bits, target, raw_bits_at(from.bytes, bits, source));
  const int halves = bits / 64;
  for (int half = 0; half < halves; ++half) {
    set_raw_bits_at(to.bytes, 64, target * halves + half, raw_bits_at(from.bytes, 64, source * halves + half));
  }
}

// For elements of whole bytes. `row` is the number of bytes of one position; neighbours go together.
void copy_rows(const Tensor& from, std::int64_t length, std::int64_t row, std::span<const std::int64_t> keep,
               Tensor& to) {
  if (row == 0 || length == 0 || keep.empty()) return;
  const std::int64_t outer = static_cast<std::int64_t>(from.bytes.size()) / (length * row);
  std::byte* target = to.bytes.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::size_t begin = 0; begin < keep.size();) {
      std::size_t end = begin + 1;
      while (end < keep.size() && keep[end] == keep[end - 1] + 1) ++end;
      const std::byte* const source = from.bytes.data() + (o * length + keep[begin]) * row;
      target = std::copy_n(source, static_cast<std::int64_t>(end - begin) * row, target);
      begin = end;
    }
  }
}

}  // namespace

Tensor with_positions(const Tensor& tensor, std::size_t axis, std::span<const std::int64_t> keep) {
  const std::span<const std::int64_t> shape(tensor.shape);
  const std::int64_t outer = product(shape.first(axis));
  const std::int64_t inner = product(shape.subspan(axis + 1));
  Tensor result{tensor.type, tensor.shape, {}};
  result.shape[axis] = static_cast<std::int64_t>(keep.size());
  result.bytes.resize(static_cast<std::size_t>(bytes_for(tensor.type, result.elements())));
  if (bits_of(tensor.type) % 8 == 0) {
    const std::int64_t row = inner * bits_of(tensor.type) / 8;
    copy_rows(tensor, shape[axis], row, keep, result);
    return result;
  }
  std::int64_t target = 0;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t position : keep) {
      const std::int64_t source = (o * shape[axis] + position) * inner;
      for (std::int64_t i = 0; i < inner; ++i) copy_element(tensor, source + i, result, target++);
    }
  }
  return result;
}

Tensor element_as_scalar(const Tensor& tensor, std::int64_t index) {
  Tensor result{tensor.type, {}, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(tensor.type, 1)))};
  copy_element(tensor, index, result, 0);
  return result;
}

std::vector<std::int64_t> positions(std::int64_t count) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), std::int64_t{0});
  return result;
}

std::uint64_t bits_at(const Tensor& tensor, std::int64_t index) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), index);
}

void set_bits_at(Tensor& tensor, std::int64_t index, std::uint64_t bits) {
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, bits);
}

bool is_number(ElementType type) {
  if (is_integer(type)) return true;
  switch (type) {
    case ElementType::float32:
    case ElementType::float16:
    case ElementType::float64:
    case ElementType::bfloat16:
    case ElementType::float8e4m3fn:
    case ElementType::float8e4m3fnuz:
    case ElementType::float8e5m2:
    case ElementType::float8e5m2fnuz:
    case ElementType::float4e2m1:
    case ElementType::float8e8m0: return true;
    default: return false;
  }
}

std::uint64_t integer_bits(ElementType type, std::int64_t value) {
  const int bits = bits_of(type);
  if (bits == 64) return static_cast<std::uint64_t>(value);
  const std::int64_t span = std::int64_t{1} << (is_signed_integer(type) ? bits - 1 : bits);
  value = std::clamp(value, is_signed_integer(type) ? -span : 0, span - 1);
  return static_cast<std::uint64_t>(value) & (~std::uint64_t{0} >> (64 - bits));
}

std::uint64_t one_bits(ElementType type) {
  if (is_integer(type)) return 1;
  return encode(reference::float_format(type), 1.0, reference::Overflow::saturate);
}

std::uint64_t complexity(ElementType type, std::uint64_t bits, std::int64_t neutral) {
  if (is_integer(type)) {
    const int unused = 64 - bits_of(type);
    auto value = static_cast<std::int64_t>(bits << unused);
    value = is_signed_integer(type) ? value >> unused : static_cast<std::int64_t>(bits);
    const auto distance = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(neutral);
    return value >= neutral ? distance : ~distance + 1;
  }
  const reference::FloatFormat& format = reference::float_format(type);
  if (bits == 0 && format.has_sign()) return 0;
  const std::uint64_t magnitude = bits & ~format.sign_bit();
  const std::uint64_t mantissa = magnitude & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const auto exponent = static_cast<std::int64_t>(magnitude >> format.mantissa_bits);
  const std::int64_t distance = exponent > format.bias ? exponent - format.bias : format.bias - exponent;
  const int digits = mantissa == 0 ? 0 : format.mantissa_bits - std::countr_zero(mantissa);
  // A digit of the mantissa outweighs every exponent, and the sign comes last.
  const std::int64_t range = std::int64_t{1} << format.exponent_bits;
  return static_cast<std::uint64_t>(2 * (digits * range + distance) + 1 + (magnitude != bits ? 1 : 0));
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

using Indices = std::vector<std::int64_t>;

Indices expand_blocks(const Indices& keep, std::int64_t size, std::int64_t length) {
  Indices result;
  for (const std::int64_t block : keep) {
    for (std::int64_t i = 0; i < size && block * size + i < length; ++i) result.push_back(block * size + i);
  }
  return result;
}

Indices repeat_in_blocks(const Indices& keep, std::int64_t size, std::int64_t blocks) {
  Indices result;
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const std::int64_t index : keep) result.push_back(block * size + index);
  }
  return result;
}

std::vector<Extent> single_axes_of(const Case& test_case) {
  std::vector<Extent> result;
  for (std::size_t position = 0; position < test_case.inputs.size(); ++position) {
    const Tensor* tensor = test_case.input(position);
    if (tensor == nullptr) continue;
    for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis) {
      if (tensor->shape[axis] < 2) continue;
      result.push_back({"input " + std::to_string(position) + " axis " + std::to_string(axis), tensor->shape[axis], -1,
                        [=](const Case& whole, const Indices& keep) {
                          Case cut = whole;
                          cut.inputs[position] = with_positions(*whole.input(position), axis, keep);
                          return cut;
                        }});
    }
  }
  return result;
}

}  // namespace qconform::shrink
