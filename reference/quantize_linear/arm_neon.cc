// A division, never a reciprocal (rule Q1), and an explicit rounding mode.
#include <arm_neon.h>

#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {
namespace {

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

// In [-128, 255]: the low byte of each is the result.
void store8bytes(int32x4_t low, int32x4_t high, std::byte* y) {
  const int16x8_t words = vcombine_s16(vmovn_s32(low), vmovn_s32(high));
  vst1_u8(reinterpret_cast<std::uint8_t*>(y), vmovn_u16(vreinterpretq_u16_s16(words)));
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const float32x4_t scale = vdupq_n_f32(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const float32x4_t low = vreinterpretq_f32_u8(load16(x + 4 * i));
    const float32x4_t high = vreinterpretq_f32_u8(load16(x + 4 * i + 16));
    store8bytes(quantized(vdivq_f32(low, scale), c), quantized(vdivq_f32(high, scale), c), y + i);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const float32x4_t scale = vdupq_n_f32(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const float32x4_t low = vcvtq_f32_s32(vreinterpretq_s32_u8(load16(x + 4 * i)));
    const float32x4_t high = vcvtq_f32_s32(vreinterpretq_s32_u8(load16(x + 4 * i + 16)));
    store8bytes(quantized(vdivq_f32(low, scale), c), quantized(vdivq_f32(high, scale), c), y + i);
  }
}

}  // namespace

extern const QuantizeLeaves quantize_leaves_neon;
const QuantizeLeaves quantize_leaves_neon = {{from_float32, from_int32}};

}  // namespace qconform::reference
