// Steps of random graphs that multiply quantized numbers as they are: integer sums, and what makes them real numbers.
#include <algorithm>
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

// A zero point for weights of that type, or one for each column; "" where there is none.
std::string column_zero_point(GraphDraft& d, ElementType type, std::int64_t columns) {
  if (d.rng.chance(1, 3)) return "";
  if (d.rng.chance(1, 2)) return d.build.initializer(make::integer(type, d.zero_point(type)));
  return d.build.initializer(d.data(type, {columns}));
}

/// Weights [depth, columns] with a scale for all of them or for each column, and a zero point, "" where there is none.
struct ColumnWeights {
  std::string name;
  std::string scale;
  std::string zero_point;
};

ColumnWeights draw_columns(GraphDraft& d, std::int64_t depth, std::int64_t columns) {
  Tensor w = d.bytes({depth, columns});
  const ElementType type = w.type;
  ColumnWeights result;
  result.name = d.build.initializer(std::move(w));
  std::vector<float> scales(d.rng.chance(1, 2) ? static_cast<std::size_t>(columns) : 1);
  for (float& scale : scales) scale = d.draw_scale();
  result.scale = d.build.initializer(make::float32(scales.size() == 1 ? Shape{} : Shape{columns}, scales));
  result.zero_point = column_zero_point(d, type, columns);
  return result;
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

std::string column_bias(GraphDraft& d, std::int64_t columns, bool may_have_axes = true) {
  std::vector<float> bias(static_cast<std::size_t>(columns));
  for (float& value : bias) value = d.draw_scale() * static_cast<float>(d.rng.between(-100, 100));
  static constexpr std::size_t kRanks[] = {1, 1, 1, 2, 3};
  Shape shape(may_have_axes ? d.rng.pick(kRanks) : 1, 1);
  shape.back() = columns;
  return d.build.initializer(make::float32(shape, bias));
}

}  // namespace

std::string matmul_integer(GraphDraft& d, const std::string& x, const std::string& zero_point, std::int64_t depth,
                           std::int64_t columns) {
  const Tensor w = d.bytes({depth, columns});
  const ElementType type = w.type;
  const std::string b = d.build.initializer(w);
  std::vector<std::string> inputs{x, b, zero_point, column_zero_point(d, type, columns)};
  while (inputs.back().empty()) inputs.pop_back();
  return d.build.node("MatMulInteger", inputs);
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
  const std::string bias = column_bias(d, columns);
  return d.wire(d.rng.chance(1, 4) ? d.build.node("Add", {bias, y}) : d.build.node("Add", {y, bias}));
}

// A scale for all columns or for each, and a bias.
std::optional<Wire> fused_dynamic_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2 || d.opset() < 11) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const ColumnWeights w = draw_columns(d, x.shape.back(), columns);
  std::vector<std::string> inputs{x.name, w.name, w.scale, w.zero_point};
  if (d.rng.chance(1, 2)) inputs.push_back(column_bias(d, columns, false));
  while (inputs.back().empty()) inputs.pop_back();
  return d.wire(d.build.node("DynamicQuantizeMatMul", inputs, {}, "com.microsoft"));
}

namespace {

// A scale that fits sums of `terms` products, of their factors' scales.
float fitting_scale(const GraphDraft& d, double x_scale, float w_scale, std::int64_t terms) {
  const double unit = x_scale * static_cast<double>(w_scale);
  const double fitting = std::max(unit * 48 * std::sqrt(static_cast<double>(terms)), 0x1p-120);
  return static_cast<float>(d.is_exact() ? std::exp2(std::ceil(std::log2(fitting))) : fitting);
}

std::optional<Wire> qlinear_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const std::int64_t depth = x.shape.back();
  // Every mix of types is right; runtimes have few of them.
  const bool is_usual = d.rng.chance(7, 8);
  const Tensor w = is_usual && q->type == int8 ? d.data(int8, {depth, columns}) : d.bytes({depth, columns});
  const float sw = d.draw_scale();
  std::vector<float> scales(d.rng.chance(1, 4) ? static_cast<std::size_t>(columns) : 1, sw);
  for (float& scale : scales) scale = std::ldexp(scale, -static_cast<int>(d.rng.below(3)));
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  const float sy = fitting_scale(d, q->scale, sw, depth);
  const ElementType type = is_usual ? q->type : q->type == int8 ? uint8 : int8;
  const std::int64_t zp = d.zero_point(type);
  std::vector<std::string> inputs = q->inputs();
  inputs.insert(inputs.end(), {d.build.initializer(w), d.build.initializer(make::float32(per, scales)),
                               d.build.initializer(d.data(w.type, per)), d.build.initializer(make::float32(sy)),
                               d.build.initializer(make::integer(type, zp))});
  const Wire y{d.build.node("QLinearMatMul", inputs), type, {}};
  return d.wire(d.dequantize(y, sy, zp).name);
}

/// Windows of a convolution over all axes behind the channels.
struct Windows {
  Shape kernel;
  std::vector<Attribute> attributes;
};

Windows draw_windows(GraphDraft& d, const Shape& x) {
  Windows result;
  Shape strides;
  Shape pads;
  for (std::size_t i = 2; i < x.size(); ++i) {
    result.kernel.push_back(std::min(x[i], d.rng.between(1, 3)));
    strides.push_back(d.rng.chance(1, 4) ? 2 : 1);
    pads.push_back(d.rng.between(0, 1));
  }
  pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(strides.size()));
  result.attributes.push_back({"strides", std::move(strides)});
  draw_padding(d, std::move(pads), result.attributes);
  return result;
}

// Weights [filters, channels / group, kernel...]. A group is one channel, or all.
Shape draw_filters(GraphDraft& d, const Shape& x, Windows& windows) {
  const std::int64_t group = d.rng.chance(1, 4) ? x[1] : 1;
  const std::int64_t width = group == 1 ? d.rng.between(1, 6) : d.rng.between(1, 2);
  if (group != 1) windows.attributes.push_back({"group", group});
  Shape shape{group * width, x[1] / group};
  shape.insert(shape.end(), windows.kernel.begin(), windows.kernel.end());
  return shape;
}

// DynamicQuantizeLinear, ConvInteger, and the nodes that make its sums real numbers.
std::optional<Wire> dynamic_conv(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3 || d.opset() < 11) return std::nullopt;
  const std::vector<std::string> q = d.build.nodes("DynamicQuantizeLinear", {x.name}, 3);
  Windows windows = draw_windows(d, x.shape);
  const Tensor w = d.bytes(draw_filters(d, x.shape, windows));
  const ElementType type = w.type;
  const std::int64_t filters = w.shape[0];
  const std::string b = d.build.initializer(w);
  std::vector<std::string> inputs{q[0], b, q[2]};
  if (d.rng.chance(1, 2)) inputs.push_back(d.build.initializer(make::integer(type, d.zero_point(type))));
  const std::string sum = d.build.node("ConvInteger", inputs, windows.attributes);
  const std::string real = d.build.node("Cast", {sum}, {{"to", std::int64_t{1}}});
  const std::string scale = d.build.node("Mul", {q[1], d.build.initializer(make::float32(d.draw_scale()))});
  const std::string y = d.build.node("Mul", {real, scale});
  if (d.rng.chance(1, 2)) return d.wire(y);
  Shape columns(x.shape.size(), 1);
  columns[1] = filters;
  return d.wire(d.build.node("Add", {y, d.build.initializer(d.multiples(columns, -64, 64, -3))}));
}

/// Weights of a product of quantized numbers: a scale and a zero point for all of them, or for each index of an axis.
struct DrawnWeights {
  std::string name;
  std::string scale;
  std::string zero_point;
  float largest_scale;
};

DrawnWeights draw_weights(GraphDraft& d, ElementType type, Shape shape, std::int64_t columns) {
  const float largest = d.draw_scale();
  std::vector<float> scales(d.rng.chance(1, 3) ? static_cast<std::size_t>(columns) : 1, largest);
  for (float& scale : scales) scale = std::ldexp(scale, -static_cast<int>(d.rng.below(3)));
  const Shape per = scales.size() == 1 ? Shape{} : Shape{columns};
  DrawnWeights w;
  w.name = d.build.initializer(d.data(type, std::move(shape)));
  w.scale = d.build.initializer(make::float32(per, scales));
  const std::int64_t zero_point = type == uint8 ? d.zero_point(type) : 0;
  w.zero_point = d.build.initializer(make::filled(type, per, zero_point));
  w.largest_scale = largest;
  return w;
}

std::string int32_bias(GraphDraft& d, std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t& value : values) value = d.rng.between(-4000, 4000);
  return d.build.initializer(make::int32({count}, values));
}

std::optional<Wire> qlinear_conv(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 3) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  Windows windows = draw_windows(d, x.shape);
  const Shape filters = draw_filters(d, x.shape, windows);
  // Every mix of types is right; runtimes have few of them.
  const DrawnWeights w = draw_weights(d, q->type == uint8 && d.rng.chance(1, 4) ? uint8 : int8, filters, filters[0]);
  const float scale = fitting_scale(d, q->scale, w.largest_scale, elements_of(filters) / filters[0]);
  const std::int64_t zero_point = d.zero_point(q->type);
  std::vector<std::string> inputs = q->inputs();
  inputs.insert(inputs.end(), {w.name, w.scale, w.zero_point, d.build.initializer(make::float32(scale)),
                               d.build.initializer(make::integer(q->type, zero_point))});
  if (d.rng.chance(1, 2)) inputs.push_back(int32_bias(d, filters[0]));
  const Wire y{d.build.node("QLinearConv", inputs, windows.attributes), q->type, {}};
  return d.wire(d.dequantize(y, scale, zero_point).name);
}

// One node of com.microsoft in the place of MatMulInteger, Cast and Mul.
std::optional<Wire> scaled_matmul(GraphDraft& d, const Wire& x) {
  if (x.shape.size() < 2) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  const std::int64_t columns = d.rng.between(1, 12);
  const ColumnWeights w = draw_columns(d, x.shape.back(), columns);
  std::vector<std::string> inputs{q->name, w.name, q->scale_name, w.scale, q->zero_point_name, w.zero_point};
  if (d.rng.chance(1, 2)) inputs.push_back(column_bias(d, columns, false));
  while (inputs.back().empty()) inputs.pop_back();
  return d.wire(d.build.node("MatMulIntegerToFloat", inputs, {}, "com.microsoft"));
}

// QGemm of com.microsoft, with a quantized result or a real one.
std::optional<Wire> quantized_gemm(GraphDraft& d, const Wire& x) {
  if (x.shape.size() != 2) return std::nullopt;
  const auto q = d.quantize_to_bytes(x);
  if (!q) return std::nullopt;
  std::vector<Attribute> attributes;
  const bool turns_x = d.rng.chance(1, 6);
  const bool turns_w = d.rng.chance(1, 2);
  if (turns_x) attributes.push_back({"transA", std::int64_t{1}});
  if (turns_w) attributes.push_back({"transB", std::int64_t{1}});
  if (d.rng.chance(1, 6)) attributes.push_back({"alpha", d.is_exact() ? 0.5F : 0.3F});
  const std::int64_t depth = x.shape[turns_x ? 0 : 1];
  const std::int64_t columns = d.rng.between(1, 12);
  const DrawnWeights w = draw_weights(d, q->type, turns_w ? Shape{columns, depth} : Shape{depth, columns}, columns);
  std::vector<std::string> inputs = q->inputs();
  inputs.insert(inputs.end(), {w.name, w.scale, w.zero_point});
  inputs.push_back(d.rng.chance(1, 2) ? int32_bias(d, columns) : "");
  if (d.rng.chance(1, 3)) {
    while (inputs.back().empty()) inputs.pop_back();
    return d.wire(d.build.node("QGemm", inputs, attributes, "com.microsoft"));
  }
  const float scale = fitting_scale(d, q->scale, w.largest_scale, depth);
  const std::int64_t zero_point = d.zero_point(q->type);
  inputs.push_back(d.build.initializer(make::float32(scale)));
  inputs.push_back(d.build.initializer(make::integer(q->type, zero_point)));
  const Wire y{d.build.node("QGemm", inputs, attributes, "com.microsoft"), q->type, {}};
  return d.wire(d.dequantize(y, scale, zero_point).name);
}

constexpr WeightedStep kIntegerSteps[] = {{dynamic_matmul, 2}, {fused_dynamic_matmul, 1}, {qlinear_matmul, 1},
                                          {dynamic_conv, 1},   {qlinear_conv, 1},         {scaled_matmul, 1},
                                          {quantized_gemm, 1}};

}  // namespace

std::span<const WeightedStep> integer_steps() {
  return kIntegerSteps;
}

}  // namespace qconform::drawn_graphs
