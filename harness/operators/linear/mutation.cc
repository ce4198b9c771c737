// Steps for QuantizeLinear and DequantizeLinear: shape and placement of parameters, types, version, attributes, ties.
#include <algorithm>

#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
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

struct Names {
  const char* scale;
  const char* zero_point;
};

Names names_of(const Case& test_case) {
  return test_case.node().op_type == "QuantizeLinear" ? Names{"y_scale", "y_zero_point"}
                                                      : Names{"x_scale", "x_zero_point"};
}

void reshape_parameters(Case& test_case, Rng& rng, const Values& shape) {
  const Names names = names_of(test_case);
  for (const char* name : {names.scale, names.zero_point}) {
    Tensor* const parameter = input_named(test_case, name);
    if (parameter != nullptr && parameter->shape != shape) *parameter = reshaped(rng, *parameter, shape);
  }
}

// Gives scale and zero point the shape that x, axis and block_size ask for, per tensor where nothing else fits.
void place_parameters(Case& test_case, Rng& rng, bool per_tensor) {
  const Values& x = input_named(test_case, "x")->shape;
  const auto rank = static_cast<std::int64_t>(x.size());
  const auto axis = test_case.node().get_or<std::int64_t>("axis", 1);
  const auto* const block = test_case.node().get<std::int64_t>("block_size");
  if (per_tensor || axis < -rank || axis >= rank || (block != nullptr && *block > (1 << 20))) {
    erase_attribute(test_case, "block_size");
    return reshape_parameters(test_case, rng, {});
  }
  const auto dimension = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (block == nullptr || *block <= 0) return reshape_parameters(test_case, rng, {x[dimension]});
  Values shape = x;
  shape[dimension] = (x[dimension] + *block - 1) / *block;
  reshape_parameters(test_case, rng, shape);
}

bool is_per_tensor(Case& test_case) {
  return input_named(test_case, names_of(test_case).scale)->shape.empty();
}

bool change_shape(Case& test_case, Rng& rng) {
  Tensor& x = *input_named(test_case, "x");
  Values shape = x.shape;
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
  const bool per_tensor = is_per_tensor(test_case);
  x = reshaped(rng, x, std::move(shape));
  place_parameters(test_case, rng, per_tensor);
  return true;
}

bool change_placement(Case& test_case, Rng& rng) {
  const auto rank = static_cast<std::int64_t>(input_named(test_case, "x")->shape.size());
  if (rank > 0 && rng.chance(2, 3)) set_attribute(test_case, "axis", rng.between(-rank, rank - 1));
  if (rng.chance(1, 2)) {
    erase_attribute(test_case, "block_size");
  } else {
    test_case.node().opset_version = std::max<std::int64_t>(test_case.node().opset_version, 21);
    set_attribute(test_case, "block_size", rng.chance(1, 4) ? rng.between(8, 40) : rng.between(1, 5));
  }
  place_parameters(test_case, rng, rng.chance(1, 4));
  return true;
}

bool change_version(Case& test_case, Rng& rng) {
  const Operator* const known = operator_of(test_case);
  if (known == nullptr) return false;
  const auto versions = static_cast<std::uint32_t>(known->versions.size());
  test_case.node().opset_version = rng.chance(1, 4) ? kNewestOpset : known->versions[rng.below(versions)];
  return true;
}

// Types of x, scale and zero point, all at once and at the newest version: the older ones are mixes of few.
bool change_types(Case& test_case, Rng& rng) {
  const Names names = names_of(test_case);
  const bool quantizes = test_case.node().op_type == "QuantizeLinear";
  if (rng.chance(3, 4)) test_case.node().opset_version = find_operator("", test_case.node().op_type)->versions.back();
  Tensor& x = *input_named(test_case, "x");
  Tensor& scale = *input_named(test_case, names.scale);
  const ElementType quantized = rng.pick(kQuantized);
  if (rng.chance(2, 3)) x = converted(x, quantizes ? rng.pick(kReals) : quantized);
  if (rng.chance(1, 2)) scale = converted(scale, rng.pick(kScales));
  Tensor* const zero_point = input_named(test_case, names.zero_point);
  if (zero_point != nullptr) *zero_point = converted(*zero_point, quantizes ? quantized : x.type);
  if (zero_point != nullptr && !is_integer(quantized))
    std::fill(zero_point->bytes.begin(), zero_point->bytes.end(), std::byte{0});
  erase_attribute(test_case, "output_dtype");
  return true;
}

bool change_zero_point(Case& test_case, Rng& rng) {
  const Names names = names_of(test_case);
  if (input_named(test_case, names.zero_point) != nullptr) {
    if (rng.chance(1, 3)) {
      set_input(test_case, names.zero_point, std::nullopt);
    } else {
      change_values(rng, *input_named(test_case, names.zero_point));
    }
    return true;
  }
  const bool quantizes = test_case.node().op_type == "QuantizeLinear";
  const ElementType type = quantizes ? rng.pick(kQuantized) : input_named(test_case, "x")->type;
  if (!is_numeric(type)) return false;
  set_input(test_case, names.zero_point,
            reshaped(rng, Tensor::scalar<std::int8_t>(int8, 0), input_named(test_case, names.scale)->shape));
  Tensor& added = *input_named(test_case, names.zero_point);
  added = converted(added, type);
  return true;
}

bool change_attribute(Case& test_case, Rng& rng) {
  static constexpr ElementType kPrecisions[] = {undefined, float32, float16, bfloat16, float64};
  static constexpr ElementType kFloats[] = {float32, float16, bfloat16};
  const bool quantizes = test_case.node().op_type == "QuantizeLinear";
  const auto set = [&](const char* name, auto value) {
    set_attribute(test_case, name, static_cast<std::int64_t>(value));
  };
  switch (rng.below(quantizes ? 3 : 1)) {
    case 0: set("output_dtype", quantizes ? rng.pick(kQuantized) : rng.pick(kFloats)); return true;
    case 1: set("saturate", rng.below(2)); return true;
    default: set("precision", rng.pick(kPrecisions)); return true;
  }
}

}  // namespace

bool change_linear(Case& test_case, Rng& rng) {
  const Tensor* const x = input_named(test_case, "x");
  Tensor* const scale = input_named(test_case, names_of(test_case).scale);
  if (x == nullptr || scale == nullptr || !is_numeric(x->type) || !is_numeric(scale->type)) return false;
  switch (rng.below(10)) {
    case 0: return change_shape(test_case, rng);
    case 1:
    case 2: return change_placement(test_case, rng);
    case 3: return change_version(test_case, rng);
    case 4:
    case 5: return change_types(test_case, rng);
    case 6: return change_zero_point(test_case, rng);
    case 7: return change_attribute(test_case, rng);
    default: change_scales(rng, *scale, rng.chance(1, 16)); return true;
  }
}

// x = (q + 1/2) * scale for one element; its neighbours in the format are no ties.
bool solve_linear_tie(Case& test_case, Rng& rng) {
  if (test_case.node().op_type != quantize_linear_operator().name) return false;
  Tensor* const x = input_named(test_case, "x");
  const Tensor* const scale = input_named(test_case, "y_scale");
  if (x == nullptr || scale == nullptr || x->elements() == 0 || scale->elements() == 0) return false;
  if (!is_numeric(x->type) || !is_numeric(scale->type)) return false;
  const double step = number_at(*scale, draw_index(rng, *scale));
  const std::int64_t index = draw_index(rng, *x);
  store_number(*x, index, (static_cast<double>(rng.between(-130, 260)) + 0.5) * step);
  if (rng.chance(1, 2)) {
    const int bits = bits_of(x->type);
    const std::uint64_t raw = raw_bits_at(x->bytes, bits, index);
    set_raw_bits_at(x->bytes, bits, index, raw + static_cast<std::uint64_t>(rng.between(-1, 1)));
  }
  return true;
}

}  // namespace qconform::mutation
