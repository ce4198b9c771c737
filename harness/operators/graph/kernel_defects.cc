// Fused kernels of quantized graphs: what they compute wrongly, and other right ways to compute it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "harness/operators/graph/pipeline.h"
#include "reference/graph/interpreter.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::diagnose {
namespace {

namespace graph = reference::graph;

float to_float(double value) {
  return static_cast<float>(value);
}

// A sum of dequantized data and weights, as a kernel in integers sees it.
struct IntegerSum {
  const graph::WeightedSum& sum;
  const graph::Dequantize& x;
  const graph::Dequantize& w;
  const GraphElements& x_data;
  const GraphElements& w_data;
};
std::optional<IntegerSum> integer_sum(const GraphStep& step, const graph::Step& of) {
  const auto* sum = std::get_if<graph::WeightedSum>(&of.what);
  if (sum == nullptr || !sum->has_factor || sum->alpha != 1 || sum->beta != 1 || !sum->divisor.empty()) return {};
  const auto* x = step.made<graph::Dequantize>(of.operands[0]);
  const auto* w = step.made<graph::Dequantize>(of.operands[1]);
  if (x == nullptr || w == nullptr || x->node.x_scale.size() != 1) return {};
  return IntegerSum{*sum, *x, *w, step.values[step.maker(of.operands[0]).operands[0]],
                    step.values[step.maker(of.operands[1]).operands[0]]};
}

// One output element of it.
struct Accumulated {
  double total = 0;  // the sum of integers: exact
  double scale = 0;  // the weights' scale; 0: they have several
};
Accumulated accumulated(const IntegerSum& from, std::size_t element) {
  Accumulated result;
  bool is_first = true;
  const auto add = [&](std::int64_t a, std::int64_t b) {
    const std::size_t parameter = from.w.node.layout.parameter_of(b);
    const double scale = from.w.node.x_scale[parameter];
    result.scale = is_first || result.scale == scale ? scale : 0;
    is_first = false;
    result.total += (from.x_data[static_cast<std::size_t>(a)] - from.x.node.x_zero_point[0]) *
                    (from.w_data[static_cast<std::size_t>(b)] - from.w.node.x_zero_point[parameter]);
  };
  from.sum.for_each_term(element, add);
  return result;
}

// Its bias in units of sx * sw: an integer where an integer kernel could add it.
std::optional<double> bias_in_units(const GraphStep& step, const graph::Step& of, const IntegerSum& from,
                                    std::size_t element, double unit) {
  if (from.sum.c_index.empty()) return 0.0;
  const double bias = step.values[of.operands.back()][static_cast<std::size_t>(from.sum.c_index[element])] / unit;
  if (bias != std::nearbyint(bias) || std::fabs(bias) > 0x1p31) return {};
  return bias;
}

// Wrong sums.

GraphChange wrap_sum(const GraphStep& step) {
  const auto from = integer_sum(step, step.step());
  if (!from) return {};
  GraphElements y = step.result();
  bool has_wrapped = false;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Accumulated sum = accumulated(*from, i);
    const double unit = from->x.node.x_scale[0] * sum.scale;
    if (unit == 0) continue;
    const auto bias = bias_in_units(step, step.step(), *from, i, unit);
    if (!bias) continue;
    const auto exact = static_cast<std::int64_t>(sum.total + *bias);
    const auto wrapped = static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
    if (wrapped == exact) continue;
    y[i] = static_cast<double>(wrapped) * unit;
    has_wrapped = true;
  }
  return has_wrapped ? GraphChange{std::move(y), {}} : GraphChange{};
}

// As symmetric int8: in steps of the largest magnitude / 127.
void round_to_int8(GraphElements& elements, std::size_t begin, std::size_t end) {
  double largest = 0;
  for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, std::fabs(elements[i]));
  const double step = static_cast<double>(to_float(largest) / 127);
  for (std::size_t i = begin; i < end && step > 0; ++i) {
    elements[i] = std::clamp(reference::round_half_even(elements[i] / step), -127.0, 127.0) * step;
  }
}

GraphChange requantize_weights(const GraphStep& step) {
  const auto* sum = std::get_if<graph::WeightedSum>(&step.step().what);
  if (!sum->has_factor) return {};
  const graph::ValueId w = step.step().operands[1];
  const bool is_constant =
      step.made_by[w] ? step.made<graph::Dequantize>(w) != nullptr && step.is_constant[step.maker(w).operands[0]]
                      : bool{step.is_constant[w]};
  if (!is_constant) return {};
  GraphElements weights = step.operand(1);
  round_to_int8(weights, 0, weights.size());
  if (weights == step.operand(1)) return {};
  return {std::nullopt, {{1, std::move(weights)}}};
}

// Float data in front of weights that are dequantized: rows of k elements, in blocks.
GraphChange quantize_activations(const GraphStep& step) {
  constexpr std::size_t kBlock = 32;
  const auto& sum = std::get<graph::WeightedSum>(step.step().what);
  const auto* taps = std::get_if<graph::MatrixTaps>(&sum.taps);
  if (taps == nullptr || !sum.has_factor || taps->a_inner != 1 || taps->k == 0) return {};
  const auto* w = step.made<graph::Dequantize>(step.step().operands[1]);
  const bool is_constant = w != nullptr && step.is_constant[step.maker(step.step().operands[1]).operands[0]];
  if (!is_constant || step.made<graph::Dequantize>(step.step().operands[0]) != nullptr) return {};
  GraphElements x = step.operand(0);
  const auto row = static_cast<std::size_t>(taps->k);
  for (std::size_t begin = 0; begin + row <= x.size(); begin += row) {
    for (std::size_t block = 0; block < row; block += kBlock) {
      round_to_int8(x, begin + block, begin + std::min(block + kBlock, row));
    }
  }
  return {std::nullopt, {{0, std::move(x)}}};
}

// Q. Every element by `rounded`, in front of the zero point; nothing: as it is.
template <typename Rounded>
GraphChange requantized(const GraphStep& step, Rounded rounded) {
  const auto& node = std::get<graph::Quantize>(step.step().what).node;
  if (!is_integer(node.y_type)) return {};
  const reference::IntegerRange range = reference::range_of(node.y_type);
  GraphElements y = step.result();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t parameter = node.layout.parameter_of(static_cast<std::int64_t>(i));
    const auto integer = rounded(i, node.y_scale[parameter], node.y_zero_point[parameter]);
    if (integer) y[i] = std::clamp<double>(*integer, range.lo, range.hi);
  }
  return y == step.result() ? GraphChange{} : GraphChange{std::move(y), {}};
}

// The value that moves alone made this one of: a kernel with its channels last stands between two of them.
graph::ValueId unmoved(const GraphStep& step, graph::ValueId id) {
  while (step.made<graph::Move>(id) != nullptr && step.maker(id).operands.size() == 1) id = step.maker(id).operands[0];
  return id;
}

bool is_fused_elementwise(const GraphStep& step, const graph::Step& maker) {
  const auto is_dequantized = [&](graph::ValueId id) {
    return step.made<graph::Dequantize>(unmoved(step, id)) != nullptr;
  };
  if (const auto* function = std::get_if<graph::Elementwise>(&maker.what)) {
    const bool is_either = function->function == graph::Function::add || function->function == graph::Function::mul;
    return is_either && std::all_of(maker.operands.begin(), maker.operands.end(), is_dequantized);
  }
  const auto* pool = std::get_if<graph::WeightedSum>(&maker.what);
  return pool != nullptr && !pool->has_factor && !pool->divisor.empty() && is_dequantized(maker.operands[0]);
}

GraphChange add_zero_point_first(const GraphStep& step) {
  const graph::ValueId x = unmoved(step, step.step().operands[0]);
  if (!step.made_by[x] || !is_fused_elementwise(step, step.maker(x))) return {};
  return requantized(step, [&](std::size_t i, double scale, std::int32_t zero_point) -> std::optional<double> {
    return reference::round_half_even(step.operand(0)[i] / scale + zero_point);
  });
}

GraphChange wrap_softmax(const GraphStep& step) {
  if (step.made<graph::Softmax>(step.step().operands[0]) == nullptr) return {};
  const auto& node = std::get<graph::Quantize>(step.step().what).node;
  const std::int64_t modulus = std::int64_t{1} << bits_of(node.y_type);
  const std::int64_t lowest = reference::range_of(node.y_type).lo;
  return requantized(step, [&](std::size_t i, double scale, std::int32_t zero_point) -> std::optional<double> {
    const double whole = reference::round_half_even(step.operand(0)[i] / scale) + zero_point;
    if (std::fabs(whole) > 0x1p31) return {};
    const std::int64_t low = (static_cast<std::int64_t>(whole) - lowest) % modulus;
    return static_cast<double>((low < 0 ? low + modulus : low) + lowest);
  });
}

// The largest exponential of a row is e^-5 of the largest float, over the length of the row. What becomes infinite when
// it is multiplied by 1 / y_scale has no integer: x86 makes 0 of it for uint8, and the lowest int32 for int8, which a
// negative zero point wraps into the highest ones.
GraphChange overflow_in_softmax(const GraphStep& step) {
  const auto* softmax = step.made<graph::Softmax>(step.step().operands[0]);
  if (softmax == nullptr) return {};
  const auto& node = std::get<graph::Quantize>(step.step().what).node;
  const auto* x = step.made<graph::Dequantize>(step.maker(step.step().operands[0]).operands[0]);
  if (x == nullptr || x->node.x_type != node.y_type || bits_of(node.y_type) != 8) return {};
  const bool is_signed = node.y_type == ElementType::int8;
  const GraphElements& shares = step.operand(0);
  if (shares.size() == 0) return {};
  const auto inner = static_cast<std::size_t>(softmax->inner);
  const auto length = static_cast<std::size_t>(softmax->length);
  const auto row_of = [&](std::size_t i) { return i / (length * inner) * inner + i % inner; };
  std::vector<double> largest(shares.size() / length);
  for (std::size_t i = 0; i < shares.size(); ++i) largest[row_of(i)] = std::max(largest[row_of(i)], shares[i]);
  const double room = static_cast<double>(length) * std::exp(5.0);
  return requantized(step, [&](std::size_t i, double scale, std::int32_t zero_point) -> std::optional<double> {
    const bool overflows = shares[i] / largest[row_of(i)] * std::trunc(1 / to_float(scale)) > room;
    if (!overflows) return {};
    if (is_signed) return zero_point < 0 ? 127 : -128;
    return zero_point;
  });
}

// A runtime that chooses this precision keeps float32 data in bfloat16, and adds in float32. Weights that a kernel
// reads in integers and dequantizes itself may stay float32.
template <bool kWeights>
std::vector<GraphElements> keep_in_bfloat16(const graph::Program& program) {
  constexpr auto kWide = ElementType::float32;
  constexpr auto kNarrow = ElementType::bfloat16;
  std::vector<bool> is_weights(program.values.size(), false);
  for (const graph::Step& step : program.steps) {
    const auto* sum = std::get_if<graph::WeightedSum>(&step.what);
    if (sum != nullptr && sum->has_factor) is_weights[step.operands[1]] = true;
  }
  graph::Program narrow = program;
  std::vector<bool> stays(program.values.size(), false);
  for (graph::Step& step : narrow.steps) {
    auto* dequantize = std::get_if<graph::Dequantize>(&step.what);
    if (dequantize == nullptr || dequantize->node.y_type != kWide) continue;
    stays[step.result] = !kWeights && is_weights[step.result];
    if (!stays[step.result]) dequantize->node.y_type = kNarrow;
  }
  for (std::size_t i = 0; i < narrow.values.size(); ++i) {
    graph::Value& value = narrow.values[i];
    if (value.type != kWide || stays[i]) continue;
    value.type = kNarrow;
    for (double& x : value.stated) x = reference::rounded_to(reference::float_format(kNarrow), x);
  }
  for (graph::Step& step : narrow.steps) {
    auto* quantize = std::get_if<graph::Quantize>(&step.what);
    if (quantize != nullptr && quantize->node.x_type == kWide && !stays[step.operands[0]])
      quantize->node.x_type = kNarrow;
  }
  return graph::interpret(narrow, {});
}

// Right ones.

template <graph::SumOrder kOrder, bool kFused, bool kDouble, bool kFlushed>
std::vector<GraphElements> interpreted(const graph::Program& program) {
  return graph::interpret(program,
                          {.order = kOrder, .fma = kFused, .flush_subnormals = kFlushed, .double_sums = kDouble});
}

// The answer of an integer kernel: Q of a sum in integers, scaled in float32.
template <typename Scaled>
GraphChange fuse_in_integers(const GraphStep& step, Scaled scaled) {
  const graph::ValueId x = step.step().operands[0];
  const auto from = step.made_by[x] ? integer_sum(step, step.maker(x)) : std::nullopt;
  if (!from) return {};
  return requantized(step, [&](std::size_t i, double sy, std::int32_t zero_point) -> std::optional<double> {
    const Accumulated sum = accumulated(*from, i);
    const double sx = from->x.node.x_scale[0];
    if (sum.scale == 0) return {};
    const auto bias = bias_in_units(step, step.maker(x), *from, i, sx * sum.scale);
    if (!bias) return {};
    const float value = scaled(to_float(sum.total + *bias), to_float(sx), to_float(sum.scale), to_float(sy));
    return static_cast<double>(reference::round_half_even(value)) + zero_point;
  });
}

GraphChange multiply_by_one(const GraphStep& step) {
  return fuse_in_integers(step, [](float total, float sx, float sw, float sy) { return total * (sx * sw / sy); });
}
GraphChange multiply_one_by_one(const GraphStep& step) {
  return fuse_in_integers(step, [](float total, float sx, float sw, float sy) { return total * sx * sw / sy; });
}
GraphChange multiply_by_reciprocal(const GraphStep& step) {
  return fuse_in_integers(step,
                          [](float total, float sx, float sw, float sy) { return total * (sx * (sw * (1 / sy))); });
}

// Float sums in other associations, from a bias on.
template <typename Sum>
GraphChange sum_in_float(const GraphStep& step, Sum sum) {
  const graph::ValueId x = step.step().operands[0];
  const auto from = step.made_by[x] ? integer_sum(step, step.maker(x)) : std::nullopt;
  if (!from) return {};
  const graph::Step& of = step.maker(x);
  return requantized(step, [&](std::size_t i, double sy, std::int32_t zero_point) -> std::optional<double> {
    const bool has_bias = !from->sum.c_index.empty();
    float total =
        has_bias ? to_float(step.values[of.operands.back()][static_cast<std::size_t>(from->sum.c_index[i])]) : 0.0F;
    const float quotient = sum(*from, i, total, to_float(sy));
    return static_cast<double>(reference::round_half_even(quotient)) + zero_point;
  });
}

template <typename Term>
void for_each_term(const IntegerSum& from, std::size_t element, Term term) {
  const auto visit = [&](std::int64_t a, std::int64_t b) {
    const std::size_t parameter = from.w.node.layout.parameter_of(b);
    term(to_float(from.x_data[static_cast<std::size_t>(a)] - from.x.node.x_zero_point[0]),
         to_float(from.x.node.x_scale[0]),
         to_float(from.w_data[static_cast<std::size_t>(b)] - from.w.node.x_zero_point[parameter]) *
             to_float(from.w.node.x_scale[parameter]));
  };
  from.sum.for_each_term(element, visit);
}

GraphChange start_with_bias(const GraphStep& step) {
  return sum_in_float(step, [](const IntegerSum& from, std::size_t i, float total, float sy) {
    for_each_term(from, i, [&](float x, float sx, float w) { total += x * sx * w; });
    return total / sy;
  });
}
GraphChange divide_weights_before(const GraphStep& step) {
  return sum_in_float(step, [](const IntegerSum& from, std::size_t i, float total, float sy) {
    total /= sy;
    for_each_term(from, i, [&](float x, float sx, float w) { total += x * sx * (w / sy); });
    return total;
  });
}
GraphChange fold_scale_into_weights(const GraphStep& step) {
  return sum_in_float(step, [](const IntegerSum& from, std::size_t i, float total, float sy) {
    for_each_term(from, i, [&](float x, float sx, float w) { total += x * (w * sx); });
    return total / sy;
  });
}
GraphChange multiply_by_inverse(const GraphStep& step) {
  if (step.made<graph::WeightedSum>(step.step().operands[0]) == nullptr) return {};  // a Q alone divides
  return requantized(step, [&](std::size_t i, double scale, std::int32_t zero_point) -> std::optional<double> {
    return static_cast<double>(reference::round_half_even(to_float(step.operand(0)[i]) * (1 / to_float(scale)))) +
           zero_point;
  });
}

using enum graph::SumOrder;

constexpr Defect right(std::string_view id, std::string_view description, std::string_view trigger,
                       void (*replace)(Stages& stages)) {
  return {.id = id,
          .description = description,
          .operators = {kGraphSubject},
          .trigger = trigger,
          .rule = "formula",
          .evidence = "what right runtimes do",
          .admitted = {kGraphSubject},
          .replace = replace};
}

constexpr std::string_view kRounded = "sums that float32 rounds, near a tie";
constexpr std::string_view kScaled = "a quantized sum with scales that are no powers of two, near a tie";

constexpr std::string_view kChoosesBfloat16 = "OpenVINO on processors with AVX512_BF16 or AMX";
constexpr std::string_view kKeepsFloat32 = "OpenVINO: INFERENCE_PRECISION_HINT=f32, the default of backend openvino";

constexpr Defect kKernels[] = {
    {.id = "fused-int32-wrap",
     .description = "sums of int32, the bias included, wrap",
     .operators = {kGraphSubject},
     .trigger = "a sum beyond int32 in units of sx * sw",
     .rule = "formula",
     .replace = [](Stages& s) { s.set(graph_stage::sum, wrap_sum); }},
    {.id = "weights-requantized",
     .description = "weights are rounded to symmetric int8 with one scale",
     .operators = {kGraphSubject},
     .trigger = "weights that symmetric int8 with one scale does not hold",
     .rule = "formula",
     .evidence = "onnxsim#749",
     .replace = [](Stages& s) { s.set(graph_stage::sum, requantize_weights); }},
    {.id = "activations-int8-by-block",
     .description = "float data in front of dequantized weights of MatMul or Gemm are rounded to int8, in blocks of 32",
     .operators = {kGraphSubject},
     .trigger = "float data of a product of matrices that no DQ computes",
     .rule = "formula",
     .evidence = "onnxruntime#28551, onnxruntime#29849",
     .replace = [](Stages& s) { s.set(graph_stage::sum, quantize_activations); },
     .avoided_by = "onnxruntime: session.qdq_matmulnbits_accuracy_level=0"},
    {.id = "bfloat16",
     .description = "float32 data and dequantized weights are kept in bfloat16",
     .operators = {kGraphSubject},
     .trigger = "float32 data that bfloat16 does not hold",
     .rule = "formula",
     .evidence = kChoosesBfloat16,
     .replace = [](Stages& s) { s.set(graph_stage::numbers, keep_in_bfloat16<true>); },
     .avoided_by = kKeepsFloat32},
    {.id = "bfloat16-data",
     .description = "float32 data are kept in bfloat16, but for dequantized weights",
     .operators = {kGraphSubject},
     .trigger = "float32 data that bfloat16 does not hold",
     .rule = "formula",
     .evidence = kChoosesBfloat16,
     .replace = [](Stages& s) { s.set(graph_stage::numbers, keep_in_bfloat16<false>); },
     .avoided_by = kKeepsFloat32},
    {.id = "fused-zp-before-round",
     .description = "fused Add, Mul and AveragePool add the zero point before rounding",
     .operators = {kGraphSubject},
     .trigger = "exact ties with an odd zero point",
     .rule = "C19",
     .evidence = "ONNX Runtime 1.30.0",
     .replace = [](Stages& s) { s.set(graph_stage::quantize, add_zero_point_first); }},
    {.id = "softmax-wraps",
     .description = "Q of a Softmax keeps the low bits in place of saturating",
     .operators = {kGraphSubject},
     .trigger = "a Softmax that Q saturates: of one element, with scale 1/256",
     .rule = "C19",
     .replace = [](Stages& s) { s.set(graph_stage::quantize, wrap_softmax); }},
    {.id = "softmax-of-one-lost",
     .description = "the exponentials of a Softmax overflow where 1 / y_scale is above 148 times the length of a row",
     .operators = {kGraphSubject},
     .trigger = "a short row, such as one of one element, and 1 / y_scale above 148 times its length",
     .rule = "formula",
     .evidence = "ONNX Runtime 1.30.0",
     .replace = [](Stages& s) { s.set(graph_stage::quantize, overflow_in_softmax); }},
    right("sum-forward", "float32 sums, term by term", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<forward, false, false, false>); }),
    right("sum-backward", "float32 sums, from the last term on", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<backward, false, false, false>); }),
    right("sum-pairwise", "float32 sums of halves", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<pairwise, false, false, false>); }),
    right("sum-blocked", "eight float32 sums side by side", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<blocked, false, false, false>); }),
    right("sum-fma", "float32 sums by fused multiply-add", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<forward, true, false, false>); }),
    right("sum-float64", "sums in float64, rounded once", kRounded,
          [](Stages& s) { s.set(graph_stage::numbers, interpreted<forward, false, true, false>); }),
    right("fused-multiplier", "sums of integers, times sx * sw / sy", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, multiply_by_one); }),
    right("fused-one-by-one", "sums of integers, times sx, times sw, divided by sy", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, multiply_one_by_one); }),
    right("fused-reciprocal", "sums of integers, times sx * (sw * (1 / sy))", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, multiply_by_reciprocal); }),
    right("bias-first", "float32 sums that begin with the bias", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, start_with_bias); }),
    right("weights-pre-divided", "float32 sums of weights divided by sy", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, divide_weights_before); }),
    right("x-scale-in-weights", "float32 sums of integers times weights times sx", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, fold_scale_into_weights); }),
    right("q-reciprocal", "Q multiplies by 1 / y_scale", kScaled,
          [](Stages& s) { s.set(graph_stage::quantize, multiply_by_inverse); }),
};

}  // namespace

std::span<const Defect> graph_kernel_defects() {
  return kKernels;
}

std::span<const DefectList> graph_defects() {
  static const DefectList kLists[] = {{DefectTopic::graphs, rewriting_defects()},
                                      {DefectTopic::graphs, graph_constant_defects()},
                                      {DefectTopic::graphs, graph_kernel_defects()},
                                      {DefectTopic::graphs, graph_operator_defects()}};
  return kLists;
}

}  // namespace qconform::diagnose
