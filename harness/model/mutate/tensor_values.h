// Changing what tensors hold: values, types, shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/model/draws/rng.h"

namespace qconform {

/// Whether elements can be read by number_at() and stored by store_number(): integers of up to 32
/// bits, and floats of up to 64.
[[nodiscard]] bool is_numeric(ElementType type);

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
