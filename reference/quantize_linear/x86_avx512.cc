// A division, never a reciprocal (rule Q1), and an explicit rounding mode.
#include <immintrin.h>

#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {
namespace {

// Sixteen quotients to bytes: clamped, rounded, zero point added. NaN gives the zero point.
void store_quantized(__m512 quotient, const QuantizeChannel* c, std::byte* y, __mmask16 mask) {
  const __mmask16 is_number = _mm512_cmp_ps_mask(quotient, quotient, _CMP_ORD_Q);
  const __m512 number = _mm512_maskz_mov_ps(is_number, quotient);
  const __m512 clamped = _mm512_min_ps(_mm512_max_ps(number, _mm512_set1_ps(c->lo)), _mm512_set1_ps(c->hi));
  const __m512i rounded = _mm512_cvt_roundps_epi32(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // In [-128, 255]: the low byte of each is the result.
  const __m512i values = _mm512_add_epi32(rounded, _mm512_set1_epi32(c->zero_point));
  _mm_mask_storeu_epi8(y, mask, _mm512_cvtepi32_epi8(values));
}

// kStrip is 8: the last vector of a strip may be half a vector.
__mmask16 mask_of(std::int64_t rest) {
  return static_cast<__mmask16>(rest >= 16 ? 0xFFFF : 0xFF);
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m512 scale = _mm512_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    store_quantized(_mm512_div_ps(_mm512_maskz_loadu_ps(mask, x + 4 * i), scale), c, y + i, mask);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m512 scale = _mm512_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 values = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(mask, x + 4 * i));
    store_quantized(_mm512_div_ps(values, scale), c, y + i, mask);
  }
}

}  // namespace

extern const QuantizeLeaves quantize_leaves_avx512;
const QuantizeLeaves quantize_leaves_avx512 = {{from_float32, from_int32}};

}  // namespace qconform::reference
