// The compute nodes of units, with their other operands.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/operators/graph/unit.h"

namespace qconform::unit {
namespace {

using enum ElementType;
using Attributes = std::vector<Attribute>;

// Weights, and what a bias has to know of them.
struct Weights {
  std::string real;
  std::vector<double> scales;
  bool by_channel = false;  ///< a scale for each output channel
};

// `summed` and `channels`: which axis of `shape`, the first or the second, has the terms of a sum, and the outputs.
Weights weights(UnitDraft& d, Shape shape, std::size_t summed, std::size_t channels) {
  const bool is_swapped = d.u.source == kTransposedSource;
  if (is_swapped) {
    std::swap(shape[0], shape[1]);
    summed = 1 - summed;
    channels = 1 - channels;
  }
  Dequantized w = d.dequantized(d.u.w, shape, d.u.source == kFed, summed);
  const std::size_t axis = d.u.w.layout == kAxis0 ? 0 : d.u.w.layout == kAxis1 ? 1 : shape.size() - 1;
  Weights result{w.real, w.parameters.scales, false};
  result.by_channel = d.u.w.layout != kPerTensor && d.u.w.layout != kBlocks && axis == channels;
  if (is_swapped) {
    Shape order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::swap(order[0], order[1]);
    result.real = d.nodes.node("Transpose", {w.real}, {{"perm", order}});
  }
  return result;
}

double draw_ratio(UnitDraft& d) {
  static constexpr double kRatios[] = {1.00001, 0.99999, 1.009, 0.991, 1.02, 0.98, 12, 1.0 / 12};
  static constexpr double kNarrow[] = {1.02, 0.98, 12, 1.0 / 12};
  if (d.u.bias_ratio) return *d.u.bias_ratio;
  return d.u.real == float32 ? d.rng.pick(kRatios) : d.rng.pick(kNarrow);
}

std::int64_t draw_bias(UnitDraft& d) {
  if (d.u.bias != kLargeBias) return d.rng.between(-4000, 4000);
  const std::int64_t most = 0x7FFFFFFF - static_cast<std::int64_t>(d.rng.below(1U << 16));
  return d.rng.chance(1, 2) ? most : -most - 1;
}

// int32 with the product of the scales, times a ratio; or real numbers.
std::string bias(UnitDraft& d, const Weights& w) {
  const double sx = d.x.parameters.scales.front();
  const double sw = w.scales.empty() ? 1 : w.scales.front();
  if (d.u.bias == kFloatBias) {
    std::vector<double> values;
    const double unit = d.u.scales == kPowersOfTwo ? sx * sw : sx * sw * 0.77;
    for (std::int64_t i = 0; i < d.u.n; ++i) {
      values.push_back(d.in_real(unit * static_cast<double>(d.rng.between(-4000, 4000))));
    }
    return d.real_tensor({d.u.n}, values);
  }
  const double ratio = d.u.bias == kOtherBiasScale ? draw_ratio(d) : 1;
  std::vector<double> scales;
  for (const double own : w.by_channel ? w.scales : std::vector<double>{sw}) {
    scales.push_back(d.in_real(d.in_real(sx * own) * ratio));
  }
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < d.u.n; ++i) values.push_back(draw_bias(d));
  const Shape shape = w.by_channel ? Shape{d.u.n} : Shape{};
  std::vector<std::string> inputs{d.nodes.initializer(make::int32({d.u.n}, values)), d.real_tensor(shape, scales)};
  if (d.rng.chance(1, 2)) inputs.push_back(d.nodes.initializer(make::filled(int32, shape, 0)));
  Attributes attributes;
  if (w.by_channel) attributes.push_back({"axis", std::int64_t{0}});
  return d.nodes.node("DequantizeLinear", inputs, attributes);
}

// The node, and where the unit has two, another one with the same weights and bias. `shape`: of x.
std::string summed(UnitDraft& d, const char* op_type, std::vector<std::string> inputs, const Shape& shape,
                   const Attributes& attributes) {
  const std::string y = d.nodes.node(op_type, inputs, attributes);
  if (d.u.is_twice) {
    inputs[0] = d.operand_beside(shape);
    d.further.push_back(d.nodes.node(op_type, inputs, attributes));
  }
  return y;
}

struct WindowSizes {
  Shape input;
  Shape kernel;
  Attributes attributes;
};

WindowSizes window_sizes(const Unit& u) {
  const bool is_transposed = u.compute == kConvTranspose;
  switch (u.window) {
    case kPaddedWindow: return {{2, 3}, {2, 3}, {{"pads", Shape{1, 0, 0, 1}}}};
    case kStrided: return {is_transposed ? Shape{2, 2} : Shape{4, 5}, {2, 2}, {{"strides", Shape{2, 1}}}};
    default: return {{2, 3}, {1, 1}, {}};
  }
}

std::string convolution(UnitDraft& d) {
  const Unit& u = d.u;
  const bool is_transposed = u.compute == kConvTranspose;
  const bool is_depthwise = u.compute == kDepthwise;
  WindowSizes sizes = window_sizes(u);
  const Shape data{1, is_depthwise ? u.n : u.k, sizes.input[0], sizes.input[1]};
  const std::string x = d.operand(data);
  Shape shape{u.n, is_depthwise ? 1 : u.k};
  if (is_transposed) std::swap(shape[0], shape[1]);
  shape.insert(shape.end(), sizes.kernel.begin(), sizes.kernel.end());
  const std::size_t channels = is_transposed ? 1 : 0;
  const Weights w = weights(d, shape, 1 - channels, channels);
  std::vector<std::string> inputs{x, w.real};
  if (u.bias != kNoBias) inputs.push_back(bias(d, w));
  if (is_depthwise) sizes.attributes.push_back({"group", u.n});
  return summed(d, is_transposed ? "ConvTranspose" : "Conv", inputs, data, sizes.attributes);
}

constexpr std::int64_t kRows = 3;

std::string gemm(UnitDraft& d) {
  const Unit& u = d.u;
  const bool a = u.transposed == kA || u.transposed == kBoth;
  const bool b = u.transposed == kB || u.transposed == kBoth;
  const Shape data = a ? Shape{u.k, kRows} : Shape{kRows, u.k};
  const std::string x = d.operand(data);
  const Weights w = weights(d, b ? Shape{u.n, u.k} : Shape{u.k, u.n}, b ? 1 : 0, b ? 0 : 1);
  std::vector<std::string> inputs{x, w.real};
  if (u.bias != kNoBias) inputs.push_back(bias(d, w));
  Attributes attributes;
  if (a) attributes.push_back({"transA", std::int64_t{1}});
  if (b) attributes.push_back({"transB", std::int64_t{1}});
  const bool is_exact = u.scales == kPowersOfTwo;
  if (u.factors == kAlpha || u.factors == kAlphaBeta) attributes.push_back({"alpha", is_exact ? 0.5F : 0.3F});
  if (u.factors == kBeta || u.factors == kAlphaBeta) attributes.push_back({"beta", is_exact ? 2.0F : 0.7F});
  return summed(d, "Gemm", inputs, data, attributes);
}

std::string matmul(UnitDraft& d) {
  const std::string x = d.operand({kRows, d.u.k});
  const Weights w = weights(d, {d.u.k, d.u.n}, 0, 1);
  std::string y = summed(d, "MatMul", {x, w.real}, {kRows, d.u.k}, {});
  if (d.u.bias != kNoBias) y = d.nodes.node("Add", {y, bias(d, w)});
  return y;
}

std::string pair(UnitDraft& d) {
  const Unit& u = d.u;
  const Shape shape{2, kChannelsOfPair, u.width};
  const std::string x = d.operand(shape);
  const Shape other = u.broadcast == kChannels ? Shape{kChannelsOfPair, 1}
                      : u.broadcast == kScalar ? Shape{}
                      : u.broadcast == kRow    ? Shape{u.width}
                                               : shape;
  std::string b = x;
  if (u.other == kSameQuantized) {
    b = d.dequantized_again(d.x.quantized, u.w, shape).real;
  } else if (u.other != kSameReal) {
    b = d.dequantized(u.w, other, u.other == kOtherFed, 0, u.compute == kDiv).real;
  }
  Attributes attributes;
  if (u.compute == kConcat) attributes.push_back({"axis", std::int64_t{1}});
  return d.nodes.node(std::string(name_of(u.compute)), {x, b}, attributes);
}

std::string resize(UnitDraft& d, const std::string& x) {
  const std::string mode = d.u.compute == kLinearResize ? "linear" : "nearest";
  const std::string scales = d.nodes.initializer(make::float32({4}, {1, 1, 2, 2}));
  Attributes attributes{{"mode", mode}};
  if (d.u.opset < 11) return d.nodes.node("Resize", {x, scales}, attributes);
  attributes.push_back({"coordinate_transformation_mode", std::string("asymmetric")});
  if (mode == "nearest") attributes.push_back({"nearest_mode", std::string("floor")});
  const std::string roi = d.u.opset < 13 ? d.nodes.initializer(make::float32({0}, {})) : std::string();
  return d.nodes.node("Resize", {x, roi, scales}, attributes);
}

// A list that is an attribute before `since`, and an input from there on.
std::string with_list(UnitDraft& d, const char* op_type, const std::string& x, const char* name, std::int64_t since,
                      const Shape& values) {
  if (d.u.opset < since) return d.nodes.node(op_type, {x}, {{name, values}});
  return d.nodes.node(op_type, {x, d.integers(values)});
}

std::string split(UnitDraft& d, const std::string& x) {
  const Shape sizes{2, 2};
  Attributes attributes{{"axis", std::int64_t{1}}};
  std::vector<std::string> inputs{x};
  if (d.u.opset < 13) {
    attributes.push_back({"split", sizes});
  } else {
    inputs.push_back(d.integers(sizes));
  }
  const auto outputs = d.nodes.nodes("Split", inputs, 2, attributes);
  d.further.push_back(outputs[1]);
  return outputs[0];
}

std::string clip(UnitDraft& d, const std::string& x) {
  const UnitExtent all = d.extent(x).value_or(UnitExtent{-1, 1});
  const double lo = d.in_real(all.lo / 2);
  const double hi = d.in_real(all.hi / 2);
  if (d.u.opset >= 11) return d.nodes.node("Clip", {x, d.scalar(lo), d.scalar(hi)});
  return d.nodes.node("Clip", {x}, {{"min", static_cast<float>(lo)}, {"max", static_cast<float>(hi)}});
}

std::string movement(UnitDraft& d, const std::string& x) {
  switch (d.u.compute) {
    case kTranspose: return d.nodes.node("Transpose", {x}, {{"perm", Shape{0, 2, 3, 1}}});
    case kReshape: return d.nodes.node("Reshape", {x, d.integers({0, -1})});
    case kSqueeze: return with_list(d, "Squeeze", x, "axes", 13, {0});
    case kUnsqueeze: return with_list(d, "Unsqueeze", x, "axes", 13, {1});
    case kSlice: return d.nodes.node("Slice", {x, d.integers({1}), d.integers({4}), d.integers({1})});
    case kPad: return with_list(d, "Pad", x, "pads", 11, {0, 0, 1, 0, 0, 0, 0, 1});
    case kSplit: return split(d, x);
    case kExpand: return d.nodes.node("Expand", {x, d.integers({2, 1, 1, 1})});
    case kGather: return d.nodes.node("Gather", {x, d.integers({2, 0, 2})}, {{"axis", std::int64_t{1}}});
    case kDepthToSpace: return d.nodes.node("DepthToSpace", {x}, {{"blocksize", std::int64_t{2}}});
    default: return d.nodes.node(std::string(name_of(d.u.compute)), {x});
  }
}

// A normalization of x, or PRelu, with parameters by channel or for each element that is normalized.
std::string with_real_parameters(UnitDraft& d, const std::string& x) {
  const bool is_exact = d.u.scales == kPowersOfTwo;
  const auto drawn = [&](const Shape& shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < elements_of(shape); ++i) {
      values.push_back(is_exact ? std::ldexp(1.0, static_cast<int>(d.rng.between(-2, 1)))
                                : d.in_real(static_cast<double>(d.rng.between(-90, 200)) / 100));
    }
    return d.real_tensor(shape, values);
  };
  const std::int64_t channels = 4;
  switch (d.u.compute) {
    case kLayerNormalization:
      return d.nodes.node("LayerNormalization", {x, drawn({channels, 2, d.u.width})}, {{"axis", std::int64_t{1}}});
    case kInstanceNormalization:
      return d.nodes.node("InstanceNormalization", {x, drawn({channels}), drawn({channels})});
    case kRmsNormalization: return d.nodes.node("RMSNormalization", {x, drawn({d.u.width})});
    default: return d.nodes.node("PRelu", {x, drawn({channels, 1, 1})});
  }
}

std::string unary(UnitDraft& d) {
  const Unit& u = d.u;
  const std::string x = d.operand({1, 4, 2, u.width});
  const std::string name(name_of(u.compute));
  switch (u.compute) {
    case kAveragePool:
    case kMaxPool: return d.nodes.node(name, {x}, {{"kernel_shape", Shape{2, std::min<std::int64_t>(u.width, 2)}}});
    case kReduceMean:
    case kReduceMax: return with_list(d, name.c_str(), x, "axes", 18, {3});
    case kReduceSum: return with_list(d, name.c_str(), x, "axes", 13, {3});
    case kSoftmax: return d.nodes.node(name, {x}, {{"axis", std::int64_t{3}}});
    case kLinearResize:
    case kNearestResize: return resize(d, x);
    case kLeakyRelu: return d.nodes.node(name, {x}, {{"alpha", u.scales == kPowersOfTwo ? 0.125F : 0.1F}});
    case kClip: return clip(d, x);
    case kLayerNormalization:
    case kInstanceNormalization:
    case kRmsNormalization:
    case kPRelu: return with_real_parameters(d, x);
    default: return movement(d, x);
  }
}

}  // namespace

std::string add_compute(UnitDraft& draft) {
  const Compute compute = draft.u.compute;
  if (compute >= kFirstUnary) return unary(draft);
  if (compute >= kFirstPair) return pair(draft);
  if (compute == kGemm) return gemm(draft);
  return compute == kMatMul ? matmul(draft) : convolution(draft);
}

}  // namespace qconform::unit
