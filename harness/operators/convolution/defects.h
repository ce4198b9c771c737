// Defects of QLinearConv and ConvInteger, by what they are about: a source file for each list.
#pragma once

#include <span>

#include "harness/diagnose/models/defect.h"
#include "harness/operators/convolution/pipeline.h"

namespace qconform::diagnose {

[[nodiscard]] std::span<const Defect> geometry_defects();
[[nodiscard]] std::span<const Defect> sum_defects();
[[nodiscard]] std::span<const Defect> requantization_defects();

inline constexpr OpSet kConvolutions{"QLinearConv", "ConvInteger"};

}  // namespace qconform::diagnose
