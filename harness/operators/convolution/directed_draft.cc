#include "harness/operators/convolution/directed_draft.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/convolution.h"
#include "reference/numerics/element.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

namespace qconform::directed {

void ConvolutionDraft::set_w_scales(const std::vector<float>& values) {
  case_.inputs[4] = Tensor::of(ElementType::float32, case_.inputs[4]->shape, values);
}

void ConvolutionDraft::separate_channels() {
  const std::int64_t channels = output_channels();
  for (const std::size_t position : {std::size_t{4}, std::size_t{5}}) {
    Tensor& parameter = *case_.inputs[position];
    if (!parameter.is_scalar()) continue;
    const std::vector<std::byte> one = parameter.bytes;
    for (std::int64_t m = 1; m < channels; ++m) {
      parameter.bytes.insert(parameter.bytes.end(), one.begin(), one.end());
    }
    parameter.shape = {channels};
  }
}

void ConvolutionDraft::set_y_zero_point(std::int64_t value) {
  case_.inputs[7] = tensor8(y_type(), {}, {value});
}

std::vector<std::int32_t> ConvolutionDraft::bias() {
  if (const Tensor* present = case_.input(8)) return present->values<std::int32_t>();
  return std::vector<std::int32_t>(static_cast<std::size_t>(output_channels()), 0);
}

void ConvolutionDraft::set_bias(const std::vector<std::int32_t>& values) {
  case_.inputs.resize(9);
  case_.inputs[8] = Tensor::of(ElementType::int32, {static_cast<std::int64_t>(values.size())}, values);
}

void ConvolutionDraft::drop_bias() {
  case_.inputs.resize(8);
}

void ConvolutionDraft::set_x_zero_point(std::int64_t value) {
  Tensor& zero_point = *case_.inputs[2];
  zero_point = tensor8(zero_point.type, zero_point.shape, {value});
}

void ConvolutionDraft::set_w_zero_points(const std::vector<std::int64_t>& values) {
  Tensor& zero_point = *case_.inputs[5];
  const auto count = static_cast<std::ptrdiff_t>(zero_point.bytes.size());
  zero_point = tensor8(zero_point.type, zero_point.shape, {values.begin(), values.begin() + count});
}

std::int64_t ConvolutionDraft::x_zero_point() const {
  return integer_at(*case_.inputs[2], 0);
}

std::int64_t ConvolutionDraft::w_zero_point(std::int64_t channel) const {
  return integer_at(*case_.inputs[5], case_.inputs[5]->bytes.size() == 1 ? 0 : channel);
}

const reference::ConvolutionOperands& ConvolutionDraft::operands() const {
  if (operands_.empty()) {
    reference::Contract contract;
    NodeReader reader(case_, operator_of(case_)->inputs, contract);
    operands_.push_back(read_convolution(reader, contract).value());
  }
  return operands_.front();
}

std::vector<std::int64_t> ConvolutionDraft::sums() const {
  operands_.clear();  // parameters may have changed
  reference::ConvolutionOperands current = operands();
  if (const Tensor* present = is_qlinear_ ? case_.input(8) : nullptr) current.bias = present->values<std::int32_t>();
  return exact_sums(current, *case_.inputs[0], *case_.inputs[is_qlinear_ ? 3 : 1]);
}

std::int64_t ConvolutionDraft::channel_of(std::size_t index) const {
  const reference::ConvolutionGeometry& geometry = operands().geometry;
  return static_cast<std::int64_t>(index) / geometry.output_positions() % geometry.output_channels;
}

void sprinkle(Rng& rng, Tensor& tensor, std::int64_t value, std::uint32_t numerator, std::uint32_t denominator) {
  for (std::byte& byte : tensor.bytes) {
    if (rng.chance(numerator, denominator)) byte = static_cast<std::byte>(static_cast<std::uint64_t>(value) & 0xFFU);
  }
}

namespace {

using Sums = std::vector<std::int64_t>;

reference::IntegerRange range_of(const ConvolutionDraft& draft) {
  return reference::range_of(draft.y_type() == ElementType::int8 ? ElementType::int8 : ElementType::uint8);
}

// Sums in units of x_scale / y_scale.
double weighed(const ConvolutionDraft& draft, const Sums& sums, std::size_t i) {
  return static_cast<double>(sums[i]) * static_cast<double>(draft.w_scale(draft.channel_of(i)));
}

struct Spread {
  double low = 0;
  double high = 0;
  [[nodiscard]] double width() const { return high - low; }
};

Spread spread_of(const ConvolutionDraft& draft, const Sums& sums) {
  Spread spread;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double value = weighed(draft, sums, i);
    spread.low = std::min(spread.low, value);
    spread.high = std::max(spread.high, value);
  }
  return spread;
}

// The zero point that centres the values; odd half of the time, when ties differ by it.
void centre(Rng& rng, ConvolutionDraft& draft, const Spread& spread) {
  const reference::IntegerRange range = range_of(draft);
  const double unit = static_cast<double>(draft.x_scale()) / static_cast<double>(draft.y_scale());
  const double middle = (range.lo + range.hi) * 0.5 - (spread.low + spread.high) * 0.5 * unit;
  const double clamped = std::clamp(middle, static_cast<double>(range.lo), static_cast<double>(range.hi));
  auto zero_point = static_cast<std::int64_t>(clamped);
  if (rng.chance(1, 2)) zero_point = std::min<std::int64_t>(zero_point | 1, range.hi);
  draft.set_y_zero_point(zero_point);
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
Sums pick_by_channel(Rng& rng, ConvolutionDraft& draft, const Sums& sums) {
  const auto channels = static_cast<std::size_t>(draft.output_channels());
  Sums chosen(channels, 0);
  std::vector<std::uint32_t> seen(channels, 0);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const auto channel = static_cast<std::size_t>(draft.channel_of(i));
    if (rng.chance(1, ++seen[channel])) chosen[channel] = sums[i];
  }
  return chosen;
}

// Adds to the bias of every channel what puts one of its elements on a tie: sums are A, values A / 2^shift.
void shift_onto_ties(Rng& rng, ConvolutionDraft& draft, const Sums& sums, const std::vector<int>& shifts) {
  std::vector<std::int32_t> bias = draft.bias();
  const Sums chosen = pick_by_channel(rng, draft, sums);
  for (std::size_t m = 0; m < bias.size(); ++m) {
    const std::int64_t period = std::int64_t{1} << shifts[m];
    const std::int64_t rest = ((chosen[m] % period) + period) % period;
    const std::int64_t moved = bias[m] + period / 2 - rest;
    if (moved == static_cast<std::int32_t>(moved)) bias[m] = static_cast<std::int32_t>(moved);
  }
  draft.set_bias(bias);
}

// An element that is worth a tie: not tiny beside the largest.
std::optional<std::size_t> pick_element(Rng& rng, const ConvolutionDraft& draft, const Sums& sums, double width) {
  if (sums.empty() || width <= 0) return std::nullopt;
  for (int attempt = 0; attempt < 32; ++attempt) {
    const auto i = static_cast<std::size_t>(rng.below(static_cast<std::uint32_t>(sums.size())));
    if (sums[i] != 0 && std::fabs(weighed(draft, sums, i)) > width / 128) return i;
  }
  return std::nullopt;
}

// y_scale stays; w_scale of every channel but one moves a little, so that an element of it comes to
// lie on a tie as nearly as a float32 can bring it there, or one ulp beside.
void solve_other_channels(Rng& rng, ConvolutionDraft& draft, const Sums& sums, std::int64_t solved) {
  const Sums chosen = pick_by_channel(rng, draft, sums);
  std::vector<float> scales;
  for (std::int64_t m = 0; m < draft.output_channels(); ++m) {
    float scale = draft.w_scale(m);
    const double magnitude = std::fabs(static_cast<double>(chosen[static_cast<std::size_t>(m)]));
    const double unit = static_cast<double>(draft.y_scale()) / static_cast<double>(draft.x_scale());
    const double value = magnitude * static_cast<double>(scale) / unit;
    const int nudge = rng.chance(1, 2) ? 0 : rng.chance(1, 2) ? 1 : -1;
    // From 4 on the scale changes by less than an eighth.
    const bool moves = m != solved && value >= 4 && value < 0x1p16;
    if (moves) scale = neighbour(static_cast<float>((std::floor(value) + 0.5) * unit / magnitude), nudge);
    scales.push_back(scale);
  }
  draft.set_w_scales(scales);
}

}  // namespace

void fit_output(Rng& rng, ConvolutionDraft& draft, int share) {
  const Spread spread = spread_of(draft, draft.sums());
  if (spread.width() <= 0) return;
  const double steps = 255.0 * share / 256.0;
  draft.set_y_scale(static_cast<float>(spread.width() * static_cast<double>(draft.x_scale()) / steps));
  centre(rng, draft, spread);
}

void make_exact_ties(Rng& rng, ConvolutionDraft& draft) {
  draft.set_x_scale(power(static_cast<int>(rng.between(-10, 2))));
  std::vector<int> exponents;
  std::vector<float> scales;
  const int common = static_cast<int>(rng.between(-10, 0));
  const std::int64_t count = draft.has_channel_scales() ? draft.output_channels() : 1;
  for (std::int64_t m = 0; m < count; ++m) {
    exponents.push_back(common - static_cast<int>(rng.below(3)));
    scales.push_back(power(exponents.back()));
  }
  draft.set_w_scales(scales);
  const Sums sums = draft.sums();
  const Spread spread = spread_of(draft, sums);
  if (spread.width() <= 0) return;
  // Values are sums / 2^shift with a shift of at least 1 in every channel.
  const int fitting = floor_exponent(spread.width() / drawn_steps(rng)) + 1;
  const int smallest = *std::max_element(exponents.begin(), exponents.end()) + 1;
  const int exponent = std::max(fitting, smallest);
  draft.set_y_scale(draft.x_scale() * power(exponent));
  std::vector<int> shifts(static_cast<std::size_t>(draft.output_channels()));
  for (std::size_t m = 0; m < shifts.size(); ++m) {
    shifts[m] = exponent - exponents[draft.has_channel_scales() ? m : 0];
  }
  shift_onto_ties(rng, draft, sums, shifts);
  centre(rng, draft, spread);
}

void solve_near_tie(Rng& rng, ConvolutionDraft& draft) {
  if (rng.chance(1, 2)) draft.separate_channels();
  const Sums sums = draft.sums();
  const Spread spread = spread_of(draft, sums);
  const auto element = pick_element(rng, draft, sums, spread.width());
  if (!element) return fit_output(rng, draft, 200);
  const double value = std::fabs(weighed(draft, sums, *element)) / spread.width() * drawn_steps(rng);
  const std::int64_t half_steps = 2 * static_cast<std::int64_t>(value) + 1;
  const float scale = tie_scale(sums[*element], draft.x_scale(), draft.w_scale(draft.channel_of(*element)), half_steps);
  const int nudge = rng.chance(1, 2) ? 0 : rng.chance(1, 2) ? 1 : -1;
  draft.set_y_scale(neighbour(scale, nudge));
  if (draft.has_channel_scales()) solve_other_channels(rng, draft, sums, draft.channel_of(*element));
  centre(rng, draft, spread);
}

void solve_beside_tie(Rng& rng, ConvolutionDraft& draft) {
  solve_near_tie(rng, draft);
  const std::int64_t steps = rng.between(8, 128);
  draft.set_y_scale(neighbour(draft.y_scale(), rng.chance(1, 2) ? steps : -steps));
}

void cancel_by_bias(Rng& rng, ConvolutionDraft& draft) {
  constexpr std::int64_t kRoom = 100;
  draft.drop_bias();
  const Sums sums = draft.sums();
  if (sums.empty()) return;
  const auto channels = static_cast<std::size_t>(draft.output_channels());
  std::vector<std::int32_t> bias(channels);
  for (std::size_t i = sums.size(); i-- > 0;) {  // the first sum of a channel comes last
    const std::int64_t left = rng.between(-kRoom, kRoom);
    bias[static_cast<std::size_t>(draft.channel_of(i))] = reference::wrap_to_int32(left - sums[i]);
  }
  draft.set_bias(bias);
  draft.set_y_scale(draft.x_scale() * draft.w_scale(0));
  draft.set_y_zero_point(draft.y_type() == ElementType::int8 ? 0 : 128);
}

void put_at_edge(Rng& rng, ConvolutionDraft& draft, bool high, int beyond) {
  fit_output(rng, draft, static_cast<int>(rng.between(60, 200)));
  const Sums sums = draft.sums();
  std::size_t extreme = 0;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    const double difference = weighed(draft, sums, i) - weighed(draft, sums, extreme);
    if (high ? difference > 0 : difference < 0) extreme = i;
  }
  const std::int64_t value = reference::round_scaled_exactly(sums[extreme], draft.x_scale(),
                                                             draft.w_scale(draft.channel_of(extreme)), draft.y_scale());
  const reference::IntegerRange range = range_of(draft);
  const std::int64_t zero_point = (high ? range.hi + beyond : range.lo - beyond) - value;
  if (zero_point >= range.lo && zero_point <= range.hi) draft.set_y_zero_point(zero_point);
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

void shrink_sums(Rng& rng, ConvolutionDraft& draft, bool has_bias) {
  const std::size_t filter = draft.w().bytes.size() / static_cast<std::size_t>(draft.output_channels());
  const auto rarity = static_cast<std::uint32_t>(1 + filter / 64);
  quieten(rng, draft.x(), 4, rarity, [&](std::size_t) { return draft.x_zero_point(); });
  quieten(rng, draft.w(), 2, 1,
          [&](std::size_t i) { return draft.w_zero_point(static_cast<std::int64_t>(i / filter)); });
  draft.drop_bias();
  if (has_bias) {
    std::vector<std::int32_t> bias(static_cast<std::size_t>(draft.output_channels()));
    for (std::int32_t& value : bias) value = static_cast<std::int32_t>(rng.between(-12, 12));
    draft.set_bias(bias);
  }
  const Spread spread = spread_of(draft, draft.sums());
  if (spread.width() <= 0) return;
  const double scale = static_cast<double>(draft.w_scale(0));
  const double most = std::clamp(200 * scale / spread.width(), 1.0, 8.0);
  const double multiplier = 1 + (most - 1) * static_cast<double>(rng.between(1, 1 << 16)) / (1 << 16);
  draft.set_y_scale(static_cast<float>(static_cast<double>(draft.x_scale()) * scale / multiplier));
  centre(rng, draft, spread);
}

void solve_carry(Rng& rng, ConvolutionDraft& draft) {
  if (rng.chance(1, 2)) {
    shrink_sums(rng, draft, rng.chance(1, 2));
  } else {
    fit_output(rng, draft, static_cast<int>(rng.between(100, 250)));
  }
  const double multiplier = double{draft.x_scale()} * double{draft.w_scale(0)} / double{draft.y_scale()};
  const int exponent = floor_exponent(multiplier) + (rng.chance(1, 2) ? 1 : 0);
  const int x_exponent = floor_exponent(double{draft.x_scale()}) - 23;
  std::vector<float> scales;
  const std::int64_t count = draft.has_channel_scales() ? draft.output_channels() : 1;
  for (std::int64_t m = 0; m < count; ++m) scales.push_back(power(floor_exponent(double{draft.w_scale(m)})));
  for (int attempt = 0; attempt < 4096; ++attempt) {
    const float x_scale = random_float(rng, x_exponent);
    const float factor = random_float(rng, -23);
    const auto y_scale = carry_scale(x_scale, factor * scales[0], exponent);
    if (!y_scale) continue;
    for (float& scale : scales) scale *= factor;
    draft.set_x_scale(x_scale);
    draft.set_w_scales(scales);
    draft.set_y_scale(*y_scale);
    return centre(rng, draft, spread_of(draft, draft.sums()));
  }
}

void move_zero_points_to_ends(Rng& rng, ConvolutionDraft& draft) {
  const auto end_of = [](ElementType type, bool high) -> std::int64_t {
    return type == ElementType::int8 ? (high ? 127 : -128) : (high ? 255 : 0);
  };
  draft.set_x_zero_point(end_of(draft.x().type, rng.chance(1, 2)));
  const std::int64_t w_end = end_of(draft.w().type, rng.chance(1, 2));
  draft.set_w_zero_points(std::vector<std::int64_t>(static_cast<std::size_t>(draft.output_channels()), w_end));
  draft.drop_bias();
  const Spread spread = spread_of(draft, draft.sums());
  const double most = std::max(spread.high, -spread.low);
  if (most <= 0) return;
  draft.set_y_scale(static_cast<float>(most * static_cast<double>(draft.x_scale()) / drawn_steps(rng)));
  draft.set_y_zero_point(end_of(draft.y_type(), spread.high < -spread.low));
}

void settle_output(Rng& rng, ConvolutionDraft& draft) {
  switch (rng.below(5)) {
    case 0: return fit_output(rng, draft, static_cast<int>(rng.between(100, 256)));
    case 1:
    case 2: return solve_near_tie(rng, draft);
    default: return make_exact_ties(rng, draft);
  }
}

namespace {

struct Extreme {
  ElementType type;
  std::int64_t zero_point;
  std::int64_t value;  ///< 255 away from the zero point
};

Extreme draw_extreme(Rng& rng) {
  const bool is_signed = rng.chance(1, 2);
  const bool high = rng.chance(1, 2);
  const std::int64_t lo = is_signed ? -128 : 0;
  return {is_signed ? ElementType::int8 : ElementType::uint8, high ? lo : lo + 255, high ? lo + 255 : lo};
}

// One in 20 elements is random, so that low bits vary.
Tensor draw_data(Rng& rng, const Extreme& extreme, std::vector<std::int64_t> shape) {
  Tensor tensor{extreme.type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  rng.fill(tensor.bytes);
  sprinkle(rng, tensor, extreme.value, 19, 20);
  return tensor;
}

}  // namespace

Case deep_convolution(Rng& rng, std::string_view op_type, std::int64_t products) {
  const std::int64_t kernel = rng.chance(1, 2) ? 1 : 3;
  const std::int64_t taps = kernel * kernel;
  const std::int64_t channels = (products + taps - 1) / taps;
  const std::int64_t size = kernel - 1 + rng.between(1, 2);
  const std::int64_t outputs = rng.between(1, 3);
  const Extreme x = draw_extreme(rng);
  const Extreme w = draw_extreme(rng);
  Case result;
  result.node().op_type = std::string(op_type);
  result.node().opset_version = 10;
  Tensor x_data = draw_data(rng, x, {1, channels, size, size});
  Tensor w_data = draw_data(rng, w, {outputs, channels, kernel, kernel});
  const Tensor one = make::float32(1.0F);
  Tensor x_zero_point = tensor8(x.type, {}, {x.zero_point});
  Tensor w_zero_point = tensor8(w.type, {}, {w.zero_point});
  if (op_type == "ConvInteger") {
    result.inputs = {std::move(x_data), std::move(w_data), std::move(x_zero_point), std::move(w_zero_point)};
    return result;
  }
  const ElementType y_type = rng.chance(1, 2) ? ElementType::int8 : ElementType::uint8;
  result.inputs = {std::move(x_data),       one, std::move(x_zero_point), std::move(w_data), one,
                   std::move(w_zero_point), one, tensor8(y_type, {}, {0})};
  return result;
}

}  // namespace qconform::directed
