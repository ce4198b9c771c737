// Operators that compute each element from elements at its own place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;

// Inputs from `first` on are broadcast against each other, and all are operands.
bool emit_broadcast(const NodeLowering& node, Elementwise step, ElementType type) {
  Shape shape = node.shape(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    const auto common = broadcast_shape(shape, node.shape(i));
    if (!common) {
      return node.violate(fmt::format("inputs[{}]", i),
                          fmt::format("{} does not broadcast with {}", shape_text(node.shape(i)), shape_text(shape)));
    }
    shape = *common;
  }
  if (!node.claim(shape)) return false;
  std::vector<ValueId> operands;
  operands.reserve(node.inputs());
  step.index.reserve(node.inputs());
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    operands.push_back(node.id(i));
    const bool is_whole = elements_of(node.shape(i)) == elements_of(shape);
    const bool is_one = elements_of(node.shape(i)) == 1;
    if (!is_whole && !is_one && !node.claim_taps(elements_of(shape))) return false;
    step.index.push_back(is_one && !is_whole ? std::vector<std::int64_t>{0} : broadcast_index(node.shape(i), shape));
  }
  return node.emit(std::move(step), std::move(operands), std::move(shape), type);
}

bool emit_unary(const NodeLowering& node, Function function, double alpha = 0, double beta = 0,
                std::optional<ElementType> type = {}) {
  if (!node.claim(node.shape(0))) return false;
  Elementwise step{
      .function = function, .index = std::vector<std::vector<std::int64_t>>(1), .alpha = alpha, .beta = beta};
  return node.emit(std::move(step), {node.id(0)}, node.shape(0), type);
}

// Sums, differences and products of int32 wrap.
template <Function function>
bool lower_arithmetic(const NodeLowering& node) {
  if (function == Function::div) node.rounds();
  if (node.type(0) != ElementType::int32) return emit_broadcast(node, {.function = function}, node.type(0));
  if (function == Function::div) return node.limit("inputs[0]", "int32 is not judged");
  const auto shape = broadcast_shape(node.shape(0), node.shape(1));
  if (!shape) {
    return node.violate("inputs[1]", fmt::format("{} does not broadcast with {}", shape_text(node.shape(1)),
                                                 shape_text(node.shape(0))));
  }
  if (!node.claim(*shape) || !node.claim_taps(2 * elements_of(*shape))) return false;
  Elementwise step{.function = function,
                   .index = {broadcast_index(node.shape(0), *shape), broadcast_index(node.shape(1), *shape)}};
  const auto exact = node.compute(std::move(step), {node.id(0), node.id(1)}, *shape, ElementType::int32);
  return exact && node.emit(Elementwise{.function = Function::wrap32}, {*exact}, *shape);
}

template <Function function>
bool lower_broadcast(const NodeLowering& node) {
  return emit_broadcast(node, {.function = function}, node.type(0));
}

template <Function function>
bool lower_power(const NodeLowering& node) {
  node.rounds();
  return emit_broadcast(node, {.function = function}, node.type(0));
}

// Truth values, of numbers or of truth values.
template <Function function>
bool lower_decision(const NodeLowering& node) {
  return emit_broadcast(node, {.function = function}, ElementType::boolean);
}

// `less` of the operands in the other order.
template <Function function>
bool lower_reversed(const NodeLowering& node) {
  Expansion out(node);
  return out.finish(function == Function::less ? "Less" : "LessOrEqual", {out.input(1), out.input(0)});
}

bool lower_reciprocal(const NodeLowering& node) {
  node.rounds();
  if (!node.claim(node.shape(0))) return false;
  const ValueId one = node.add_stated(node.type(0), {}, {1});
  return node.emit(Elementwise{.function = Function::div, .index = {{0}, {}}}, {one, node.id(0)}, node.shape(0));
}

template <Function function>
bool lower_exact(const NodeLowering& node) {
  const bool negates = function == Function::neg || function == Function::abs;
  if (negates && is_integer(node.type(0))) {
    return node.limit("inputs[0]", name_of(node.type(0)) + " is not judged");
  }
  return emit_unary(node, function);
}

template <Function function>
bool lower_rounding(const NodeLowering& node) {
  node.rounds();
  return emit_unary(node, function);
}

bool lower_where(const NodeLowering& node) {
  if (node.type(0) != ElementType::boolean) {
    return node.signature("condition", "expected element type bool, got " + name_of(node.type(0)));
  }
  return emit_broadcast(node, {.function = Function::where}, node.type(1));
}

bool lower_leaky_relu(const NodeLowering& node) {
  const float alpha = node.get_or<float>("alpha", 0.01F);
  node.multiplies_by(alpha);
  return emit_unary(node, Function::leaky_relu, alpha);
}

bool lower_hard_sigmoid(const NodeLowering& node) {
  node.rounds();
  return emit_unary(node, Function::hard_sigmoid, node.get_or<float>("alpha", 0.2F), node.get_or<float>("beta", 0.5F));
}

bool lower_gelu(const NodeLowering& node) {
  const std::string approximate = node.get_or<std::string>("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return node.violate("approximate", fmt::format("expected none or tanh, got \"{}\"", approximate));
  }
  node.rounds();
  return emit_unary(node, approximate == "tanh" ? Function::gelu_tanh : Function::gelu);
}

bool emit_clip(const NodeLowering& node, double least, double most) {
  if (std::isnan(least) || std::isnan(most)) return node.limit("min", "a bound of NaN is not judged");
  if (least > most && node.opset() < 13) return node.limit("min", "min > max is open before opset 13");
  return emit_unary(node, Function::clip, least, most);
}

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Whether an element of the input's type can have the value.
bool check_bound(const NodeLowering& node, std::string_view name, double value) {
  const auto& format = reference::float_format(node.type(0));
  if (node.attribute(name) == nullptr || reference::rounded_to(format, value) == value) return true;
  return node.limit(name, fmt::format("{} is not a value of {}", value, name_of(node.type(0))));
}

bool lower_clip_6(const NodeLowering& node) {
  const double least = node.get_or<float>("min", std::numeric_limits<float>::lowest());
  const double most = node.get_or<float>("max", std::numeric_limits<float>::max());
  return check_bound(node, "min", least) && check_bound(node, "max", most) && emit_clip(node, least, most);
}

// Overflow is open, so that an absent bound need not be the type's largest number.
bool lower_clip(const NodeLowering& node) {
  const auto least = node.has(1) ? node.number(1, "min") : -kUnbounded;
  if (!least) return false;
  const auto most = node.has(2) ? node.number(2, "max") : kUnbounded;
  return most && emit_clip(node, *least, *most);
}

// Whether every value of the one type is one of the other; both are no integers beyond 32 bits.
bool holds_all_of(ElementType to, ElementType from) {
  using enum ElementType;
  const bool is_whole = is_integer(from) || from == boolean;
  if (to == float64 || from == boolean) return true;
  if (is_whole) return bits_of(from) <= (to == float32 ? 16 : 8);
  return to == from || (to == float32 && from != float64);
}

// Both are integers or truth values, and the first fits in the second.
bool widens(ElementType from, ElementType to) {
  if (!is_integer(to) || (from != ElementType::boolean && !is_integer(from))) return false;
  if (from == ElementType::boolean) return true;
  if (is_signed_integer(from)) return is_signed_integer(to) && bits_of(to) >= bits_of(from);
  return is_signed_integer(to) ? bits_of(to) > bits_of(from) : bits_of(to) >= bits_of(from);
}

bool lower_cast(const NodeLowering& node, TypeSet types) {
  const auto* number = node.get<std::int64_t>("to");
  if (number == nullptr) return node.signature("to", "is required");
  const bool is_type = *number > 0 && *number < 64;
  const auto to = is_type ? static_cast<ElementType>(*number) : ElementType::undefined;
  if (!is_type || !types.contains(to)) {
    return node.signature("to", fmt::format("expected {}, got type {}", types.text(), *number));
  }
  const ElementType from = node.type(0);
  if (from == to || widens(from, to)) {
    return node.claim(node.shape(0)) && node.emit(Move{}, {node.id(0)}, node.shape(0), to);
  }
  if (!is_wide_float(to)) return node.limit("to", fmt::format("{} to {} is not judged", name_of(from), name_of(to)));
  // A sum of int32 may be exact: its set tells.
  if (!holds_all_of(to, from) && from != ElementType::int32) node.rounds();
  return emit_unary(node, Function::cast, 0, 0, to);
}

using namespace node_types;

constexpr AttributeSignature kAlphaBeta[] = {{"alpha", kFloatAttribute}, {"beta", kFloatAttribute}};
constexpr AttributeSignature kClipBounds[] = {{"max", kFloatAttribute}, {"min", kFloatAttribute}};
constexpr AttributeSignature kApproximate[] = {{"approximate", kStringAttribute}};
constexpr AttributeSignature kCast[] = {
    {"to", kIntAttribute}, {"saturate", kIntAttribute}, {"round_mode", kStringAttribute}};

template <std::int64_t since>
constexpr NodeOperator cast() {
  return {.name = "Cast",
          .since = since,
          .least_inputs = 1,
          .most_inputs = 1,
          .types = grown(kStored, since),
          .attributes = std::span(kCast).first(since >= 24   ? 3
                                               : since >= 19 ? 2
                                                             : 1),
          .lower = [](const NodeLowering& node) { return lower_cast(node, grown(kStored, since)); }};
}

using Lower = bool (*)(const NodeLowering&);

constexpr NodeOperator unary(std::string_view name, std::int64_t since, TypeSet types, Lower lower, bool computes,
                             std::span<const AttributeSignature> attributes = {}) {
  NodeOperator result = node_operator(name, since, types, 1, 1, attributes, lower);
  result.computes = computes;
  return result;
}
constexpr NodeOperator binary(std::string_view name, std::int64_t since, TypeSet types, Lower lower) {
  NodeOperator result = node_operator(name, since, types, 2, 2, {}, lower);
  result.computes = true;
  result.wraps = true;
  return result;
}
constexpr NodeOperator decision(std::string_view name, std::int64_t since, TypeSet types, Lower lower) {
  return node_operator(name, since, types, 2, 2, {}, lower);
}
constexpr NodeOperator power(std::string_view name, std::int64_t since, TypeSet types, Lower lower) {
  NodeOperator result = binary(name, since, types, lower);
  result.like_first = 1;
  result.wraps = false;
  return result;
}
constexpr NodeOperator variadic(std::string_view name, std::int64_t since, TypeSet types, Lower lower) {
  return node_operator(name, since, types, 1, kAnyNumber, {}, lower);
}
constexpr NodeOperator clip(std::int64_t since, TypeSet types) {
  return {.name = "Clip",
          .since = since,
          .least_inputs = 1,
          .most_inputs = 3,
          .types = types,
          .attributes = {},
          .lower = lower_clip};
}
constexpr NodeOperator where(std::int64_t since, TypeSet types) {
  return {.name = "Where",
          .since = since,
          .least_inputs = 3,
          .most_inputs = 3,
          .types = types,
          .attributes = {},
          .lower = lower_where,
          .like_first = 6};
}

constexpr NodeOperator kElementwiseNodes[] = {
    binary("Add", 7, kWide, lower_arithmetic<Function::add>),
    binary("Add", 13, kWide13, lower_arithmetic<Function::add>),
    binary("Add", 14, kNumbers13, lower_arithmetic<Function::add>),
    binary("Sub", 7, kWide, lower_arithmetic<Function::sub>),
    binary("Sub", 13, kWide13, lower_arithmetic<Function::sub>),
    binary("Sub", 14, kNumbers13, lower_arithmetic<Function::sub>),
    binary("Mul", 7, kWide, lower_arithmetic<Function::mul>),
    binary("Mul", 13, kWide13, lower_arithmetic<Function::mul>),
    binary("Mul", 14, kNumbers13, lower_arithmetic<Function::mul>),
    binary("Div", 7, kWide, lower_arithmetic<Function::div>),
    binary("Div", 13, kWide13, lower_arithmetic<Function::div>),
    binary("Div", 14, kNumbers13, lower_arithmetic<Function::div>),
    variadic("Max", 8, kFloats, lower_broadcast<Function::max>),
    variadic("Max", 12, kNumbers, lower_broadcast<Function::max>),
    variadic("Max", 13, kNumbers13, lower_broadcast<Function::max>),
    variadic("Min", 8, kFloats, lower_broadcast<Function::min>),
    variadic("Min", 12, kNumbers, lower_broadcast<Function::min>),
    variadic("Min", 13, kNumbers13, lower_broadcast<Function::min>),
    unary("Neg", 6, kSigned, lower_exact<Function::neg>, false),
    unary("Neg", 13, kSigned13, lower_exact<Function::neg>, false),
    unary("Abs", 6, kNumbers, lower_exact<Function::abs>, false),
    unary("Abs", 13, kNumbers13, lower_exact<Function::abs>, false),
    unary("Relu", 6, kFloats, lower_exact<Function::relu>, false),
    unary("Relu", 13, kFloats13, lower_exact<Function::relu>, false),
    unary("Relu", 14, kSigned13, lower_exact<Function::relu>, false),
    unary("LeakyRelu", 6, kFloats, lower_leaky_relu, true, std::span(kAlphaBeta).first(1)),
    unary("LeakyRelu", 16, kFloats13, lower_leaky_relu, true, std::span(kAlphaBeta).first(1)),
    unary("HardSigmoid", 6, kFloats, lower_hard_sigmoid, true, kAlphaBeta),
    unary("HardSigmoid", 22, kFloats13, lower_hard_sigmoid, true, kAlphaBeta),
    unary("Clip", 6, kFloats, lower_clip_6, false, kClipBounds),
    clip(11, kFloats),
    clip(12, kNumbers),
    clip(13, kNumbers13),
    unary("Sigmoid", 6, kFloats, lower_rounding<Function::sigmoid>, true),
    unary("Sigmoid", 13, kFloats13, lower_rounding<Function::sigmoid>, true),
    unary("Tanh", 6, kFloats, lower_rounding<Function::tanh>, true),
    unary("Tanh", 13, kFloats13, lower_rounding<Function::tanh>, true),
    unary("Erf", 9, kNumbers, lower_rounding<Function::erf>, true),
    unary("Erf", 13, kNumbers13, lower_rounding<Function::erf>, true),
    unary("Gelu", 20, kFloats13, lower_gelu, true, kApproximate),
    unary("Sqrt", 6, kFloats, lower_rounding<Function::sqrt>, true),
    unary("Sqrt", 13, kFloats13, lower_rounding<Function::sqrt>, true),
    unary("Reciprocal", 6, kFloats, lower_reciprocal, true),
    unary("Reciprocal", 13, kFloats13, lower_reciprocal, true),
    unary("Exp", 6, kFloats, lower_rounding<Function::exp>, true),
    unary("Exp", 13, kFloats13, lower_rounding<Function::exp>, true),
    unary("Log", 6, kFloats, lower_rounding<Function::log>, true),
    unary("Log", 13, kFloats13, lower_rounding<Function::log>, true),
    power("Pow", 7, kFloats, lower_power<Function::pow>),
    power("Pow", 12, kFloats.with({int32, int64}), lower_power<Function::pow>),
    power("Pow", 13, kFloats13.with({int32, int64}), lower_power<Function::pow>),
    power("PRelu", 9, kWide, lower_power<Function::prelu>),
    power("PRelu", 16, kWide13, lower_power<Function::prelu>),
    decision("Equal", 7, TypeSet{boolean, int32, int64}, lower_decision<Function::equal>),
    decision("Equal", 11, kNumbers.with({boolean}), lower_decision<Function::equal>),
    decision("Equal", 13, kNumbers13.with({boolean}), lower_decision<Function::equal>),
    decision("Equal", 19, kNumbers13.with({boolean, string}), lower_decision<Function::equal>),
    decision("Less", 9, kNumbers, lower_decision<Function::less>),
    decision("Less", 13, kNumbers13, lower_decision<Function::less>),
    decision("LessOrEqual", 12, kNumbers, lower_decision<Function::less_or_equal>),
    decision("LessOrEqual", 16, kNumbers13, lower_decision<Function::less_or_equal>),
    decision("Greater", 9, kNumbers, lower_reversed<Function::less>),
    decision("Greater", 13, kNumbers13, lower_reversed<Function::less>),
    decision("GreaterOrEqual", 12, kNumbers, lower_reversed<Function::less_or_equal>),
    decision("GreaterOrEqual", 16, kNumbers13, lower_reversed<Function::less_or_equal>),
    decision("And", 7, TypeSet{boolean}, lower_decision<Function::logical_and>),
    decision("Or", 7, TypeSet{boolean}, lower_decision<Function::logical_or>),
    unary("Not", 1, TypeSet{boolean}, lower_exact<Function::logical_not>, false),
    cast<9>(),
    cast<13>(),
    cast<19>(),
    cast<21>(),
    cast<23>(),
    cast<24>(),
    cast<25>(),
    where(9, kAll),
    where(16, kAll13),
};

}  // namespace

std::span<const NodeOperator> elementwise_nodes() {
  return kElementwiseNodes;
}

}  // namespace qconform::lowering
