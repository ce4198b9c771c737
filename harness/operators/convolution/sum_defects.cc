// Defects in the factors and the sum of a convolution's products.
#include <cmath>

#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/round.h"

namespace qconform::diagnose {
namespace {

constexpr IntegerRange kInt16{INT16_MIN, INT16_MAX};
constexpr IntegerRange kInt32{INT32_MIN, INT32_MAX};

constexpr std::int64_t wrap16(std::int64_t value) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(value & 0xFFFF));
}

constexpr std::int32_t wrap8(std::int64_t value) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(value & 0xFF));
}

std::int32_t pad_with_flipped_sign(const ConvolutionOperands& o, std::int32_t) {
  const auto stored = std::to_integer<std::uint32_t>(reference::store8(o.x_zero_point));
  return reference::load8(o.x_type, static_cast<std::byte>(stored ^ 0x80U));
}

std::int32_t group_local_zero_point(const ConvolutionOperands& o, std::int64_t channel) {
  return o.w_zero_point[static_cast<std::size_t>(channel % o.geometry.group_output_channels())];
}

std::int64_t raw_product(const Window& window, std::size_t k) {
  return std::int64_t{window.x[k]} * window.w[k];
}

// Two raw products at a time, channels innermost: what VPMADDUBSW sees in a channels-last kernel. The
// terms of the zero points are summed apart, and are right. Of each `run` of products the last of an odd number is
// alone.
std::int64_t saturate_pairs_in(const Window& window, std::size_t run) {
  const ConvolutionOperands& o = window.operands;
  std::int64_t sum = window.sum();
  if (o.x_type != Integer8::uint8 || o.w_type != Integer8::int8) return sum;
  const auto taps = static_cast<std::size_t>(o.geometry.kernel_taps());
  const auto channels = static_cast<std::size_t>(o.geometry.group_input_channels());
  const auto at = [&](std::size_t k) { return k % channels * taps + k / channels; };
  for (std::size_t begin = 0; begin < window.w.size(); begin += run) {
    for (std::size_t k = begin; k + 1 < begin + run; k += 2) {
      const std::int64_t pair = raw_product(window, at(k)) + raw_product(window, at(k + 1));
      sum += reference::saturate(pair, kInt16) - pair;
    }
  }
  return sum;
}

std::int64_t saturate_pairs(const Window& window) {
  return saturate_pairs_in(window, window.w.size());
}

std::int64_t saturate_pairs_of_taps(const Window& window) {
  return saturate_pairs_in(window, static_cast<std::size_t>(window.operands.geometry.group_input_channels()));
}

// Raw products of one channel at a time, of int8 by int8.
std::int64_t wrap_channels(const Window& window) {
  const ConvolutionOperands& o = window.operands;
  std::int64_t sum = window.sum();
  if (o.x_type != Integer8::int8 || o.w_type != Integer8::int8) return sum;
  const auto taps = static_cast<std::size_t>(o.geometry.kernel_taps());
  for (std::size_t begin = 0; begin < window.w.size(); begin += taps) {
    std::int64_t channel = 0;
    for (std::size_t k = begin; k < begin + taps; ++k) channel += raw_product(window, k);
    sum += wrap16(channel) - channel;
  }
  return sum;
}

std::int64_t sum_in_float(const Window& window) {
  float sum = 0;
  for (std::size_t k = 0; k < window.w.size(); ++k) sum += static_cast<float>(window.product(k));
  return static_cast<std::int64_t>(sum);
}

std::int64_t drop_tail(const Window& window) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < window.w.size() / 4 * 4; ++k) sum += window.product(k);
  return sum;
}

// int8 x is made uint8 by adding 128. What takes that off again, and the zero point of x, comes with the weights when
// they are brought into the kernel's order, and is lost where they are transposed as 8 by 8.
std::int64_t without_compensation(const Window& window) {
  const ConvolutionOperands& o = window.operands;
  const ConvolutionGeometry& g = o.geometry;
  if (g.group == 1 || g.output_channels != 8 || window.w.size() != 8 || g.kernel_taps() != 8) return window.sum();
  const std::int64_t raised = o.x_type == Integer8::int8 ? 128 : 0;
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < window.w.size(); ++k) {
    sum += (window.x[k] + raised) * (window.w[k] - window.w_zero_point);
  }
  return sum;
}

// As int8 that leave pairs of products with uint8 inside int16; the sum is doubled.
std::int32_t halve_weight(const ConvolutionOperands& o, std::byte stored) {
  const std::int32_t value = reference::load8(o.w_type, stored);
  const bool is_halved = o.x_type == Integer8::int8 && o.w_type == Integer8::int8;
  return is_halved ? 2 * static_cast<std::int32_t>(std::nearbyint(value / 2.0)) : value;
}

std::int64_t without_cross_term(const Window& window) {
  return -std::int64_t{window.x_zero_point} * window.w_zero_point * static_cast<std::int64_t>(window.w.size());
}

constexpr Defect kSumDefects[] = {
    {.id = "pad-raw-zero",
     .description = "a padded tap is raw 0, not the zero point",
     .operators = kConvolutions,
     .trigger = "padding reached, x_zero_point not 0",
     .rule = "C1",
     .evidence = "TVM#4807, executorch#13576",
     .needs = {"padded", "x_zero_point != 0"},
     .slot = "pad",
     .computes = "0",
     .replace = [](Stages& s) { s.set(stage::pad, [](const ConvolutionOperands&, std::int32_t) { return 0; }); }},
    {.id = "pad-zp-resigned",
     .description = "a padded tap is the zero point with its highest bit flipped",
     .operators = kConvolutions,
     .trigger = "padding reached",
     .rule = "C1",
     .evidence = "XNNPACK#8647",
     .needs = {"padded"},
     .slot = "pad",
     .computes = "zero_point ^ 128",
     .replace = [](Stages& s) { s.set(stage::pad, pad_with_flipped_sign); }},
    {.id = "border-comp-omitted",
     .description = "windows that touch the padding skip the correction for x_zero_point",
     .operators = kConvolutions,
     .trigger = "padding reached, x_zero_point not 0",
     .rule = "C1",
     .evidence = "TVM#13364",
     .needs = {"padded", "x_zero_point != 0"},
     .slot = "x_zero_point",
     .computes = "touches_padding ? 0 : zero_point",
     .replace =
         [](Stages& s) {
           s.set(stage::x_zero_point, [](const ConvolutionOperands& o, bool touches_padding) {
             return touches_padding ? 0 : o.x_zero_point;
           });
         }},
    {.id = "x-zp-ignored",
     .description = "x_zero_point taken as 0",
     .operators = kConvolutions,
     .trigger = "x_zero_point not 0",
     .rule = "formula",
     .evidence = "MIGraphX#2888, MIGraphX#3763",
     .needs = {"x_zero_point != 0"},
     .slot = "x_zero_point",
     .computes = "0",
     .replace = [](Stages& s) { s.set(stage::x_zero_point, [](const ConvolutionOperands&, bool) { return 0; }); }},
    {.id = "zp-added",
     .description = "x + x_zero_point in place of the difference",
     .operators = kConvolutions,
     .trigger = "x_zero_point not 0",
     .rule = "formula",
     .evidence = "ComputeLibrary#1033",
     .needs = {"x_zero_point != 0"},
     .slot = "x_difference",
     .computes = "x + zero_point",
     .replace = [](Stages& s) { s.set(stage::x_difference, [](std::int32_t x, std::int32_t zp) { return x + zp; }); }},
    {.id = "zp-sub-wraps-8bit",
     .description = "x - zero point kept in int8",
     .operators = kConvolutions,
     .trigger = "a difference outside [-128, 127]",
     .rule = "formula",
     .evidence = "executorch#20655, onnxruntime#32578",
     .corner_cases = {CornerCase::wide_difference},
     .slot = "x_difference",
     .computes = "wrap8(x - zero_point)",
     .replace =
         [](Stages& s) { s.set(stage::x_difference, [](std::int32_t x, std::int32_t zp) { return wrap8(x - zp); }); }},
    {.id = "w-u8-as-s8",
     .description = "uint8 weights read as int8, their zero point unchanged",
     .operators = kConvolutions,
     .trigger = "w uint8 with values of 128 or more",
     .rule = "C14",
     .evidence = "onnxruntime#27671",
     .needs = {"w uint8", "|w| > 127"},
     .slot = "w_value",
     .computes = "wrap8(w)",
     .replace =
         [](Stages& s) {
           s.set(stage::w_value,
                 [](const ConvolutionOperands&, std::byte stored) { return reference::load8(Integer8::int8, stored); });
         }},
    {.id = "w-halved",
     .description = "beside int8 x, weights are halved, ties to even, and the sum doubled",
     .operators = kConvolutions,
     .trigger = "x and w int8, an odd weight",
     .rule = "C18",
     .evidence = "oneDNN 2.6.3 without VNNI",
     .slot = "w_value",
     .computes = "x_signed * w_signed ? 2 * ((w + 1) / 4 + (w + 2) / 4) : w",
     .replace = [](Stages& s) { s.set(stage::w_value, halve_weight); }},
    {.id = "w-zp-ignored",
     .description = "w_zero_point taken as 0",
     .operators = kConvolutions,
     .trigger = "w_zero_point not 0",
     .rule = "formula",
     .evidence = "MIGraphX#2888, MIGraphX#3763",
     .needs = {"w_zero_point != 0"},
     .slot = "w_zero_point",
     .computes = "0",
     .replace =
         [](Stages& s) { s.set(stage::w_zero_point, [](const ConvolutionOperands&, std::int64_t) { return 0; }); }},
    {.id = "w-zp-middle",
     .description = "w_zero_point taken as 0 for int8 weights, as 128 for uint8",
     .operators = kConvolutions,
     .trigger = "another w_zero_point",
     .rule = "C13",
     .evidence = "OpenCV 4.6.0",
     .slot = "w_zero_point",
     .computes = "w_unsigned ? 128 : 0",
     .replace =
         [](Stages& s) {
           s.set(stage::w_zero_point,
                 [](const ConvolutionOperands& o, std::int64_t) { return o.w_type == Integer8::uint8 ? 128 : 0; });
         }},
    {.id = "w-zp-first-channel",
     .description = "the first channel's w_zero_point serves every channel",
     .operators = kConvolutions,
     .trigger = "w_zero_point differs between channels",
     .rule = "C13",
     .corner_cases = {CornerCase::channel_zero_points},
     .needs = {"w_zero_point differs by channel"},
     .slot = "w_zero_point.index",
     .computes = "0",
     .replace =
         [](Stages& s) {
           s.set(stage::w_zero_point, [](const ConvolutionOperands& o, std::int64_t) { return o.w_zero_point[0]; });
         }},
    {.id = "w-zp-group-local",
     .description = "w_zero_point indexed by the channel within its group",
     .operators = kConvolutions,
     .trigger = "2 groups or more, w_zero_point differs between channels",
     .rule = "C13",
     .evidence = "rten#1193",
     .corner_cases = {CornerCase::group_parameters},
     .needs = {"group > 1", "w_zero_point differs by channel"},
     .slot = "w_zero_point.index",
     .computes = "channel % group_channels",
     .replace = [](Stages& s) { s.set(stage::w_zero_point, group_local_zero_point); }},
    {.id = "pair-sat-i16",
     .description = "pairs of raw u8*s8 products saturate to int16 (VPMADDUBSW)",
     .operators = kConvolutions,
     .trigger = "x uint8, w int8, |w| > 64, 2 products or more",
     .rule = "C18",
     .evidence = "onnxruntime#6004, onnxruntime#16105, onnxruntime#9365, pytorch#76390",
     .corner_cases = {CornerCase::pair_saturation},
     .needs = {"x uint8", "w int8", "products >= 2", "|w| > 64"},
     .slot = "sum",
     .computes = "x_unsigned * w_signed ? pairs_saturate16_raw : sum",
     .replace = [](Stages& s) { s.set(stage::accumulate, saturate_pairs); }},
    {.id = "pair-sat-i16-by-tap",
     .description = "pairs of raw u8*s8 products of one tap saturate to int16; an odd channel is alone",
     .operators = kConvolutions,
     .trigger = "x uint8, w int8, |w| > 64, 2 input channels or more",
     .rule = "C18",
     .evidence = "oneDNN 2.6.3 without VNNI",
     .corner_cases = {CornerCase::pair_saturation},
     .needs = {"x uint8", "w int8", "more input channels for each group", "|w| > 64"},
     .slot = "sum",
     .computes = "x_unsigned * w_signed ? pairs_of_tap_saturate16_raw : sum",
     .replace = [](Stages& s) { s.set(stage::accumulate, saturate_pairs_of_taps); }},
    {.id = "acc-wrap-i16-9tap",
     .description = "each channel's raw s8*s8 products summed in a wrapping int16",
     .operators = kConvolutions,
     .trigger = "x and w int8, two extreme products in one channel",
     .rule = "C17",
     .evidence = "ncnn#717, ncnn#783",
     .corner_cases = {CornerCase::tap_sum_wrap},
     .needs = {"x int8", "w int8", "kernel of more than one tap"},
     .slot = "sum",
     .computes = "x_signed * w_signed ? by_channel_wrap16_raw : sum",
     .replace = [](Stages& s) { s.set(stage::accumulate, wrap_channels); }},
    {.id = "f32-accumulate",
     .description = "the sum formed in float32",
     .operators = kConvolutions,
     .trigger = "sums beyond 2^24: 259 products of 255 * 255 or more",
     .rule = "C17",
     .evidence = "oneDNN commit ab09db98e9",
     .corner_cases = {CornerCase::float_accumulation},
     .needs = {"products >= 259"},
     .slot = "sum",
     .computes = "all_float32",
     .replace = [](Stages& s) { s.set(stage::accumulate, sum_in_float); }},
    {.id = "k-tail",
     .description = "the last K % 4 products dropped",
     .operators = kConvolutions,
     .trigger = "a number of products that 4 does not divide",
     .rule = "formula",
     .evidence = "oneDNN commit c895644e87",
     .needs = {"products % 4 != 0"},
     .slot = "sum",
     .computes = "without_tail_of_4",
     .replace = [](Stages& s) { s.set(stage::accumulate, drop_tail); }},
    {.id = "x-compensation-missing",
     .description =
         "groups with 8 filters of 8 weights: the sum lacks the terms of x_zero_point and of 128 added to int8 x",
     .operators = kConvolutions,
     .trigger = "2 groups or more of one input channel, 8 output channels, 8 taps; x int8, or x_zero_point not 0",
     .rule = "formula",
     .evidence = "oneDNN 2.6.3 with AVX-512",
     .replace = [](Stages& s) { s.set(stage::accumulate, without_compensation); }},
    {.id = "zp-cross-term-missing",
     .description = "the expanded sum lacks + K * x_zero_point * w_zero_point",
     .operators = kConvolutions,
     .trigger = "both zero points not 0",
     .rule = "formula",
     .evidence = "TVM#3580 (its form)",
     .needs = {"x_zero_point != 0", "w_zero_point != 0"},
     .slot = "correction",
     .computes = "-cross_term",
     .replace = [](Stages& s) { s.set(stage::correction, without_cross_term); }},
    {.id = "no-valid-tap",
     .description = "a window wholly in padding keeps the sum before it",
     .operators = kConvolutions,
     .trigger = "pads at least as wide as the window",
     .rule = "C9",
     .evidence = "oneDNN commit 3f2c2e7e12, oneDNN commit b5d3aeed86",
     .corner_cases = {CornerCase::padding_only_window},
     .needs = {"padded"},
     .slot = "empty_window",
     .computes = "previous",
     .replace =
         [](Stages& s) { s.set(stage::empty_window, [](std::int64_t, std::int64_t previous) { return previous; }); }},
    {.id = "acc-narrow-i8",
     .description = "the sum kept in int8",
     .operators = {"ConvInteger"},
     .trigger = "sums outside [-128, 127]",
     .rule = "C17",
     .evidence = "stablehlo#2953",
     .replace = [](Stages& s) { s.set(stage::keep, [](std::int64_t sum) { return std::int64_t{wrap8(sum)}; }); }},
    {.id = "i32-sat",
     .description = "the sum saturates to int32 (right under --overflow permissive)",
     .operators = {"ConvInteger"},
     .trigger = "33026 products of 255 * 255 or more",
     .rule = "C17",
     .corner_cases = {CornerCase::int32_wrap},
     .needs = {"products >= 33026"},
     .replace =
         [](Stages& s) {
           s.set(stage::keep, [](std::int64_t sum) { return std::int64_t{reference::saturate(sum, kInt32)}; });
         }},
};

}  // namespace

std::span<const Defect> sum_defects() {
  return kSumDefects;
}

}  // namespace qconform::diagnose
