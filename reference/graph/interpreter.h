// A program computed as it is written, one operation after the other, each rounded to its type; or with units of it
// computed as integer convolutions.
//
// InterpreterArithmetic names one of the many right ways to do so. The interpreter shares no rule with sets.h but
// QuantizeLinear's and DequantizeLinear's, so that each of its answers must lie in the sets, and a set that lacks one
// is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/graph/program.h"

namespace qconform::reference::graph {

/// In which order the terms of a sum are added.
enum class SumOrder : std::uint8_t {
  forward,
  backward,
  pairwise,  ///< both halves, then the two sums
  blocked,   ///< eight partial sums, term i to sum i % 8; these forward
};

struct InterpreterArithmetic {
  SumOrder order = SumOrder::forward;
  bool fma = false;               ///< fused multiply-add in sums, HardSigmoid and alpha * sum + beta * c
  bool flush_subnormals = false;  ///< operands and results below 2^-126 are 0, of the same sign
  bool double_sums = false;       ///< a WeightedSum, its bias and divisor in float64, rounded once at its end
};

/// Every value of the program, by ValueId: row-major elements as exact numbers of the value's type. float16 and
/// bfloat16 are computed in float32 and rounded at the end of each step. NaN where an operation has no number;
/// QuantizeLinear makes of it what reference::quantize_linear() does.
[[nodiscard]] std::vector<std::vector<double>> interpret(const Program& program,
                                                         const InterpreterArithmetic& arithmetic);

/// Computes the elements of a step's result in place of the step, from the values so far.
using StepResult = std::function<std::vector<double>(const std::vector<std::vector<double>>& values)>;

/// Computes a program with other results for some steps: `instead` has one entry for each step, an empty function where
/// the step is as written.
[[nodiscard]] std::vector<std::vector<double>> interpret(const Program& program,
                                                         const InterpreterArithmetic& arithmetic,
                                                         std::span<const StepResult> instead);

/// Elements as a tensor's bytes: numbers of the type, packed as ONNX packs them; and back. `type` is not `none`.
[[nodiscard]] std::vector<std::byte> to_bytes(ElementType type, const std::vector<double>& elements);
[[nodiscard]] std::vector<double> from_bytes(ElementType type, std::span<const std::byte> bytes, std::size_t count);

// Quantized units of a graph as the integer convolutions that may stand in their place.
//
// A unit is DequantizeLinear, DequantizeLinear -> Conv, ConvTranspose, Gemm or MatMul [-> Relu, Clip] ->
// QuantizeLinear. Its one convolution gives an answer of the unit's set: Q's rounding is monotone, so that an
// activation before it is a clamp behind it, and a bias in units of x_scale * w_scale belongs to the sum. A
// ConvTranspose is a convolution over x spread out by its strides, with zero points between, and turned filters: a zero
// point adds nothing.

/// The float biases that a unit takes into its sum, as the integer B = rne(RN32(b / RN32(x_scale * w_scale))).
enum class FloatBias : std::uint8_t {
  exact,    ///< those that are B * x_scale * w_scale rounded to float32: right under every profile
  rounded,  ///< any, as tier fused-int8 admits it
};

/// B for a float bias b, by the exact product of the scales; nothing where b is infinite or NaN, or the product is 0 in
/// float32.
[[nodiscard]] std::optional<double> integer_bias(double bias, double product_of_scales);

struct FusedUnit {
  /// An activation, as Q's output has its ends: min(max(y, lowest), highest).
  struct Clamp {
    std::int32_t lowest = 0;
    std::int32_t highest = 0;
  };

  std::size_t quantize = 0;  ///< its last step, which the convolution and the clamps stand for
  ValueId x = 0;             ///< the quantized data that it reads
  /// The position in x of each element of the convolution's x; -1 is x_zero_point. Empty: all, in their order.
  std::vector<std::int64_t> x_index;
  QLinearConv convolution;         ///< a product of matrices is one of 1x1, with the rows as batch
  std::vector<std::byte> w;        ///< as the convolution reads them
  std::vector<Clamp> clamps;       ///< in the order of the activations
  std::vector<std::size_t> nodes;  ///< nodes of the graph that nothing but the unit reads, in their order
};

/// The units of a program for which that is right: one positive scale within the domain for x and y, weights that are
/// stated, and that have one scale and zero point for each output channel; 8-bit x, w and y; an int32 bias without zero
/// point, whose scale is x_scale * w_scale rounded to float32, or a float one that is stated and that `float_bias`
/// takes; no sum that leaves int32. What stands between is read by the unit alone.
[[nodiscard]] std::vector<FusedUnit> fused_units(const Program& program, FloatBias float_bias = FloatBias::exact);

}  // namespace qconform::reference::graph
