// The MatMul family of quantized operators: MatMulInteger, QLinearMatMul, DynamicQuantizeLinear and MatMulNBits.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "harness/graphs/node_lowering.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform::lowering {
namespace {

using namespace reference::graph;

/// One side of a product: where its parameters lie.
struct ProductSide {
  std::size_t input;
  const char* name;
  bool has_rows;  ///< a parameter for each row; otherwise for each column
};

// The parameters of a side, by element of `whole`: of its operand, or of the product. Lists are of rows or columns;
// tensors of the operand's rank are broadcast. Nothing, with a remark, where they do not fit.
std::optional<std::vector<std::int64_t>> parameter_index(const NodeLowering& node, const ProductSide& side,
                                                         const Shape& parameter, const Shape& operand,
                                                         const Shape& whole) {
  const std::int64_t extent = operand.size() < 2 ? 1 : operand[operand.size() - (side.has_rows ? 2 : 1)];
  const std::int64_t count = elements_of(parameter);
  if (count == 1) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(elements_of(whole)), 0);
  }
  Shape wanted = operand;
  if (!wanted.empty()) wanted[wanted.size() - (side.has_rows ? 1 : std::min<std::size_t>(2, wanted.size()))] = 1;
  const bool is_list_of_columns = !side.has_rows && parameter.size() == 1;
  if (whole.size() < operand.size() && !is_list_of_columns) {
    node.limit(side.name, "parameters of rows beside a vector are not judged");
    return std::nullopt;
  }
  Shape aligned = parameter;
  if (parameter.size() == 1 && side.has_rows) aligned.push_back(1);  // a list of rows
  const bool fits = operand.size() >= 2 && (parameter.size() == 1 ? parameter[0] == extent : parameter == wanted);
  if (!fits || (parameter.size() == 1 && side.has_rows && operand.size() > 2)) {
    node.violate(side.name, fmt::format("expected one element, shape [{}] or shape {}, got {}", extent,
                                        shape_text(wanted), shape_text(parameter)));
    return std::nullopt;
  }
  auto index = broadcast_index(aligned, whole);
  return index.empty() ? counted(elements_of(whole)) : index;
}

bool check_bytes(const NodeLowering& node, std::size_t input, const char* name) {
  if (is_8bit_integer(node.type(input))) return true;
  if (node.node().op_type == "QLinearMatMul" && node.opset() >= 21) {
    return node.limit(name, name_of(node.type(input)) + " is not judged");
  }
  return node.signature(name, "expected element type int8 or uint8, got " + name_of(node.type(input)));
}

// x less its zero point, as int32; nothing where that has another type or shape.
std::optional<ValueId> centred(const NodeLowering& node, const ProductSide& side, std::size_t zero_point) {
  const Shape& x = node.shape(side.input);
  if (!node.has(zero_point)) {
    return node.compute(Move{}, {node.id(side.input)}, x, ElementType::int32);
  }
  if (node.type(zero_point) != node.type(side.input)) {
    node.signature(side.name, fmt::format("expected element type {}, got {}", name_of(node.type(side.input)),
                                          name_of(node.type(zero_point))));
    return std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> index{{0}};  // one for all
  if (elements_of(node.shape(zero_point)) != 1) index = parameter_index(node, side, node.shape(zero_point), x, x);
  if (!index) return std::nullopt;
  Elementwise difference{.function = Function::sub, .index = {{}, std::move(*index)}};
  return node.compute(std::move(difference), {node.id(side.input), node.id(zero_point)}, x, ElementType::int32);
}

// The exact sum of (a - za)(b - zb), in int32 but not wrapped.
std::optional<ValueId> centred_product(const NodeLowering& node, const ProductSide& a, std::size_t a_zero_point,
                                       const ProductSide& b, std::size_t b_zero_point, MatrixProduct product) {
  if (!check_bytes(node, a.input, "a") || !check_bytes(node, b.input, "b")) return std::nullopt;
  const auto left = centred(node, a, a_zero_point);
  if (!left) return std::nullopt;
  const auto right = centred(node, b, b_zero_point);
  if (!right) return std::nullopt;
  return node.compute(WeightedSum{.taps = std::move(product.taps)}, {*left, *right}, std::move(product.shape),
                      ElementType::int32);
}

bool lower_matmul_integer(const NodeLowering& node) {
  auto product = matrix_product(node, node.shape(0), node.shape(1));
  if (!product) return false;
  const Shape shape = product->shape;
  const auto sum =
      centred_product(node, {0, "a_zero_point", true}, 2, {1, "b_zero_point", false}, 3, std::move(*product));
  if (!sum || !node.claim(shape)) return false;
  return node.emit(Elementwise{.function = Function::wrap32, .index = {}}, {*sum}, shape, ElementType::int32);
}

/// A scale and its zero point, stated.
struct Quantization {
  const Tensor* scale;
  const Tensor* zero_point;
  std::vector<std::int64_t> index;  ///< by element of the product
};

std::optional<Quantization> quantization(const NodeLowering& node, const ProductSide& side, ElementType type,
                                         const Shape& operand, const Shape& whole) {
  if (node.type(side.input) != ElementType::float32) {
    const bool is_new = node.opset() >= 21 && is_16bit_float(node.type(side.input));
    if (is_new) return node.limit(side.name, name_of(node.type(side.input)) + " is not judged"), std::nullopt;
    return node.signature(side.name, "expected element type float32, got " + name_of(node.type(side.input))),
           std::nullopt;
  }
  if (node.type(side.input + 1) != type) {
    return node.signature(side.name, fmt::format("expected a zero point of element type {}, got {}", name_of(type),
                                                 name_of(node.type(side.input + 1)))),
           std::nullopt;
  }
  Quantization result{node.stated(side.input, side.name), node.stated(side.input + 1, side.name), {}};
  if (result.scale == nullptr || result.zero_point == nullptr) return std::nullopt;
  const bool both_single = result.scale->elements() == 1 && result.zero_point->elements() == 1;
  if (!both_single && result.scale->shape != result.zero_point->shape) {
    return node.violate(side.name, fmt::format("expected scale and zero point of one shape, got {} and {}",
                                               shape_text(result.scale->shape), shape_text(result.zero_point->shape))),
           std::nullopt;
  }
  auto index = parameter_index(node, side, result.scale->shape, operand, whole);
  if (!index) return std::nullopt;
  result.index = std::move(*index);
  return result;
}

// Rule C21: odd scales.
void check_scales(const NodeLowering& node, const char* name, const Tensor& scales, bool divides) {
  for (std::int64_t i = 0; i < scales.elements(); ++i) {
    const float scale = float_at(scales, i);
    if (scale > 0 && std::isfinite(scale)) continue;
    const bool is_open = !std::isfinite(scale) || (divides && scale == 0);
    node.allow(name, fmt::format("expected a finite positive scale, got {}", scale));
    if (is_open) return node.leaves_value_open();
  }
}

bool lower_qlinear_matmul(const NodeLowering& node) {
  auto product = matrix_product(node, node.shape(0), node.shape(3));
  if (!product) return false;
  const Shape shape = product->shape;
  const ElementType y_type = node.type(7);
  if (!check_bytes(node, 7, "y_zero_point") || !node.claim(shape)) return false;
  const auto a = quantization(node, {1, "a_scale", true}, node.type(0), node.shape(0), shape);
  if (!a) return false;
  const auto b = quantization(node, {4, "b_scale", false}, node.type(3), node.shape(3), shape);
  if (!b) return false;
  const auto y = quantization(node, {6, "y_scale", true}, y_type, shape, shape);
  if (!y) return false;
  Requantize requantize;
  for (std::size_t i = 0; i < y->index.size(); ++i) {
    const auto y_zero_point = static_cast<std::int32_t>(integer_at(*y->zero_point, y->index[i]));
    requantize.parameters.push_back({float_at(*a->scale, a->index[i]), float_at(*b->scale, b->index[i]),
                                     float_at(*y->scale, y->index[i]), y_zero_point, reference::range_of(y_type)});
  }
  check_scales(node, "a_scale", *a->scale, false);
  check_scales(node, "b_scale", *b->scale, false);
  check_scales(node, "y_scale", *y->scale, true);
  const auto sum =
      centred_product(node, {0, "a_zero_point", true}, 2, {3, "b_zero_point", false}, 5, std::move(*product));
  return sum && node.emit(std::move(requantize), {*sum}, shape, y_type);
}

// The largest x and 0, or the least.
std::optional<ValueId> extreme(const NodeLowering& node, bool smallest) {
  const Extreme step{.taps = MatrixTaps{.m = 1, .n = 1, .k = elements_of(node.shape(0))}, .smallest = smallest};
  const auto found = node.compute(step, {node.id(0)}, {}, ElementType::float32);
  if (!found) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Elementwise clip{
      .function = Function::clip, .index = {}, .alpha = smallest ? -kInfinity : 0, .beta = smallest ? 0 : kInfinity};
  return node.compute(clip, {*found}, {}, ElementType::float32);
}

bool lower_dynamic_quantize(const NodeLowering& node) {
  using enum ElementType;
  const Shape x = node.shape(0);
  if (elements_of(x) == 0) return node.limit("x", "no element has a range");
  const auto most = extreme(node, false);
  const auto least = extreme(node, true);
  if (!most || !least) return false;
  const auto scale = node.compute(Elementwise{.function = Function::dynamic_scale}, {*most, *least}, {}, float32);
  const auto below = node.compute(Elementwise{.function = Function::neg}, {*least}, {}, float32);
  if (!scale || !below) return false;
  const auto shift = node.compute(Elementwise{.function = Function::div}, {*below, *scale}, {}, float32);
  if (!shift) return false;
  const ValueId zero = node.add_stated(float32, {}, {0});
  const Elementwise round{.function = Function::round_saturate};
  const auto zero_point = node.compute(round, {*shift, zero}, {}, uint8);
  const std::vector<std::int64_t> every{0};
  const auto quotient =
      node.compute(Elementwise{.function = Function::div, .index = {{}, every}}, {node.id(0), *scale}, x, float32);
  if (!zero_point || !quotient || !node.claim(x)) return false;
  return node.emit(Elementwise{.function = Function::round_saturate, .index = {{}, every}}, {*quotient, *zero_point}, x,
                   uint8) &&
         node.emit(Move{}, {*scale}, {}, float32, 1) && node.emit(Move{}, {*zero_point}, {}, uint8, 2);
}

/// Weights of MatMulNBits: [n, k], in blocks along k.
struct Packed {
  std::int64_t k;
  std::int64_t n;
  std::int64_t bits;
  std::int64_t block;

  [[nodiscard]] std::int64_t blocks() const { return (k + block - 1) / block; }
};

std::optional<Packed> packed_weights(const NodeLowering& node) {
  const Packed packed{node.get_or<std::int64_t>("K", 0), node.get_or<std::int64_t>("N", 0),
                      node.get_or<std::int64_t>("bits", 4), node.get_or<std::int64_t>("block_size", 0)};
  if (packed.k < 1 || packed.n < 1 || packed.k > kMaxGraphElements || packed.n > kMaxGraphElements) {
    return node.violate(
               "K", fmt::format("expected K and N from 1 to {}, got {} and {}", kMaxGraphElements, packed.k, packed.n)),
           std::nullopt;
  }
  if (packed.bits != 2 && packed.bits != 4 && packed.bits != 8) {
    return node.violate("bits", fmt::format("expected 2, 4 or 8, got {}", packed.bits)), std::nullopt;
  }
  if (packed.block < 16 || packed.block > kMaxGraphElements || (packed.block & (packed.block - 1)) != 0) {
    return node.violate("block_size", fmt::format("expected a power of two from 16 on, got {}", packed.block)),
           std::nullopt;
  }
  const Shape blob{packed.n, packed.blocks(), packed.block * packed.bits / 8};
  if (node.type(1) != ElementType::uint8 || node.shape(1) != blob) {
    return node.violate("B", fmt::format("expected uint8 of shape {}, got {} of shape {}", shape_text(blob),
                                         name_of(node.type(1)), shape_text(node.shape(1)))),
           std::nullopt;
  }
  const std::int64_t level = node.get_or<std::int64_t>("accuracy_level", 0);
  if (level < 0 || level > 4) {
    return node.limit("accuracy_level", fmt::format("expected 0 to 4, got {}", level)), std::nullopt;
  }
  return packed;
}

// Zero points: absent, packed as the weights are, or of A's type.
std::optional<std::vector<double>> packed_zero_points(const NodeLowering& node, const Packed& packed) {
  const std::int64_t blocks = packed.blocks();
  const std::int64_t count = packed.n * blocks;
  const auto middle = static_cast<double>(std::int64_t{1} << (packed.bits - 1));
  std::vector<double> points(static_cast<std::size_t>(count), middle);
  if (!node.has(3)) return points;
  const Tensor* tensor = node.stated(3, "zero_points");
  if (tensor == nullptr) return std::nullopt;
  const bool is_real = tensor->type == node.type(0);
  if (!is_real && tensor->type != ElementType::uint8) {
    return node.violate("zero_points", "expected element type uint8 or that of A, got " + name_of(tensor->type)),
           std::nullopt;
  }
  const std::int64_t row = is_real ? blocks : (blocks * packed.bits + 7) / 8;
  if (tensor->elements() != packed.n * row) {
    return node.violate("zero_points",
                        fmt::format("{} {} do not fit", name_of(tensor->type), shape_text(tensor->shape))),
           std::nullopt;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    points[static_cast<std::size_t>(i)] =
        is_real ? number_at(*tensor, i)
                : static_cast<double>(packed_number(*tensor, i / blocks * row, i % blocks, packed.bits));
  }
  return points;
}

// The block whose scale and zero point each column has, where the deprecated g_idx says it.
std::optional<std::vector<std::int64_t>> stated_blocks(const NodeLowering& node, const Packed& packed) {
  const Tensor* stated = node.stated(4, "g_idx");
  if (stated == nullptr) return std::nullopt;
  if (stated->type != ElementType::int32 || stated->elements() < packed.k) {
    return node.violate("g_idx", fmt::format("expected int32 of {} elements, got {} {}", packed.k,
                                             name_of(stated->type), shape_text(stated->shape))),
           std::nullopt;
  }
  std::vector<std::int64_t> blocks;
  for (std::int64_t k = 0; k < packed.k; ++k) {
    const std::int64_t block = integer_at(*stated, k);
    if (block < 0 || block >= packed.blocks()) {
      return node.violate("g_idx", fmt::format("expected blocks 0 to {}, got {}", packed.blocks() - 1, block)),
             std::nullopt;
    }
    blocks.push_back(block);
  }
  return blocks;
}

// Gives each element of the weights its own scale and zero point, those of its column's block.
void scale_each(const Packed& packed, const std::vector<std::int64_t>& blocks,
                reference::DequantizeLinear& dequantize) {
  std::vector<double> scales;
  std::vector<double> zero_points;
  for (std::int64_t row = 0; row < packed.n; ++row) {
    for (const std::int64_t block : blocks) {
      const auto of = static_cast<std::size_t>(row * packed.blocks() + block);
      scales.push_back(dequantize.x_scale[of]);
      zero_points.push_back(dequantize.x_zero_point[of]);
    }
  }
  dequantize.layout = {.outer = 1, .channels = packed.n * packed.k, .inner = 1, .block = 0};
  dequantize.x_scale = std::move(scales);
  dequantize.x_zero_point = std::move(zero_points);
}

std::optional<ValueId> unpacked_weights(const NodeLowering& node, const Packed& packed) {
  const Tensor* bytes = node.stated(1, "B");
  const Tensor* scales = node.stated(2, "scales");
  const auto zero_points = packed_zero_points(node, packed);
  if (bytes == nullptr || scales == nullptr || !zero_points) return std::nullopt;
  const std::int64_t blocks = packed.blocks();
  if (scales->type != node.type(0) || scales->elements() != packed.n * blocks) {
    return node.violate("scales", fmt::format("expected {} elements of type {}, got {} of shape {}", packed.n * blocks,
                                              name_of(node.type(0)), name_of(scales->type), shape_text(scales->shape))),
           std::nullopt;
  }
  const Shape shape{packed.n, packed.k};
  if (!node.claim(shape)) return std::nullopt;
  std::vector<double> elements;
  for (std::int64_t row = 0; row < packed.n; ++row) {
    const std::int64_t first = row * blocks * packed.block * packed.bits / 8;
    for (std::int64_t k = 0; k < packed.k; ++k) {
      elements.push_back(static_cast<double>(packed_number(*bytes, first, k, packed.bits)));
    }
  }
  reference::DequantizeLinear dequantize{
      .layout = {.outer = packed.n, .channels = packed.k, .inner = 1, .block = packed.block},
      .x_type = ElementType::uint8,
      .y_type = node.type(0),
      .x_scale = {},
      .x_zero_point = *zero_points};
  for (std::int64_t i = 0; i < packed.n * blocks; ++i) dequantize.x_scale.push_back(number_at(*scales, i));
  node.scales_by(dequantize.x_scale);
  if (node.has(4)) {
    const auto by_column = stated_blocks(node, packed);
    if (!by_column) return std::nullopt;
    scale_each(packed, *by_column, dequantize);
  }
  const ValueId integers = node.add_stated(ElementType::uint8, shape, std::move(elements));
  return node.compute(Dequantize{std::move(dequantize)}, {integers}, shape, node.type(0));
}

bool lower_matmul_nbits(const NodeLowering& node) {
  const auto packed = packed_weights(node);
  if (!packed) return false;
  if (node.has(4) && node.get_or<std::int64_t>("accuracy_level", 0) == 4) {
    return node.limit("g_idx", "beside accuracy_level 4 is not judged");
  }
  Shape shape = node.shape(0);
  if (shape.empty() || shape.back() != packed->k) {
    return node.violate("A", fmt::format("expected rows of {}, got shape {}", packed->k, shape_text(shape)));
  }
  const auto weights = unpacked_weights(node, *packed);
  if (!weights) return false;
  shape.back() = packed->n;
  const auto elements = node.claim(shape);
  if (!elements) return false;
  WeightedSum sum{.taps = MatrixTaps{.m = elements_of(shape) / packed->n,
                                     .n = packed->n,
                                     .k = packed->k,
                                     .a_row = packed->k,
                                     .a_inner = 1,
                                     .b_inner = 1,
                                     .b_column = packed->k}};
  const std::int64_t level = node.get_or<std::int64_t>("accuracy_level", 0);
  if (level == 2) sum.activation_bits = reference::graph::precision_of(ElementType::float16);
  if (level == 3) sum.activation_bits = reference::graph::precision_of(ElementType::bfloat16);
  if (level == 4) sum.activation_block = packed->block;
  std::vector<ValueId> operands{node.id(0), *weights};
  if (node.has(5)) {
    if (node.shape(5) != Shape{packed->n})
      return node.violate("bias", fmt::format("expected shape [{}], got {}", packed->n, shape_text(node.shape(5))));
    for (std::size_t i = 0; i < *elements; ++i) sum.c_index.push_back(static_cast<std::int64_t>(i) % packed->n);
    operands.push_back(node.id(5));
  }
  node.check_bias_scales(sum, operands, *elements);
  return node.emit(std::move(sum), std::move(operands), std::move(shape));
}

using namespace node_types;

constexpr TypeSet kBytes{int8, uint8};
constexpr TypeSet kBytes21 = kBytes.with(kFloat8Types);

constexpr AttributeSignature kNBits[] = {{"K", kIntAttribute},
                                         {"N", kIntAttribute},
                                         {"bits", kIntAttribute},
                                         {"block_size", kIntAttribute},
                                         {"accuracy_level", kIntAttribute}};

constexpr NodeOperator qlinear_matmul(std::int64_t since, TypeSet types) {
  return {.name = "QLinearMatMul",
          .since = since,
          .least_inputs = 8,
          .most_inputs = 8,
          .types = types,
          .attributes = {},
          .lower = lower_qlinear_matmul,
          .like_first = 1,
          .is_quantized = true};
}

constexpr NodeOperator kIntegerProductNodes[] = {
    {.name = "MatMulInteger",
     .since = 10,
     .least_inputs = 2,
     .most_inputs = 4,
     .types = kBytes,
     .attributes = {},
     .lower = lower_matmul_integer,
     .like_first = 1,
     .is_quantized = true},
    qlinear_matmul(10, kBytes),
    qlinear_matmul(21, kBytes21),
    {.name = "DynamicQuantizeLinear",
     .since = 11,
     .least_inputs = 1,
     .most_inputs = 1,
     .types = TypeSet{float32},
     .attributes = {},
     .lower = lower_dynamic_quantize,
     .most_outputs = 3,
     .is_quantized = true},
    {.name = "MatMulNBits",
     .since = 1,
     .least_inputs = 3,
     .most_inputs = 6,
     .types = kFloats13,
     .attributes = kNBits,
     .lower = lower_matmul_nbits,
     .like_first = 1,
     .computes = true,
     .domain = "com.microsoft",
     .is_quantized = true},
};

}  // namespace

std::span<const NodeOperator> integer_product_nodes() {
  return kIntegerProductNodes;
}

}  // namespace qconform::lowering
