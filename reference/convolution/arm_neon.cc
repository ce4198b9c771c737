// Exact for every input: differences lie in [-255, 255], SMLAL forms their products in 32-bit lanes
// and adds modulo 2^32 (rule C17). Plain ARMv8-A: no dot product instructions.
#include <arm_neon.h>

#include "reference/convolution/leaves.h"

namespace qconform::reference {
namespace {

constexpr int kChannels = 8;   // of one tile: 8 x 2 accumulators of the 32 registers
constexpr int kPositions = 8;  // one vector of x
constexpr int kUnit = 1;

void pack(const std::uint8_t* rows, int units, std::uint8_t flip, std::int16_t offset, std::int16_t* panel) {
  const uint8x8_t flips = vdup_n_u8(flip);
  const int16x8_t offsets = vdupq_n_s16(offset);
  for (int unit = 0; unit < units; ++unit, rows += kTilePositions, panel += kPositions) {
    const uint16x8_t wide = vmovl_u8(veor_u8(vld1_u8(rows), flips));
    vst1q_s16(panel, vsubq_s16(vreinterpretq_s16_u16(wide), offsets));
  }
}

template <int channels>
void multiply_tile(const std::int16_t* w, const std::int16_t* x, int units, std::int32_t* sums,
                   std::int64_t sums_stride) {
  int32x4_t low[channels];
  int32x4_t high[channels];
  for (int m = 0; m < channels; ++m) low[m] = high[m] = vdupq_n_s32(0);
  for (int unit = 0; unit < units; ++unit, x += kPositions, w += channels) {
    const int16x8_t inputs = vld1q_s16(x);
    for (int m = 0; m < channels; ++m) {
      low[m] = vmlal_n_s16(low[m], vget_low_s16(inputs), w[m]);
      high[m] = vmlal_high_n_s16(high[m], inputs, w[m]);
    }
  }
  for (int m = 0; m < channels; ++m, sums += sums_stride) {
    vst1q_s32(sums, vaddq_s32(vld1q_s32(sums), low[m]));
    vst1q_s32(sums + 4, vaddq_s32(vld1q_s32(sums + 4), high[m]));
  }
}

void multiply(const std::int16_t* w, const std::int16_t* x, int units, int channels, std::int32_t* sums,
              std::int64_t sums_stride) {
  switch (channels) {
    case 1: multiply_tile<1>(w, x, units, sums, sums_stride); break;
    case 2: multiply_tile<2>(w, x, units, sums, sums_stride); break;
    case 3: multiply_tile<3>(w, x, units, sums, sums_stride); break;
    case 4: multiply_tile<4>(w, x, units, sums, sums_stride); break;
    case 5: multiply_tile<5>(w, x, units, sums, sums_stride); break;
    case 6: multiply_tile<6>(w, x, units, sums, sums_stride); break;
    case 7: multiply_tile<7>(w, x, units, sums, sums_stride); break;
    default: multiply_tile<kChannels>(w, x, units, sums, sums_stride); break;
  }
}

}  // namespace

extern const ConvolutionLeaves convolution_leaves_neon;
const ConvolutionLeaves convolution_leaves_neon = {kChannels, kPositions, kUnit, pack, multiply};

}  // namespace qconform::reference
