// A quantized graph as the reference computes it: values, and steps in which everything is decided but the numbers.
//
// Whoever reads a graph (harness/operators/graph) makes a Program of it; sets.h says which outputs are right, and
// interpreter.h computes it as written. Both see the same steps, so shapes, taps and broadcasting are worked out once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "reference/graph/taps.h"
#include "reference/linear_quantization/dequantize_linear.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/element.h"
#include "reference/numerics/requantize.h"

namespace qconform::reference::graph {

using Shape = std::vector<std::int64_t>;

/// Number of a value in Program::values.
using ValueId = std::size_t;

struct Value {
  ElementType type =
      ElementType::undefined;  ///< `none`: of integers that are no data (shapes, indices), or of truth values
  Shape shape;                 ///< row-major
  /// The elements of an input or initializer, exact; empty of a value that a step computes.
  std::vector<double> stated = {};
};

/// QuantizeLinear of operand 0; its own parameters are stated.
struct Quantize {
  QuantizeLinear node;
};
/// DequantizeLinear of operand 0.
struct Dequantize {
  DequantizeLinear node;
};

/// Calls f(element of the first factor, element of the second) for each term of output element i.
template <typename F>
void for_each_term(const Taps& taps, const std::optional<TapsPart>& part, std::int64_t i, F f) {
  const auto over = [&](const auto& all) {
    if (!part) return all.for_each(i, f);
    const auto place = [](const std::vector<std::int32_t>& places, std::int64_t at) {
      return places.empty() ? at : std::int64_t{places[static_cast<std::size_t>(at)]};
    };
    const std::int64_t whole = part->outputs.empty() ? i : part->outputs[static_cast<std::size_t>(i)];
    all.for_each(whole, [&](std::int64_t a, std::int64_t b) { f(place(part->a, a), place(part->b, b)); });
  };
  std::visit(over, taps);
}

/// y[i] = (alpha * sum a[..] * b[..] + beta * c[c_index[i]]) / divisor[i]. Operands: a, [b], [c].
/// Conv, ConvTranspose, Gemm, MatMul, AveragePool, ReduceSum, ReduceMean. Where y is of an integer type, the exact sum.
struct WeightedSum {
  Taps taps;
  bool has_factor = true;               ///< b is an operand; otherwise all its elements are 1
  std::vector<std::int64_t> c_index{};  ///< by output element; empty: no c
  double alpha = 1;
  double beta = 1;
  std::vector<std::int32_t> divisor{};  ///< by output element; empty: 1
  /// A MatMulNBits permits by its accuracy_level that `a` is quantized to 8 bits in blocks of so many terms, each
  /// by its largest magnitude (4), or rounded to a type of so many bits of precision (2, 3). 0: neither.
  std::int64_t activation_block = 0;
  int activation_bits = 0;
  std::optional<TapsPart> part{};  ///< nothing: values are whole

  template <typename F>
  void for_each_term(std::size_t i, F f) const {
    graph::for_each_term(taps, part, static_cast<std::int64_t>(i), std::move(f));
  }
  [[nodiscard]] bool permits_narrow_activations() const { return activation_block > 0 || activation_bits > 0; }
  /// The taps of a product of two whole matrices; null for any other sum.
  [[nodiscard]] const MatrixTaps* whole_product() const {
    return has_factor && !part ? std::get_if<MatrixTaps>(&taps) : nullptr;
  }
};

/// y[i] = the largest (or smallest) of operand 0's elements in its taps. MaxPool, ReduceMax, ReduceMin.
struct Extreme {
  Taps taps;
  bool smallest = false;
  std::optional<TapsPart> part{};

  template <typename F>
  void for_each_term(std::size_t i, F f) const {
    graph::for_each_term(taps, part, static_cast<std::int64_t>(i), std::move(f));
  }
};

/// y[i] = element `index[i]` of operand `operand[i]`; operand -1 is the number 0. Transpose, Reshape, Concat, Slice,
/// Pad, Expand, Gather, Split (a step for each output), Identity, DepthToSpace, nearest Resize.
struct Move {
  std::vector<std::int32_t> operand;  ///< by output element; empty: 0 everywhere
  std::vector<std::int64_t> index;    ///< by output element; empty: i
};

enum class Function : std::uint8_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  neg,
  abs,
  relu,
  leaky_relu,    ///< alpha
  hard_sigmoid,  ///< max(0, min(1, alpha * x + beta))
  clip,          ///< min(max(x, alpha), beta); alpha may exceed beta: then beta
  sigmoid,
  tanh,
  erf,
  gelu,       ///< x/2 * (1 + erf(x / sqrt 2))
  gelu_tanh,  ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
  cast,       ///< to the value's type, a float type
  where,      ///< operand 0 chooses between operands 1 and 2
  either,     ///< operand 0 or operand 1: the text leaves open which
  wrap32,     ///< an integer in two's complement of 32 bits
  sqrt,
  exp,
  log,
  pow,            ///< a to the power of b
  prelu,          ///< x, or b * x below 0
  equal,          ///< 1 or 0, as are the next four
  less,           ///< a < b
  less_or_equal,  ///< a <= b
  logical_and,
  logical_or,
  logical_not,
  dynamic_scale,   ///< (a - b) / 255; of a = b = 0 any number from 0 on
  round_saturate,  ///< round a half to even, add b, saturate to the value's type, an integer type
};

/// y[i] = function(operand 0 [index 0 of i], ...), with broadcasting worked out.
struct Elementwise {
  Function function = Function::add;
  /// By operand, then by output element; an empty list is i itself, and a list of one number is that for all.
  std::vector<std::vector<std::int64_t>> index{};
  double alpha = 0;
  double beta = 0;

  /// Returns the element of an operand that output element i is computed from.
  [[nodiscard]] std::size_t element_of(std::size_t operand, std::size_t i) const {
    if (operand >= index.size() || index[operand].empty()) return i;
    const std::vector<std::int64_t>& list = index[operand];
    return static_cast<std::size_t>(list.size() == 1 ? list[0] : list[i]);
  }
};

/// y[i] = exp(x[i]) / sum of exp(x[j]) over the elements of its own row. Operand 0 is seen as [outer, length, inner].
struct Softmax {
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

/// y[i] = (x[i] - mean) / sqrt(variance + epsilon) of the `length` elements of its row: the tensor is [outer, length].
/// LayerNormalization, InstanceNormalization, GroupNormalization, without their scale and bias. Where not `centred`,
/// x[i] / sqrt(mean of squares + epsilon): RMSNormalization.
struct Normalize {
  std::int64_t length = 1;
  double epsilon = 1e-5;
  bool centred = true;
};

/// y[i] = which element of its row is the largest: an index along the axis, of type int64.
struct ArgMax {
  std::int64_t length = 1;
  std::int64_t inner = 1;
  bool smallest = false;           ///< ArgMin
  bool select_last_index = false;  ///< the last of equal elements
};

/// y[i] = clamp(rne(x[i] * sa * sb / sy) + zero point): QLinearMatMul behind its exact sum.
struct Requantize {
  std::vector<Requantization> parameters;  ///< by element, or one
};

/// The k largest elements of each row, or where they stand in it. Operand 0 is seen as [outer, length, inner].
struct TopK {
  std::int64_t length = 1;
  std::int64_t inner = 1;
  std::int64_t k = 1;
  bool smallest = false;
  bool sorted = true;    ///< the largest first, of equal ones the lower index; otherwise in any order
  bool indices = false;  ///< indices of type int64, in place of the elements
};

struct Step {
  std::variant<Quantize, Dequantize, WeightedSum, Extreme, Move, Elementwise, Softmax, ArgMax, Requantize, TopK,
               Normalize>
      what;
  std::vector<ValueId> operands;
  ValueId result = 0;
  std::size_t node = 0;  ///< its number in the graph
};

struct Program {
  std::vector<Value> values;
  std::vector<Step> steps;  ///< in an order in which each finds its operands computed
  std::vector<ValueId> outputs;
  /// Whether conditions (a), (b), (d) and (f) of exact values hold: every scale, factor, slope and divisor is a power
  /// of two within the domain, every bias has the scale of its sum, and no step rounds whatever the numbers are.
  bool may_be_exact = false;
};

}  // namespace qconform::reference::graph
