// The defects by what they concern: one source file for each list.
#pragma once

#include <span>

#include "harness/diagnose/models/defect.h"

namespace qconform::diagnose {

[[nodiscard]] std::span<const Defect> geometry_defects();
[[nodiscard]] std::span<const Defect> sum_defects();
[[nodiscard]] std::span<const Defect> output_defects();
[[nodiscard]] std::span<const Defect> linear_defects();

inline constexpr OpSet kConvolutions{Op::qlinear_conv, Op::conv_integer};
inline constexpr OpSet kQuantizing{Op::qlinear_conv, Op::quantize_linear};
inline constexpr OpSet kLinear{Op::quantize_linear, Op::dequantize_linear};
inline constexpr OpSet kNoOperators{};

}  // namespace qconform::diagnose
