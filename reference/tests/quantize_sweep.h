// QuantizeLinear on every float32, and DequantizeLinear on every code: the oracle finds the steps of the output, and
// everything between two steps must be equal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "reference/kernels/kernels.h"
#include "reference/linear_quantization/linear_quantization.h"
#include "reference/numerics/floats.h"

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

// QuantizeLinear and DequantizeLinear on one element, as patterns of bits.

/// Returns the bits that `run`, quantize_linear() or dequantize_linear(), gives for one element of x.
template <class Node, class Run>
[[nodiscard]] std::uint64_t output_bits(const Node& node, std::uint64_t x_bits, Run run) {
  std::vector<std::byte> x(static_cast<std::size_t>(bytes_for(1, bits_of(node.x_type))));
  std::vector<std::byte> y(static_cast<std::size_t>(bytes_for(1, bits_of(node.y_type))));
  store_bits(x, bits_of(node.x_type), 0, x_bits);
  run(node, x, y);
  return load_bits(y, bits_of(node.y_type), 0);
}

/// The listed members of a set.
[[nodiscard]] inline std::set<std::uint64_t> members(const RightValues& set) {
  std::set<std::uint64_t> patterns;
  for (const RightValues::Range& pattern : set.ranges) patterns.insert(pattern.lo);
  return patterns;
}

}  // namespace qconform::reference::oracle
