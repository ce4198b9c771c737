#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "harness/model/text.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/sweep_model.h"
#include "reference/linear_quantization/quantize_linear.h"
#include "reference/numerics/floats.h"

namespace qconform::sweep {

namespace {

using reference::FloatFormat;

// Within the range of every type of x and of every type to divide in.
constexpr double kLargestValue = 60000;

// The quotients that y holds without saturating, before the zero point is added.
struct QuotientInterval {
  double lo;
  double hi;
};

QuotientInterval interval_of(const reference::QuantizeLinear& node, std::size_t parameter) {
  if (!is_integer(node.y_type)) {
    const FloatFormat& format = reference::float_format(node.y_type);
    const double largest = decode(format, format.largest());
    return {-largest, largest};
  }
  const reference::IntegerRange range = reference::range_of(node.y_type);
  return {static_cast<double>(range.lo - node.y_zero_point[parameter]),
          static_cast<double>(range.hi - node.y_zero_point[parameter])};
}

// Whether a finite quotient is the middle between two neighbouring values of y.
bool is_tie(const reference::QuantizeLinear& node, double quotient) {
  if (is_integer(node.y_type)) return std::fabs(quotient) < 0x1p30 && quotient - std::floor(quotient) == 0.5;
  const FloatFormat& format = reference::float_format(node.y_type);
  const double magnitude = std::fabs(quotient);
  const std::uint64_t bits = encode(format, magnitude, reference::Overflow::saturate);
  const double nearest = decode(format, bits);
  if (nearest == magnitude) return false;
  if (nearest > magnitude) return bits > 0 && (nearest + decode(format, bits - 1)) / 2 == magnitude;
  return bits < format.largest() && (nearest + decode(format, bits + 1)) / 2 == magnitude;
}

reference::Division division_of(const reference::QuantizeLinear& node) {
  return reference::Divisions(node, reference::Wording::onnx).first();
}

// `division`: division_of() the node, which callers need for many elements.
std::uint8_t class_of_quotient(const reference::QuantizeLinear& node, const reference::Division& division, double x,
                               std::size_t parameter) {
  const reference::Quotient quotient = divide(division, x, node.y_scale[parameter]);
  if (quotient.kind != reference::Quotient::Kind::finite) return kSaturating;
  const double value = rounded_to(reference::float_format(ElementType::float64), quotient.value);
  const auto [lo, hi] = interval_of(node, parameter);
  const double half = is_integer(node.y_type) ? 0.5 : 0;
  if (value < lo - half || value > hi + half) return kSaturating;
  return is_tie(node, value) ? kTies : kOrdinary;
}

std::uint8_t class_of_element(const reference::QuantizeLinear& node, const reference::Division& division,
                              ElementType type, std::uint64_t bits, std::size_t parameter) {
  const double x = number_of_bits(type, bits);
  if (std::isnan(x)) return kNan;
  if (std::isinf(x)) return kInfinite;
  const bool subnormal =
      !is_integer(type) && x != 0 && std::fabs(x) < std::ldexp(1.0, reference::float_format(type).smallest_exponent());
  return subnormal ? std::uint8_t{kSubnormal} : class_of_quotient(node, division, x, parameter);
}

double draw_within(Rng& rng, const reference::QuantizeLinear& node, const QuotientInterval& interval) {
  if (!is_integer(node.y_type)) {
    // A value of y, and a little less.
    const FloatFormat& format = reference::float_format(node.y_type);
    const std::uint64_t bits = rng.below(static_cast<std::uint32_t>(format.largest() + 1));
    const double value = decode(format, bits) * static_cast<double>(rng.between(97, 128)) / 128;
    return rng.chance(1, 2) && !std::isnan(value) ? -value : value;
  }
  // Most values of wide types are large: half of them are drawn near 0.
  const double step = rng.chance(1, 2) ? 1.0 : 1.0 / 16;
  const double share = static_cast<double>(rng.between(0, 4096)) / 4096 * step;
  return std::clamp(rng.chance(1, 2) ? interval.lo * share : interval.hi * share, interval.lo, interval.hi);
}

double draw_tie(Rng& rng, const reference::QuantizeLinear& node, const QuotientInterval& interval) {
  if (is_integer(node.y_type)) {
    const double lo = std::max(interval.lo, -40.0);
    const double hi = std::min(interval.hi, 40.0);
    return static_cast<double>(rng.between(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi) - 1)) + 0.5;
  }
  const FloatFormat& format = reference::float_format(node.y_type);
  const std::uint64_t bits = rng.below(static_cast<std::uint32_t>(format.largest()));
  const double middle = (decode(format, bits) + decode(format, bits + 1)) / 2;
  return rng.chance(1, 2) ? -middle : middle;
}

double draw_beyond(Rng& rng, const QuotientInterval& interval) {
  const double width = interval.hi - interval.lo;
  const double beyond = 1 + width * static_cast<double>(rng.between(1, 256)) / 256;
  return rng.chance(1, 2) ? interval.hi + beyond : interval.lo - beyond;
}

std::uint64_t draw_bits(Rng& rng, const reference::QuantizeLinear& node, ElementType type, std::uint8_t values,
                        std::size_t parameter) {
  const FloatFormat* format = is_integer(type) ? nullptr : &reference::float_format(type);
  const double sign = rng.chance(1, 2) ? -1 : 1;
  switch (values) {
    case kNan: return encode(*format, std::numeric_limits<double>::quiet_NaN(), reference::Overflow::special);
    case kInfinite:
      return encode(*format, sign * std::numeric_limits<double>::infinity(), reference::Overflow::special);
    case kSubnormal: {
      const auto fraction = static_cast<std::uint64_t>(rng.between(1, (std::int64_t{1} << format->mantissa_bits) - 1));
      return fraction | (sign < 0 ? format->sign_bit() : 0);
    }
    default: break;
  }
  const QuotientInterval interval = interval_of(node, parameter);
  const double quotient = values == kTies         ? draw_tie(rng, node, interval)
                          : values == kSaturating ? draw_beyond(rng, interval)
                                                  : draw_within(rng, node, interval);
  const bool narrow = type == ElementType::float16 || division_type(node) == ElementType::float16;
  const double most = narrow ? kLargestValue : 0x1p30;
  return bits_of_number(type, std::clamp(quotient * node.y_scale[parameter], -most, most));
}

}  // namespace

std::uint64_t bits_of_number(ElementType type, double value) {
  if (!is_integer(type)) return encode(reference::float_format(type), value, reference::Overflow::saturate);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(value + 0.5))) & 0xFFFFFFFFU;
}

double number_of_bits(ElementType type, std::uint64_t bits) {
  if (!is_integer(type)) return decode(reference::float_format(type), bits);
  return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
}

void draw_quantized_values(Rng& rng, const reference::QuantizeLinear& node, std::uint8_t values, Tensor& x) {
  const std::int64_t elements = x.elements();
  x.bytes.resize(static_cast<std::size_t>(bytes_for(x.type, elements)));
  const reference::Division division = division_of(node);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint8_t wanted = i % 2 == 0 ? values : std::uint8_t{kOrdinary};
    const std::size_t parameter = node.layout.parameter_of(i);
    std::uint64_t chosen = 0;  // 0 is ordinary everywhere
    for (int attempt = 0; attempt < 64; ++attempt) {
      const std::uint64_t bits = draw_bits(rng, node, x.type, wanted, parameter);
      if (class_of_element(node, division, x.type, bits, parameter) != wanted) continue;
      chosen = bits;
      break;
    }
    set_raw_bits_at(x.bytes, bits_of(x.type), i, chosen);
  }
}

std::uint8_t quantized_values_class(const reference::QuantizeLinear& node, const Tensor& x) {
  std::uint8_t last = kOrdinary;
  const reference::Division division = division_of(node);
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const std::uint64_t bits = raw_bits_at(x.bytes, bits_of(x.type), i);
    last = std::max(last, class_of_element(node, division, x.type, bits, node.layout.parameter_of(i)));
  }
  return last;
}

}  // namespace qconform::sweep

namespace qconform::sweep::linear::dequantize {

namespace {

using enum ElementType;

enum DequantizePosition : std::size_t {
  kXType = kCommonPositions,
  kScaleType,
  kYType,
  kOutputDtype,
  kScale,
  kValues,
  kPositions
};
enum XScaleClass : std::uint8_t { kOrdinaryScale, kPowerOfTwo, kSubnormalScale, kHugeScale };
enum ValuesClass : std::uint8_t { kOrdinary, kEnds, kSpecial };

constexpr ElementType kXTypes[] = {uint8,  int8,  int32, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz,
                                   uint16, int16, uint4, int4,         float4e2m1,     uint2,      int2};
constexpr ElementType kFloats[] = {float32, float16, bfloat16, float8e8m0};

// The version that added a type of x.
std::uint8_t version_of_x(ElementType type) {
  switch (type) {
    case uint8:
    case int8:
    case int32: return k10;
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

std::vector<Parameter> parameters() {
  std::vector<Parameter> list = common_parameters();
  list.push_back({"x type", {}, 0, ParameterRole::core});
  for (const ElementType type : kXTypes) list.back().classes.push_back(name_of(type));
  list.push_back({"scale type", {"float", "float16", "bfloat16", "float8e8m0"}});
  list.push_back({"y type", {"float", "float16", "bfloat16"}, 0, ParameterRole::core});
  list.push_back({"output_dtype", {"absent", "stated"}});
  // "subnormal": in the scale's type. "huge": within a factor of 16 of its largest.
  list.push_back({"scale", {"ordinary", "power of two", "subnormal", "huge"}});
  // "special": x has NaN, infinity or -0. "ends": most elements are the least or largest.
  list.push_back({"values", {"ordinary", "ends", "special"}});
  return list;
}

std::vector<Constraint> constraints() {
  std::vector<Constraint> list = common_constraints();
  const std::vector<Constraint> own{
      {"the version knows the type of x",
       {kVersion, kXType},
       [](const Row& r) { return r[kVersion] >= version_of_x(kXTypes[r[kXType]]); }},
      {"the version knows the type of the scale",
       {kVersion, kScaleType},
       [](const Row& r) {
         const ElementType type = kFloats[r[kScaleType]];
         return r[kVersion] >= (type == float32 ? k10 : type == float8e8m0 ? k24 : k19);
       }},
      {"output_dtype begins with version 23",
       {kVersion, kOutputDtype},
       [](const Row& r) { return r[kOutputDtype] == 0 || r[kVersion] >= k23; }},
      {"without output_dtype, y has the type of the scale",
       {kScaleType, kYType, kOutputDtype},
       [](const Row& r) { return r[kOutputDtype] == 1 || kFloats[r[kScaleType]] == kFloats[r[kYType]]; }},
      {"int32 and float x have a zero point of 0 or none",
       {kXType, kZeroPoint},
       [](const Row& r) {
         const ElementType type = kXTypes[r[kXType]];
         return (is_integer(type) && type != int32) || r[kZeroPoint] == kMiddle || r[kZeroPoint] == kOmitted;
       }},
      {"integers have no special values",
       {kXType, kValues},
       [](const Row& r) { return r[kValues] != kSpecial || !is_integer(kXTypes[r[kXType]]); }},
      {"a float8e8m0 scale is a power of two",
       {kScaleType, kScale},
       [](const Row& r) { return kFloats[r[kScaleType]] != float8e8m0 || r[kScale] == kPowerOfTwo; }},
      {"float16 y has nothing to tell of scales far beyond its range",
       {kScaleType, kYType, kScale},
       [](const Row& r) {
         return kFloats[r[kYType]] != float16 || kFloats[r[kScaleType]] == float16 || r[kScale] < kSubnormalScale;
       }},
  };
  list.insert(list.end(), own.begin(), own.end());
  return list;
}

const Model& model() {
  static const Model built{"DequantizeLinear", parameters(), constraints()};
  return built;
}

double draw_scale(Rng& rng, std::uint8_t scale, const reference::FloatFormat& format) {
  const double fraction = 1 + static_cast<double>(rng.between(1, (1 << 23) - 1)) * 0x1p-23;
  const auto exponent = static_cast<int>(rng.between(-8, 2));
  const int largest = std::ilogb(decode(format, format.largest()));
  switch (scale) {
    case kPowerOfTwo: return std::ldexp(1.0, exponent);
    case kSubnormalScale:
      return decode(format, static_cast<std::uint64_t>(rng.between(1, (std::int64_t{1} << format.mantissa_bits) - 1)));
    case kHugeScale: return std::ldexp(fraction, largest - static_cast<int>(rng.between(1, 3)));
    default: return std::ldexp(fraction, exponent);
  }
}

std::uint8_t scale_class(const Tensor& scale) {
  const reference::FloatFormat& format = reference::float_format(scale.type);
  const double value = number_at(scale, 0);
  if (scale.type == float8e8m0) return kPowerOfTwo;
  if (value < std::ldexp(1.0, format.smallest_exponent())) return kSubnormalScale;
  if (value * 16 > decode(format, format.largest())) return kHugeScale;
  for (std::int64_t i = 0; i < scale.elements(); ++i) {
    if (!reference::is_power_of_two(number_at(scale, i))) return kOrdinaryScale;
  }
  return kPowerOfTwo;
}

Tensor draw_scales(Rng& rng, const Row& row, const std::vector<std::int64_t>& shape) {
  const ElementType type = kFloats[row[kScaleType]];
  const reference::FloatFormat& format = reference::float_format(type);
  return linear::draw_scales(row, shape, type, [&] {
    std::uint64_t bits = 0;
    // A fraction may round to a power of two, in narrow types.
    do bits = encode(format, draw_scale(rng, row[kScale], format), reference::Overflow::saturate);
    while (row[kScale] == kOrdinaryScale && reference::is_power_of_two(decode(format, bits)));
    return bits;
  });
}

bool is_special(const reference::FloatFormat& format, std::uint64_t bits) {
  const double value = decode(format, bits);
  return !std::isfinite(value) || (value == 0 && std::signbit(value));
}

// Tells the patterns of a type, found once for all elements of a tensor.
class PatternClasses {
 public:
  explicit PatternClasses(ElementType type)
      : format_(is_integer(type) ? nullptr : &reference::float_format(type)), width_(bits_of(type)) {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - width_);
    least_ = format_ != nullptr ? format_->largest() | format_->sign_bit() : is_signed_integer(type) ? all / 2 + 1 : 0;
    largest_ = format_ != nullptr ? format_->largest() : least_ ^ all;
  }
  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] std::uint8_t of(std::uint64_t bits) const {
    if (format_ != nullptr && is_special(*format_, bits)) return kSpecial;
    return bits == least_ || bits == largest_ ? kEnds : kOrdinary;
  }

 private:
  const reference::FloatFormat* format_;  ///< null for integers
  int width_;
  std::uint64_t least_ = 0;
  std::uint64_t largest_ = 0;
};

// Bits of an element; ordinary ones are neither special nor at an end.
std::uint64_t draw_bits(Rng& rng, ElementType type, const PatternClasses& classes, std::uint8_t values) {
  for (;;) {
    std::uint64_t bits = rng.next() >> (64 - classes.width());
    // Magnitudes of int32 of every size.
    if (type == int32)
      bits = static_cast<std::uint64_t>(static_cast<std::int32_t>(bits) >> rng.below(28)) & 0xFFFFFFFFU;
    if (classes.of(bits) == values) return bits;
    if (values == kEnds && type == int32) return rng.chance(1, 2) ? 0x7FFFFFFFU : 0x80000000U;
    if (values == kEnds && classes.width() == 16 && is_integer(type)) {
      const std::uint64_t lo = is_signed_integer(type) ? 0x8000 : 0;
      return rng.chance(1, 2) ? lo : (lo - 1) & 0xFFFFU;
    }
  }
}

Tensor draw_x(Rng& rng, const Row& row, const std::vector<std::int64_t>& shape) {
  const ElementType type = kXTypes[row[kXType]];
  Tensor x{type, shape, {}};
  const std::int64_t elements = x.elements();
  x.bytes.resize(static_cast<std::size_t>(bytes_for(type, elements)));
  const PatternClasses classes(type);
  for (std::int64_t i = 0; i < elements; ++i) {
    // Special values and ends stand among ordinary ones.
    const bool in_class = row[kValues] == kEnds ? i % 4 != 3 : i % 4 == 0;
    const std::uint64_t bits = draw_bits(rng, type, classes, in_class ? row[kValues] : std::uint8_t{kOrdinary});
    set_raw_bits_at(x.bytes, classes.width(), i, bits);
  }
  return x;
}

std::uint8_t values_class(const Tensor& x) {
  const PatternClasses classes(x.type);
  const std::int64_t elements = x.elements();
  std::int64_t ends = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint8_t of_element = classes.of(raw_bits_at(x.bytes, classes.width(), i));
    if (of_element == kSpecial) return kSpecial;
    ends += of_element == kEnds ? 1 : 0;
  }
  return ends * 2 > elements ? kEnds : kOrdinary;
}

LinearQuantization with_values(Rng& rng, const Row& row, LinearQuantization node) {
  if (row[kOutputDtype] == 1) node.output_dtype = static_cast<std::int64_t>(kFloats[row[kYType]]);
  node.x = draw_x(rng, row, node.x.shape);
  node.scale = draw_scales(rng, row, node.scale.shape);
  node.zero_point = draw_zero_points(rng, row, node.scale.shape, node.x.type);
  return node;
}

Case realise(const Row& row, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  return build_linear(with_values(rng, row, draw_placement(rng, row, false)));
}

Row classify(const Case& test_case, const Asked& asked) {
  Row row(kPositions, 0);
  const LinearQuantization node = read_linear(test_case).value();
  classify_common(node, row);
  row[kXType] = class_of(kXTypes, node.x.type);
  row[kScaleType] = class_of(kFloats, node.scale.type);
  row[kYType] = class_of(kFloats, node.y_type());
  row[kOutputDtype] = node.output_dtype.value_or(0) == 0 ? 0 : 1;
  row[kScale] = scale_class(node.scale);
  if (asked(kValues, model().parameters[kValues].all())) row[kValues] = values_class(node.x);
  return row;
}

}  // namespace

const LinearFilling kFilling{false, with_values, classify};

}  // namespace qconform::sweep::linear::dequantize

namespace qconform::sweep {

SweptModel swept_dequantize_linear() {
  static constexpr std::array<std::string_view, 1> kOperators{"DequantizeLinear"};
  return {linear::dequantize::model,         linear::dequantize::realise, linear::dequantize::classify,
          linear::sized_dequantize_linear(), linear::neighbours(),        kOperators};
}

}  // namespace qconform::sweep
