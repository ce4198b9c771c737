// Random quantized graphs: one to eight compute nodes with DequantizeLinear and QuantizeLinear around them.
#pragma once

#include <cstdint>

#include "harness/core/case.h"

namespace qconform {

/// Graph `index` of `seed`: depends on nothing else, and is the same on every machine and compiler. Every graph is
/// within the contract. Blocks of 64 have their own mix of operators. Half of all graphs have powers of two as scales,
/// and most of those compute without rounding; y's scales are fitted to what is computed, and where exact values leave
/// an inner Q more than one value, another scale is tried.
[[nodiscard]] Case graph_case(std::uint64_t seed, std::uint64_t index);

}  // namespace qconform
