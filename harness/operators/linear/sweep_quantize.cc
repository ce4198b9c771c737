#include "harness/operators/linear/hooks.h"

#include <cmath>
#include <iterator>

#include "harness/model/text.h"
#include "harness/operators/linear/sweep_model.h"
#include "reference/numerics/floats.h"

namespace qconform::sweep::linear::quantize {
namespace {

using enum ElementType;

enum OwnPosition : std::size_t {
  kXType = kCommonPositions,
  kYType,
  kScaleType,
  kOutputDtype,
  kSaturate,
  kPrecision,
  kScale,
  kValues,
  kPositions
};
enum ScaleClass : std::uint8_t { kOrdinaryScale, kPowerOfTwo };

constexpr ElementType kXTypes[] = {float32, float16, bfloat16, int32};
constexpr ElementType kYTypes[] = {uint8, int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint16, int16,
                                   uint4, int4, float4e2m1,   uint2,          int2};
constexpr ElementType kScaleTypes[] = {float32, float16, bfloat16, int32, float8e8m0};
constexpr ElementType kPrecisions[] = {undefined, float32, float16, bfloat16};

// The version that added a type of y.
std::uint8_t version_of_y(ElementType type) {
  switch (type) {
    case uint8:
    case int8: return k10;
    case uint16:
    case int16:
    case uint4:
    case int4: return k21;
    case float4e2m1: return k23;
    case uint2:
    case int2: return k25;
    default: return k19;
  }
}

bool takes_scale(std::uint8_t version, ElementType x, ElementType scale) {
  if (version < k19) return scale == float32;
  if (version < k23) return scale == x;
  return scale != float8e8m0 || version >= k24;
}

std::vector<Parameter> parameters() {
  std::vector<Parameter> list = common_parameters();
  list.push_back({"x type", {"float", "float16", "bfloat16", "int32"}, 0, ParameterRole::core});
  list.push_back({"y type", {}, 0, ParameterRole::core});
  for (const ElementType type : kYTypes) list.back().classes.push_back(name_of(type));
  list.push_back({"scale type", {"float", "float16", "bfloat16", "int32", "float8e8m0"}});
  list.push_back({"output_dtype", {"absent", "stated"}});
  list.push_back({"saturate", {"absent", "1", "0"}});
  list.push_back({"precision", {"absent", "float", "float16", "bfloat16"}});
  list.push_back({"scale", {"ordinary", "power of two"}});
  // The first of these that the quotients show, from the last to the second: one NaN makes it "NaN".
  list.push_back({"values", {"ordinary", "ties", "saturating", "subnormal", "infinite", "NaN"}});
  return list;
}

// Whether the quotients are of 65504 at the most, divided by 2 or more.
bool has_small_quotients(const Row& r) {
  const ElementType x = kXTypes[r[kXType]];
  const ElementType scale = kScaleTypes[r[kScaleType]];
  const bool narrow = x == float16 || kPrecisions[r[kPrecision]] == float16 ||
                      (kPrecisions[r[kPrecision]] == undefined && scale == float16);
  return narrow && (x == int32 || scale == int32);
}

std::vector<Constraint> type_constraints() {
  return {
      {"the version knows the type of x",
       {kVersion, kXType},
       [](const Row& r) { return r[kVersion] >= k19 || r[kXType] == 0 || kXTypes[r[kXType]] == int32; }},
      {"the version knows the type of y",
       {kVersion, kYType},
       [](const Row& r) { return r[kVersion] >= version_of_y(kYTypes[r[kYType]]); }},
      {"the version takes such a scale beside x",
       {kVersion, kXType, kScaleType},
       [](const Row& r) { return takes_scale(r[kVersion], kXTypes[r[kXType]], kScaleTypes[r[kScaleType]]); }},
      {"an int32 scale needs a precision to divide in",
       {kScaleType, kPrecision},
       [](const Row& r) { return kScaleTypes[r[kScaleType]] != int32 || r[kPrecision] != 0; }},
      {"output_dtype begins with version 21",
       {kVersion, kOutputDtype},
       [](const Row& r) { return r[kOutputDtype] == 0 || r[kVersion] >= k21; }},
      {"saturate begins with version 19",
       {kVersion, kSaturate},
       [](const Row& r) { return r[kSaturate] == 0 || r[kVersion] >= k19; }},
      {"precision begins with version 23",
       {kVersion, kPrecision},
       [](const Row& r) { return r[kPrecision] == 0 || r[kVersion] >= k23; }},
  };
}

std::vector<Constraint> value_constraints() {
  return {
      {"y is uint8 where neither zero point nor output_dtype says otherwise",
       {kYType, kZeroPoint, kOutputDtype},
       [](const Row& r) { return kYTypes[r[kYType]] == uint8 || r[kZeroPoint] != kOmitted || r[kOutputDtype] == 1; }},
      {"float y has a zero point of 0 or none",
       {kYType, kZeroPoint},
       [](const Row& r) {
         return is_integer(kYTypes[r[kYType]]) || r[kZeroPoint] == kMiddle || r[kZeroPoint] == kOmitted;
       }},
      {"a float8e8m0 scale is a power of two",
       {kScaleType, kScale},
       [](const Row& r) { return kScaleTypes[r[kScaleType]] != float8e8m0 || r[kScale] == kPowerOfTwo; }},
      {"int32 x is finite and not subnormal",
       {kXType, kValues},
       [](const Row& r) { return kXTypes[r[kXType]] != int32 || r[kValues] <= kSaturating; }},
      {"float16 quotients by 2 and more do not leave the range of a wide y",
       {kXType, kScaleType, kPrecision, kYType, kValues},
       [](const Row& r) {
         const ElementType y = kYTypes[r[kYType]];
         const bool wide = y == uint16 || y == int16 || y == float8e5m2 || y == float8e5m2fnuz;
         return !wide || r[kValues] != kSaturating || !has_small_quotients(r);
       }},
  };
}

const Model& model() {
  static const Model built = [] {
    Model model{"QuantizeLinear", parameters(), common_constraints()};
    for (const auto& more : {type_constraints(), value_constraints()}) {
      model.constraints.insert(model.constraints.end(), more.begin(), more.end());
    }
    return model;
  }();
  return built;
}

// Scales of integers are even, so that halves of them are integers. `few_bits`: so few that products
// with small numbers are exact in every type.
double draw_scale(Rng& rng, const Row& row, bool few_bits) {
  const bool integers = kXTypes[row[kXType]] == int32 || kScaleTypes[row[kScaleType]] == int32;
  if (row[kScale] == kPowerOfTwo) {
    return std::ldexp(1.0, static_cast<int>(integers ? rng.between(1, 6) : rng.between(-7, -1)));
  }
  if (integers) return static_cast<double>(rng.between(1, 63) * 4 + 2);
  const double fraction = few_bits ? static_cast<double>(rng.between(1, 3)) / 4
                                   : static_cast<double>(rng.between(1, (1 << 23) - 1)) * 0x1p-23;
  return std::ldexp(1 + fraction, static_cast<int>(rng.between(-7, -2)));
}

Tensor draw_scales(Rng& rng, const Row& row, const Frame& frame, bool few_bits) {
  const ElementType type = kScaleTypes[row[kScaleType]];
  return linear::draw_scales(row, frame, type, [&] {
    std::uint64_t bits = 0;
    // A fraction may round to a power of two, in narrow types.
    do bits = bits_of_number(type, draw_scale(rng, row, few_bits));
    while (row[kScale] == kOrdinaryScale && reference::is_power_of_two(number_of_bits(type, bits)));
    return bits;
  });
}

reference::QuantizeLinear node_of(const Case& test_case, ElementType y_type,
                                  const reference::QuantizationLayout& layout) {
  reference::QuantizeLinear node;
  node.layout = layout;
  node.x_type = test_case.input(0)->type;
  node.scale_type = test_case.input(1)->type;
  node.y_type = y_type;
  node.precision = static_cast<ElementType>(test_case.node().get_or<std::int64_t>("precision", 0));
  node.version = static_cast<int>(test_case.node().opset_version);
  for (std::int64_t i = 0; i < layout.parameters(); ++i) {
    const Tensor* zero_point = test_case.input(2);
    const bool has_one = zero_point != nullptr && is_integer(zero_point->type);
    node.y_scale.push_back(number_at(*test_case.input(1), i));
    node.y_zero_point.push_back(has_one ? static_cast<std::int32_t>(integer_at(*zero_point, i)) : 0);
  }
  return node;
}

// Everything but x, whose tensor is still without bytes.
Case frame_case(Rng& rng, const Row& row, const Frame& frame, bool few_bits) {
  Case result;
  result.node().op_type = "QuantizeLinear";
  result.node().opset_version = kVersions[row[kVersion]];
  result.node().attributes = frame_attributes(frame);
  const ElementType y_type = kYTypes[row[kYType]];
  const auto state = [&](const char* name, std::int64_t value) { result.node().attributes.push_back({name, value}); };
  if (row[kOutputDtype] == 1) state("output_dtype", static_cast<std::int64_t>(y_type));
  if (row[kSaturate] != 0) state("saturate", row[kSaturate] == 1 ? 1 : 0);
  if (row[kPrecision] != 0) state("precision", static_cast<std::int64_t>(kPrecisions[row[kPrecision]]));
  result.inputs = {Tensor{kXTypes[row[kXType]], frame.shape, {}}, draw_scales(rng, row, frame, few_bits)};
  auto zero_point = draw_zero_points(rng, row, frame, y_type);
  if (zero_point) result.inputs.push_back(std::move(zero_point));
  return result;
}

Case realise(const Row& row, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  const Frame frame = draw_frame(rng, row);
  Case result;
  // Narrow types round some values into another class: then other scales are drawn.
  for (int attempt = 0; attempt < 64; ++attempt) {
    result = frame_case(rng, row, frame, attempt >= 8);
    const reference::QuantizeLinear node = node_of(result, kYTypes[row[kYType]], frame.layout);
    draw_quantized_values(rng, node, row[kValues], *result.inputs[0]);
    if (quantized_values_class(node, *result.inputs[0]) == row[kValues]) break;
  }
  return result;
}

ElementType y_type_of(const Case& test_case) {
  const std::int64_t stated = test_case.node().get_or<std::int64_t>("output_dtype", 0);
  if (stated != 0) return static_cast<ElementType>(stated);
  return test_case.input(2) == nullptr ? uint8 : test_case.input(2)->type;
}

// From the case alone, as the operator reads it.
reference::QuantizationLayout layout_of(const Case& test_case) {
  const reference::PlacementAttributes attributes{.has_axis = test_case.node().opset_version >= 13,
                                                  .axis = test_case.node().get_or<std::int64_t>("axis", 1),
                                                  .has_block_size = test_case.node().opset_version >= 21,
                                                  .block_size = test_case.node().get_or<std::int64_t>("block_size", 0)};
  reference::Contract contract;
  return resolve_layout(test_case.input(0)->shape, test_case.input(1)->shape, "y_scale", attributes, contract)
      .value_or(reference::QuantizationLayout{});
}

std::uint8_t scale_class(const Tensor& scale) {
  for (std::int64_t i = 0; i < scale.elements(); ++i) {
    if (!reference::is_power_of_two(number_at(scale, i))) return kOrdinaryScale;
  }
  return kPowerOfTwo;
}

Row classify(const Case& test_case) {
  Row row(kPositions, 0);
  classify_common(test_case, row);
  const ElementType y_type = y_type_of(test_case);
  const auto precision = static_cast<ElementType>(test_case.node().get_or<std::int64_t>("precision", 0));
  const std::int64_t saturate = test_case.node().get_or<std::int64_t>("saturate", -1);
  row[kXType] = class_of(kXTypes, test_case.input(0)->type);
  row[kYType] = class_of(kYTypes, y_type);
  row[kScaleType] = class_of(kScaleTypes, test_case.input(1)->type);
  row[kOutputDtype] = test_case.attribute("output_dtype") == nullptr ? 0 : 1;
  row[kSaturate] = saturate < 0 ? 0 : saturate == 1 ? 1 : 2;
  row[kPrecision] = class_of(kPrecisions, precision);
  row[kScale] = scale_class(*test_case.input(1));
  row[kValues] = quantized_values_class(node_of(test_case, y_type, layout_of(test_case)), *test_case.input(0));
  return row;
}

}  // namespace
}  // namespace qconform::sweep::linear::quantize

namespace qconform::sweep {

SweptModel swept_quantize_linear() {
  static constexpr std::array<std::string_view, 1> kOperators{"QuantizeLinear"};
  return {linear::quantize::model, linear::quantize::realise, linear::quantize::classify, {}, kOperators};
}

}  // namespace qconform::sweep
