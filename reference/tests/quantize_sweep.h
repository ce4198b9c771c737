// QuantizeLinear on every float32, and DequantizeLinear on every code: the oracle finds the steps of the output, and
// everything between two steps must be equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/kernels/kernels.h"

namespace qconform::reference::oracle {

struct SweepScale {
  float scale;
  std::int32_t zero_point;
  ElementType y_type;  ///< a type of at most 8 bits
  bool saturate = true;
};

/// Runs `set` on float32 patterns and compares with the steps: on chunks of 2^12 neighbouring
/// patterns, those that hold a step and every `stride`-th one. Stride 1 is all 2^32 patterns.
/// Returns the first difference as text; empty when there is none, and where an
/// optimized set has no kernel.
[[nodiscard]] std::string sweep(const KernelSet& set, const SweepScale& parameters, std::int64_t stride);

// The exhaustive check of DequantizeLinear, at two lengths.

/// Every x and every zero point of int8 and uint8, under `scales` scales: borders, subnormals, powers
/// of two, any bit pattern, ordinary. Bit for bit against GMP rationals. Fails the current test.
void expect_every_8_bit_value_dequantized(int scales);

}  // namespace qconform::reference::oracle
