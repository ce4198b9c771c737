#include "harness/operators/convolution/hooks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/directed_draft.h"

namespace qconform::directed {
namespace {

constexpr std::int64_t kInt32Products = 33026;  // so many products of 255 * 255 leave int32 (rule C17)

// Draws odd biases with magnitudes in [least, most | 1], of either sign.
std::vector<std::int32_t> odd_biases(Rng& rng, std::int64_t channels, std::int64_t least, std::int64_t most) {
  std::vector<std::int32_t> values;
  for (std::int64_t m = 0; m < channels; ++m) {
    const std::int64_t magnitude = rng.between(least, most) | 1;
    values.push_back(static_cast<std::int32_t>(rng.chance(1, 2) ? magnitude : -magnitude));
  }
  return values;
}

void draw_bias(Rng& rng, Convolution& c, std::int64_t least, std::int64_t most) {
  c.bias = odd_biases(rng, c.output_channels(), least, most);
}

// Gives one channel a multiplier from 2^exponent on, of less than 2^7 times that.
void change_one_channel(Rng& rng, Convolution& c, int exponent) {
  separate_channels(c);
  const std::int64_t changed = rng.between(0, c.output_channels() - 1);
  const int scale =
      exponent + static_cast<int>(rng.between(0, 3)) + std::ilogb(c.y_scale.of(0)) + 2 - std::ilogb(c.x_scale.of(0));
  c.w_scale.values[static_cast<std::size_t>(changed)] = random_float(rng, scale - 23);
}

// Makes outputs tie. With small sums, ties need a multiplier of about a half, where fixed point rounds but once.
void tie_outputs(Rng& rng, Convolution& c) {
  if (rng.chance(1, 4)) shrink_sums(rng, c, true);
  make_exact_ties(rng, c);
}

// Weights of a channel that are all but 0 have a tiny scale, and their bias, in units of it, is huge. Below 2^-32 of a
// step, the whole sum is still 0.
void settle_beside_dead_channel(Rng& rng, Convolution& c) {
  constexpr int kVanishing = -40;
  settle_output(rng, c);
  if (rng.chance(1, 2)) change_one_channel(rng, c, kVanishing);
}

// Beside an ordinary output, sums of one channel go far beyond the range: 0 is the only one that does not.
void settle_beside_large_channel(Rng& rng, Convolution& c, int exponent) {
  if (rng.chance(1, 2)) {
    shrink_sums(rng, c, rng.chance(1, 2));
  } else {
    settle_output(rng, c);
  }
  change_one_channel(rng, c, exponent);
}

// x_scale subnormal; y_scale follows, so that the outputs are ordinary.
void make_subnormal(Rng& rng, Convolution& c) {
  c.x_scale = std::ldexp(static_cast<float>(rng.between(1 << 12, (1 << 23) - 1)), -149);
  solve_near_tie(rng, c);
}

void leave_domain(Rng& rng, Convolution& c) {
  const auto exponent = static_cast<int>(rng.between(31, 80));
  c.x_scale = random_float(rng, (rng.chance(1, 2) ? exponent : -exponent) - 23);
  solve_near_tie(rng, c);
}

// Saturates a part of the elements.
void overshoot(Rng& rng, Convolution& c) {
  fit_output(rng, c, static_cast<int>(rng.between(280, 800)));
}

// Both int16 corner cases of int8 data: -128 half of the time.
void sprinkle_lowest(Rng& rng, Convolution& c) {
  sprinkle(rng, c.x, -128, 1, 2);
  sprinkle(rng, c.w, -128, 1, 2);
}

void sprinkle_large_pairs(Rng& rng, Convolution& c) {
  sprinkle(rng, c.x, 255, 1, 2);
  sprinkle(rng, c.w, rng.chance(1, 2) ? 127 : -128, 1, 2);
}

// A bias that puts the least or the largest sum of each channel at that end of int32, and no other beyond it.
void put_sums_at_ends(Rng& rng, Convolution& c) {
  using Int32 = std::numeric_limits<std::int32_t>;
  c.bias.reset();
  const ConvolutionSums sums = exact_sums(c);
  std::vector<std::int32_t> bias;
  for (std::int64_t m = 0; m < c.output_channels(); ++m) {
    std::int64_t least = Int32::max();
    std::int64_t largest = Int32::min();
    for (std::size_t i = 0; i < sums.values.size(); ++i) {
      if (sums.channel_of(i) != static_cast<std::size_t>(m)) continue;
      least = std::min(least, sums.values[i]);
      largest = std::max(largest, sums.values[i]);
    }
    // A bias of int32 gets no positive sum down to the low end.
    const bool is_low = largest < 0 || (least <= 0 && rng.chance(1, 2));
    bias.push_back(static_cast<std::int32_t>(is_low ? Int32::min() - least : Int32::max() - largest));
  }
  c.bias = std::move(bias);
  fit_output(rng, c, static_cast<int>(rng.between(100, 256)));
}

bool is_deep(CornerCase corner_case, bool is_quantized, Rng& rng) {
  if (corner_case == CornerCase::float_accumulation) return true;
  return corner_case == CornerCase::int32_wrap && (!is_quantized || rng.chance(1, 8));
}

LargeExtent extent_of(CornerCase corner_case, Rng& rng) {
  switch (corner_case) {
    case CornerCase::wide_dilation: return LargeExtent::dilation;
    case CornerCase::long_kernel: return LargeExtent::kernel;
    case CornerCase::fourth_image: return LargeExtent::batch;
    case CornerCase::far_index: return rng.chance(3, 4) ? LargeExtent::position : LargeExtent::channels;
    case CornerCase::far_parameters: return LargeExtent::channels;
    default: return LargeExtent::none;
  }
}

Convolution draw_base(Rng& rng, bool is_quantized, CornerCase corner_case, const Swarm& swarm) {
  if (is_deep(corner_case, is_quantized, rng)) {
    const bool wraps = corner_case == CornerCase::int32_wrap;
    // One product in ten is not the largest: more of them are needed.
    const std::int64_t products = wraps ? kInt32Products * 5 / 4 : rng.between(300, 2560);
    return deep_convolution(rng, is_quantized, products);
  }
  return random_convolution(rng, is_quantized, extent_of(corner_case, rng), swarm);
}

// Changes the data as the corner case needs it, before the output is settled.
void retouch_data(Rng& rng, Convolution& c, CornerCase corner_case) {
  switch (corner_case) {
    case CornerCase::pair_saturation: return sprinkle_large_pairs(rng, c);
    case CornerCase::pair_wrap:
    case CornerCase::tap_sum_wrap: return sprinkle_lowest(rng, c);
    default: break;
  }
  if (!c.is_quantized) return;
  constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
  switch (corner_case) {
    case CornerCase::bias_beyond_float: return draw_bias(rng, c, 1 << 24, 1 << 28);
    case CornerCase::sum_beyond_float: return draw_bias(rng, c, 1 << 22, 1 << 26);
    case CornerCase::bias_near_limit: return draw_bias(rng, c, (1 << 30) - 1000, (1 << 30) + 1000);
    case CornerCase::int32_wrap: return draw_bias(rng, c, kInt32 - 4000, kInt32);
    default: break;
  }
}

// Whether rounding the bias to put it on a tie would take away what the case is about.
bool needs_odd_bits(CornerCase corner_case) {
  return corner_case == CornerCase::bias_beyond_float || corner_case == CornerCase::sum_beyond_float ||
         corner_case == CornerCase::int32_wrap;
}

void aim_output(Rng& rng, Convolution& c, CornerCase corner_case) {
  switch (corner_case) {
    case CornerCase::tie_positive:
    case CornerCase::tie_negative:
    case CornerCase::tie_odd_zero_point: return tie_outputs(rng, c);
    case CornerCase::near_tie_above:
    case CornerCase::near_tie_below: return solve_near_tie(rng, c);
    case CornerCase::float_accumulation:
      return aside(rng, 6).chance(1, 3) ? cancel_by_bias(rng, c) : solve_beside_tie(rng, c);
    case CornerCase::edge_below: return put_at_edge(rng, c, false, 1);
    case CornerCase::edge_low: return put_at_edge(rng, c, false, 0);
    case CornerCase::edge_high: return put_at_edge(rng, c, true, 0);
    case CornerCase::edge_above: return put_at_edge(rng, c, true, 1);
    case CornerCase::clamp_low:
    case CornerCase::clamp_high: return overshoot(rng, c);
    case CornerCase::conversion_overflow: return settle_beside_large_channel(rng, c, 31);
    case CornerCase::large_multiplier: return settle_beside_large_channel(rng, c, 20);
    case CornerCase::bias_near_limit:
      if (Rng own = aside(rng, 7); own.chance(1, 2)) return put_sums_at_ends(own, c);
      return settle_beside_dead_channel(rng, c);
    case CornerCase::subnormal_scale: return make_subnormal(rng, c);
    case CornerCase::scale_outside_domain: return leave_domain(rng, c);
    case CornerCase::small_sum: return shrink_sums(rng, c, true);
    case CornerCase::small_sum_without_bias: return shrink_sums(rng, c, false);
    case CornerCase::multiplier_above_one: return shrink_sums(rng, c, rng.chance(1, 2));
    case CornerCase::multiplier_carry: return solve_carry(rng, c);
    case CornerCase::extreme_zero_points: return move_zero_points_to_ends(rng, c);
    default: break;
  }
  if (needs_odd_bits(corner_case)) return solve_near_tie(rng, c);
  settle_output(rng, c);
}

}  // namespace

Case draw_convolution(Rng& rng, std::string_view op_type, CornerCase corner_case, const Swarm& swarm) {
  Convolution c = draw_base(rng, op_type == "QLinearConv", corner_case, swarm);
  retouch_data(rng, c, corner_case);
  if (c.is_quantized) aim_output(rng, c, corner_case);
  return build_convolution(std::move(c));
}

}  // namespace qconform::directed
