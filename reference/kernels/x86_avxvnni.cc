// VPDPBUSD on 256 bits in VEX encoding (AVX-VNNI): four products of uint8 and int8, added to a 32-bit
// lane modulo 2^32 (rule C17).
#include "reference/kernels/vnni256_micro_kernels.h"

namespace qconform::reference {
namespace {

struct VexDot {
  static __m256i apply(__m256i sums, __m256i x, __m256i w) { return _mm256_dpbusd_avx_epi32(sums, x, w); }
};

}  // namespace

extern const ConvolutionLeaves convolution_leaves_avxvnni;
constexpr ConvolutionLeaves convolution_leaves_avxvnni = vnni256_leaves<VexDot>();

}  // namespace qconform::reference
