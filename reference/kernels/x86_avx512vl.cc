// The code of x86_avxvnni.cc in EVEX encoding, for processors that have AVX-512 VNNI and not AVX-VNNI:
// so the 256-bit kernels can be run and timed there too.
#include "reference/kernels/vnni256_micro_kernels.h"

namespace qconform::reference {
namespace {

struct EvexDot {
  static __m256i apply(__m256i sums, __m256i x, __m256i w) { return _mm256_dpbusd_epi32(sums, x, w); }
};

}  // namespace

extern const ConvolutionLeaves convolution_leaves_avx512vl;
constexpr ConvolutionLeaves convolution_leaves_avx512vl = vnni256_leaves<EvexDot>();

}  // namespace qconform::reference
