#include "harness/operators/convolution/sweep_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/convolution/convolution.h"
#include "reference/numerics/admissible.h"
#include "reference/numerics/requantize.h"

namespace qconform::sweep::convolution {
namespace {

constexpr std::int64_t kFewElements = 16;

ElementType type8(std::uint8_t type_class) {
  return type_class == kUint8 ? ElementType::uint8 : ElementType::int8;
}

std::vector<std::int64_t> tensor_shape(std::int64_t first, std::int64_t second, const Shape& shape,
                                       std::int64_t reference::SpatialAxis::*size) {
  std::vector<std::int64_t> result{first, second};
  for (const auto& axis : shape.axes) result.push_back(axis.*size);
  return result;
}

// Some rows have a million elements.
template <typename Draw>
void draw_bytes(Rng& rng, std::span<std::byte> bytes, Draw draw) {
  Rng own = rng;  // its state in a register: bytes might be this object's
  for (std::byte& byte : bytes) byte = reference::store8(static_cast<std::int32_t>(draw(own)));
  rng = own;
}

// Anything from `from` to `to`; of a row of ends, `lo` in `lows` of four draws and otherwise `hi`.
struct Elements {
  std::int64_t from;
  std::int64_t to;
  std::uint64_t lows;
};

void draw_elements(Rng& rng, const Row& row, Range range, Elements elements, std::span<std::byte> bytes) {
  if (row[kData] == kEnds) {
    draw_bytes(rng, bytes, [&](Rng& own) { return own.below(4) < elements.lows ? range.lo : range.hi; });
  } else {
    draw_bytes(rng, bytes, [&](Rng& own) { return own.between(elements.from, elements.to); });
  }
}

// Small tensors keep off the ends, which a few elements would be by chance.
Tensor draw_x(Rng& rng, const Row& row, const Shape& shape) {
  const ElementType type = type8(row[kXType]);
  Tensor x{type, tensor_shape(shape.batch, shape.channels.input, shape, &reference::SpatialAxis::input), {}};
  const Range range = range_of(type);
  const std::int64_t inset = x.elements() < kFewElements ? 1 : 0;
  x.bytes.resize(static_cast<std::size_t>(x.elements()));
  draw_elements(rng, row, range, {range.lo + inset, range.hi - inset, 2}, x.bytes);
  return x;
}

// Output channels lean to either side of their zero point, so that sums of both signs occur.
Tensor draw_w(Rng& rng, const Row& row, const Shape& shape, const std::vector<std::int64_t>& zero_point) {
  const ElementType type = type8(row[kWType]);
  const Range range = range_of(type);
  Tensor w{type,
           tensor_shape(shape.channels.output, shape.channels.input / shape.channels.group, shape,
                        &reference::SpatialAxis::kernel),
           {}};
  w.bytes.resize(static_cast<std::size_t>(w.elements()));
  const std::size_t filter = w.bytes.size() / zero_point.size();
  for (std::size_t m = 0; m < zero_point.size(); ++m) {
    const std::uint64_t lean = rng.below(3);
    const std::int64_t from = lean == 1 ? std::min(zero_point[m], range.hi - 3) : range.lo + 1;
    const std::int64_t to = lean == 2 ? std::max(zero_point[m], range.lo + 3) : range.hi - 1;
    draw_elements(rng, row, range, {from, to, lean + 1}, std::span(w.bytes).subspan(m * filter, filter));
  }
  return w;
}

std::vector<std::int64_t> draw_w_zero_point(Rng& rng, const Row& row, std::size_t channels) {
  const ElementType type = type8(row[kWType]);
  if (row[kWZeroPoint] != kDistinct) {
    const std::int64_t value = row[kWZeroPoint] == kOmitted ? 0 : draw_zero_point(rng, type, row[kWZeroPoint]);
    return std::vector<std::int64_t>(channels, value);
  }
  std::vector<std::int64_t> values;
  for (std::size_t m = 0; m < channels; ++m) values.push_back(random_zero_point(rng, type));
  // Two channels at least differ.
  if (values[1] == values[0]) values[1] = values[0] == 0 ? 1 : 0;
  return values;
}

std::vector<std::int32_t> draw_bias(Rng& rng, const Row& row, std::size_t channels, std::int64_t depth) {
  if (row[kBias] == kNoBias) return {};
  // Towards the end of y's range that is not saturated.
  const bool up = row[kYZeroPoint] == kLow;
  const bool down = row[kYZeroPoint] == kHigh;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(depth)));
  const std::int64_t bound = std::min<std::int64_t>(8000 * (root + 1), 1 << 24);
  std::vector<std::int32_t> bias;
  for (std::size_t m = 0; m < channels; ++m) {
    const std::int64_t magnitude =
        row[kBias] == kOrdinaryBias ? rng.between(1, bound) : rng.between(1 << 23, 1 << 26) * 2 + 1;
    const bool negative = rng.chance(1, 2);
    const bool against = rng.chance(1, 4);
    const bool is_negative = up ? against : down ? !against : negative;
    bias.push_back(static_cast<std::int32_t>(is_negative ? -magnitude : magnitude));
  }
  return bias;
}

float power_of_two(int exponent) {
  return std::ldexp(1.0F, exponent);
}

struct Exponents {
  int lo;
  int hi;
};

// x_exponents() and w_exponents() give the exponents of x_scale and w_scale; y_scale follows, and stays within 2^-30
// and 2^30 with the others.
Exponents x_exponents(std::uint8_t scales) {
  return scales == kTiny ? Exponents{-22, -17} : scales == kHuge ? Exponents{16, 19} : Exponents{-12, 2};
}
Exponents w_exponents(std::uint8_t scales) {
  return scales == kTiny ? Exponents{0, 1} : scales == kHuge ? Exponents{-8, -5} : Exponents{-11, 0};
}

float draw_scale(Rng& rng, std::uint8_t scales, Exponents exponents) {
  const auto exponent = static_cast<int>(rng.between(exponents.lo, exponents.hi));
  return scales == kPowersOfTwo ? power_of_two(exponent) : random_float(rng, exponent - 23);
}

void draw_scales(Rng& rng, const Row& row, Values& values) {
  values.x_scale = draw_scale(rng, row[kScales], x_exponents(row[kScales]));
  const float common = draw_scale(rng, row[kScales], w_exponents(row[kScales]));
  values.w_scale.assign(values.w_zero_point.size(), common);
  if (row[kWScale] != kDistinctScales) return;
  for (std::size_t m = 1; m < values.w_scale.size(); ++m) {
    const float factor =
        row[kScales] == kPowersOfTwo ? power_of_two(-static_cast<int>(rng.below(3))) : random_float(rng, -24);
    values.w_scale[m] = common * (m == 1 ? 0.5F : factor);
  }
}

// The sums of a case, and which channel each belongs to.
struct Sums {
  std::vector<std::int64_t> values;
  std::size_t positions;
  std::size_t channels;

  [[nodiscard]] std::size_t channel_of(std::size_t i) const { return i / positions % channels; }
  // One channel of one image.
  [[nodiscard]] std::span<const std::int64_t> plane(std::size_t plane) const {
    return std::span(values).subspan(plane * positions, positions);
  }
};

Sums sums_of(const Row& row, const Shape& shape, const Values& values) {
  static constexpr const char* kNames[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  reference::ConvolutionAttributes attributes;
  attributes.auto_pad = kNames[row[kAutoPad]];
  attributes.group = shape.channels.group;
  attributes.strides.emplace();
  attributes.dilations.emplace();
  if (row[kAutoPad] == kNotSet) attributes.pads.emplace(shape.axes.size() * 2);
  for (std::size_t i = 0; i < shape.axes.size(); ++i) {
    attributes.strides->push_back(shape.axes[i].stride);
    attributes.dilations->push_back(shape.axes[i].dilation);
    if (!attributes.pads) continue;
    (*attributes.pads)[i] = shape.axes[i].pad_begin;
    (*attributes.pads)[i + shape.axes.size()] = shape.axes[i].pad_end;
  }
  reference::Contract contract;
  auto geometry = resolve_geometry(values.x.shape, values.w.shape, attributes, contract);
  if (!geometry) return {{}, 1, 1};
  reference::ConvolutionOperands operands{.geometry = std::move(*geometry),
                                          .x_type = values.x.type,
                                          .w_type = values.w.type,
                                          .x_zero_point = static_cast<std::int32_t>(values.x_zero_point),
                                          .w_zero_point = {values.w_zero_point.begin(), values.w_zero_point.end()},
                                          .bias = values.bias};
  const auto positions = static_cast<std::size_t>(operands.geometry.output_positions());
  return {exact_sums(operands, values.x, values.w), positions, values.w_zero_point.size()};
}

// The y_scale that spreads the outputs over the part of y's range that its zero point leaves them.
float spreading_scale(Rng& rng, const Row& row, const Sums& sums, const Values& values) {
  double largest = 0;
  double smallest = 0;
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const std::span<const std::int64_t> of_plane = sums.plane(plane);
    const auto [lo, hi] = std::minmax_element(of_plane.begin(), of_plane.end());
    const double w_scale = values.w_scale[plane % sums.channels];
    largest = std::max({largest, static_cast<double>(*hi) * w_scale, static_cast<double>(*lo) * w_scale});
    smallest = std::min({smallest, static_cast<double>(*hi) * w_scale, static_cast<double>(*lo) * w_scale});
  }
  const bool one_sided = row[kYZeroPoint] == kLow || row[kYZeroPoint] == kHigh;
  double reach = row[kYZeroPoint] == kLow ? largest : row[kYZeroPoint] == kHigh ? -smallest : 0;
  if (reach == 0) reach = std::max(largest, -smallest);
  if (reach == 0) reach = double{values.w_scale[0]};
  const auto wanted = static_cast<double>(one_sided ? rng.between(100, 300) : rng.between(64, 150));
  const double scale = std::clamp(reach * double{values.x_scale} / wanted, 0x1p-30, 0x1p30);
  if (row[kScales] != kPowersOfTwo) return static_cast<float>(scale);
  int exponent = 0;
  std::frexp(scale, &exponent);
  return power_of_two(exponent);
}

// Moves y_scale so that an element that does not saturate comes as near to a tie as it can: exactly
// there but for the scale's rounding, or one unit in the last place beside.
void move_to_tie(Rng& rng, const Sums& sums, Values& values) {
  if (sums.values.empty()) return;
  for (int i = 0; i < 64; ++i) {
    const std::size_t at = rng.below(static_cast<std::uint32_t>(sums.values.size()));
    const float w_scale = values.w_scale[sums.channel_of(at)];
    const double value = std::fabs(static_cast<double>(sums.values[at])) * double{values.x_scale} * double{w_scale} /
                         double{values.y_scale};
    if (sums.values[at] == 0 || value > 120 || value < 0.25) continue;
    const float scale = tie_scale(sums.values[at], values.x_scale, w_scale, 2 * static_cast<std::int64_t>(value) + 1);
    values.y_scale = neighbour(scale, rng.chance(1, 2) ? rng.chance(1, 2) ? -1 : 1 : 0);
    return;
  }
}

bool has_near_tie(const Sums& sums, const Values& values) {
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const float w_scale = values.w_scale[plane % sums.channels];
    for (const std::int64_t sum : sums.plane(plane)) {
      if (is_near_tie(sum, values.x_scale, w_scale, values.y_scale)) return true;
    }
  }
  return false;
}

bool sums_detect_much(const Sums& sums) {
  const auto& v = sums.values;
  return v.size() < kFewElements || std::any_of(v.begin(), v.end(), [&](std::int64_t sum) { return sum != v[0]; });
}

bool outputs_detect_much(const Sums& sums, const Values& values) {
  if (sums.values.size() < kFewElements) return sums_detect_much(sums);
  const reference::IntegerRange range = reference::range_of(values.y_type);
  std::size_t saturated = 0;
  bool alike = true;
  std::optional<std::int32_t> first;
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const reference::Requantization parameters{values.x_scale, values.w_scale[plane % sums.channels], values.y_scale,
                                               static_cast<std::int32_t>(values.y_zero_point), range};
    const reference::ChannelTest test = channel_test(parameters);
    for (const std::int64_t sum : sums.plane(plane)) {
      const auto decided = decided_value(test, sum);
      const std::int32_t y =
          decided ? *decided : requantize(reference::RoundingProfile::correctly_rounded, sum, parameters);
      if (!first) first = y;
      alike = alike && y == *first;
      if (y == range.lo || y == range.hi) ++saturated;
    }
  }
  return !alike && saturated * 10 <= sums.values.size() * 9;
}

}  // namespace

Drawn draw_values(Rng& rng, const Row& row, const Shape& shape) {
  Drawn drawn;
  Values& values = drawn.values;
  const auto channels = static_cast<std::size_t>(shape.channels.output);
  const ElementType x_type = type8(row[kXType]);
  values.x_zero_point = row[kXZeroPoint] == kOmitted ? 0 : draw_zero_point(rng, x_type, row[kXZeroPoint]);
  values.w_zero_point = draw_w_zero_point(rng, row, channels);
  values.x = draw_x(rng, row, shape);
  values.w = draw_w(rng, row, shape, values.w_zero_point);
  drawn.data_in_class = data_class(values.x, values.w) == row[kData];
  drawn.in_class = drawn.data_in_class;
  const std::int64_t depth = values.w.elements() / shape.channels.output;
  if (row[kOperator] == kConvInteger) {
    drawn.detects_much = sums_detect_much(sums_of(row, shape, values));
    return drawn;
  }
  values.y_type = type8(row[kYType]);
  values.y_zero_point = draw_zero_point(rng, values.y_type, row[kYZeroPoint]);
  values.bias = draw_bias(rng, row, channels, depth);
  draw_scales(rng, row, values);
  const Sums sums = sums_of(row, shape, values);
  // An ordinary scale may come near a tie by accident: another one will not.
  for (int i = 0; i < 8; ++i) {
    values.y_scale = spreading_scale(rng, row, sums, values);
    if (row[kScales] == kNearTie) move_to_tie(rng, sums, values);
    if (row[kScales] > kNearTie || row[kScales] == kPowersOfTwo) break;
    if (has_near_tie(sums, values) == (row[kScales] == kNearTie)) break;
  }
  const bool near_tie = has_near_tie(sums, values);
  drawn.scales = scales_class(values.x_scale, values.w_scale, values.y_scale, near_tie);
  if (drawn.scales != row[kScales]) drawn.in_class = false;
  drawn.detects_much = outputs_detect_much(sums, values);
  return drawn;
}

}  // namespace qconform::sweep::convolution
