// Steps for QuantizeLinear and DequantizeLinear: shape and placement of parameters, types, version, attributes, ties.
#include <algorithm>
#include <utility>

#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/operators/linear/description.h"
#include "harness/operators/linear/linear.h"

namespace qconform::mutation {
namespace {

using Values = std::vector<std::int64_t>;
using enum ElementType;

// Every type that some version gives a role to. Which version takes which is classify()'s business.
constexpr ElementType kReals[] = {float32, float32, float16, bfloat16, int32};
constexpr ElementType kScales[] = {float32, float32, float32, float16, bfloat16, float8e8m0, int32};
constexpr ElementType kQuantized[] = {uint8, int8,       uint16,       int16,         uint4,          int4,
                                      uint2, int2,       float8e4m3fn, float8e5m2,    float8e4m3fnuz, int32,
                                      uint8, float4e2m1, int8,         float8e5m2fnuz};

void reshape_parameters(LinearQuantization& node, Rng& rng, const Values& shape) {
  node.visit_parameters([&](Tensor& parameter) {
    if (parameter.shape != shape) parameter = reshaped(rng, parameter, shape);
  });
}

// Gives scale and zero point the shape that x, axis and block_size ask for, per tensor where nothing else fits.
void place_parameters(LinearQuantization& node, Rng& rng, bool per_tensor) {
  if (!per_tensor && node.dimension() && node.block_size.value_or(0) <= (1 << 20)) {
    return reshape_parameters(node, rng, node.parameter_shape());
  }
  node.block_size.reset();
  reshape_parameters(node, rng, {});
}

bool change_shape(LinearQuantization& node, Rng& rng) {
  Values shape = node.x.shape;
  if (shape.empty() || (shape.size() < 5 && rng.chance(1, 6))) {
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(rng.below(static_cast<std::uint32_t>(shape.size() + 1))),
                 rng.between(1, 4));
  } else if (rng.chance(1, 6)) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(rng.below(static_cast<std::uint32_t>(shape.size()))));
  } else {
    shape[rng.below(static_cast<std::uint32_t>(shape.size()))] = rng.chance(1, 32)  ? 0
                                                                 : rng.chance(1, 4) ? rng.between(8, 80)
                                                                                    : rng.between(1, 9);
  }
  if (elements_of(shape) > (1 << 12)) return false;
  node.x = reshaped(rng, node.x, std::move(shape));
  place_parameters(node, rng, node.scale.is_scalar());
  return true;
}

bool change_placement(LinearQuantization& node, Rng& rng) {
  const auto rank = static_cast<std::int64_t>(node.x.shape.size());
  if (rank > 0 && rng.chance(2, 3)) node.axis = rng.between(-rank, rank - 1);
  if (rng.chance(1, 2)) {
    node.block_size.reset();
  } else {
    node.opset_version = std::max<std::int64_t>(node.opset_version, 21);
    node.block_size = rng.chance(1, 4) ? rng.between(8, 40) : rng.between(1, 5);
  }
  place_parameters(node, rng, rng.chance(1, 4));
  return true;
}

bool change_version(LinearQuantization& node, Rng& rng) {
  const auto versions = operator_of(node).versions;
  node.opset_version =
      rng.chance(1, 4) ? kNewestOpset : versions[rng.below(static_cast<std::uint32_t>(versions.size()))];
  return true;
}

// Types of x, scale and zero point, all at once and at the newest version: the older ones are mixes of few.
bool change_types(LinearQuantization& node, Rng& rng) {
  if (rng.chance(3, 4)) node.opset_version = operator_of(node).versions.back();
  const ElementType quantized = rng.pick(kQuantized);
  if (rng.chance(2, 3)) node.x = converted(node.x, node.quantizes ? rng.pick(kReals) : quantized);
  if (rng.chance(1, 2)) node.scale = converted(node.scale, rng.pick(kScales));
  if (auto& zero_point = node.zero_point) {
    *zero_point = converted(*zero_point, node.quantizes ? quantized : node.x.type);
    if (!is_integer(quantized)) std::fill(zero_point->bytes.begin(), zero_point->bytes.end(), std::byte{0});
  }
  node.output_dtype.reset();
  return true;
}

bool change_zero_point(LinearQuantization& node, Rng& rng) {
  if (node.zero_point) {
    if (rng.chance(1, 3)) {
      node.zero_point.reset();
    } else {
      change_values(rng, *node.zero_point);
    }
    return true;
  }
  const ElementType type = node.quantizes ? rng.pick(kQuantized) : node.x.type;
  if (!is_numeric(type)) return false;
  node.zero_point = converted(reshaped(rng, Tensor::scalar<std::int8_t>(int8, 0), node.scale.shape), type);
  return true;
}

bool change_attribute(LinearQuantization& node, Rng& rng) {
  static constexpr ElementType kPrecisions[] = {undefined, float32, float16, bfloat16, float64};
  static constexpr ElementType kFloats[] = {float32, float16, bfloat16};
  const auto number = [](ElementType type) { return static_cast<std::int64_t>(type); };
  switch (rng.below(node.quantizes ? 3 : 1)) {
    case 0: node.output_dtype = number(node.quantizes ? rng.pick(kQuantized) : rng.pick(kFloats)); return true;
    case 1: node.saturate = static_cast<std::int64_t>(rng.below(2)); return true;
    default: node.precision = number(rng.pick(kPrecisions)); return true;
  }
}

bool change_node(LinearQuantization& node, Rng& rng) {
  switch (rng.below(10)) {
    case 0: return change_shape(node, rng);
    case 1:
    case 2: return change_placement(node, rng);
    case 3: return change_version(node, rng);
    case 4:
    case 5: return change_types(node, rng);
    case 6: return change_zero_point(node, rng);
    case 7: return change_attribute(node, rng);
    default: change_scales(rng, node.scale, rng.chance(1, 16)); return true;
  }
}

}  // namespace

bool change_linear(Case& test_case, Rng& rng) {
  std::optional<LinearQuantization> node = read_linear(test_case);
  if (!node || !is_numeric(node->x.type) || !is_numeric(node->scale.type) || !change_node(*node, rng)) return false;
  test_case = build_linear(std::move(*node), std::move(test_case));
  return true;
}

// x = (q + 1/2) * scale for one element; its neighbours in the format are no ties.
bool solve_linear_tie(Case& test_case, Rng& rng) {
  std::optional<LinearQuantization> node = read_linear(test_case);
  if (!node || !node->quantizes || node->x.elements() == 0 || node->scale.elements() == 0) return false;
  Tensor& x = node->x;
  if (!is_numeric(x.type) || !is_numeric(node->scale.type)) return false;
  const double step = number_at(node->scale, draw_index(rng, node->scale));
  const std::int64_t index = draw_index(rng, x);
  store_number(x, index, (static_cast<double>(rng.between(-130, 260)) + 0.5) * step);
  if (rng.chance(1, 2)) {
    const int bits = bits_of(x.type);
    const std::uint64_t raw = raw_bits_at(x.bytes, bits, index);
    set_raw_bits_at(x.bytes, bits, index, raw + static_cast<std::uint64_t>(rng.between(-1, 1)));
  }
  test_case = build_linear(std::move(*node), std::move(test_case));
  return true;
}

}  // namespace qconform::mutation
