// Whether a right output proves anything.
#pragma once

#include <string>

#include "harness/core/tensor.h"
#include "harness/operators/operator.h"

namespace qconform {

/// Why passing on this output would prove nothing, or an empty string. `right` is the reference's
/// answer. Outputs of fewer than kFewElements elements are never doubted: they are made by hand, or
/// shrunk, to show one thing.
[[nodiscard]] std::string doubt(const Tensor& right, const TieCounts& ties);

inline constexpr std::int64_t kFewElements = 16;

}  // namespace qconform
