// Reductions of scales and zero points.
#include <algorithm>
#include <optional>

#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/reductions.h"
#include "harness/model/text.h"
#include "reference/numerics/small_float.h"

namespace qconform::shrink {
namespace {

std::vector<Role> roles_with(const Case& test_case, Part part) {
  std::vector<Role> roles = roles_of(test_case);
  std::erase_if(roles, [part](const Role& role) { return role.part != part; });
  return roles;
}

// Returns the index of the parameter's element that the wrong output element uses; 0 when that is not known.
std::int64_t parameter_of_wrong_element(const Subject& subject, const Tensor& parameter) {
  const Family* family = family_of(subject.current());
  if (family == nullptr || family->parameter_index == nullptr) return 0;
  return family->parameter_index(subject.current(), parameter, subject.wrong_element());
}

// The tensor that a zero point belongs to: "x" for "x_zero_point"; null where it is the output.
const Role* owner_of(const std::vector<Role>& roles, const Role& zero_point) {
  for (const Role& role : roles) {
    if (role.zero_point != nullptr && std::string(role.name) + "_zero_point" == zero_point.name) return &role;
  }
  return nullptr;
}

// The zero point becomes 0 and the values move with it, as far as their type allows.
std::optional<Case> with_values_shifted(const Case& test_case, const Role& zero_point) {
  const std::vector<Role> roles = roles_of(test_case);
  const Role* owner = owner_of(roles, zero_point);
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
  if (family == nullptr || family->with_gathered_scales == nullptr) return;
  for (Case& candidate : family->with_gathered_scales(subject.current())) {
    if (subject.offer(std::move(candidate))) return;
  }
}

}  // namespace

Case with_scalar_parameters(const Subject& subject) {
  Case result = subject.current();
  for (const Role& role : roles_of(subject.current())) {
    if (role.part != Part::scale && role.part != Part::zero_point) continue;
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
    if (role.part != Part::scale && role.part != Part::zero_point) continue;
    const Tensor& parameter = *subject.current().input(role.position);
    if (parameter.shape.empty() || parameter.elements() == 0) continue;
    Case candidate = subject.current();
    candidate.inputs[role.position] = element_as_scalar(parameter, parameter_of_wrong_element(subject, parameter));
    if (subject.offer(std::move(candidate))) return;  // roles refer to the case that was
  }
}

void zero_zero_points(Subject& subject) {
  for (std::size_t position = 0; position < subject.current().inputs.size(); ++position) {
    const auto roles = roles_with(subject.current(), Part::zero_point);
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
  for (const Role& role : roles_with(subject.current(), Part::scale)) {
    Tensor& scale = *ones.inputs[role.position];
    if (!is_number(scale.type)) continue;
    for (std::int64_t i = 0; i < scale.elements(); ++i) set_bits_at(scale, i, one_bits(scale.type));
  }
  if (!(ones == subject.current()) && subject.offer(std::move(ones))) return;
  offer_gathered_scales(subject);
  std::vector<std::size_t> scale_positions;
  for (const Role& role : roles_with(subject.current(), Part::scale)) scale_positions.push_back(role.position);
  for (const std::size_t position : scale_positions) {
    if (!is_number(subject.current().input(position)->type)) continue;
    for (std::int64_t i = 0; i < subject.current().input(position)->elements() && !subject.exhausted(); ++i) {
      reduce_scale(subject, position, i);
    }
  }
}

}  // namespace qconform::shrink
