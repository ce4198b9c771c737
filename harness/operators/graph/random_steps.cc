// Steps of random graphs that compute element by element, move data or reduce them.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/case_builder.h"
#include "harness/operators/graph/graph_draft.h"

namespace qconform::drawn_graphs {
namespace {

using enum ElementType;

std::optional<Wire> binary(GraphDraft& d, const Wire& x) {
  static constexpr const char* kNames[] = {"Add", "Add", "Mul", "Sub"};
  Shape shape = x.shape;
  if (d.rng.chance(1, 3)) {
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = i == 1 || shape.size() == 1 ? shape[i] : 1;
  }
  const Wire other = d.operand(shape, d.rng.chance(1, 2));
  return d.wire(d.build.node(d.rng.pick(kNames), {x.name, other.name}));
}

std::optional<Wire> square(GraphDraft& d, const Wire& x) {
  return d.wire(d.build.node("Mul", {x.name, x.name}));
}

std::optional<Wire> division(GraphDraft& d, const Wire& x) {
  const float by = d.is_exact() ? 4.0F : 3.7F;
  return d.wire(d.build.node("Div", {x.name, d.build.initializer(make::float32(by))}));
}

std::optional<Wire> activation(GraphDraft& d, const Wire& x) {
  switch (d.rng.below(8)) {
    case 0:
    case 1:
    case 2: return d.wire(d.build.node("Relu", {x.name}));
    case 3: return d.wire(d.build.node("LeakyRelu", {x.name}, {{"alpha", d.is_exact() ? 0.125F : 0.1F}}));
    case 4:
    case 5: {
      const float highest = d.is_exact() ? 4.0F : 6.0F;
      if (d.opset() < 11) return d.wire(d.build.node("Clip", {x.name}, {{"min", 0.0F}, {"max", highest}}));
      return d.wire(d.build.node(
          "Clip", {x.name, d.build.initializer(make::float32(0.0F)), d.build.initializer(make::float32(highest))}));
    }
    case 6: return d.wire(d.build.node("HardSigmoid", {x.name}));
    default: return d.wire(d.build.node(d.rng.chance(1, 2) ? "Sigmoid" : "Tanh", {x.name}));
  }
}

std::optional<Wire> pool(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 4) return std::nullopt;
  Shape kernel{std::min<std::int64_t>(x.shape[2], 2), std::min<std::int64_t>(x.shape[3], d.rng.between(1, 3))};
  std::vector<Attribute> attributes{{"kernel_shape", kernel},
                                    {"strides", Shape{d.rng.between(1, 2), d.rng.between(1, 2)}}};
  const std::uint64_t which = d.rng.below(4);
  if (which == 0) return d.wire(d.build.node(d.rng.chance(1, 3) ? "GlobalMaxPool" : "GlobalAveragePool", {x.name}));
  if (d.rng.chance(1, 2)) {
    const auto pad = [&](std::size_t axis) { return kernel[axis] > 1 && d.rng.chance(1, 2) ? 1 : 0; };
    Shape pads{pad(0), pad(1), pad(0), pad(1)};
    draw_padding(d, std::move(pads), attributes);
  }
  if (d.rng.chance(1, 4)) attributes.push_back({"ceil_mode", std::int64_t{1}});
  if (which != 1) return d.wire(d.build.node("MaxPool", {x.name}, attributes));
  if (d.rng.chance(1, 2)) attributes.push_back({"count_include_pad", std::int64_t{1}});
  return d.wire(d.build.node("AveragePool", {x.name}, attributes));
}

// Adds data that have a scale for each index of some axis, where the opset has such scales.
Wire operand_by_axis(GraphDraft& d, const Shape& shape, bool is_fed) {
  if (d.opset() < 13) return d.operand(shape, is_fed);
  const Wire q = d.codes(d.bytes(shape), is_fed);
  const std::int64_t zp = d.rng.chance(1, 2) ? 0 : d.zero_point(q.type);
  const auto axis = static_cast<std::int64_t>(d.rng.below(static_cast<std::uint32_t>(shape.size())));
  return d.dequantize(q, d.draw_scale(), zp, axis);
}

std::optional<Wire> movement(GraphDraft& d, const Wire& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  switch (d.rng.below(7)) {
    case 0: {
      Shape order;
      for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
      if (d.rng.chance(1, 8)) return d.wire(d.build.node("Transpose", {x.name}));
      d.rng.shuffle(order);
      return d.wire(d.build.node("Transpose", {x.name}, {{"perm", order}}));
    }
    case 1: {
      const std::string shape = d.build.initializer(make::integers(int64, {2}, {0, -1}));
      if (rank < 2) return std::nullopt;
      return d.wire(d.build.node("Reshape", {x.name, shape}));
    }
    case 2: return d.wire(d.build.node("Flatten", {x.name}));
    case 3: {
      const bool is_fed = d.rng.chance(1, 2);
      const Wire other = d.rng.chance(1, 4) ? operand_by_axis(d, x.shape, is_fed) : d.operand(x.shape, is_fed);
      const bool is_any = rank == 1 || d.rng.chance(1, 2);
      const std::int64_t axis = is_any ? d.rng.between(0, rank - 1) : 1;
      return d.wire(d.build.node("Concat", {x.name, other.name}, {{"axis", axis}}));
    }
    case 4: {
      if (rank < 2 || x.shape[1] < 2) return std::nullopt;
      const std::string starts = d.build.initializer(make::integers(int64, {1}, {1}));
      const std::string ends = d.build.initializer(make::integers(int64, {1}, {x.shape[1]}));
      const std::string axes = d.build.initializer(make::integers(int64, {1}, {1}));
      return d.wire(d.build.node("Slice", {x.name, starts, ends, axes}));
    }
    case 5: {
      if (rank != 4 || x.shape[2] % 2 != 0 || x.shape[3] % 2 != 0) return std::nullopt;
      return d.wire(d.build.node("SpaceToDepth", {x.name}, {{"blocksize", std::int64_t{2}}}));
    }
    default: {
      if (rank != 4) return std::nullopt;
      const Shape pads{0, 0, d.rng.between(0, 1), 1, 0, 0, 0, d.rng.between(0, 1)};
      if (d.opset() < 11) return d.wire(d.build.node("Pad", {x.name}, {{"pads", pads}}));
      return d.wire(d.build.node("Pad", {x.name, d.build.initializer(make::integers(int64, {8}, pads))}));
    }
  }
}

// A Pad as wide as the window of the pool behind it.
std::optional<Wire> padded_pool(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 4 || d.opset() < 11) return std::nullopt;
  const Shape pads{0, 0, d.rng.between(0, 3), d.rng.between(0, 3), 0, 0, d.rng.between(0, 3), d.rng.between(0, 3)};
  std::vector<std::string> inputs{x.name, d.build.initializer(make::integers(int64, {8}, pads))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(make::float32(d.rng.chance(1, 2) ? 0.0F : -1.0F)));
  const std::string padded = d.build.node("Pad", inputs);
  const Shape kernel{d.rng.between(1, 3), d.rng.between(1, 3)};
  return d.wire(d.build.node(d.rng.chance(1, 2) ? "MaxPool" : "AveragePool", {padded}, {{"kernel_shape", kernel}}));
}

// Truth values of this shape, stated.
std::string stated_truths(GraphDraft& d, const Shape& shape) {
  std::vector<std::int64_t> truths(static_cast<std::size_t>(elements_of(shape)));
  for (std::int64_t& truth : truths) truth = d.rng.chance(1, 2) ? 1 : 0;
  return d.build.initializer(make::integers(boolean, shape, truths));
}

std::string comparison(GraphDraft& d, const Wire& x, const Wire& other) {
  static constexpr const char* kNames[] = {"Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"};
  const std::size_t known = d.opset() >= 12 ? 5 : d.opset() >= 11 ? 3 : 2;
  return d.build.node(kNames[d.rng.below(static_cast<std::uint32_t>(known))], {x.name, other.name});
}

// One of two tensors, element by element: by stated truth values, by a comparison, or by both.
std::optional<Wire> choice(GraphDraft& d, const Wire& x) {
  const Wire other = d.operand(x.shape, d.rng.chance(1, 2));
  std::string condition = d.rng.chance(1, 2) ? comparison(d, x, other) : stated_truths(d, x.shape);
  switch (d.rng.below(6)) {
    case 0: condition = d.build.node("Not", {condition}); break;
    case 1: condition = d.build.node("And", {condition, stated_truths(d, {x.shape.back()})}); break;
    case 2: condition = d.build.node("Or", {condition, stated_truths(d, {x.shape.back()})}); break;
    default: break;
  }
  return d.wire(d.build.node("Where", {condition, x.name, other.name}));
}

// x with a constant that a node states.
std::optional<Wire> stated_operand(GraphDraft& d, const Wire& x) {
  if (d.opset() < 12) return std::nullopt;
  const bool has_axis = d.rng.chance(1, 2);
  std::vector<float> values(has_axis ? static_cast<std::size_t>(x.shape.back()) : 1);
  for (float& value : values) value = static_cast<float>(d.rng.between(-16, 16)) / 8;
  const Attribute stated = has_axis ? Attribute{"value_floats", values} : Attribute{"value_float", values[0]};
  const std::string constant = d.build.node("Constant", {}, {stated});
  return d.wire(d.build.node(d.rng.chance(1, 2) ? "Add" : "Mul", {x.name, constant}));
}

// A function of x, where it needs that of its magnitude.
std::optional<Wire> function(GraphDraft& d, const Wire& x) {
  if (d.is_exact() && d.rng.chance(7, 8)) return std::nullopt;
  const double largest = largest_of(d.see(x.name, reference::Tier::exact));
  if (!(largest > 0) || !std::isfinite(largest)) return std::nullopt;
  const auto number = [&](float value) { return d.build.initializer(make::float32(value)); };
  const float unit = std::exp2(static_cast<float>(-std::ceil(std::log2(largest))));
  switch (d.rng.below(5)) {
    case 0: return d.wire(d.build.node("Exp", {d.build.node("Mul", {x.name, number(unit * 4)})}));
    case 1: return d.wire(d.build.node("Sqrt", {d.build.node("Abs", {x.name})}));
    case 2: {
      const std::string positive = d.build.node("Add", {d.build.node("Abs", {x.name}), number(1 / unit / 64)});
      return d.wire(d.build.node(d.rng.chance(1, 2) ? "Log" : "Reciprocal", {positive}));
    }
    case 3: return d.wire(d.build.node("Pow", {x.name, number(d.rng.chance(1, 2) ? 2 : 3)}));
    default: {
      const std::string magnitude = d.build.node("Abs", {x.name});
      return d.wire(d.build.node("Pow", {magnitude, number(d.rng.chance(1, 2) ? 0.5F : 1.5F)}));
    }
  }
}

// Q and DQ with a scale for each index of an axis.
std::optional<Wire> requantized_axis(GraphDraft& d, const Wire& x) {
  const auto seen = d.see(x.name, reference::Tier::exact);
  if (!seen || x.shape.size() < 2 || d.opset() < 13) return std::nullopt;
  const std::int64_t axis = d.rng.chance(1, 2) ? 1 : static_cast<std::int64_t>(x.shape.size()) - 1;
  const std::int64_t count = x.shape[static_cast<std::size_t>(axis)];
  const double largest = largest_of(seen);
  if (!(largest > 0) || !std::isfinite(largest)) return std::nullopt;
  std::vector<float> scales(static_cast<std::size_t>(count));
  for (float& scale : scales) {
    const double fitting = std::exp2(std::ceil(std::log2(largest / 127))) * std::exp2(-d.rng.between(0, 2));
    scale = static_cast<float>(d.is_exact() ? fitting : fitting * 0.83);
  }
  const std::string scale = d.build.initializer(make::float32({count}, scales));
  const std::string zero_point = d.build.initializer(d.data(int8, {count}));
  const std::vector<Attribute> attributes{{"axis", axis}};
  const std::string q = d.build.node("QuantizeLinear", {x.name, scale, zero_point}, attributes);
  return d.wire(d.build.node("DequantizeLinear", {q, scale, zero_point}, attributes));
}

// Movement of float16 between two Casts, a product behind it now and then.
std::optional<Wire> moved_half(GraphDraft& d, const Wire& x) {
  if (d.opset() < 13) return std::nullopt;
  const std::string half = d.build.node("Cast", {x.name}, {{"to", static_cast<std::int64_t>(float16)}});
  const auto moved = movement(d, Wire{half, float16, x.shape, 0});
  if (!moved) return std::nullopt;
  auto y = d.wire(d.build.node("Cast", {moved->name}, {{"to", static_cast<std::int64_t>(float32)}}));
  if (!y || y->shape.size() < 2 || d.rng.chance(2, 3)) return y;
  const Wire w = d.float_weights({y->shape.back(), d.rng.between(1, 4)});
  return d.wire(d.build.node("MatMul", {y->name, w.name}));
}

std::optional<Wire> reduction(GraphDraft& d, const Wire& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (d.rng.chance(1, 3)) {
    const auto one = std::find(x.shape.begin(), x.shape.end(), 1);
    const bool is_of_one = one != x.shape.end() && d.opset() >= 13 && d.rng.chance(1, 2);
    const std::int64_t axis = is_of_one ? one - x.shape.begin() : rank - 1;
    return d.wire(d.build.node("Softmax", {x.name}, {{"axis", axis}}));
  }
  const char* const name = d.rng.chance(1, 3) ? "ReduceMin" : "ReduceMean";
  if (d.opset() >= 18) {
    return d.wire(d.build.node(name, {x.name, d.build.initializer(make::integers(int64, {1}, {rank - 1}))}));
  }
  return d.wire(d.build.node(name, {x.name}, {{"axes", Shape{rank - 1}}}));
}

// Larger or smaller along the last axes.
std::optional<Wire> resize(GraphDraft& d, const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (rank < 3 || d.opset() < 11) return std::nullopt;
  static constexpr const char* kModes[] = {"nearest", "linear", "linear", "cubic"};
  static constexpr const char* kCoordinates[] = {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"};
  static constexpr float kScales[] = {0.5F, 1, 1.5F, 2, 2, 3};
  const std::string mode = d.rng.pick(kModes);
  if (mode == "cubic" && rank != 4) return std::nullopt;
  std::vector<Attribute> attributes{{"mode", mode},
                                    {"coordinate_transformation_mode", std::string(d.rng.pick(kCoordinates))}};
  if (mode == "nearest") attributes.push_back({"nearest_mode", std::string("floor")});
  if (mode == "cubic" && d.rng.chance(1, 2)) attributes.push_back({"cubic_coeff_a", -0.5F});
  std::vector<float> scales(rank, 1);
  for (std::size_t i = 2; i < rank; ++i) scales[i] = d.rng.pick(kScales);
  const std::string none = d.opset() >= 13 ? "" : d.build.initializer(make::float32({0}, {}));
  if (d.rng.chance(1, 3)) {
    std::vector<std::int64_t> sizes = x.shape;
    for (std::size_t i = 2; i < rank; ++i) sizes[i] = d.rng.between(1, 8);
    const std::string stated = d.build.initializer(make::integers(int64, {static_cast<std::int64_t>(rank)}, sizes));
    const std::string no_scales = d.opset() >= 13 ? "" : d.build.initializer(make::float32({0}, {}));
    return d.wire(d.build.node("Resize", {x.name, none, no_scales, stated}, attributes));
  }
  const std::string stated = d.build.initializer(make::float32({static_cast<std::int64_t>(rank)}, scales));
  return d.wire(d.build.node("Resize", {x.name, none, stated}, attributes));
}

}  // namespace

std::optional<Wire> normalization(GraphDraft& d, const Wire& x) {
  const auto numbers = [&](std::int64_t count, bool is_positive) {
    return d.build.initializer(d.multiples({count}, is_positive ? 1 : -32, 32, -4));
  };
  if (d.opset() >= 17 && d.rng.chance(1, 2)) {
    const std::string scale = numbers(x.shape.back(), false);
    const std::string bias = numbers(x.shape.back(), false);
    return d.wire(d.build.node("LayerNormalization", {x.name, scale, bias}));
  }
  if (x.shape.size() < 3) return std::nullopt;
  std::vector<std::string> inputs{x.name};
  if (d.opset() >= 18 && d.rng.chance(1, 3)) {
    const std::int64_t groups = x.shape[1] % 2 == 0 && d.rng.chance(2, 3) ? 2 : d.rng.chance(1, 2) ? x.shape[1] : 1;
    const std::int64_t parameters = d.opset() >= 21 ? x.shape[1] : groups;
    for (int i = 0; i < 2; ++i) inputs.push_back(numbers(parameters, false));
    return d.wire(d.build.node("GroupNormalization", inputs, {{"num_groups", groups}}));
  }
  const bool is_batch = d.rng.chance(1, 2);
  for (int i = 0; i < (is_batch ? 4 : 2); ++i) inputs.push_back(numbers(x.shape[1], i == 3));
  return d.wire(d.build.node(is_batch ? "BatchNormalization" : "InstanceNormalization", inputs));
}

namespace {

std::optional<Wire> topk(GraphDraft& d, const Wire& x) {
  if (d.opset() < 11) return std::nullopt;
  const std::string k = d.build.initializer(make::integers(int64, {1}, {d.rng.between(1, x.shape.back())}));
  std::vector<Attribute> attributes;
  if (d.rng.chance(1, 3)) attributes.push_back({"largest", std::int64_t{0}});
  return d.wire(d.build.nodes("TopK", {x.name, k}, 2, attributes)[0]);
}

// Q and DQ, in half of the cases with a scale of float16 at DQ.
std::optional<Wire> requantization(GraphDraft& d, const Wire& x) {
  auto q = d.quantize(x, true);
  if (!q) return std::nullopt;
  const auto scale = static_cast<float>(q->scale);
  if (d.opset() < 19 || scale < 0x1p-13F || d.rng.chance(1, 2)) return d.dequantize(*q, scale, d.last_zero_point());
  const float other = std::ldexp(1.0F, static_cast<int>(d.rng.between(-9, 0)));
  const std::string half = d.build.initializer(make::integers(float16, {}, {half_bits(other)}));
  const std::string zero_point = d.build.initializer(make::filled(q->type, {}, d.last_zero_point()));
  const std::string y = d.build.node("DequantizeLinear", {q->name, half, zero_point});
  return d.wire(d.build.node("Cast", {y}, {{"to", std::int64_t{1}}}));
}

constexpr WeightedStep kElementSteps[] = {
    {binary, 4},           {square, 1},     {division, 1},      {activation, 4},     {pool, 4},          {movement, 4},
    {reduction, 1},        {resize, 1},     {topk, 1},          {requantization, 2}, {padded_pool, 1},   {choice, 1},
    {requantized_axis, 1}, {moved_half, 1}, {normalization, 1}, {function, 2},       {stated_operand, 1}};

}  // namespace

std::span<const WeightedStep> element_steps() {
  return kElementSteps;
}

}  // namespace qconform::drawn_graphs
