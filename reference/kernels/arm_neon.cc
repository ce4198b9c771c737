// Exact for every input: differences lie in [-255, 255], SMLAL forms their products in 32-bit lanes
// and adds modulo 2^32 (rule C17). Plain ARMv8-A: no dot product instructions.
#include <arm_neon.h>

#include "reference/kernels/panel_product.h"
#include "reference/kernels/peak_loop.h"

namespace qconform::reference {
namespace {

struct Neon {
  using Vector = int32x4_t;
  using Weights = int16x4x2_t;  // weights of four channels: the first of each pair, the second of each
  static constexpr int kLanes = 4;
  // At most 20 sums, with the weights and an x in 32 registers.
  static constexpr int kRows[5] = {0, 8, 8, 6, 5};

  static Vector load(const std::int32_t* from) { return vld1q_s32(from); }
  static Vector start(const std::int32_t* at, int v) { return load(at + v * kLanes); }
  static void store(std::int32_t* to, Vector value) { vst1q_s32(to, value); }
  static void pin(Vector& value) { __asm__("" : "+w"(value)); }
  static Weights weights(const std::byte* from) { return vld2_s16(reinterpret_cast<const std::int16_t*>(from)); }
  static int16x4_t broadcast(const std::byte* from) {
    std::int32_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return vreinterpret_s16_s32(vdup_n_s32(bits));
  }
  static Vector multiply_add(Vector sums, int16x4_t x, Weights w) {
    return vmlal_lane_s16(vmlal_lane_s16(sums, w.val[0], x, 0), w.val[1], x, 1);
  }

  static constexpr int kWideSteps = 4;
  static int16x8_t load_wide(const std::byte* from) { return vld1q_s16(reinterpret_cast<const std::int16_t*>(from)); }
  template <int step>
  static Vector multiply_add_part(Vector sums, int16x8_t x, Weights w) {
    return vmlal_laneq_s16(vmlal_laneq_s16(sums, w.val[0], x, 2 * step), w.val[1], x, 2 * step + 1);
  }
};

void multiply(const PanelProduct* product) {
  multiply_panel<Neon, 4>(product);
}

void widen(const std::uint8_t* bytes, std::int64_t count, std::uint8_t flip, std::int16_t offset, std::int16_t* out) {
  const uint8x8_t flips = vdup_n_u8(flip);
  const int16x8_t offsets = vdupq_n_s16(offset);
  for (std::int64_t i = 0; i < count; i += 8) {
    const uint16x8_t wide = vmovl_u8(veor_u8(vld1_u8(bytes + i), flips));
    vst1q_s16(out + i, vsubq_s16(vreinterpretq_s16_u16(wide), offsets));
  }
}

// QLinearConv: two doubles at a time for the profiles that compute in double, four floats for ort_f32. Every rounding
// to an integer states its mode; clamping compares and selects, because FMAX and FMIN treat NaN otherwise than the
// reference.

float64x2_t clamp_f64(float64x2_t value, double lo, double hi) {
  const float64x2_t los = vdupq_n_f64(lo);
  const float64x2_t his = vdupq_n_f64(hi);
  const float64x2_t above = vbslq_f64(vcgtq_f64(value, los), value, los);
  return vbslq_f64(vcltq_f64(above, his), above, his);
}

float32x4_t clamp_f32(float32x4_t value, float lo, float hi) {
  const float32x4_t los = vdupq_n_f32(lo);
  const float32x4_t his = vdupq_n_f32(hi);
  const float32x4_t above = vbslq_f32(vcgtq_f32(value, los), value, los);
  return vbslq_f32(vcltq_f32(above, his), above, his);
}

// Eight integers in [-128, 255], each kept as its low byte.
void store8bytes(int32x4_t low, int32x4_t high, std::uint8_t* y) {
  vst1_u8(y, vmovn_u16(vreinterpretq_u16_s16(vcombine_s16(vmovn_s32(low), vmovn_s32(high)))));
}

// Two integral doubles of small magnitude.
int32x2_t to_integers(float64x2_t rounded) {
  return vmovn_s64(vcvtq_s64_f64(rounded));
}

// Two elements; the bits of those that need exact arithmetic are added to `needs_exact` from bit `first` on.
int32x2_t round_exactly(const std::int32_t* sums, int first, const FastRequantization* c, std::uint64_t* needs_exact) {
  const float64x2_t integers = vcvtq_f64_s64(vmovl_s32(vld1_s32(sums + first)));
  const float64x2_t product = vmulq_n_f64(integers, c->multiplier);
  const float64x2_t bounded = clamp_f64(product, -kRequantizationBound, kRequantizationBound);
  const float64x2_t rounded = vrndnq_f64(bounded);
  const uint64x2_t mask = vcgeq_f64(vabdq_f64(bounded, rounded), vdupq_n_f64(c->needs_exact_from));
  *needs_exact |= ((vgetq_lane_u64(mask, 0) & 1U) | (vgetq_lane_u64(mask, 1) & 2U)) << first;
  return to_integers(rounded);
}

int32x4_t round4_exactly(const std::int32_t* sums, int first, const FastRequantization* c, std::uint64_t* needs_exact) {
  const int32x4_t rounded =
      vcombine_s32(round_exactly(sums, first, c, needs_exact), round_exactly(sums, first + 2, c, needs_exact));
  const int32x4_t shifted = vaddq_s32(rounded, vdupq_n_s32(c->zero_point));
  return vminq_s32(vmaxq_s32(shifted, vdupq_n_s32(c->lo)), vdupq_n_s32(c->hi));
}

std::uint64_t correctly_rounded(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  std::uint64_t needs_exact = 0;
  for (int i = 0; i < count; i += 8) {
    const int32x4_t low = round4_exactly(sums, i, c, &needs_exact);
    const int32x4_t high = round4_exactly(sums, i + 4, c, &needs_exact);
    store8bytes(low, high, y + i);
  }
  return needs_exact;
}

int32x4_t round4_f32(const std::int32_t* sums, const FastRequantization* c) {
  const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(vld1q_s32(sums)), c->float_multiplier);
  const auto lo = static_cast<float>(c->lo - c->zero_point);
  const auto hi = static_cast<float>(c->hi - c->zero_point);
  const int32x4_t rounded = vcvtq_s32_f32(vrndnq_f32(clamp_f32(scaled, lo, hi)));
  return vaddq_s32(rounded, vdupq_n_s32(c->zero_point));
}

std::uint64_t ort_f32(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  for (int i = 0; i < count; i += 8) {
    store8bytes(round4_f32(sums + i, c), round4_f32(sums + i + 4, c), y + i);
  }
  return 0;
}

int32x2_t round_with_zero_point(const std::int32_t* sums, const FastRequantization* c) {
  const float64x2_t integers = vcvtq_f64_s64(vmovl_s32(vld1_s32(sums)));
  const float64x2_t scaled = vmulq_n_f64(integers, static_cast<double>(c->float_multiplier));
  const float64x2_t shifted = vaddq_f64(scaled, vdupq_n_f64(c->zero_point));
  return to_integers(vrndnq_f64(clamp_f64(shifted, c->lo, c->hi)));
}

std::uint64_t onnx_reference(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  for (int i = 0; i < count; i += 8) {
    const std::int32_t* at = sums + i;
    const int32x4_t low = vcombine_s32(round_with_zero_point(at, c), round_with_zero_point(at + 2, c));
    const int32x4_t high = vcombine_s32(round_with_zero_point(at + 4, c), round_with_zero_point(at + 6, c));
    store8bytes(low, high, y + i);
  }
  return 0;
}

// QuantizeLinear: a division, never a reciprocal (rule Q1), and an explicit rounding mode.

// Loads by bytes: x may have any alignment.
uint8x16_t load16(const std::byte* from) {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(from));
}

// Clamped, rounded, zero point added. NaN gives the zero point.
int32x4_t quantized(float32x4_t quotient, const QuantizeChannel* c) {
  const uint32x4_t is_number = vceqq_f32(quotient, quotient);
  const float32x4_t number = vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(quotient), is_number));
  const float32x4_t clamped = vminq_f32(vmaxq_f32(number, vdupq_n_f32(c->lo)), vdupq_n_f32(c->hi));
  return vaddq_s32(vcvtq_s32_f32(vrndnq_f32(clamped)), vdupq_n_s32(c->zero_point));
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const float32x4_t scale = vdupq_n_f32(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const float32x4_t low = vreinterpretq_f32_u8(load16(x + 4 * i));
    const float32x4_t high = vreinterpretq_f32_u8(load16(x + 4 * i + 16));
    store8bytes(quantized(vdivq_f32(low, scale), c), quantized(vdivq_f32(high, scale), c),
                reinterpret_cast<std::uint8_t*>(y + i));
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const float32x4_t scale = vdupq_n_f32(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const float32x4_t low = vcvtq_f32_s32(vreinterpretq_s32_u8(load16(x + 4 * i)));
    const float32x4_t high = vcvtq_f32_s32(vreinterpretq_s32_u8(load16(x + 4 * i + 16)));
    store8bytes(quantized(vdivq_f32(low, scale), c), quantized(vdivq_f32(high, scale), c),
                reinterpret_cast<std::uint8_t*>(y + i));
  }
}

// DequantizeLinear: the difference is formed in integers, so that the product is the only rounding (rule D1).

const std::uint8_t* bytes_at(const std::byte* from) {
  return reinterpret_cast<const std::uint8_t*>(from);
}

// Stores by bytes: y may have any alignment.
void store_scaled(int32x4_t values, const DequantizeChannel* c, std::byte* y) {
  const int32x4_t differences = vsubq_s32(values, vdupq_n_s32(c->zero_point));
  const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(differences), c->scale);
  vst1q_u8(reinterpret_cast<std::uint8_t*>(y), vreinterpretq_u8_f32(scaled));
}

void store_scaled8(int16x8_t values, const DequantizeChannel* c, std::byte* y) {
  store_scaled(vmovl_s16(vget_low_s16(values)), c, y);
  store_scaled(vmovl_s16(vget_high_s16(values)), c, y + 16);
}

void from_uint8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 8) {
    store_scaled8(vreinterpretq_s16_u16(vmovl_u8(vld1_u8(bytes_at(x + i)))), c, y + 4 * i);
  }
}

void from_int8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 8) {
    store_scaled8(vmovl_s8(vreinterpret_s8_u8(vld1_u8(bytes_at(x + i)))), c, y + 4 * i);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 4) {
    store_scaled(vreinterpretq_s32_u8(vld1q_u8(bytes_at(x + 4 * i))), c, y + 4 * i);
  }
}

#define QCONFORM_SMLAL(n) "smlal v" n ".4s, v30.4h, v31.4h\n"

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_SMLAL);
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = {.x_bytes = 2,
                                                             .signed_x = false,
                                                             .group = 2,
                                                             .unit = 2,
                                                             .lanes = 4,
                                                             .max_vectors = 4,
                                                             .multiply = multiply,
                                                             .multiply_requantized = {},
                                                             .takes_output_index = true,
                                                             .widen = widen,
                                                             .subtract_products = nullptr,
                                                             .depthwise = {},
                                                             .to_channels_last = nullptr,
                                                             .to_channels_first = nullptr};

const ElementwiseMicroKernels QCONFORM_TABLE(elementwise) = {
    .requantize_row = {correctly_rounded, ort_f32, onnx_reference},
    .requantize_tile = {},
    .quantize = {from_float32, from_int32},
    .dequantize = {from_uint8, from_int8, from_int32}};

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 4};

}  // namespace qconform::reference
