#include "harness/model/reductions/reductions.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::shrink {
namespace {

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
  const std::int64_t outer = elements_of(shape.first(axis));
  const std::int64_t inner = elements_of(shape.subspan(axis + 1));
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
  return test_case.node().get<std::vector<std::int64_t>>(name);
}

namespace {

InputPart part_of(std::string_view name) {
  if (name.ends_with("_scale")) return InputPart::scale;
  return name.ends_with("_zero_point") ? InputPart::zero_point : InputPart::data;
}

// Finds the tensor of that name.
const Tensor* tensor_called(const Case& test_case, std::span<const std::string> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : test_case.input(static_cast<std::size_t>(found - names.begin()));
}

// Finds the zero point that the node reads for its input `name` by the operator's signature.
const Tensor* zero_point_of(const Case& test_case, std::span<const std::string> names, const Node& node,
                            std::span<const InputSignature> signature, std::string_view name) {
  const std::string wanted = std::string(name) + "_zero_point";
  for (std::size_t i = 0; i < std::min(signature.size(), node.inputs.size()); ++i) {
    if (signature[i].name == wanted && !node.inputs[i].empty()) return tensor_called(test_case, names, node.inputs[i]);
  }
  return nullptr;
}

// Finds what the operators that read a tensor take it for; data where none of them has a signature.
Role role_at(const Case& test_case, std::size_t position, std::span<const std::string> names,
             std::span<const Node> nodes) {
  Role role{position, InputPart::data, nullptr};
  for (const Node& node : nodes) {
    const Operator* known = find_operator(node.domain, node.op_type);
    for (std::size_t i = 0; known != nullptr && i < std::min(known->inputs.size(), node.inputs.size()); ++i) {
      if (node.inputs[i] != names[position]) continue;
      const std::string_view name = known->inputs[i].name;
      if (part_of(name) != InputPart::data) role.part = part_of(name);
      const Tensor* zero_point = zero_point_of(test_case, names, node, known->inputs, name);
      if (zero_point != nullptr && zero_point->type == test_case.inputs[position]->type) role.zero_point = zero_point;
    }
  }
  return role;
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
  const std::vector<std::string> names = input_names(test_case);
  const std::vector<Node> nodes = named_nodes(test_case);
  std::vector<Role> roles;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Shapes, axes and the like are no values that become plainer.
    if (test_case.inputs[i] && test_case.inputs[i]->type != ElementType::int64) {
      roles.push_back(role_at(test_case, i, names, nodes));
    }
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

// Reductions of scales and zero points.

namespace {

std::vector<Role> roles_with(const Case& test_case, InputPart part) {
  std::vector<Role> roles = roles_of(test_case);
  std::erase_if(roles, [part](const Role& role) { return role.part != part; });
  return roles;
}

// Returns the index of the parameter's element that the wrong output element uses; 0 when that is not known.
std::int64_t parameter_of_wrong_element(const Subject& subject, const Tensor& parameter) {
  const Family* family = family_of(subject.current());
  if (family == nullptr || family->shrinking.parameter_index == nullptr) return 0;
  return family->shrinking.parameter_index(subject.current(), parameter, subject.wrong_element());
}

// The tensor that a zero point belongs to: x for x_zero_point; null where it is the output.
const Role* owner_of(const std::vector<Role>& roles, const Tensor* zero_point) {
  const auto found =
      std::find_if(roles.begin(), roles.end(), [&](const Role& role) { return role.zero_point == zero_point; });
  return found == roles.end() ? nullptr : &*found;
}

// The zero point becomes 0 and the values move with it, as far as their type allows.
std::optional<Case> with_values_shifted(const Case& test_case, const Role& zero_point) {
  const std::vector<Role> roles = roles_of(test_case);
  const Role* owner = owner_of(roles, test_case.input(zero_point.position));
  if (owner == nullptr || !is_integer(test_case.input(owner->position)->type)) return std::nullopt;
  Case result = test_case;
  Tensor& values = *result.inputs[owner->position];
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    const std::int64_t shifted = integer_at(values, i) - neutral_value(test_case, *owner, i);
    set_bits_at(values, i, integer_bits(values.type, shifted));
  }
  Tensor& parameter = *result.inputs[zero_point.position];
  std::fill(parameter.bytes.begin(), parameter.bytes.end(), std::byte{0});
  return result;
}

// One element of an integer parameter towards 0.
void reduce_zero_point(Subject& subject, std::size_t position, std::int64_t index) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const Tensor& parameter = *subject.current().input(position);
    const std::int64_t value = integer_at(parameter, index);
    const ElementType type = parameter.type;
    for (const std::int64_t smaller :
         {std::int64_t{0}, std::int64_t{value > 0 ? 1 : -1}, value / 2, value - (value > 0 ? 1 : -1)}) {
      if (value == 0 || smaller == value) continue;
      Case candidate = subject.current();
      set_bits_at(*candidate.inputs[position], index, integer_bits(type, smaller));
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

// Plainer bit patterns for a scale: 1, the power of two below, then shorter and shorter mantissas,
// then exponents nearer to 1's.
std::vector<std::uint64_t> plainer_scales(ElementType type, std::uint64_t bits) {
  std::vector<std::uint64_t> result{one_bits(type)};
  if (is_integer(type)) return result;
  const reference::FloatFormat& format = reference::float_format(type);
  const std::uint64_t positive = bits & ~format.sign_bit();
  for (int digits = 0; digits < format.mantissa_bits; digits = digits < 4 ? digits + 1 : digits * 2) {
    const std::uint64_t dropped = (std::uint64_t{1} << (format.mantissa_bits - digits)) - 1;
    result.push_back(positive & ~dropped);
    result.push_back(bits & ~dropped);
  }
  const std::uint64_t mantissa = positive & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const auto exponent = static_cast<std::int64_t>(positive >> format.mantissa_bits);
  for (const std::int64_t nearer :
       {std::int64_t{format.bias}, (exponent + format.bias) / 2, exponent + (exponent > format.bias ? -1 : 1)}) {
    result.push_back(static_cast<std::uint64_t>(nearer) << format.mantissa_bits | mantissa);
  }
  return result;
}

void reduce_scale(Subject& subject, std::size_t position, std::int64_t index) {
  for (bool taken = true; taken && !subject.exhausted();) {
    taken = false;
    const Tensor& scale = *subject.current().input(position);
    const std::uint64_t bits = bits_at(scale, index);
    for (const std::uint64_t plainer : plainer_scales(scale.type, bits)) {
      if (complexity(scale.type, plainer, 0) >= complexity(scale.type, bits, 0)) continue;
      Case candidate = subject.current();
      set_bits_at(*candidate.inputs[position], index, plainer);
      taken = subject.offer(std::move(candidate));
      if (taken) break;
    }
  }
}

// The first of those cases that is taken, if any.
void offer_gathered_scales(Subject& subject) {
  const Family* family = family_of(subject.current());
  if (family == nullptr || family->shrinking.with_gathered_scales == nullptr) return;
  for (Case& candidate : family->shrinking.with_gathered_scales(subject.current())) {
    if (subject.offer(std::move(candidate))) return;
  }
}

}  // namespace

Case with_scalar_parameters(const Subject& subject) {
  Case result = subject.current();
  for (const Role& role : roles_of(subject.current())) {
    if (role.part != InputPart::scale && role.part != InputPart::zero_point) continue;
    const Tensor& parameter = *subject.current().input(role.position);
    if (parameter.shape.empty() || parameter.elements() == 0) continue;
    result.inputs[role.position] = element_as_scalar(parameter, parameter_of_wrong_element(subject, parameter));
  }
  erase_attribute(result, "axis");
  erase_attribute(result, "block_size");
  return result;
}

void scalar_parameters(Subject& subject) {
  const Case& current = subject.current();
  if (current.input(0) == nullptr) return;
  Case all = with_scalar_parameters(subject);
  if (!(all == current)) subject.offer(std::move(all));
  for (const Role& role : roles_of(subject.current())) {
    if (role.part != InputPart::scale && role.part != InputPart::zero_point) continue;
    const Tensor& parameter = *subject.current().input(role.position);
    if (parameter.shape.empty() || parameter.elements() == 0) continue;
    Case candidate = subject.current();
    candidate.inputs[role.position] = element_as_scalar(parameter, parameter_of_wrong_element(subject, parameter));
    if (subject.offer(std::move(candidate))) return;  // roles refer to the case that was
  }
}

void zero_zero_points(Subject& subject) {
  for (std::size_t position = 0; position < subject.current().inputs.size(); ++position) {
    const auto roles = roles_with(subject.current(), InputPart::zero_point);
    const auto role = std::find_if(roles.begin(), roles.end(), [&](const Role& r) { return r.position == position; });
    if (role == roles.end() || !is_integer(subject.current().input(position)->type)) continue;
    Case zeros = subject.current();
    std::fill(zeros.inputs[position]->bytes.begin(), zeros.inputs[position]->bytes.end(), std::byte{0});
    if (auto shifted = with_values_shifted(subject.current(), *role)) {
      if (subject.offer(std::move(*shifted))) continue;
    }
    if (subject.offer(std::move(zeros))) continue;
    for (std::int64_t i = 0; i < subject.current().input(position)->elements() && !subject.exhausted(); ++i) {
      reduce_zero_point(subject, position, i);
    }
  }
}

void plain_scales(Subject& subject) {
  Case ones = subject.current();
  for (const Role& role : roles_with(subject.current(), InputPart::scale)) {
    Tensor& scale = *ones.inputs[role.position];
    if (!is_number(scale.type)) continue;
    for (std::int64_t i = 0; i < scale.elements(); ++i) set_bits_at(scale, i, one_bits(scale.type));
  }
  if (!(ones == subject.current()) && subject.offer(std::move(ones))) return;
  offer_gathered_scales(subject);
  std::vector<std::size_t> scale_positions;
  for (const Role& role : roles_with(subject.current(), InputPart::scale)) scale_positions.push_back(role.position);
  for (const std::size_t position : scale_positions) {
    if (!is_number(subject.current().input(position)->type)) continue;
    for (std::int64_t i = 0; i < subject.current().input(position)->elements() && !subject.exhausted(); ++i) {
      reduce_scale(subject, position, i);
    }
  }
}

}  // namespace qconform::shrink
