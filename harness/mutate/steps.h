// The steps that mutation is made of. Each changes the case in place and reports whether it found
// something to change; whether the result is in contract is the caller's question.
#pragma once

#include "harness/core/case.h"
#include "harness/suites/rng.h"

namespace qconform::mutation {

/// QLinearConv and ConvInteger: shapes with all that depends on them, geometry, groups, types, per-tensor or
/// per-channel parameters, bias, saturating data.
bool change_convolution(Case& test_case, Rng& rng);

/// QuantizeLinear and DequantizeLinear: shape and placement of parameters, types, version, attributes.
bool change_linear(Case& test_case, Rng& rng);

/// Solves a parameter so that one output lies on a tie of rounding or one float beside it.
bool solve_tie(Case& test_case, Rng& rng);

/// Breaks a rule, mostly: wrong types, shapes, attributes, inputs, versions.
void spoil(Case& test_case, Rng& rng);

/// Tags, rules, note, recorded output: what a reader has to carry along.
void change_remarks(Case& test_case, Rng& rng);

// Shared by the steps.

/// The input of that name by the operator's signature, or null when it is omitted.
[[nodiscard]] Tensor* input_named(Case& test_case, std::string_view name);
/// Puts a tensor there, or omits the input. The operator has an input of that name.
void set_input(Case& test_case, std::string_view name, std::optional<Tensor> tensor);
void set_attribute(Case& test_case, std::string_view name, Attribute::Value value);
void remove_attribute(Case& test_case, std::string_view name);
/// The value of an attribute when it is there and of that type.
template <typename T>
[[nodiscard]] const T* attribute_of(const Case& test_case, std::string_view name) {
  const Attribute* attribute = test_case.attribute(name);
  return attribute == nullptr ? nullptr : std::get_if<T>(&attribute->value);
}

}  // namespace qconform::mutation
