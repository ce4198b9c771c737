#include "harness/operators/graph/graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/graph/edits.h"
#include "reference/graph/sets.h"
#include "reference/numerics/floats.h"

// In a namespace of its own: convolutions have drafts too.
namespace qconform::drawn_graphs {
namespace {

using enum ElementType;
using Shape = std::vector<std::int64_t>;
namespace graph = reference::graph;

constexpr std::int64_t kOpsets[] = {10, 11, 13, 13, 13, 14, 17, 18, 19, 21, 21, 23, 24, 25};
constexpr std::uint64_t kGraphBlock = 64;
constexpr int kMantissaBits = 23;  // the mantissa bits of random_float()

/// A value that nodes can read.
struct Wire {
  std::string name;
  ElementType type = undefined;
  Shape shape;
  double scale = 1;  ///< the scale of quantized data, where it is one number
};

std::int64_t half_bits(float power) {
  return static_cast<std::int64_t>(
      encode(reference::float_format(ElementType::float16), static_cast<double>(power), reference::Overflow::special));
}

class GraphDraft;
using Step = std::optional<Wire> (*)(GraphDraft& draft, const Wire& x);

class GraphDraft {
 public:
  GraphDraft(std::uint64_t seed, std::uint64_t index, std::int64_t opset_version)
      : rng(seed, index), build(opset_version), is_exact_(rng.chance(1, 2)) {}

  Rng rng;
  GraphBuilder build;

  [[nodiscard]] bool is_exact() const { return is_exact_; }
  [[nodiscard]] std::int64_t opset() const { return build.opset_version(); }

  float draw_scale() {
    if (is_exact_) return std::ldexp(1.0F, static_cast<int>(rng.between(-9, 0)));
    return random_float(rng, static_cast<int>(rng.between(-9, 0)) - kMantissaBits);
  }

  Tensor data(ElementType type, Shape shape) { return random_bits(rng, type, std::move(shape)); }

  ElementType quantized_type() {
    if (opset() >= 21 && rng.chance(1, 12)) return rng.chance(1, 2) ? uint16 : int16;
    return rng.chance(1, 2) ? uint8 : int8;
  }
  ElementType weight_type() {
    if (opset() >= 21 && rng.chance(1, 16)) return rng.chance(1, 2) ? uint4 : int4;
    return rng.chance(2, 3) ? int8 : uint8;
  }

  std::int64_t zero_point(ElementType type) {
    if (type == uint8 || type == int8) return random_zero_point(rng, type);
    return 0;
  }

  /// DQ with one scale, or with one for each index of an axis.
  Wire dequantize(const Wire& q, float scale, std::int64_t zp, std::optional<std::int64_t> axis = {}) {
    std::vector<std::string> inputs{q.name};
    std::vector<Attribute> attributes;
    double own = scale;
    if (axis) {
      const auto at = static_cast<std::size_t>(*axis);
      std::vector<float> scales;
      for (std::int64_t i = 0; i < q.shape[at]; ++i)
        scales.push_back(is_exact_ ? std::ldexp(scale, static_cast<int>(rng.between(-2, 0)))
                                   : scale * random_float(rng, -1 - kMantissaBits));
      own = 0;
      inputs.push_back(build.initializer(make::float32({q.shape[at]}, scales)));
      axis_scales_ = scales;
      if (*axis != 1 || rng.chance(1, 2)) attributes.push_back({"axis", *axis});
    } else {
      inputs.push_back(build.initializer(make::float32(scale)));
    }
    const bool omits = zp == 0 && q.type == uint8 && rng.chance(1, 2);
    if (!omits) {
      const Shape shape = axis ? Shape{q.shape[static_cast<std::size_t>(*axis)]} : Shape{};
      inputs.push_back(build.initializer(make::filled(q.type, shape, zp)));
    }
    return {build.node("DequantizeLinear", inputs, attributes), float32, q.shape, own};
  }

  /// A fed or constant quantized tensor, dequantized.
  Wire operand(Shape shape, bool is_fed, std::optional<ElementType> type = {}) {
    const ElementType chosen = type ? *type : quantized_type();
    Tensor tensor = data(chosen, shape);
    Wire q{is_fed ? build.input(std::move(tensor)) : build.initializer(std::move(tensor)), chosen, std::move(shape)};
    const bool is_per_axis = q.shape.size() > 1 && opset() >= 13 && rng.chance(1, 12);
    const std::int64_t zp = zero_point(chosen);  // one draw after the other: compilers order arguments differently
    return dequantize(q, draw_scale(), zp, is_per_axis ? std::optional<std::int64_t>(1) : std::nullopt);
  }

  /// Weights with a scale, or one for each index of `axis`, rarely of the axis behind it. Their scales are in
  /// `axis_scales_` then.
  Wire weights(Shape shape, std::optional<std::int64_t> axis) {
    const ElementType type = weight_type();
    Tensor tensor = data(type, shape);
    const Wire q{build.initializer(std::move(tensor)), type, std::move(shape)};
    const bool is_per_axis = axis && opset() >= 13 && rng.chance(1, 2);
    if (is_per_axis && !is_exact_ && rng.chance(1, 8)) axis = (*axis + 1) % static_cast<std::int64_t>(q.shape.size());
    axis_scales_.clear();
    const std::int64_t zp = is_per_axis || rng.chance(2, 3) ? 0 : zero_point(type);
    return dequantize(q, draw_scale(), zp, is_per_axis ? axis : std::nullopt);
  }

  /// A bias for `count` channels of x * w: int32 with their scales, or float32.
  std::string bias(std::int64_t count, const Wire& x, const Wire& w) {
    if (x.scale == 0 || (!is_exact_ && rng.chance(1, 3))) return float_bias(count, x, w);
    constexpr std::int64_t kEnd = std::numeric_limits<std::int32_t>::max();
    const bool is_extreme = rng.chance(1, 32);
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(is_extreme ? kEnd - rng.between(0, 4000) : rng.between(-4000, 4000));
    std::vector<float> scales;
    const auto sx = static_cast<float>(x.scale) * bias_ratio();
    for (const float sw : axis_scales_) scales.push_back(sx * sw);
    std::vector<std::string> inputs{build.initializer(make::int32({count}, values))};
    const bool is_per_axis = static_cast<std::int64_t>(scales.size()) == count && w.scale == 0;
    inputs.push_back(build.initializer(is_per_axis
                                           ? make::float32({count}, scales)
                                           : make::float32(sx * static_cast<float>(w.scale == 0 ? 1 : w.scale))));
    std::vector<Attribute> attributes;
    if (is_per_axis) attributes.push_back({"axis", std::int64_t{0}});
    return build.node("DequantizeLinear", inputs, attributes);
  }

  /// Draws the ratio of a bias's scale to that of its sum: mostly 1.
  float bias_ratio() {
    static constexpr float kRatios[] = {1 + 0x1p-20F, 1.00001F, 1.009F, 0.991F, 1.02F, 12, 0.5F};
    return !is_exact_ && rng.chance(1, 8) ? rng.pick(kRatios) : 1;
  }

  std::string float_bias(std::int64_t count, const Wire& x, const Wire& w) {
    const double unit = (x.scale == 0 ? 1 : x.scale) * (w.scale == 0 ? 0.01 : w.scale);
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(unit * static_cast<double>(rng.between(-400000, 400000)) / 100));
    return build.initializer(make::float32({count}, values));
  }

  /// Returns the right values of a value that was added. Nothing where the graph is out of contract with it.
  [[nodiscard]] std::optional<graph::Bounds> see(const std::string& name, reference::Tier tier) {
    if (build.node_count() == 0 || !seen_.follow(build)) return std::nullopt;
    return seen_.bounds_of(name, tier);
  }

  /// The wire of a float value that was added, if the graph is right with it and it is small.
  std::optional<Wire> wire(std::string name) {
    if (build.node_count() == 0 || !seen_.follow(build)) return std::nullopt;
    auto shape = seen_.shape_of(name);
    const std::int64_t elements = shape ? elements_of(*shape) : 0;
    if (elements == 0 || elements > 2048) return std::nullopt;
    return Wire{std::move(name), float32, std::move(*shape), 0};
  }

  /// Q of a float value, with a scale by which most of it is neither saturated nor alike. Tries a few where some
  /// elements would have two right values.
  std::optional<Wire> quantize(const Wire& x, bool must_be_single) {
    const auto seen = see(x.name, reference::Tier::exact);
    if (!seen) return std::nullopt;
    double lo = 0;
    double hi = 0;
    for (std::size_t i = 0; i < seen->lo.size(); ++i) {
      if (!std::isfinite(seen->lo[i])) return std::nullopt;
      lo = std::min(lo, seen->lo[i]);
      hi = std::max(hi, seen->hi[i]);
    }
    const ElementType type = quantized_type();
    const std::size_t nodes = build.node_count();
    const std::size_t initializers = build.initializer_count();
    std::optional<Wire> best;
    for (int attempt = 0; attempt < (must_be_single ? 4 : 1); ++attempt) {
      build.keep(nodes, initializers);
      best = quantized(x, type, lo, hi);
      const auto result = see(best->name, reference::Tier::any_association);
      if (!result) return std::nullopt;
      if (result->lo == result->hi) break;
    }
    return best;
  }

 private:
  [[nodiscard]] Wire quantized(const Wire& x, ElementType type, double lo, double hi) {
    const double steps = type == uint16 || type == int16 ? 65535 : 255;
    const double fitting = std::max((hi - lo) / steps, 0x1p-20) * (rng.chance(1, 4) ? 0.5 : 1.0);
    int exponent = 0;
    (void)std::frexp(fitting, &exponent);
    const float scale = is_exact_ ? std::ldexp(1.0F, exponent) : random_float(rng, exponent - 1 - kMantissaBits);
    const double lowest = type == int8 ? -128 : type == int16 ? -32768 : 0;
    const double highest = lowest + steps;
    const double fitted = std::clamp(std::round(lowest - lo / static_cast<double>(scale)), lowest, highest);
    const bool is_plain = rng.chance(1, 4);
    const auto zp = static_cast<std::int64_t>(is_plain ? 0 : fitted);
    std::vector<std::string> inputs{x.name, build.initializer(make::float32(scale))};
    if (type != uint8 || zp != 0 || rng.chance(1, 2)) inputs.push_back(build.initializer(make::integer(type, zp)));
    Wire y{build.node("QuantizeLinear", inputs), type, x.shape, static_cast<double>(scale)};
    zero_point_ = zp;
    return y;
  }

 public:
  /// Returns the zero point of the QuantizeLinear added last.
  [[nodiscard]] std::int64_t last_zero_point() const { return zero_point_; }

 private:
  bool is_exact_;
  GrowingGraph seen_;
  std::vector<float> axis_scales_;
  std::int64_t zero_point_ = 0;
};

// Steps: each adds the nodes of one compute node behind float x, and returns its float output; nothing where x has no
// fitting shape.

std::optional<Wire> conv(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3) return std::nullopt;
  const std::int64_t channels = x.shape[1];
  std::int64_t group = d.rng.chance(1, 4) ? channels : 1;
  const std::int64_t width = group == 1 ? d.rng.between(1, 9) : d.rng.between(1, 2);
  Shape kernel;
  Shape pads;
  Shape strides;
  for (std::size_t i = 2; i < x.shape.size(); ++i) {
    kernel.push_back(std::min(x.shape[i], d.rng.between(1, 3)));
    pads.push_back(d.rng.chance(1, 2) ? d.rng.between(0, 1) : 0);
    strides.push_back(d.rng.chance(1, 4) ? 2 : 1);
  }
  const std::size_t axes = pads.size();
  for (std::size_t i = 0; i < axes; ++i) pads.push_back(pads[i]);
  Shape shape{group * width, channels / group};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  const Wire w = d.weights(shape, 0);
  std::vector<std::string> inputs{x.name, w.name};
  if (d.rng.chance(1, 2)) inputs.push_back(d.bias(shape[0], x, w));
  std::vector<Attribute> attributes{{"pads", pads}, {"strides", strides}};
  if (group != 1) attributes.push_back({"group", group});
  return d.wire(d.build.node("Conv", inputs, attributes));
}

std::optional<Wire> conv_transpose(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3) return std::nullopt;
  Shape shape{x.shape[1], d.rng.between(1, 4)};
  Shape strides;
  for (std::size_t i = 2; i < x.shape.size(); ++i) {
    shape.push_back(d.rng.between(1, 3));
    strides.push_back(d.rng.between(1, 2));
  }
  const Wire w = d.weights(shape, 1);
  std::vector<std::string> inputs{x.name, w.name};
  if (d.rng.chance(1, 2)) inputs.push_back(d.bias(shape[1], x, w));
  return d.wire(d.build.node("ConvTranspose", inputs, {{"strides", strides}}));
}

std::optional<Wire> gemm(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 2) return std::nullopt;
  const bool transposed = d.rng.chance(1, 2);
  const bool transposes_x = d.rng.chance(1, 6);
  const bool has_other_axis = d.rng.chance(1, 8);
  const std::int64_t terms = x.shape[transposes_x ? 0 : 1];
  const std::int64_t columns = has_other_axis ? terms : d.rng.between(1, 12);
  const Wire w =
      d.weights(transposed ? Shape{columns, terms} : Shape{terms, columns}, transposed != has_other_axis ? 0 : 1);
  std::vector<std::string> inputs{x.name, w.name};
  std::vector<Attribute> attributes;
  if (transposes_x) attributes.push_back({"transA", std::int64_t{1}});
  if (transposed) attributes.push_back({"transB", std::int64_t{1}});
  if (d.rng.chance(1, 6)) attributes.push_back({"alpha", d.is_exact() ? 0.5F : 0.3F});
  const bool has_bias = d.opset() < 11 || d.rng.chance(1, 2);
  if (has_bias) inputs.push_back(d.bias(columns, x, w));
  if (has_bias && d.rng.chance(1, 8)) attributes.push_back({"beta", d.is_exact() ? 2.0F : 0.7F});
  return d.wire(d.build.node("Gemm", inputs, attributes));
}

std::optional<Wire> matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Wire w =
      d.rng.chance(1, 4) ? d.operand({x.shape.back(), columns}, true) : d.weights({x.shape.back(), columns}, 1);
  std::string y = d.build.node("MatMul", {x.name, w.name});
  if (d.rng.chance(1, 4)) y = d.build.node("Add", {y, d.bias(columns, x, w)});
  return d.wire(std::move(y));
}

// Weights that are transposed behind their DQ.
std::optional<Wire> turned_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const Wire w = d.weights({x.shape.back(), x.shape.back()}, d.rng.between(0, 1));
  const std::string turned = d.build.node("Transpose", {w.name}, {{"perm", Shape{1, 0}}});
  return d.wire(d.build.node("MatMul", {x.name, turned}));
}

// Two products with one bias.
std::optional<Wire> twins(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 2) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Wire first = d.weights({x.shape[1], columns}, 1);
  const std::string bias = d.bias(columns, x, first);
  const Wire second = d.weights({x.shape[1], columns}, 1);
  return d.wire(d.build.node(
      "Add", {d.build.node("Gemm", {x.name, first.name, bias}), d.build.node("Gemm", {x.name, second.name, bias})}));
}

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
  switch (d.rng.below(4)) {
    case 0: return d.wire(d.build.node("GlobalAveragePool", {x.name}));
    case 1:
      if (d.rng.chance(1, 2)) {
        attributes.push_back({"pads", Shape{0, 0, kernel[0] > 1 ? 1 : 0, kernel[1] > 1 ? 1 : 0}});
        attributes.push_back({"count_include_pad", std::int64_t{d.rng.chance(1, 2) ? 1 : 0}});
      }
      return d.wire(d.build.node("AveragePool", {x.name}, attributes));
    default: return d.wire(d.build.node("MaxPool", {x.name}, attributes));
  }
}

std::optional<Wire> movement(GraphDraft& d, const Wire& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  switch (d.rng.below(6)) {
    case 0: {
      Shape order;
      for (std::int64_t i = 0; i < rank; ++i) order.push_back(i);
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
      const Wire other = d.operand(x.shape, d.rng.chance(1, 2));
      return d.wire(d.build.node("Concat", {x.name, other.name}, {{"axis", std::int64_t{rank > 1 ? 1 : 0}}}));
    }
    case 4: {
      if (rank < 2 || x.shape[1] < 2) return std::nullopt;
      const std::string starts = d.build.initializer(make::integers(int64, {1}, {1}));
      const std::string ends = d.build.initializer(make::integers(int64, {1}, {x.shape[1]}));
      const std::string axes = d.build.initializer(make::integers(int64, {1}, {1}));
      return d.wire(d.build.node("Slice", {x.name, starts, ends, axes}));
    }
    default: {
      if (rank != 4) return std::nullopt;
      const Shape pads{0, 0, d.rng.between(0, 1), 1, 0, 0, 0, d.rng.between(0, 1)};
      if (d.opset() < 11) return d.wire(d.build.node("Pad", {x.name}, {{"pads", pads}}));
      return d.wire(d.build.node("Pad", {x.name, d.build.initializer(make::integers(int64, {8}, pads))}));
    }
  }
}

std::optional<Wire> reduction(GraphDraft& d, const Wire& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  if (d.rng.chance(1, 3)) {
    const auto one = std::find(x.shape.begin(), x.shape.end(), 1);
    const bool is_of_one = one != x.shape.end() && d.opset() >= 13 && d.rng.chance(1, 2);
    const std::int64_t axis = is_of_one ? one - x.shape.begin() : rank - 1;
    return d.wire(d.build.node("Softmax", {x.name}, {{"axis", axis}}));
  }
  if (d.opset() >= 18) {
    return d.wire(d.build.node("ReduceMean", {x.name, d.build.initializer(make::integers(int64, {1}, {rank - 1}))}));
  }
  return d.wire(d.build.node("ReduceMean", {x.name}, {{"axes", Shape{rank - 1}}}));
}

// The MatMul family: each takes x and returns floats again, or stands alone on x.

Tensor bytes_of(GraphDraft& d, Shape shape) {
  return d.data(d.rng.chance(1, 2) ? uint8 : int8, std::move(shape));
}

// A zero point for weights of that type, or one for each column; "" where there is none.
std::string column_zero_point(GraphDraft& d, ElementType type, std::int64_t columns) {
  if (d.rng.chance(1, 3)) return "";
  if (d.rng.chance(1, 2)) return d.build.initializer(make::integer(type, d.zero_point(type)));
  return d.build.initializer(d.data(type, {columns}));
}

// x is uint8, and `zero_point` its own.
std::string matmul_integer(GraphDraft& d, const std::string& x, const std::string& zero_point, std::int64_t depth,
                           std::int64_t columns) {
  const Tensor w = bytes_of(d, {depth, columns});
  const ElementType type = w.type;
  const std::string b = d.build.initializer(w);
  std::vector<std::string> inputs{x, b, zero_point, column_zero_point(d, type, columns)};
  while (inputs.back().empty()) inputs.pop_back();
  return d.build.node("MatMulInteger", inputs);
}

// Scales of weights, one or one for each column, of the ranks that quantizers and exporters give them.
std::string weight_scales(GraphDraft& d, std::int64_t columns) {
  const Shape shapes[] = {{}, {1}, {1, 1}, {columns}, {1, columns}, {1, 1, columns}};
  static constexpr std::size_t kUsual[] = {0, 0, 0, 1, 1, 3, 3, 3, 2, 4, 5};
  const Shape& shape = shapes[d.rng.pick(kUsual)];
  std::vector<float> scales(static_cast<std::size_t>(elements_of(shape)));
  for (float& scale : scales) scale = d.draw_scale();
  return d.build.initializer(make::float32(shape, scales));
}

std::string column_bias(GraphDraft& d, std::int64_t columns) {
  std::vector<float> bias(static_cast<std::size_t>(columns));
  for (float& value : bias) value = d.draw_scale() * static_cast<float>(d.rng.between(-100, 100));
  return d.build.initializer(make::float32({columns}, bias));
}

std::optional<Wire> dynamic_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 11) return std::nullopt;
  const std::vector<std::string> q = d.build.nodes("DynamicQuantizeLinear", {x.name}, 3);
  const std::int64_t columns = d.rng.between(1, 12);
  const std::string sum = matmul_integer(d, q[0], q[2], x.shape.back(), columns);
  const std::string real = d.build.node("Cast", {sum}, {{"to", std::int64_t{1}}});
  const std::string scale = d.build.node("Mul", {q[1], weight_scales(d, columns)});
  const std::string y = d.build.node("Mul", {real, scale});
  if (d.rng.chance(1, 2)) return d.wire(y);
  return d.wire(d.build.node("Add", {y, column_bias(d, columns)}));
}

// One node of com.microsoft in the place of those: with a scale for all columns or for each, and a bias.
std::optional<Wire> fused_dynamic_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 11) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const Tensor w = bytes_of(d, {x.shape.back(), columns});
  const ElementType type = w.type;
  const std::string b = d.build.initializer(w);
  std::vector<float> scales(d.rng.chance(1, 2) ? static_cast<std::size_t>(columns) : 1);
  for (float& scale : scales) scale = d.draw_scale();
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  std::vector<std::string> inputs{x.name, b, d.build.initializer(make::float32(per, scales)),
                                  column_zero_point(d, type, columns)};
  if (d.rng.chance(1, 2)) inputs.push_back(column_bias(d, columns));
  while (inputs.back().empty()) inputs.pop_back();
  return d.wire(d.build.node("DynamicQuantizeMatMul", inputs, {}, "com.microsoft"));
}

// Operators of com.microsoft between two quantizations.
std::optional<Wire> microsoft_step(GraphDraft& d, const Wire& x) {
  const auto q = d.quantize(x, true);
  if (!q || (q->type != uint8 && q->type != int8)) return std::nullopt;
  const ElementType type = q->type;
  const auto sx = static_cast<float>(q->scale);
  std::vector<std::string> inputs{q->name, d.build.initializer(make::float32(sx)),
                                  d.build.initializer(make::integer(type, d.last_zero_point()))};
  std::vector<Attribute> attributes;
  Wire y{"", type, q->shape};
  float sy = sx;
  std::int64_t zp = d.zero_point(type);
  const char* op_type = "QLinearLeakyRelu";
  const std::uint64_t which = d.rng.below(5);
  if (which < 2) {
    op_type = which == 0 ? "QLinearAdd" : "QLinearMul";
    const float sb = d.draw_scale();
    inputs.push_back(d.build.initializer(d.data(type, {q->shape.back()})));
    inputs.push_back(d.build.initializer(make::float32(sb)));
    const std::int64_t own = d.zero_point(type);
    inputs.push_back(d.build.initializer(make::integer(type, own)));
    sy = which == 0 ? sx + sb : sx * sb * 64;
  } else if (which == 2) {
    op_type = "QLinearSigmoid";
    sy = 1.0F / 256;
    zp = type == uint8 ? 0 : -128;
  } else if (which == 3 && q->shape.size() == 4) {
    op_type = "QLinearGlobalAveragePool";
    y.shape = {q->shape[0], q->shape[1], 1, 1};
    attributes.push_back({"channels_last", std::int64_t{0}});
  } else {
    attributes.push_back({"alpha", 0.25F});
  }
  if (d.is_exact()) sy = std::exp2(std::ceil(std::log2(sy)));
  inputs.push_back(d.build.initializer(make::float32(sy)));
  inputs.push_back(d.build.initializer(make::integer(type, zp)));
  y.name = d.build.node(op_type, inputs, attributes, "com.microsoft");
  return d.wire(d.dequantize(y, sy, zp).name);
}

std::optional<Wire> normalization(GraphDraft& d, const Wire& x) {
  const auto numbers = [&](std::int64_t count, bool is_positive) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(d.rng.between(is_positive ? 1 : -32, 32)) / 16;
    return d.build.initializer(make::float32({count}, values));
  };
  if (d.opset() >= 17 && d.rng.chance(1, 2)) {
    const std::string scale = numbers(x.shape.back(), false);
    const std::string bias = numbers(x.shape.back(), false);
    return d.wire(d.build.node("LayerNormalization", {x.name, scale, bias}));
  }
  if (x.shape.size() < 3) return std::nullopt;
  std::vector<std::string> inputs{x.name};
  const bool is_batch = d.rng.chance(1, 2);
  for (int i = 0; i < (is_batch ? 4 : 2); ++i) inputs.push_back(numbers(x.shape[1], i == 3));
  return d.wire(d.build.node(is_batch ? "BatchNormalization" : "InstanceNormalization", inputs));
}

double largest_of(const std::optional<graph::Bounds>& seen) {
  double largest = 0;
  for (std::size_t i = 0; seen && i < seen->size(); ++i) {
    largest = std::max({largest, std::fabs(seen->lo[i]), std::fabs(seen->hi[i])});
  }
  return largest;
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

// Recurrent layers of floats with dequantized weights; x is the sequence.
std::optional<Wire> recurrent(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 3 || d.opset() < 14) return std::nullopt;
  const bool is_gru = d.rng.chance(1, 2);
  const std::int64_t hidden = d.rng.between(1, 4);
  const std::int64_t gates = (is_gru ? 3 : 4) * hidden;
  const auto weights = [&](std::int64_t from) {
    const double largest = largest_of(d.see(x.name, reference::Tier::exact)) * static_cast<double>(from) * 128;
    const int fitting = largest > 0 ? -static_cast<int>(std::ceil(std::log2(largest))) + 1 : -7;
    const Wire q{d.build.initializer(d.data(int8, {1, gates, from})), int8, {1, gates, from}};
    return d.dequantize(q, std::ldexp(1.0F, std::max(fitting, -20)), 0).name;
  };
  std::vector<std::string> inputs{x.name};
  inputs.push_back(weights(x.shape[2]));
  inputs.push_back(weights(hidden));
  if (d.rng.chance(1, 2)) {
    std::vector<float> bias(static_cast<std::size_t>(2 * gates));
    for (float& value : bias) value = static_cast<float>(d.rng.between(-32, 32)) / 32;
    inputs.push_back(d.build.initializer(make::float32({1, 2 * gates}, bias)));
  }
  std::vector<Attribute> attributes{{"hidden_size", hidden}};
  if (d.rng.chance(1, 3)) attributes.push_back({"direction", std::string("reverse")});
  if (is_gru && d.rng.chance(1, 2)) attributes.push_back({"linear_before_reset", std::int64_t{1}});
  return d.wire(d.build.node(is_gru ? "GRU" : "LSTM", inputs, attributes));
}

// Products of rows with rows, by an equation.
std::optional<Wire> einsum(GraphDraft& d, const Wire& x) {
  static constexpr const char* kEquations[] = {"id,jd->ij", "bid,bjd->bij", "bhid,bhjd->bhij"};
  if (x.shape.size() < 2 || x.shape.size() > 4 || d.opset() < 12) return std::nullopt;
  Shape shape = x.shape;
  shape[shape.size() - 2] = d.rng.between(1, 6);
  const Wire other = d.operand(shape, d.rng.chance(1, 2));
  const std::string equation = kEquations[x.shape.size() - 2];
  return d.wire(d.build.node("Einsum", {x.name, other.name}, {{"equation", equation}}));
}

// Truth values or numbers, by which every query attends the first key.
std::string attention_mask(GraphDraft& d, std::int64_t queries, std::int64_t keys) {
  const Shape shape{queries, keys};
  if (d.rng.chance(1, 2)) {
    std::vector<std::int64_t> truths;
    for (std::int64_t i = 0; i < queries * keys; ++i) truths.push_back(i % keys == 0 || d.rng.chance(2, 3) ? 1 : 0);
    return d.build.initializer(make::integers(boolean, shape, truths));
  }
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < queries * keys; ++i) {
    const bool hides = i % keys != 0 && d.rng.chance(1, 3);
    numbers.push_back(hides ? -10000.0F : static_cast<float>(d.rng.between(-8, 8)) / 8);
  }
  return d.build.initializer(make::float32(shape, numbers));
}

// x holds the queries; its heads have an axis of their own, or are parts of the last axis.
std::optional<Wire> attention(GraphDraft& d, const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (d.opset() < 23 || (rank != 3 && rank != 4)) return std::nullopt;
  const std::int64_t heads = rank == 4 ? x.shape[1] : x.shape[2] % 2 == 0 ? 2 : 1;
  const std::int64_t shared = d.rng.chance(1, 2) ? heads : 1;
  const std::int64_t size = rank == 4 ? x.shape[3] : x.shape[2] / heads;
  const std::int64_t keys = d.rng.between(1, 6);
  const Shape shape = rank == 4 ? Shape{x.shape[0], shared, keys, size} : Shape{x.shape[0], keys, shared * size};
  const Wire k = d.operand(shape, d.rng.chance(1, 2));
  const Wire v = d.operand(shape, d.rng.chance(1, 2));
  // Scores spread over a few units, so that several keys have weight.
  const double scores = largest_of(d.see(x.name, reference::Tier::exact)) *
                        largest_of(d.see(k.name, reference::Tier::exact)) * static_cast<double>(size);
  if (!std::isfinite(scores) || scores == 0) return std::nullopt;
  std::vector<Attribute> attributes{{"scale", std::exp2(static_cast<float>(std::round(3 - std::log2(scores))))}};
  if (rank == 3) {
    attributes.push_back({"q_num_heads", heads});
    attributes.push_back({"kv_num_heads", shared});
  }
  if (d.rng.chance(1, 3)) attributes.push_back({"is_causal", std::int64_t{1}});
  if (d.rng.chance(1, 3)) attributes.push_back({"softcap", 2.0F});
  std::vector<std::string> inputs{x.name, k.name, v.name};
  if (d.rng.chance(1, 2)) inputs.push_back(attention_mask(d, x.shape[rank - 2], keys));
  return d.wire(d.build.node("Attention", inputs, attributes));
}

std::optional<Wire> rotation(GraphDraft& d, const Wire& x) {
  const std::size_t rank = x.shape.size();
  if (d.opset() < 23 || (rank != 3 && rank != 4)) return std::nullopt;
  const std::int64_t heads = rank == 4 ? x.shape[1] : x.shape[2] % 2 == 0 ? x.shape[2] / 2 : 1;
  const std::int64_t size = rank == 4 ? x.shape[3] : x.shape[2] / heads;
  if (size < 2) return std::nullopt;
  const std::int64_t half = size / 2;
  const auto cache = [&] {
    std::vector<float> values(static_cast<std::size_t>(x.shape[0] * x.shape[rank - 2] * half));
    for (float& value : values) value = static_cast<float>(d.rng.between(-16, 16)) / 16;
    return d.build.initializer(make::float32({x.shape[0], x.shape[rank - 2], half}, values));
  };
  const std::string cos = cache();
  const std::string sin = cache();
  std::vector<Attribute> attributes{{"num_heads", heads}, {"rotary_embedding_dim", 2 * half}};
  if (d.rng.chance(1, 2)) attributes.push_back({"interleaved", std::int64_t{1}});
  return d.wire(d.build.node("RotaryEmbedding", {x.name, cos, sin}, attributes));
}

std::optional<Wire> qlinear_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const auto q = d.quantize(x, true);
  if (!q || (q->type != uint8 && q->type != int8)) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const std::int64_t depth = q->shape.back();
  // Every mix of types is right; runtimes have few of them.
  const bool is_usual = d.rng.chance(7, 8);
  const Tensor w = is_usual && q->type == int8 ? d.data(int8, {depth, columns}) : bytes_of(d, {depth, columns});
  const float sw = d.draw_scale();
  std::vector<float> scales(d.rng.chance(1, 4) ? static_cast<std::size_t>(columns) : 1, sw);
  for (float& scale : scales) scale = std::ldexp(scale, -static_cast<int>(d.rng.below(3)));
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  const float fitting = static_cast<float>(q->scale) * sw * 48 * std::sqrt(static_cast<float>(depth));
  const float sy = d.is_exact() ? std::exp2(std::ceil(std::log2(fitting))) : fitting;
  const ElementType type = is_usual ? q->type : q->type == int8 ? uint8 : int8;
  const std::int64_t zp = d.zero_point(type);
  Wire y{d.build.node("QLinearMatMul",
                      {q->name, d.build.initializer(make::float32(static_cast<float>(q->scale))),
                       d.build.initializer(make::integer(q->type, d.last_zero_point())), d.build.initializer(w),
                       d.build.initializer(make::float32(per, scales)), d.build.initializer(d.data(w.type, per)),
                       d.build.initializer(make::float32(sy)), d.build.initializer(make::integer(type, zp))}),
         type, q->shape};
  y.shape.back() = columns;
  return d.wire(d.dequantize(y, sy, zp).name);
}

// MatMulNBits of com.microsoft.
std::optional<Wire> packed_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const std::int64_t depth = x.shape.back();
  const std::int64_t columns = d.rng.between(1, 8);
  const std::int64_t bits = d.rng.chance(1, 3) ? 8 : 4;
  const std::int64_t block = d.rng.chance(1, 2) ? 16 : 32;
  const std::int64_t blocks = (depth + block - 1) / block;
  std::vector<float> scales(static_cast<std::size_t>(columns * blocks));
  for (float& scale : scales) scale = d.draw_scale();
  std::vector<std::string> inputs{x.name, d.build.initializer(d.data(uint8, {columns, blocks, block * bits / 8})),
                                  d.build.initializer(make::float32({columns * blocks}, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(uint8, {columns * ((blocks * bits + 7) / 8)})));
  std::vector<Attribute> attributes{{"K", depth}, {"N", columns}, {"bits", bits}, {"block_size", block}};
  // Higher levels permit narrower activations: their sets are wide.
  if (d.rng.chance(1, 3)) attributes.push_back({"accuracy_level", d.rng.between(0, 1)});
  return d.wire(d.build.node("MatMulNBits", inputs, std::move(attributes), "com.microsoft"));
}

// DQ of weights in blocks, then MatMul.
std::optional<Wire> blocked_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 21) return std::nullopt;
  static constexpr ElementType kTypes[] = {int4, uint4, int8, uint8};
  const std::int64_t depth = x.shape.back();
  const std::int64_t columns = d.rng.between(1, 8);
  const std::int64_t axis = d.rng.chance(1, 3) ? 1 : 0;
  const std::int64_t block = d.rng.between(2, 16);
  Shape shape{depth, columns};
  Shape parameters = shape;
  parameters[static_cast<std::size_t>(axis)] = (shape[static_cast<std::size_t>(axis)] + block - 1) / block;
  const ElementType type = d.rng.pick(kTypes);
  std::vector<float> scales(static_cast<std::size_t>(elements_of(parameters)));
  for (float& scale : scales) scale = d.draw_scale();
  std::vector<std::string> inputs{d.build.initializer(d.data(type, shape)),
                                  d.build.initializer(make::float32(parameters, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(type, parameters)));
  const std::string w = d.build.node("DequantizeLinear", inputs, {{"axis", axis}, {"block_size", block}});
  return d.wire(d.build.node("MatMul", {x.name, w}));
}

std::optional<Wire> topk(GraphDraft& d, const Wire& x) {
  if (d.opset() < 11) return std::nullopt;
  const std::string k = d.build.initializer(make::integers(int64, {1}, {d.rng.between(1, x.shape.back())}));
  std::vector<Attribute> attributes;
  if (d.rng.chance(1, 3)) attributes.push_back({"largest", std::int64_t{0}});
  return d.wire(d.build.nodes("TopK", {x.name, k}, 2, attributes)[0]);
}

// Graphs of one node that is no operator by itself.

using Alone = Case (*)(GraphDraft& d);

Case dynamic_alone(GraphDraft& d) {
  const Shape shape{d.rng.between(1, 6), d.rng.between(1, 40)};
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) {
    value = d.draw_scale();
    value *= static_cast<float>(d.rng.between(-300, 300));
  }
  return d.build.build(d.build.nodes("DynamicQuantizeLinear", {d.build.input(make::float32(shape, values))}, 3));
}

Case product_alone(GraphDraft& d) {
  const Shape shape{d.rng.between(1, 6), d.rng.between(1, 40)};
  const Tensor a = bytes_of(d, shape);
  const ElementType type = a.type;
  std::string zero_point;
  if (d.rng.chance(1, 2)) zero_point = d.build.initializer(make::integer(type, d.zero_point(type)));
  const std::int64_t columns = d.rng.between(1, 12);
  return d.build.build({matmul_integer(d, d.build.input(a), zero_point, shape[1], columns)});
}

// Rows of blocks, the last of which may be cut.
Case gathered_alone(GraphDraft& d) {
  const bool is_packed = d.opset() < 21 || d.rng.chance(1, 2);
  const std::int64_t bits = is_packed && d.rng.chance(1, 2) ? 8 : 4;
  const std::int64_t block = d.rng.chance(2, 3) ? 16 : 32;
  const std::int64_t rows = d.rng.between(1, 6);
  const std::int64_t columns = 2 * d.rng.between(1, 40);
  const std::int64_t blocks = (columns + block - 1) / block;
  const std::int64_t held = is_packed ? 8 / bits : 1;  // elements of a byte
  const ElementType type = is_packed ? uint8 : d.rng.chance(1, 2) ? int4 : uint4;
  std::vector<float> scales(static_cast<std::size_t>(rows * blocks));
  for (float& scale : scales) scale = d.draw_scale();
  const Shape chosen = d.rng.chance(1, 2) ? Shape{d.rng.between(1, 5)} : Shape{1, 3};
  std::vector<std::int64_t> indices(static_cast<std::size_t>(elements_of(chosen)));
  for (std::int64_t& index : indices) index = d.rng.between(0, rows - 1);
  std::vector<std::string> inputs{d.build.initializer(d.data(type, {rows, columns / held})),
                                  d.build.input(make::integers(int64, chosen, indices)),
                                  d.build.initializer(make::float32({rows, blocks}, scales))};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(d.data(type, {rows, (blocks + held - 1) / held})));
  const std::vector<Attribute> attributes{{"bits", bits}, {"block_size", block}, {"quantize_axis", std::int64_t{1}}};
  return d.build.build({d.build.node("GatherBlockQuantized", inputs, attributes, "com.microsoft")});
}

// A layer of one direction, whose gates are neither open nor shut.
Case lstm_alone(GraphDraft& d) {
  const std::int64_t steps = d.rng.between(1, 4);
  const std::int64_t batch = d.rng.between(1, 3);
  const std::int64_t size = d.rng.between(1, 8);
  const std::int64_t hidden = d.rng.between(1, 6);
  const auto floats = [&](Shape shape, int exponent) {
    std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
    for (float& value : values) value = std::ldexp(static_cast<float>(d.rng.between(-128, 127)), exponent);
    return make::float32(std::move(shape), values);
  };
  const ElementType type = d.rng.chance(1, 2) ? uint8 : int8;
  const auto weights = [&](std::int64_t rows) { return d.build.initializer(d.data(type, {1, rows, 4 * hidden})); };
  const auto scale = [&] { return d.build.initializer(make::float32({1}, {std::ldexp(d.draw_scale(), -6)})); };
  const auto zero_point = [&] { return d.build.initializer(make::integers(type, {1}, {type == uint8 ? 128 : 0})); };
  const std::string x = d.build.input(floats({steps, batch, size}, -5));
  const std::string w = weights(size);
  const std::string r = weights(hidden);
  std::vector<std::string> inputs{x, w, r, "", "", "", "", ""};
  if (d.rng.chance(1, 2)) inputs[3] = d.build.initializer(floats({1, 8 * hidden}, -7));
  if (d.rng.chance(1, 3)) {
    inputs[5] = d.build.initializer(floats({1, batch, hidden}, -7));
    inputs[6] = d.build.initializer(floats({1, batch, hidden}, -7));
  }
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(scale());
    inputs.push_back(zero_point());
  }
  std::vector<Attribute> attributes{{"hidden_size", hidden}};
  if (d.rng.chance(1, 3)) attributes.push_back({"direction", std::string("reverse")});
  return d.build.build(d.build.nodes("DynamicQuantizeLSTM", inputs, 3, attributes, "com.microsoft"));
}

Case draw_alone(GraphDraft& d) {
  static constexpr Alone kAlone[] = {dynamic_alone, product_alone, gathered_alone, gathered_alone, lstm_alone};
  const Alone draw = d.rng.pick(kAlone);
  return draw == dynamic_alone && d.opset() < 11 ? product_alone(d) : draw(d);
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

struct WeightedStep {
  Step step;
  std::uint32_t weight;
};
constexpr auto kChoices = std::to_array<WeightedStep>(
    {{conv, 6},           {conv_transpose, 1}, {gemm, 4},           {matmul, 3},
     {binary, 4},         {activation, 4},     {pool, 4},           {movement, 4},
     {reduction, 1},      {square, 1},         {division, 1},       {dynamic_matmul, 1},
     {qlinear_matmul, 1}, {packed_matmul, 1},  {blocked_matmul, 1}, {fused_dynamic_matmul, 1},
     {microsoft_step, 2}, {normalization, 1},  {topk, 1},           {requantization, 2},
     {turned_matmul, 1},  {twins, 1},          {einsum, 1},         {attention, 2},
     {rotation, 1},       {resize, 1},         {recurrent, 1}});

// Returns the weights of the choices in one block of graphs: every choice as usual, left out, or common.
std::array<std::uint32_t, kChoices.size()> weights_of(std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed ^ 0x6772'6170'6873'0000U, index / kGraphBlock);
  std::array<std::uint32_t, kChoices.size()> weights{};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::uint64_t turn = rng.below(4);
    weights[i] = kChoices[i].weight * (turn == 0 ? 0 : turn == 1 ? 4 : 1);
  }
  return weights;
}

Step draw_step(Rng& rng, const std::array<std::uint32_t, kChoices.size()>& weights) {
  std::uint32_t total = 0;
  for (const std::uint32_t weight : weights) total += weight;
  if (total == 0) return kChoices[rng.below(kChoices.size())].step;
  auto choice = static_cast<std::uint32_t>(rng.below(total));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (choice < weights[i]) return kChoices[i].step;
    choice -= weights[i];
  }
  return kChoices.front().step;
}

Shape draw_shape(Rng& rng) {
  switch (rng.below(4)) {
    case 0: return {rng.between(1, 5), rng.between(1, 16)};
    case 1: return {1, rng.between(1, 6), rng.between(2, 9)};
    default: return {rng.chance(1, 4) ? 2 : 1, rng.between(1, 6), rng.between(2, 6), rng.between(2, 6)};
  }
}

// Quantized x, then units: DQ, one compute node or two, Q.
Case draw_graph(std::uint64_t seed, std::uint64_t index) {
  const std::int64_t opset_version = Rng(seed + 1, index).pick(kOpsets);
  GraphDraft draft(seed, index, opset_version);
  const auto weights = weights_of(seed, index);
  Rng& rng = draft.rng;
  if (rng.chance(1, 32)) return draw_alone(draft);
  Wire x = draft.operand(draw_shape(rng), true);
  std::vector<std::string> outputs;
  std::string also;  // an inner Q that is an output of the graph too
  const std::int64_t wanted = rng.chance(1, 2) ? rng.between(1, 2) : rng.between(1, 8);
  std::int64_t steps = 0;
  for (int attempt = 0; steps < wanted && attempt < 24; ++attempt) {
    const std::size_t nodes = draft.build.node_count();
    const std::size_t initializers = draft.build.initializer_count();
    auto y = draw_step(rng, weights)(draft, x);
    if (!y) {
      draft.build.keep(nodes, initializers);
      continue;
    }
    ++steps;
    const bool is_last = steps == wanted;
    if (!is_last && rng.chance(1, 3)) {  // a second compute node in the unit
      x = std::move(*y);
      continue;
    }
    auto q = draft.quantize(*y, !is_last);
    if (!q) {
      draft.build.keep(nodes, initializers);
      --steps;
      continue;
    }
    outputs = {q->name};
    if (!is_last && rng.chance(1, 12)) also = q->name;
    x = draft.dequantize(*q, static_cast<float>(q->scale), draft.last_zero_point());
    if (is_last && rng.chance(1, 8)) outputs = {x.name};
    if (is_last && rng.chance(1, 12)) also = y->name;
  }
  if (outputs.empty()) {
    const auto q = draft.quantize(x, false);
    outputs = {q ? q->name : x.name};
  }
  if (!also.empty() && also != outputs.front()) outputs.push_back(also);
  return draft.build.build(outputs);
}

}  // namespace
}  // namespace qconform::drawn_graphs

namespace qconform {

Case graph_case(std::uint64_t seed, std::uint64_t index) {
  Case result = pruned(drawn_graphs::draw_graph(seed, index));
  result.id = "graphs-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {"graphs", seed, index};
  return result;
}

}  // namespace qconform
