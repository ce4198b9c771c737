#include "harness/operators/convolution/directed_draft.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/model/draws/draws.h"
#include "reference/numerics/element.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::directed {

using Values = std::vector<std::int64_t>;

void separate_channels(Convolution& c) {
  const auto channels = static_cast<std::size_t>(c.output_channels());
  if (c.w_scale.is_scalar()) c.w_scale = ParameterValues(std::vector<float>(channels, c.w_scale.of(0)));
  if (c.w_zero_point->is_scalar()) c.w_zero_point = ParameterValues(Values(channels, c.w_zero(0)));
}

void sprinkle(Rng& rng, Tensor& tensor, std::int64_t value, std::uint32_t numerator, std::uint32_t denominator) {
  Rng draws = rng;  // its state in a register: bytes might be this object's
  for (std::byte& byte : tensor.bytes) {
    if (draws.chance(numerator, denominator)) byte = static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xFFU);
  }
  rng = draws;
}

namespace {

reference::IntegerRange range_of(const Convolution& c) {
  return reference::range_of(c.y_type);
}

// Sums in units of x_scale / y_scale.
double weighed(const Convolution& c, const ConvolutionSums& sums, std::size_t i) {
  return static_cast<double>(sums.values[i]) * static_cast<double>(c.w_scale.of(sums.channel_of(i)));
}

struct SumSpread {
  double low = 0;
  double high = 0;
  [[nodiscard]] double width() const { return high - low; }
};

SumSpread spread_of(const Convolution& c, const ConvolutionSums& sums) {
  SumSpread spread;
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const double value = weighed(c, sums, i);
    spread.low = std::min(spread.low, value);
    spread.high = std::max(spread.high, value);
  }
  return spread;
}

// The zero point that centres the values; odd half of the time, when ties differ by it.
void centre(Rng& rng, Convolution& c, const SumSpread& spread) {
  const reference::IntegerRange range = range_of(c);
  const double unit = static_cast<double>(c.x_scale.of(0)) / static_cast<double>(c.y_scale.of(0));
  const double middle = (range.lo + range.hi) * 0.5 - (spread.low + spread.high) * 0.5 * unit;
  const double clamped = std::clamp(middle, static_cast<double>(range.lo), static_cast<double>(range.hi));
  auto zero_point = static_cast<std::int64_t>(clamped);
  if (rng.chance(1, 2)) zero_point = std::min<std::int64_t>(zero_point | 1, range.hi);
  c.y_zero_point = zero_point;
}

// A share of the output range, in steps.
double drawn_steps(Rng& rng) {
  return static_cast<double>(rng.between(80, 250));
}

// The largest power of two that is not above `value`, as an exponent; value is positive and finite.
int floor_exponent(double value) {
  return std::ilogb(value);
}

float power(int exponent) {
  return std::ldexp(1.0F, exponent);
}

// One sum of every channel.
Values pick_by_channel(Rng& rng, const ConvolutionSums& sums) {
  Values chosen(sums.channels, 0);
  std::vector<std::uint32_t> seen(sums.channels, 0);
  for (std::size_t i = 0; i < sums.values.size(); ++i) {
    const std::size_t channel = sums.channel_of(i);
    if (rng.chance(1, ++seen[channel])) chosen[channel] = sums.values[i];
  }
  return chosen;
}

// Adds to the bias of every channel what puts one of its elements on a tie: sums are A, values A / 2^shift.
void shift_onto_ties(Rng& rng, Convolution& c, const ConvolutionSums& sums, const std::vector<int>& shifts) {
  std::vector<std::int32_t> bias = c.bias.value_or(std::vector<std::int32_t>(sums.channels, 0));
  const Values chosen = pick_by_channel(rng, sums);
  for (std::size_t m = 0; m < bias.size(); ++m) {
    const std::int64_t period = std::int64_t{1} << shifts[m];
    const std::int64_t rest = ((chosen[m] % period) + period) % period;
    const std::int64_t moved = bias[m] + period / 2 - rest;
    if (moved == static_cast<std::int32_t>(moved)) bias[m] = static_cast<std::int32_t>(moved);
  }
  c.bias = bias;
}

// An element that is worth a tie: not tiny beside the largest.
std::optional<std::size_t> pick_element(Rng& rng, const Convolution& c, const ConvolutionSums& sums, double width) {
  if (sums.values.empty() || width <= 0) return std::nullopt;
  for (int attempt = 0; attempt < 32; ++attempt) {
    const auto i = static_cast<std::size_t>(rng.below(static_cast<std::uint32_t>(sums.values.size())));
    if (sums.values[i] != 0 && std::fabs(weighed(c, sums, i)) > width / 128) return i;
  }
  return std::nullopt;
}

// y_scale stays; w_scale of every channel but one moves a little, so that an element of it comes to
// lie on a tie as nearly as a float32 can bring it there, or one ulp beside.
void solve_other_channels(Rng& rng, Convolution& c, const ConvolutionSums& sums, std::size_t solved) {
  const Values chosen = pick_by_channel(rng, sums);
  std::vector<float> scales;
  for (std::size_t m = 0; m < chosen.size(); ++m) {
    float scale = c.w_scale.of(m);
    const double magnitude = std::fabs(static_cast<double>(chosen[m]));
    const double unit = static_cast<double>(c.y_scale.of(0)) / static_cast<double>(c.x_scale.of(0));
    const double value = magnitude * static_cast<double>(scale) / unit;
    const int nudge = rng.chance(1, 2) ? 0 : rng.chance(1, 2) ? 1 : -1;
    // From 4 on the scale changes by less than an eighth.
    const bool moves = m != solved && value >= 4 && value < 0x1p16;
    if (moves) scale = neighbour(static_cast<float>((std::floor(value) + 0.5) * unit / magnitude), nudge);
    scales.push_back(scale);
  }
  c.w_scale.values = scales;
}

}  // namespace

void fit_output(Rng& rng, Convolution& c, int share) {
  const SumSpread spread = spread_of(c, exact_sums(c));
  if (spread.width() <= 0) return;
  const double steps = 255.0 * share / 256.0;
  c.y_scale = static_cast<float>(spread.width() * static_cast<double>(c.x_scale.of(0)) / steps);
  centre(rng, c, spread);
}

void make_exact_ties(Rng& rng, Convolution& c) {
  c.x_scale = power(static_cast<int>(rng.between(-10, 2)));
  std::vector<int> exponents;
  std::vector<float> scales;
  const int common = static_cast<int>(rng.between(-10, 0));
  const std::int64_t count = !c.w_scale.is_scalar() ? c.output_channels() : 1;
  for (std::int64_t m = 0; m < count; ++m) {
    exponents.push_back(common - static_cast<int>(rng.below(3)));
    scales.push_back(power(exponents.back()));
  }
  c.w_scale.values = scales;
  const ConvolutionSums sums = exact_sums(c);
  const SumSpread spread = spread_of(c, sums);
  if (spread.width() <= 0) return;
  // Values are sums / 2^shift with a shift of at least 1 in every channel.
  const int fitting = floor_exponent(spread.width() / drawn_steps(rng)) + 1;
  const int smallest = *std::max_element(exponents.begin(), exponents.end()) + 1;
  const int exponent = std::max(fitting, smallest);
  c.y_scale = c.x_scale.of(0) * power(exponent);
  std::vector<int> shifts(static_cast<std::size_t>(c.output_channels()));
  for (std::size_t m = 0; m < shifts.size(); ++m) {
    shifts[m] = exponent - exponents[!c.w_scale.is_scalar() ? m : 0];
  }
  shift_onto_ties(rng, c, sums, shifts);
  centre(rng, c, spread);
}

void solve_near_tie(Rng& rng, Convolution& c) {
  if (rng.chance(1, 2)) separate_channels(c);
  const ConvolutionSums sums = exact_sums(c);
  const SumSpread spread = spread_of(c, sums);
  const auto element = pick_element(rng, c, sums, spread.width());
  if (!element) return fit_output(rng, c, 200);
  const double value = std::fabs(weighed(c, sums, *element)) / spread.width() * drawn_steps(rng);
  const std::int64_t half_steps = 2 * static_cast<std::int64_t>(value) + 1;
  const float scale =
      tie_scale(sums.values[*element], c.x_scale.of(0), c.w_scale.of(sums.channel_of(*element)), half_steps);
  const int nudge = rng.chance(1, 2) ? 0 : rng.chance(1, 2) ? 1 : -1;
  c.y_scale = neighbour(scale, nudge);
  if (!c.w_scale.is_scalar()) solve_other_channels(rng, c, sums, sums.channel_of(*element));
  centre(rng, c, spread);
}

void solve_beside_tie(Rng& rng, Convolution& c) {
  solve_near_tie(rng, c);
  const std::int64_t steps = rng.between(8, 128);
  c.y_scale = neighbour(c.y_scale.of(0), rng.chance(1, 2) ? steps : -steps);
}

void cancel_by_bias(Rng& rng, Convolution& c) {
  constexpr std::int64_t kRoom = 100;
  c.bias.reset();
  const ConvolutionSums sums = exact_sums(c);
  if (sums.values.empty()) return;
  const auto channels = static_cast<std::size_t>(c.output_channels());
  std::vector<std::int32_t> bias(channels);
  for (std::size_t i = sums.values.size(); i-- > 0;) {  // the first sum of a channel comes last
    const std::int64_t left = rng.between(-kRoom, kRoom);
    bias[sums.channel_of(i)] = reference::wrap_to_int32(left - sums.values[i]);
  }
  c.bias = bias;
  c.y_scale = c.x_scale.of(0) * c.w_scale_of(0);
  c.y_zero_point = c.y_type == ElementType::int8 ? 0 : 128;
}

void put_at_edge(Rng& rng, Convolution& c, bool high, int beyond) {
  fit_output(rng, c, static_cast<int>(rng.between(60, 200)));
  const ConvolutionSums sums = exact_sums(c);
  std::size_t extreme = 0;
  for (std::size_t i = 1; i < sums.values.size(); ++i) {
    const double difference = weighed(c, sums, i) - weighed(c, sums, extreme);
    if (high ? difference > 0 : difference < 0) extreme = i;
  }
  const std::int64_t value = reference::round_scaled_exactly(sums.values[extreme], c.x_scale.of(0),
                                                             c.w_scale.of(sums.channel_of(extreme)), c.y_scale.of(0));
  const reference::IntegerRange range = range_of(c);
  const std::int64_t zero_point = (high ? range.hi + beyond : range.lo - beyond) - value;
  if (zero_point >= range.lo && zero_point <= range.hi) c.y_zero_point = zero_point;
}

namespace {

std::int64_t clamped(std::int64_t value, ElementType type) {
  return type == ElementType::int8 ? std::clamp<std::int64_t>(value, -128, 127)
                                   : std::clamp<std::int64_t>(value, 0, 255);
}

// Every element within `reach` of the zero point; one in `rarity` is another.
void quieten(Rng& rng, Tensor& tensor, std::int64_t reach, std::uint32_t rarity, auto zero_point_of) {
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    const std::int64_t off = rng.chance(1, rarity) ? rng.between(-reach, reach) : 0;
    tensor.bytes[i] = static_cast<std::byte>(clamped(zero_point_of(i) + off, tensor.type) & 0xFF);
  }
}

}  // namespace

void shrink_sums(Rng& rng, Convolution& c, bool has_bias) {
  const std::size_t filter = c.w.bytes.size() / static_cast<std::size_t>(c.output_channels());
  const auto rarity = static_cast<std::uint32_t>(1 + filter / 64);
  quieten(rng, c.x, 4, rarity, [&](std::size_t) { return c.x_zero(); });
  quieten(rng, c.w, 2, 1, [&](std::size_t i) { return c.w_zero(static_cast<std::int64_t>(i / filter)); });
  c.bias.reset();
  if (has_bias) {
    std::vector<std::int32_t> bias(static_cast<std::size_t>(c.output_channels()));
    for (std::int32_t& value : bias) value = static_cast<std::int32_t>(rng.between(-12, 12));
    c.bias = bias;
  }
  const SumSpread spread = spread_of(c, exact_sums(c));
  if (spread.width() <= 0) return;
  const double scale = static_cast<double>(c.w_scale_of(0));
  const double most = std::clamp(200 * scale / spread.width(), 1.0, 8.0);
  const double multiplier = 1 + (most - 1) * static_cast<double>(rng.between(1, 1 << 16)) / (1 << 16);
  c.y_scale = static_cast<float>(static_cast<double>(c.x_scale.of(0)) * scale / multiplier);
  centre(rng, c, spread);
}

void solve_carry(Rng& rng, Convolution& c) {
  if (rng.chance(1, 2)) {
    shrink_sums(rng, c, rng.chance(1, 2));
  } else {
    fit_output(rng, c, static_cast<int>(rng.between(100, 250)));
  }
  const double multiplier = double{c.x_scale.of(0)} * double{c.w_scale_of(0)} / double{c.y_scale.of(0)};
  const int exponent = floor_exponent(multiplier) + (rng.chance(1, 2) ? 1 : 0);
  const int x_exponent = floor_exponent(double{c.x_scale.of(0)}) - 23;
  std::vector<float> scales;
  const std::int64_t count = !c.w_scale.is_scalar() ? c.output_channels() : 1;
  for (std::int64_t m = 0; m < count; ++m) scales.push_back(power(floor_exponent(double{c.w_scale_of(m)})));
  for (int attempt = 0; attempt < 4096; ++attempt) {
    const float x_scale = random_float(rng, x_exponent);
    const float factor = random_float(rng, -23);
    const auto y_scale = carry_scale(x_scale, factor * scales[0], exponent);
    if (!y_scale) continue;
    for (float& scale : scales) scale *= factor;
    c.x_scale = x_scale;
    c.w_scale.values = scales;
    c.y_scale = *y_scale;
    return centre(rng, c, spread_of(c, exact_sums(c)));
  }
}

void move_zero_points_to_ends(Rng& rng, Convolution& c) {
  const auto end_of = [](ElementType type, bool high) -> std::int64_t {
    return type == ElementType::int8 ? (high ? 127 : -128) : (high ? 255 : 0);
  };
  c.x_zero_point = end_of(c.x.type, rng.chance(1, 2));
  const std::int64_t w_end = end_of(c.w.type, rng.chance(1, 2));
  std::fill(c.w_zero_point->values.begin(), c.w_zero_point->values.end(), w_end);
  c.bias.reset();
  const SumSpread spread = spread_of(c, exact_sums(c));
  const double most = std::max(spread.high, -spread.low);
  if (most <= 0) return;
  c.y_scale = static_cast<float>(most * static_cast<double>(c.x_scale.of(0)) / drawn_steps(rng));
  c.y_zero_point = end_of(c.y_type, spread.high < -spread.low);
}

void settle_output(Rng& rng, Convolution& c) {
  switch (rng.below(5)) {
    case 0: return fit_output(rng, c, static_cast<int>(rng.between(100, 256)));
    case 1:
    case 2: return solve_near_tie(rng, c);
    default: return make_exact_ties(rng, c);
  }
}

namespace {

struct ExtremeOperand {
  ElementType type;
  std::int64_t zero_point;
  std::int64_t value;  ///< 255 away from the zero point
};

ExtremeOperand draw_extreme(Rng& rng) {
  const bool is_signed = rng.chance(1, 2);
  const bool high = rng.chance(1, 2);
  const std::int64_t lo = is_signed ? -128 : 0;
  return {is_signed ? ElementType::int8 : ElementType::uint8, high ? lo : lo + 255, high ? lo + 255 : lo};
}

// One in 20 elements is random, so that low bits vary.
Tensor draw_data(Rng& rng, const ExtremeOperand& extreme, std::vector<std::int64_t> shape) {
  Tensor tensor{extreme.type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  rng.fill(tensor.bytes);
  sprinkle(rng, tensor, extreme.value, 19, 20);
  return tensor;
}

}  // namespace

Convolution deep_convolution(Rng& rng, bool is_quantized, std::int64_t products) {
  const std::int64_t kernel = rng.chance(1, 2) ? 1 : 3;
  const std::int64_t taps = kernel * kernel;
  const std::int64_t channels = (products + taps - 1) / taps;
  const std::int64_t size = kernel - 1 + rng.between(1, 2);
  const std::int64_t outputs = rng.between(1, 3);
  const ExtremeOperand x = draw_extreme(rng);
  const ExtremeOperand w = draw_extreme(rng);
  Convolution result;
  result.is_quantized = is_quantized;
  result.x = draw_data(rng, x, {1, channels, size, size});
  result.w = draw_data(rng, w, {outputs, channels, kernel, kernel});
  result.x_zero_point = x.zero_point;
  result.w_zero_point = w.zero_point;
  if (is_quantized) result.y_type = rng.chance(1, 2) ? ElementType::int8 : ElementType::uint8;
  return result;
}

}  // namespace qconform::directed
