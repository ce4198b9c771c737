// VPDPBUSD on 256 bits: four products of uint8 and int8, added to a 32-bit lane modulo 2^32 (rule C17). Compiled twice:
// in VEX encoding (AVX-VNNI), and in EVEX encoding for processors that have AVX-512 VNNI and not AVX-VNNI, so that the
// 256-bit kernels can be run and timed there too.
#include "reference/kernels/peak_loop.h"
#include "reference/kernels/requantized_product256.h"
#include "reference/kernels/vectors_x86.h"

namespace qconform::reference {
namespace {

#if defined(__AVXVNNI__)
struct Dot {
  static __m256i apply(__m256i sums, __m256i x, __m256i w) { return _mm256_dpbusd_avx_epi32(sums, x, w); }
};
#define QCONFORM_DOT(n) "%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" n "\n"
#else
struct Dot {
  static __m256i apply(__m256i sums, __m256i x, __m256i w) { return _mm256_dpbusd_epi32(sums, x, w); }
};
#define QCONFORM_DOT(n) "%{evex%} vpdpbusd %%ymm14, %%ymm15, %%ymm" n "\n"
#endif

void multiply(const PanelProduct* product) {
  multiply_panel<Vnni256<Dot>, 2>(product);
}

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_YMM_SOURCES, QCONFORM_DOT);
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = {
    .x_bytes = 1,
    .signed_x = false,
    .group = 4,
    .unit = 4,
    .lanes = 8,
    .max_vectors = 2,
    .multiply = multiply,
    .multiply_requantized = {multiply_requantized<Vnni256<Dot>, CorrectlyRounded>,
                             multiply_requantized<Vnni256<Dot>, OrtF32>, nullptr},
    .takes_output_index = true,
    .widen = nullptr,
    .subtract_products = subtract_products,
    .depthwise = {{32, 8, multiply_depthwise_block<Vnni256<Dot>>, {}}, {}},
    .to_channels_last = nullptr,
    .to_channels_first = nullptr};

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 32};

}  // namespace qconform::reference
