#include "harness/operators/linear/hooks.h"

#include <cmath>
#include <iterator>

#include "harness/model/text.h"
#include "harness/operators/linear/sweep_model.h"
#include "reference/numerics/floats.h"

namespace qconform::sweep::linear::quantize {
namespace {

using enum ElementType;

enum QuantizePosition : std::size_t {
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
enum YScaleClass : std::uint8_t { kOrdinaryScale, kPowerOfTwo };

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

Tensor draw_scales(Rng& rng, const Row& row, const std::vector<std::int64_t>& shape, bool few_bits) {
  const ElementType type = kScaleTypes[row[kScaleType]];
  return linear::draw_scales(row, shape, type, [&] {
    std::uint64_t bits = 0;
    // A fraction may round to a power of two, in narrow types.
    do bits = bits_of_number(type, draw_scale(rng, row, few_bits));
    while (row[kScale] == kOrdinaryScale && reference::is_power_of_two(number_of_bits(type, bits)));
    return bits;
  });
}

reference::QuantizeLinear reference_node(const LinearQuantization& stated) {
  reference::QuantizeLinear node;
  node.layout = layout_of(stated).value_or(reference::QuantizationLayout{});
  node.x_type = stated.x.type;
  node.scale_type = stated.scale.type;
  node.y_type = stated.y_type();
  node.precision = static_cast<ElementType>(stated.precision.value_or(0));
  node.version = static_cast<int>(stated.opset_version);
  const bool has_zero_points = stated.zero_point && is_integer(stated.zero_point->type);
  for (std::int64_t i = 0; i < node.layout.parameters(); ++i) {
    node.y_scale.push_back(number_at(stated.scale, i));
    node.y_zero_point.push_back(has_zero_points ? static_cast<std::int32_t>(integer_at(*stated.zero_point, i)) : 0);
  }
  return node;
}

// Everything but x, whose tensor is still without bytes.
LinearQuantization draw_parameters(Rng& rng, const Row& row, LinearQuantization node, bool few_bits) {
  const ElementType y_type = kYTypes[row[kYType]];
  if (row[kSaturate] != 0) node.saturate = row[kSaturate] == 1 ? 1 : 0;
  if (row[kOutputDtype] == 1) node.output_dtype = static_cast<std::int64_t>(y_type);
  if (row[kPrecision] != 0) node.precision = static_cast<std::int64_t>(kPrecisions[row[kPrecision]]);
  node.x.type = kXTypes[row[kXType]];
  node.scale = draw_scales(rng, row, node.scale.shape, few_bits);
  node.zero_point = draw_zero_points(rng, row, node.scale.shape, y_type);
  return node;
}

LinearQuantization with_values(Rng& rng, const Row& row, LinearQuantization placed) {
  LinearQuantization result;
  // Narrow types round some values into another class: then other scales are drawn.
  for (int attempt = 0; attempt < 64; ++attempt) {
    result = draw_parameters(rng, row, placed, attempt >= 8);
    const reference::QuantizeLinear node = reference_node(result);
    draw_quantized_values(rng, node, row[kValues], result.x);
    if (quantized_values_class(node, result.x) == row[kValues]) break;
  }
  return result;
}

Case realise(const Row& row, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  return build_linear(with_values(rng, row, draw_placement(rng, row, true)));
}

std::uint8_t scale_class(const Tensor& scale) {
  for (std::int64_t i = 0; i < scale.elements(); ++i) {
    if (!reference::is_power_of_two(number_at(scale, i))) return kOrdinaryScale;
  }
  return kPowerOfTwo;
}

Row classify(const Case& test_case, const Asked& asked) {
  Row row(kPositions, 0);
  const LinearQuantization node = read_linear(test_case).value();
  classify_common(node, row);
  row[kXType] = class_of(kXTypes, node.x.type);
  row[kYType] = class_of(kYTypes, node.y_type());
  row[kScaleType] = class_of(kScaleTypes, node.scale.type);
  row[kOutputDtype] = node.output_dtype ? 1 : 0;
  row[kSaturate] = !node.saturate ? 0 : *node.saturate == 1 ? 1 : 2;
  row[kPrecision] = class_of(kPrecisions, static_cast<ElementType>(node.precision.value_or(0)));
  row[kScale] = scale_class(node.scale);
  if (asked(kValues, model().parameters[kValues].all()))
    row[kValues] = quantized_values_class(reference_node(node), node.x);
  return row;
}

}  // namespace

const LinearFilling kFilling{true, with_values, classify};

}  // namespace qconform::sweep::linear::quantize

namespace qconform::sweep {

SweptModel swept_quantize_linear() {
  static constexpr std::array<std::string_view, 1> kOperators{"QuantizeLinear"};
  return {linear::quantize::model,         linear::quantize::realise, linear::quantize::classify,
          linear::sized_quantize_linear(), linear::neighbours(),      kOperators};
}

}  // namespace qconform::sweep
