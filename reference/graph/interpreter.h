// A program computed as it is written: one operation after the other, each rounded to its type.
//
// Arithmetic names one of the many right ways to do so. The interpreter shares no rule with sets.h but QuantizeLinear's
// and DequantizeLinear's, so that each of its answers must lie in the sets, and a set that lacks one is wrong.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "reference/graph/program.h"

namespace qconform::reference::graph {

/// In which order the terms of a sum are added.
enum class SumOrder : std::uint8_t {
  forward,
  backward,
  pairwise,  ///< both halves, then the two sums
  blocked,   ///< eight partial sums, term i to sum i % 8; these forward
};

struct Arithmetic {
  SumOrder order = SumOrder::forward;
  bool fma = false;               ///< fused multiply-add in sums, HardSigmoid and alpha * sum + beta * c
  bool flush_subnormals = false;  ///< operands and results below 2^-126 are 0, of the same sign
  bool double_sums = false;       ///< a WeightedSum, its bias and divisor in float64, rounded once at its end
};

/// Every value of the program, by ValueId: row-major elements as exact numbers of the value's type. float16 and
/// bfloat16 are computed in float32 and rounded at the end of each step. NaN where an operation has no number;
/// QuantizeLinear makes of it what reference::quantize_linear() does.
[[nodiscard]] std::vector<std::vector<double>> interpret(const Program& program, const Arithmetic& arithmetic);

/// Computes the elements of a step's result in place of the step, from the values so far.
using StepResult = std::function<std::vector<double>(const std::vector<std::vector<double>>& values)>;

/// Computes a program with other results for some steps: `instead` has one entry for each step, an empty function where
/// the step is as written.
[[nodiscard]] std::vector<std::vector<double>> interpret(const Program& program, const Arithmetic& arithmetic,
                                                         std::span<const StepResult> instead);

/// Elements as a tensor's bytes: numbers of the type, packed as ONNX packs them; and back. `type` is not `none`.
[[nodiscard]] std::vector<std::byte> to_bytes(ElementType type, const std::vector<double>& elements);
[[nodiscard]] std::vector<double> from_bytes(ElementType type, std::span<const std::byte> bytes, std::size_t count);

}  // namespace qconform::reference::graph
