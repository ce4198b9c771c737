// Operators of the domain com.microsoft, as the ONNX operators that define them: dequantized, computed, quantized.
#include <fmt/format.h>

#include <cmath>

#include "harness/graphs/node_lowering.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;
using enum ElementType;
using List = std::vector<std::int64_t>;

/// A quantized tensor, or the quantization that an output gets: inputs of the node from `first` on, in the order tensor
/// (none of an output), scale, zero point.
struct QuantizedInputs {
  std::size_t tensor;
  std::size_t scale;
  std::size_t zero_point;
};

std::string dequantized(Expansion& out, QuantizedInputs from) {
  out.expect_one(from.scale, "scale");
  return out.add("DequantizeLinear", {out.input(from.tensor), out.parameter(from.scale, "scale"),
                                      out.parameter(from.zero_point, "zero_point")});
}

struct Quantization {
  std::vector<std::string> inputs;
  std::vector<Attribute> attributes;
};

// The node's own, of y, to `type` also where its zero point is omitted.
Quantization quantization_of(Expansion& out, const std::string& y, std::size_t scale, ElementType type) {
  out.expect_one(scale, "y_scale");
  const std::string zero_point = out.parameter(scale + 1, "y_zero_point");
  Quantization result{{y, out.parameter(scale, "y_scale"), zero_point}, {}};
  if (zero_point.empty()) result.attributes.push_back({"output_dtype", static_cast<std::int64_t>(type)});
  return result;
}

// Gives the node y, quantized.
bool finish_quantized(Expansion& out, const std::string& y, std::size_t scale, ElementType type) {
  auto [inputs, attributes] = quantization_of(out, y, scale, type);
  return out.finish("QuantizeLinear", std::move(inputs), std::move(attributes));
}

// The number y / scale + zero_point rounded, to nearest even.
std::string rounded_behind_zero_point(const NodeLowering& node, Expansion& out, const std::string& y, double scale,
                                      double zero_point) {
  const auto number = [&](double value) {
    return out.constant(Tensor::scalar<float>(float32, static_cast<float>(value)));
  };
  const bool is_exact = reference::is_power_of_two(std::fabs(scale));
  const std::string quotient = is_exact ? out.add("Mul", {y, number(1 / scale)}) : out.add("Div", {y, number(scale)});
  return out.add("QuantizeLinear", {out.add("Add", {quotient, number(zero_point)}), number(1)},
                 {{"output_dtype", static_cast<std::int64_t>(node.type(0))}});
}

// Two operands, and one quantization behind them. The text does not say whether the zero point is added before the
// number is rounded: an odd one turns ties.
template <const char* op_type>
bool lower_binary(const NodeLowering& node) {
  Expansion out(node);
  const std::string a = dequantized(out, {0, 1, 2});
  const std::string b = dequantized(out, {3, 4, 5});
  const std::string y = out.add(op_type, {a, b});
  const auto scale = out.is_right() ? node.number(6, "y_scale") : std::nullopt;
  const auto zero_point = scale && node.has(7) ? node.number(7, "y_zero_point") : std::nullopt;
  if (!zero_point || std::fmod(*zero_point, 2) == 0) return finish_quantized(out, y, 6, node.type(0));
  auto [inputs, attributes] = quantization_of(out, y, 6, node.type(0));
  const std::string before = out.add("QuantizeLinear", std::move(inputs), std::move(attributes));
  const std::string behind = rounded_behind_zero_point(node, out, y, *scale, *zero_point);
  return out.finish_with(out.either(before, behind));
}

/// An operator on one quantized tensor: DQ, the float operator of the same name, Q.
struct Between {
  const char* op_type;
  std::int64_t opset = Expansion::kOpset;
};

std::vector<Attribute> attributes_without(const NodeLowering& node, std::initializer_list<std::string_view> names) {
  std::vector<Attribute> kept;
  for (const Attribute& attribute : node.node().attributes) {
    if (std::find(names.begin(), names.end(), attribute.name) == names.end()) kept.push_back(attribute);
  }
  return kept;
}

bool lower_between(const NodeLowering& node, Between between, std::vector<Attribute> attributes) {
  Expansion out(node);
  const std::string x = dequantized(out, {0, 1, 2});
  return finish_quantized(out, out.add(between.op_type, {x}, std::move(attributes), between.opset), 3, node.type(0));
}

// The permutation that brings the channels, the last axis, to axis 1, or back.
List permutation(std::size_t rank, bool to_first) {
  List order = counted(static_cast<std::int64_t>(rank));
  if (rank > 2) std::rotate(order.begin() + 1, to_first ? order.end() - 1 : order.begin() + 2, order.end());
  return order;
}

// A pool, with channels last where the node says so.
bool lower_pool(const NodeLowering& node, const char* op_type) {
  Expansion out(node);
  std::string x = dequantized(out, {0, 1, 2});
  const std::size_t rank = node.shape(0).size();
  const bool is_last = node.get_or<std::int64_t>("channels_last", 0) != 0;
  if (is_last) x = out.add("Transpose", {x}, {{"perm", permutation(rank, true)}});
  x = out.add(op_type, {x}, attributes_without(node, {"channels_last"}));
  if (is_last) x = out.add("Transpose", {x}, {{"perm", permutation(rank, false)}});
  return finish_quantized(out, x, 3, node.type(0));
}

bool lower_nhwc_max_pool(const NodeLowering& node) {
  Expansion out(node);
  const std::size_t rank = node.shape(0).size();
  const std::string x = out.add("Transpose", {out.input(0)}, {{"perm", permutation(rank, true)}});
  const std::string y = out.add("MaxPool", {x}, node.node().attributes);
  return out.finish("Transpose", {y}, {{"perm", permutation(rank, false)}});
}

// Before opset 13 the row is all axes from the stated one on.
bool lower_qlinear_softmax(const NodeLowering& node) {
  const std::int64_t opset = node.get_or<std::int64_t>("opset", 13);
  return lower_between(node, {"Softmax", opset < 13 ? 11 : 13}, {{"axis", node.get_or<std::int64_t>("axis", -1)}});
}

bool lower_qlinear_concat(const NodeLowering& node) {
  if (node.inputs() < 5 || (node.inputs() - 2) % 3 != 0) {
    return node.signature("inputs", fmt::format("expected 2 and 3 for each tensor, got {}", node.inputs()));
  }
  Expansion out(node);
  std::vector<std::string> parts;
  for (std::size_t i = 2; i < node.inputs(); i += 3) {
    if (node.type(i) != node.type(2)) return node.signature("inputs", "tensors of different types");
    parts.push_back(dequantized(out, {i, i + 1, i + 2}));
  }
  const std::string y = out.add("Concat", std::move(parts), node.node().attributes);
  return finish_quantized(out, y, 0, node.type(2));
}

bool lower_qlinear_where(const NodeLowering& node) {
  Expansion out(node);
  const std::string x = dequantized(out, {1, 2, 3});
  const std::string y = dequantized(out, {4, 5, 6});
  return finish_quantized(out, out.add("Where", {out.input(0), x, y}), 7, node.type(1));
}

// Integer sums, then float arithmetic.

Attribute to_float(ElementType type) {
  return {"to", static_cast<std::int64_t>(type)};
}

// sum * a_scale * b_scale [+ bias], all in float.
bool finish_scaled(const NodeLowering& node, Expansion& out, const std::string& sum, const std::string& scales,
                   std::size_t bias) {
  const std::string real = out.add("Cast", {sum}, {to_float(float32)});
  if (!node.has(bias)) return out.finish("Mul", {real, scales});
  return out.finish("Add", {out.add("Mul", {real, scales}), out.input(bias)});
}

// Parameters of columns: one for all, or a list of the last axis; for each matrix of a batch in a row of its own.
bool check_columns(const NodeLowering& node, std::size_t input, std::string_view name) {
  const Shape& parameters = node.shape(input);
  const Shape& b = node.shape(1);
  if (elements_of(parameters) == 1 || parameters == Shape{b.back()}) return true;
  Shape rows = b;
  if (rows.size() > 1) rows[rows.size() - 2] = 1;
  return parameters == rows || node.violate(name, fmt::format("expected one element, shape [{}] or shape {}, got {}",
                                                              b.back(), shape_text(rows), shape_text(parameters)));
}

bool lower_dynamic_quantize_matmul(const NodeLowering& node) {
  if (node.shape(1).empty()) return node.violate("B", "expected rank 1 or more, got a scalar");
  if (!check_columns(node, 2, "b_scale")) return false;
  Expansion out(node);
  const std::vector<std::string> a = out.add_all("DynamicQuantizeLinear", {out.input(0)}, 3);
  const std::string sum = out.add("MatMulInteger", {a[0], out.input(1), a[2], out.parameter(3, "b_zero_point")});
  return finish_scaled(node, out, sum, out.add("Mul", {a[1], out.input(2)}), 4);
}

bool lower_matmul_integer_to_float(const NodeLowering& node) {
  if (node.shape(1).empty()) return node.violate("B", "expected rank 1 or more, got a scalar");
  if (!check_columns(node, 3, "b_scale")) return false;
  if (elements_of(node.shape(2)) != 1) return node.limit("a_scale", "scales of rows are not judged");
  Expansion out(node);
  const std::string sum = out.add("MatMulInteger", {out.input(0), out.input(1), out.parameter(4, "a_zero_point"),
                                                    out.parameter(5, "b_zero_point")});
  const std::string a_scale = node.shape(2).size() > 1 ? out.parameter(2, "a_scale") : out.input(2);
  return finish_scaled(node, out, sum, out.add("Mul", {a_scale, out.input(3)}), 6);
}

// alpha * a_scale * b_scale * (A B + C), C of int32.
bool lower_qgemm(const NodeLowering& node) {
  Expansion out(node);
  const auto turned = [&](std::size_t input, const char* attribute) {
    const bool turns = node.get_or<std::int64_t>(attribute, 0) != 0;
    return turns ? out.add("Transpose", {out.input(input)}) : out.input(input);
  };
  const std::string a = turned(0, "transA");
  const std::string b = turned(3, "transB");
  std::string sum =
      out.add("MatMulInteger", {a, b, out.parameter(2, "a_zero_point"), out.parameter(5, "b_zero_point")});
  if (node.has(6)) sum = out.add("Add", {sum, out.input(6)});
  std::string y = out.add("Cast", {sum}, {to_float(float32)});
  const std::string scales = out.add("Mul", {out.parameter(1, "a_scale"), out.parameter(4, "b_scale")});
  y = out.add("Mul", {y, scales});
  const float alpha = node.get_or<float>("alpha", 1);
  if (alpha != 1) y = out.add("Mul", {y, out.constant(Tensor::scalar(float32, alpha))});
  if (!node.has(7)) return out.finish_with(y);
  return finish_quantized(out, y, 7, node.type(0));
}

// Quantization with the parameters of ONNX's operators, which com.microsoft had first for more types.

bool has_axis(const NodeLowering& node, std::size_t scale) {
  if (elements_of(node.shape(scale)) == 1 || node.attribute("axis") != nullptr) return true;
  return node.limit("axis", "parameters of an axis that is not stated are not judged");
}

bool lower_microsoft_quantize(const NodeLowering& node) {
  if (!has_axis(node, 1)) return false;
  Expansion out(node);
  return out.finish("QuantizeLinear", {out.input(0), out.parameter(1, "y_scale"), out.parameter(2, "y_zero_point")},
                    node.node().attributes);
}

bool lower_microsoft_dequantize(const NodeLowering& node) {
  if (!has_axis(node, 1)) return false;
  Expansion out(node);
  return out.finish("DequantizeLinear", {out.input(0), out.parameter(1, "x_scale"), out.parameter(2, "x_zero_point")},
                    node.node().attributes);
}

// Packed bytes as numbers of `bits` bits each, along the last axis.
Tensor unpacked(const Tensor& packed, std::int64_t bits) {
  Shape shape = packed.shape;
  shape.back() *= 8 / bits;
  std::vector<std::uint8_t> numbers(static_cast<std::size_t>(elements_of(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::uint8_t>(packed_number(packed, 0, static_cast<std::int64_t>(i), bits));
  }
  return Tensor::of<std::uint8_t>(uint8, std::move(shape), numbers);
}

// The zero points of rows of packed blocks, one for each scale: half the range where they are omitted. A row of an odd
// number of them is filled up to whole bytes.
std::optional<Tensor> zero_points_of_blocks(const NodeLowering& node, const Tensor& scales, std::int64_t bits) {
  std::vector<std::uint8_t> points(static_cast<std::size_t>(scales.elements()),
                                   static_cast<std::uint8_t>(1 << (bits - 1)));
  if (node.has(3)) {
    const Tensor* packed = node.stated(3, "zero_points");
    if (packed == nullptr) return std::nullopt;
    const std::int64_t blocks = scales.shape.empty() ? 1 : std::max<std::int64_t>(1, scales.shape.back());
    const std::int64_t row = (blocks * bits + 7) / 8;
    if (packed->type != uint8 || packed->elements() != scales.elements() / blocks * row) {
      return node.violate("zero_points", fmt::format("expected {} elements of type uint8, got {} of shape {}",
                                                     scales.elements() / blocks * row, name_of(packed->type),
                                                     shape_text(packed->shape))),
             std::nullopt;
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      points[i] = static_cast<std::uint8_t>(packed_number(*packed, at / blocks * row, at % blocks, bits));
    }
  }
  return Tensor::of<std::uint8_t>(uint8, scales.shape, points);
}

// Rows of blocks that are dequantized: the rows that indices choose.
bool lower_gather_blocks(const NodeLowering& node) {
  const std::int64_t bits = node.get_or<std::int64_t>("bits", 4);
  const std::int64_t block = node.get_or<std::int64_t>("block_size", 128);
  if (bits != 4 && bits != 8) return node.violate("bits", fmt::format("expected 4 or 8, got {}", bits));
  if (block < 16 || (block & (block - 1)) != 0) {
    return node.violate("block_size", fmt::format("expected a power of two from 16 on, got {}", block));
  }
  const auto rank = node.shape(0).size();
  const auto axis = node.axis(node.get_or<std::int64_t>("quantize_axis", 1), rank, "quantize_axis");
  if (!axis) return false;
  Expansion out(node);
  std::string data = out.input(0);
  std::string zero_points = out.input(3);
  if (node.type(0) == uint8) {
    if (*axis + 1 != rank)
      return node.violate("quantize_axis",
                          fmt::format("expected the last axis, {}, for packed data, got {}", rank - 1, *axis));
    const Tensor* bytes = node.stated(0, "data");
    const Tensor* scales = node.stated(2, "scales");
    if (bytes == nullptr || scales == nullptr) return false;
    auto points = zero_points_of_blocks(node, *scales, bits);
    if (!points) return false;
    data = out.constant(unpacked(*bytes, bits));
    zero_points = out.constant(std::move(*points));
  }
  const std::string rows = out.add("DequantizeLinear", {data, out.input(2), zero_points},
                                   {{"axis", static_cast<std::int64_t>(*axis)}, {"block_size", block}});
  return out.finish("Gather", {rows, out.input(1)}, {{"axis", node.get_or<std::int64_t>("gather_axis", 0)}});
}

using namespace node_types;

constexpr TypeSet kQuantized8{int8, uint8};
constexpr TypeSet kPacked{int8, uint8, int4, uint4};
constexpr TypeSet kQuantizedAny = kPacked.with({int16, uint16, int32});

constexpr AttributeSignature kChannels[] = {{"channels_last", kIntAttribute}};
constexpr AttributeSignature kPool[] = {{"auto_pad", kStringAttribute},   {"ceil_mode", kIntAttribute},
                                        {"channels_last", kIntAttribute}, {"count_include_pad", kIntAttribute},
                                        {"kernel_shape", kIntsAttribute}, {"pads", kIntsAttribute},
                                        {"strides", kIntsAttribute}};
constexpr AttributeSignature kNhwcPool[] = {{"auto_pad", kStringAttribute}, {"ceil_mode", kIntAttribute},
                                            {"dilations", kIntsAttribute},  {"kernel_shape", kIntsAttribute},
                                            {"pads", kIntsAttribute},       {"strides", kIntsAttribute}};
constexpr AttributeSignature kMean[] = {{"axes", kIntsAttribute}, {"keepdims", kIntAttribute}};
constexpr AttributeSignature kRow[] = {{"axis", kIntAttribute}, {"opset", kIntAttribute}};
constexpr AttributeSignature kSlope[] = {{"alpha", kFloatAttribute}};
constexpr AttributeSignature kQGemm[] = {
    {"alpha", kFloatAttribute}, {"transA", kIntAttribute}, {"transB", kIntAttribute}};
constexpr AttributeSignature kBlocked[] = {{"axis", kIntAttribute}, {"block_size", kIntAttribute}};
constexpr AttributeSignature kGathered[] = {{"bits", kIntAttribute},
                                            {"block_size", kIntAttribute},
                                            {"gather_axis", kIntAttribute},
                                            {"quantize_axis", kIntAttribute}};

constexpr NodeOperator microsoft(std::string_view name, std::size_t least_inputs, std::size_t most_inputs,
                                 TypeSet types, std::span<const AttributeSignature> attributes,
                                 bool (*lower)(const NodeLowering&), std::uint32_t optional = 0) {
  NodeOperator result = node_operator(name, 1, types, least_inputs, most_inputs, attributes, lower);
  result.like_first = 1;
  result.domain = "com.microsoft";
  result.is_quantized = true;
  result.optional = optional;
  return result;
}

/// Bits of inputs that may be omitted in front of others: zero points.
constexpr std::uint32_t kXZeroPoint = 1U << 2;
constexpr std::uint32_t kBothZeroPoints = 1U << 2 | 1U << 5;

constexpr char kAdd[] = "Add";
constexpr char kMul[] = "Mul";

constexpr NodeOperator kMicrosoftNodes[] = {
    microsoft("DequantizeLinear", 2, 3, kQuantizedAny, kBlocked, lower_microsoft_dequantize),
    microsoft("DynamicQuantizeMatMul", 3, 5, TypeSet{float32}, {}, lower_dynamic_quantize_matmul),
    microsoft("GatherBlockQuantized", 3, 4, kPacked, kGathered, lower_gather_blocks),
    microsoft("MatMulIntegerToFloat", 4, 7, kQuantized8, {}, lower_matmul_integer_to_float),
    microsoft("NhwcMaxPool", 1, 1, kQuantized8, kNhwcPool, lower_nhwc_max_pool),
    microsoft("QGemm", 6, 9, kQuantized8, kQGemm, lower_qgemm, kBothZeroPoints),
    microsoft("QLinearAdd", 7, 8, kQuantized8, {}, lower_binary<kAdd>, kBothZeroPoints),
    microsoft(
        "QLinearAveragePool", 4, 5, kQuantized8, kPool,
        [](const NodeLowering& node) { return lower_pool(node, "AveragePool"); }, kXZeroPoint),
    microsoft("QLinearConcat", 5, kAnyNumber, TypeSet{float32}, std::span(kRow).first(1), lower_qlinear_concat),
    microsoft("QLinearGlobalAveragePool", 5, 5, kQuantized8, kChannels,
              [](const NodeLowering& node) { return lower_pool(node, "GlobalAveragePool"); }),
    microsoft(
        "QLinearLeakyRelu", 4, 5, kQuantized8, kSlope,
        [](const NodeLowering& node) {
          return lower_between(node, {"LeakyRelu", 16}, node.node().attributes);
        },
        kXZeroPoint),
    microsoft("QLinearMul", 7, 8, kQuantized8, {}, lower_binary<kMul>, kBothZeroPoints),
    microsoft(
        "QLinearReduceMean", 4, 5, kQuantized8, kMean,
        [](const NodeLowering& node) {
          return lower_between(node, {"ReduceMean", 13}, node.node().attributes);
        },
        kXZeroPoint),
    microsoft(
        "QLinearSigmoid", 4, 5, kQuantized8, {},
        [](const NodeLowering& node) { return lower_between(node, {"Sigmoid"}, {}); }, kXZeroPoint),
    microsoft("QLinearSoftmax", 5, 5, kQuantized8, kRow, lower_qlinear_softmax, kXZeroPoint),
    microsoft("QLinearWhere", 9, 9, TypeSet{boolean}, {}, lower_qlinear_where),
    microsoft("QuantizeLinear", 2, 3, kFloats13, kBlocked, lower_microsoft_quantize),
};

}  // namespace

std::span<const NodeOperator> microsoft_nodes() {
  return kMicrosoftNodes;
}

}  // namespace qconform::lowering
