// ONNX's Cast of a tensor.
#pragma once

#include <optional>

#include "harness/core/tensor.h"

namespace qconform {

/// The tensor's values as `type`. Floats round to nearest, ties to even, on the way to floats, and towards zero on the
/// way to integers; integers that do not fit keep their low bits. Beyond the largest number of a float8 type lies that
/// number if `saturate`. nullopt for other types (complex, float8e8m0, strings), and where ONNX leaves the value open:
/// NaN and what does not fit, from a float to an integer.
[[nodiscard]] std::optional<Tensor> cast(const Tensor& tensor, ElementType type, bool saturate);

}  // namespace qconform
