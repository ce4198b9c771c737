// Exact for every input: differences lie in [-255, 255], SMLAL forms their products in 32-bit lanes
// and adds modulo 2^32 (rule C17). Plain ARMv8-A: no dot product instructions.
#include <arm_neon.h>

#include "reference/kernels/panel_product.h"

namespace qconform::reference {
namespace {

struct Neon {
  using Vector = int32x4_t;
  using Weights = int16x4x2_t;  // of four channels: the first of each pair, the second of each
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

}  // namespace

extern const ConvolutionLeaves convolution_leaves_neon;
const ConvolutionLeaves convolution_leaves_neon = {.x_bytes = 2,
                                                   .signed_x = false,
                                                   .group = 2,
                                                   .unit = 2,
                                                   .lanes = 4,
                                                   .max_vectors = 4,
                                                   .multiply = multiply,
                                                   .multiply_requantized = {},
                                                   .takes_places = true,
                                                   .widen = widen,
                                                   .subtract_products = nullptr,
                                                   .depthwise = {},
                                                   .to_channels_last = nullptr,
                                                   .to_channels_first = nullptr};

}  // namespace qconform::reference
