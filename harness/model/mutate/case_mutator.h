// Structured mutation of cases: what a fuzzer needs in order to change a case without breaking it.
//
// Everything here is deterministic: the same case and the same random numbers give the same mutant on
// every machine. Mutants stay within kLargestElements and kLargestWork, so that one takes about a
// millisecond to judge.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/tensor.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"

namespace qconform {

// Changes to the values, types and shapes of tensors, for mutants of cases.

/// Stores the value of a numeric type that is nearest to `value`: saturated, ties to even; 0 for NaN
/// in an integer.
void store_number(Tensor& tensor, std::int64_t index, double value);

/// Returns the tensor's numbers in another type. Tensors of types that are not numeric keep theirs.
[[nodiscard]] Tensor converted(const Tensor& tensor, ElementType type);

/// A tensor of `shape` whose elements repeat those of `tensor` in row-major order; random ones where
/// it is empty. `shape` is within the limits.
[[nodiscard]] Tensor reshaped(Rng& rng, const Tensor& tensor, std::vector<std::int64_t> shape);

/// Changes one element, a run of neighbours or all of them: to the type's extreme patterns, to a
/// neighbouring pattern, to one bit less or more, to another element's value, to anything.
void change_values(Rng& rng, Tensor& tensor);

/// Changes one or all elements of a numeric tensor of scales: powers of two, neighbouring floats,
/// common factors, ends of the range in which no float32 product overflows; `odd` allows zero,
/// negative, infinite and NaN ones too.
void change_scales(Rng& rng, Tensor& scales, bool odd);

}  // namespace qconform

namespace qconform::mutation {

// The steps that mutation is made of. Each changes the case in place and reports whether it found something to change;
// whether the result is in contract is the caller's question.

/// These apply the steps of the operator's family: Family::mutation.change, Family::mutation.solve_tie. The operator's
/// name selects the family, whatever its domain has become. False where the family has no such step.
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

}  // namespace qconform::mutation

namespace qconform {

// Mutants.

inline constexpr std::int64_t kLargestElements = 4096;  ///< the most elements of an input, and of the output
inline constexpr std::int64_t kLargestWork = 1 << 16;   ///< products, or elements of an element-wise node

/// Whether a case is small enough to be judged at once.
[[nodiscard]] bool is_small(const Case& test_case, const Classification& classification);

/// A case that differs from `original` in one to three steps: values with extremes, scales near ties
/// and at the ends of their range, shapes with everything that follows from them, attributes, types,
/// versions. About one in sixteen is out of contract on purpose; other mutants of a case in contract
/// are in contract. What the case says of itself (id, note, expectation) is replaced: it no longer holds.
[[nodiscard]] Case mutate(const Case& original, Rng& rng);

/// `first` with some of `second`'s values, parameters or attributes; in contract where `first` is.
[[nodiscard]] Case cross(const Case& first, const Case& second, Rng& rng);

}  // namespace qconform
