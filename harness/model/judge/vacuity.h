// Decides whether a right output proves anything.
#pragma once

#include <string>

#include "harness/core/tensor.h"
#include "harness/model/operator.h"

namespace qconform {

/// Why passing on this output would prove nothing, or an empty string. `right` is the reference's answer. An output of
/// fewer than kFewElements elements is never vacuous: somebody made the case by hand, or shrinking did, to show one
/// thing.
[[nodiscard]] std::string why_vacuous(const Tensor& right, const TieCounts& ties);

inline constexpr std::int64_t kFewElements = 16;

}  // namespace qconform
