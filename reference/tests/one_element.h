// QuantizeLinear and DequantizeLinear on one element, as patterns of bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "reference/linear_quantization/admissible_bits.h"
#include "reference/linear_quantization/value.h"

namespace qconform::reference::oracle {

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
[[nodiscard]] inline std::set<std::uint64_t> members(const AdmissibleBits& set) {
  return {set.members().begin(), set.members().end()};
}

}  // namespace qconform::reference::oracle
