// SDOT: four products of int8, at most 4 * 128 * 128, added to a 32-bit lane modulo 2^32 (rule C17). Both
// operands have to be signed, so x of uint8 is flipped by 0x80.
#include <arm_neon.h>

#include "reference/kernels/arm_bytes.h"
#include "reference/kernels/panel_product.h"
#include "reference/kernels/peak_loop.h"

namespace qconform::reference {
namespace {

struct DotProd {
  using Vector = int32x4_t;
  using Weights = int8x16_t;  // four bytes of depth for each of four channels
  static constexpr int kLanes = 4;
  // At most 24 sums, with the weights of a vector and 16 bytes of x of each position in 32 registers.
  static constexpr int kRows[5] = {0, 12, 10, 7, 6};

  static Vector load(const std::int32_t* from) { return vld1q_s32(from); }
  static Vector start(const std::int32_t* at, int v) { return load(at + v * kLanes); }
  static void store(std::int32_t* to, Vector value) { vst1q_s32(to, value); }
  static void pin(Vector& value) { __asm__("" : "+w"(value)); }
  static Weights weights(const std::byte* from) { return vld1q_s8(reinterpret_cast<const std::int8_t*>(from)); }
  static int8x16_t broadcast(const std::byte* from) {
    return vreinterpretq_s8_s32(vld1q_dup_s32(reinterpret_cast<const std::int32_t*>(from)));
  }
  static Vector multiply_add(Vector sums, int8x16_t x, Weights w) { return vdotq_s32(sums, x, w); }

  static constexpr int kWideSteps = 4;
  static int8x16_t load_wide(const std::byte* from) { return vld1q_s8(reinterpret_cast<const std::int8_t*>(from)); }
  template <int step>
  static Vector multiply_add_part(Vector sums, int8x16_t x, Weights w) {
    return vdotq_laneq_s32(sums, w, x, step);
  }
};

void multiply(const PanelProduct* product) {
  multiply_panel<DotProd, 4>(product);
}

// By its code, which every assembler takes: sdot vN.4s, v30.16b, v31.16b.
#define QCONFORM_SDOT(n) ".inst 0x4e9f97c0 + " n "\n"

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_SDOT);
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = byte_micro_kernels(true, 4, multiply);

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 16};

}  // namespace qconform::reference
