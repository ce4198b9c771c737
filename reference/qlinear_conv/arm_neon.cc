// Two doubles at a time for the profiles that compute in double, four floats for ort_f32. Every
// rounding to an integer states its mode; clamping compares and selects, because FMAX and FMIN
// treat NaN otherwise than the reference.
#include <arm_neon.h>

#include "reference/kernels/requantize_fast.h"

namespace qconform::reference {
namespace {

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

// Two elements; the bits of those in doubt are added to `doubtful` from bit `first` on.
int32x2_t round_exactly(const std::int32_t* sums, int first, const FastRequantization* c, std::uint64_t* doubtful) {
  const float64x2_t integers = vcvtq_f64_s64(vmovl_s32(vld1_s32(sums + first)));
  const float64x2_t product = vmulq_n_f64(integers, c->multiplier);
  const float64x2_t bounded = clamp_f64(product, -kRequantizationBound, kRequantizationBound);
  const float64x2_t rounded = vrndnq_f64(bounded);
  const uint64x2_t mask = vcgeq_f64(vabdq_f64(bounded, rounded), vdupq_n_f64(c->doubt));
  *doubtful |= ((vgetq_lane_u64(mask, 0) & 1U) | (vgetq_lane_u64(mask, 1) & 2U)) << first;
  return to_integers(rounded);
}

int32x4_t round4_exactly(const std::int32_t* sums, int first, const FastRequantization* c, std::uint64_t* doubtful) {
  const int32x4_t rounded =
      vcombine_s32(round_exactly(sums, first, c, doubtful), round_exactly(sums, first + 2, c, doubtful));
  const int32x4_t shifted = vaddq_s32(rounded, vdupq_n_s32(c->zero_point));
  return vminq_s32(vmaxq_s32(shifted, vdupq_n_s32(c->lo)), vdupq_n_s32(c->hi));
}

std::uint64_t correctly_rounded(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  std::uint64_t doubtful = 0;
  for (int i = 0; i < count; i += 8) {
    const int32x4_t low = round4_exactly(sums, i, c, &doubtful);
    const int32x4_t high = round4_exactly(sums, i + 4, c, &doubtful);
    store8bytes(low, high, y + i);
  }
  return doubtful;
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

}  // namespace

extern const RequantizeLeaves requantize_leaves_neon;
const RequantizeLeaves requantize_leaves_neon = {.row = {correctly_rounded, ort_f32, onnx_reference}, .tile = {}};

}  // namespace qconform::reference
