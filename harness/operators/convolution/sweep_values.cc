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

void draw_elements(Rng& rng, const Row& row, IntegerEnds ends, Elements elements, std::span<std::byte> bytes) {
  if (row[kData] == kEnds) {
    draw_bytes(rng, bytes, [&](Rng& own) { return own.below(4) < elements.lows ? ends.lo : ends.hi; });
  } else {
    draw_bytes(rng, bytes, [&](Rng& own) { return own.between(elements.from, elements.to); });
  }
}

// Fills x. Small tensors keep off the ends, which a few elements would be by chance.
void draw_x(Rng& rng, const Row& row, Tensor& x) {
  const IntegerEnds ends = ends_of(x.type);
  const std::int64_t inset = x.elements() < kFewElements ? 1 : 0;
  x.bytes.resize(static_cast<std::size_t>(x.elements()));
  draw_elements(rng, row, ends, {ends.lo + inset, ends.hi - inset, 2}, x.bytes);
}

// Fills w. Output channels lean to either side of their zero point, so that sums of both signs occur.
void draw_w(Rng& rng, const Row& row, const std::vector<std::int64_t>& zero_point, Tensor& w) {
  const IntegerEnds ends = ends_of(w.type);
  w.bytes.resize(static_cast<std::size_t>(w.elements()));
  const std::size_t filter = w.bytes.size() / zero_point.size();
  for (std::size_t m = 0; m < zero_point.size(); ++m) {
    const std::uint64_t lean = rng.below(3);
    const std::int64_t from = lean == 1 ? std::min(zero_point[m], ends.hi - 3) : ends.lo + 1;
    const std::int64_t to = lean == 2 ? std::max(zero_point[m], ends.lo + 3) : ends.hi - 1;
    draw_elements(rng, row, ends, {from, to, lean + 1}, std::span(w.bytes).subspan(m * filter, filter));
  }
}

std::vector<std::int64_t> draw_w_zero_point(Rng& rng, const Row& row, ElementType type, std::size_t channels) {
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

std::optional<std::vector<std::int32_t>> draw_bias(Rng& rng, const Row& row, std::size_t channels, std::int64_t depth) {
  if (row[kBias] == kNoBias) return std::nullopt;
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

void draw_scales(Rng& rng, const Row& row, Convolution& c) {
  c.x_scale = draw_scale(rng, row[kScales], x_exponents(row[kScales]));
  const float common = draw_scale(rng, row[kScales], w_exponents(row[kScales]));
  std::vector<float> scales(static_cast<std::size_t>(c.output_channels()), common);
  for (std::size_t m = 1; m < scales.size() && row[kWScale] == kDistinctScales; ++m) {
    const float factor =
        row[kScales] == kPowersOfTwo ? power_of_two(-static_cast<int>(rng.below(3))) : random_float(rng, -24);
    scales[m] = common * (m == 1 ? 0.5F : factor);
  }
  c.w_scale = ParameterValues(std::move(scales));
}

using Sums = ConvolutionSums;

// The y_scale that spreads the outputs over the part of y's range that its zero point leaves them.
float spreading_scale(Rng& rng, const Row& row, const Sums& sums, const Convolution& c) {
  double largest = 0;
  double smallest = 0;
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const std::span<const std::int64_t> of_plane = sums.plane(plane);
    const auto [lo, hi] = std::minmax_element(of_plane.begin(), of_plane.end());
    const double w_scale = c.w_scale.of(plane % sums.channels);
    largest = std::max({largest, static_cast<double>(*hi) * w_scale, static_cast<double>(*lo) * w_scale});
    smallest = std::min({smallest, static_cast<double>(*hi) * w_scale, static_cast<double>(*lo) * w_scale});
  }
  const bool one_sided = row[kYZeroPoint] == kLow || row[kYZeroPoint] == kHigh;
  double reach = row[kYZeroPoint] == kLow ? largest : row[kYZeroPoint] == kHigh ? -smallest : 0;
  if (reach == 0) reach = std::max(largest, -smallest);
  if (reach == 0) reach = double{c.w_scale.of(0)};
  const auto wanted = static_cast<double>(one_sided ? rng.between(100, 300) : rng.between(64, 150));
  const double scale = std::clamp(reach * double{c.x_scale.of(0)} / wanted, 0x1p-30, 0x1p30);
  if (row[kScales] != kPowersOfTwo) return static_cast<float>(scale);
  int exponent = 0;
  std::frexp(scale, &exponent);
  return power_of_two(exponent);
}

// Moves y_scale so that an element that does not saturate comes as near to a tie as it can: exactly
// there but for the scale's rounding, or one unit in the last place beside.
void move_to_tie(Rng& rng, const Sums& sums, Convolution& c) {
  if (sums.values.empty()) return;
  for (int i = 0; i < 64; ++i) {
    const std::size_t at = rng.below(static_cast<std::uint32_t>(sums.values.size()));
    const float w_scale = c.w_scale.of(sums.channel_of(at));
    const double value = std::fabs(static_cast<double>(sums.values[at])) * double{c.x_scale.of(0)} * double{w_scale} /
                         double{c.y_scale.of(0)};
    if (sums.values[at] == 0 || value > 120 || value < 0.25) continue;
    const float scale = tie_scale(sums.values[at], c.x_scale.of(0), w_scale, 2 * static_cast<std::int64_t>(value) + 1);
    c.y_scale = neighbour(scale, rng.chance(1, 2) ? rng.chance(1, 2) ? -1 : 1 : 0);
    return;
  }
}

bool sums_detect_much(const Sums& sums) {
  const auto& v = sums.values;
  return v.size() < kFewElements || std::any_of(v.begin(), v.end(), [&](std::int64_t sum) { return sum != v[0]; });
}

bool outputs_detect_much(const Sums& sums, const Convolution& c) {
  if (sums.values.size() < kFewElements) return sums_detect_much(sums);
  const reference::IntegerRange range = reference::range_of(c.y_type);
  std::size_t saturated = 0;
  bool alike = true;
  std::optional<std::int32_t> first;
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const reference::Requantization parameters{c.x_scale.of(0), c.w_scale.of(plane % sums.channels), c.y_scale.of(0),
                                               static_cast<std::int32_t>(c.y_zero_point.of(0)), range};
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

bool has_near_tie(const Convolution& c, const ConvolutionSums& sums) {
  for (std::size_t plane = 0; plane * sums.positions < sums.values.size(); ++plane) {
    const float w_scale = c.w_scale.of(plane % sums.channels);
    for (const std::int64_t sum : sums.plane(plane)) {
      if (is_near_tie(sum, c.x_scale.of(0), w_scale, c.y_scale.of(0))) return true;
    }
  }
  return false;
}

DrawnConvolution draw_values(Rng& rng, const Row& row, const reference::ConvolutionGeometry& sizes) {
  static constexpr const char* kNames[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  DrawnConvolution drawn;
  Convolution& c = drawn.convolution;
  c.is_quantized = row[kOperator] == kQLinearConv;
  c.auto_pad = kNames[row[kAutoPad]];
  set_sizes(c, sizes);
  c.x.type = type8(row[kXType]);
  c.w.type = type8(row[kWType]);
  const auto channels = static_cast<std::size_t>(sizes.output_channels);
  c.x_zero_point = row[kXZeroPoint] == kOmitted ? 0 : draw_zero_point(rng, c.x.type, row[kXZeroPoint]);
  c.w_zero_point = ParameterValues(draw_w_zero_point(rng, row, c.w.type, channels));
  draw_x(rng, row, c.x);
  draw_w(rng, row, c.w_zero_point->values, c.w);
  drawn.data_in_class = data_class(c.x, c.w) == row[kData];
  drawn.in_class = drawn.data_in_class;
  if (!c.is_quantized) {
    drawn.detects_much = sums_detect_much(exact_sums(c));
    return drawn;
  }
  c.y_type = type8(row[kYType]);
  c.y_zero_point = draw_zero_point(rng, c.y_type, row[kYZeroPoint]);
  c.bias = draw_bias(rng, row, channels, c.w.elements() / sizes.output_channels);
  draw_scales(rng, row, c);
  const Sums sums = exact_sums(c);
  // An ordinary scale may come near a tie by accident: another one will not.
  for (int i = 0; i < 8; ++i) {
    c.y_scale = spreading_scale(rng, row, sums, c);
    if (row[kScales] == kNearTie) move_to_tie(rng, sums, c);
    if (row[kScales] > kNearTie || row[kScales] == kPowersOfTwo) break;
    if (has_near_tie(c, sums) == (row[kScales] == kNearTie)) break;
  }
  const bool near_tie = has_near_tie(c, sums);
  drawn.scales = scales_class(c.x_scale.of(0), c.w_scale.values, c.y_scale.of(0), near_tie);
  if (drawn.scales != row[kScales]) drawn.in_class = false;
  drawn.detects_much = outputs_detect_much(sums, c);
  return drawn;
}

}  // namespace qconform::sweep::convolution
