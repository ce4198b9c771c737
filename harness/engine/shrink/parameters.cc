// Reductions of scales and zero points.
#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/engine/shrink/attribute_edit.h"
#include "harness/engine/shrink/reductions.h"
#include "harness/engine/shrink/roles.h"
#include "harness/engine/shrink/tensor_edit.h"
#include "harness/operators/element_text.h"
#include "reference/linear_quantization/layout.h"
#include "reference/numerics/small_float.h"

namespace qconform::shrink {
namespace {

std::vector<Role> roles_with(const Case& test_case, Part part) {
  std::vector<Role> roles = roles_of(test_case);
  std::erase_if(roles, [part](const Role& role) { return role.part != part; });
  return roles;
}

// Which element of a parameter that has many the wrong output element uses; 0 when not known.
std::int64_t parameter_of_wrong_element(const Subject& subject, const Tensor& parameter) {
  const Case& test_case = subject.current();
  const std::vector<std::int64_t>& wrong = subject.wrong_element();
  if (tensor_named(test_case, "w") != nullptr) {
    return wrong.size() > 1 && wrong[1] < parameter.elements() ? wrong[1] : 0;
  }
  const Tensor& x = *test_case.input(0);
  if (wrong.size() != x.shape.size()) return 0;
  reference::Contract contract;
  const auto layout = resolve_layout(x.shape, parameter.shape, "scale",
                                     {.has_axis = true,
                                      .axis = integer_of(test_case, "axis", 1),
                                      .has_block_size = true,
                                      .block_size = integer_of(test_case, "block_size", 0)},
                                     contract);
  if (!layout) return 0;
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < wrong.size(); ++i) flat = flat * x.shape[i] + wrong[i];
  return static_cast<std::int64_t>(layout->parameter_of(flat));
}

// Every parameter of more than one element, or of shape [1], as the scalar that the wrong element uses.
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
  const reference::FloatFormat& format = reference::float_format(element_of(type));
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

// The three scales of a requantization act by x_scale * w_scale / y_scale: the whole of it in one of them.
void gather_multiplier(Subject& subject) {
  const auto x = position_of(subject.current(), "x_scale");
  const auto w = position_of(subject.current(), "w_scale");
  const auto y = position_of(subject.current(), "y_scale");
  if (!x || !w || !y) return;
  for (const std::size_t position : {*x, *w, *y}) {
    const Tensor* scale = subject.current().input(position);
    if (scale == nullptr || scale->type != ElementType::float32 || scale->elements() != 1) return;
  }
  const auto value = [&](std::size_t position) { return double{float_at(*subject.current().input(position), 0)}; };
  const double multiplier = value(*x) * value(*w) / value(*y);
  const auto offer = [&](double x_scale, double w_scale, double y_scale) {
    Case candidate = subject.current();
    const auto put = [&](std::size_t position, double scale) {
      Tensor& tensor = *candidate.inputs[position];
      tensor = Tensor::of<float>(ElementType::float32, tensor.shape, std::vector<float>{static_cast<float>(scale)});
    };
    put(*x, x_scale);
    put(*w, w_scale);
    put(*y, y_scale);
    return subject.offer(std::move(candidate));
  };
  if (!std::isfinite(multiplier) || multiplier <= 0 || multiplier > 1e30 || multiplier < 1e-30) return;
  if (offer(1, 1, 1 / multiplier) || offer(1, multiplier, 1) || offer(multiplier, 1, 1)) return;
  if (offer(value(*x) * value(*w), 1, value(*y)) || offer(1, value(*x) * value(*w), value(*y))) return;
}

}  // namespace

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

void jump_to_element(Subject& subject) {
  const Case& current = subject.current();
  const Tensor* x = current.input(0);
  const std::vector<std::int64_t> wrong = subject.wrong_element();
  if (x == nullptr || tensor_named(current, "w") != nullptr || wrong.size() != x->shape.size() || wrong.empty()) return;
  Case candidate = with_scalar_parameters(subject);
  Tensor& values = *candidate.inputs[0];
  for (std::size_t axis = 0; axis < wrong.size(); ++axis) {
    values = with_positions(values, axis, std::vector<std::int64_t>{wrong[axis]});
  }
  values.shape = {1};
  subject.offer(std::move(candidate));
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
  gather_multiplier(subject);
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
