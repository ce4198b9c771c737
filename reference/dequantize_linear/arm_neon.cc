// The difference is formed in integers, so that the product is the only rounding (rule D1).
#include <arm_neon.h>

#include "reference/dequantize_linear/leaves.h"

namespace qconform::reference {
namespace {

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

}  // namespace

extern const DequantizeLeaves dequantize_leaves_neon;
const DequantizeLeaves dequantize_leaves_neon = {{from_uint8, from_int8, from_int32}};

}  // namespace qconform::reference
