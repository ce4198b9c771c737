// The steps that mutation is made of. Each changes the case in place and reports whether it found
// something to change; whether the result is in contract is the caller's question.
#pragma once

#include "harness/core/case.h"
#include "harness/model/draws/rng.h"

namespace qconform::mutation {

// These apply the steps of the operator's family: Family::change, Family::solve_tie. The operator's name selects the
// family, whatever its domain has become. False where the family has no such step.

bool change(Case& test_case, Rng& rng);
bool solve_tie(Case& test_case, Rng& rng);

/// Breaks a rule, mostly: wrong types, shapes, attributes, inputs, versions.
void spoil(Case& test_case, Rng& rng);

/// Tags, rules, note, recorded output: what a reader has to carry along.
void change_remarks(Case& test_case, Rng& rng);

// Shared by the steps.

/// The position of an element; there is one.
[[nodiscard]] std::int64_t draw_index(Rng& rng, const Tensor& tensor);
/// The input of that name by the operator's signature, or null when it is omitted.
[[nodiscard]] Tensor* input_named(Case& test_case, std::string_view name);
/// Puts a tensor there, or omits the input. The operator has an input of that name.
void set_input(Case& test_case, std::string_view name, std::optional<Tensor> tensor);
/// The value of an attribute when it is there and of that type.
template <typename T>
[[nodiscard]] const T* attribute_of(const Case& test_case, std::string_view name) {
  const Attribute* attribute = test_case.attribute(name);
  return attribute == nullptr ? nullptr : std::get_if<T>(&attribute->value);
}

}  // namespace qconform::mutation
