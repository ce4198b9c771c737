// The difference is formed in integers, so that the product is the only rounding (rule D1).
#include <immintrin.h>

#include "reference/dequantize_linear/leaves.h"

namespace qconform::reference {
namespace {

void store_scaled(__m512i values, const DequantizeChannel* c, std::byte* y, __mmask16 mask) {
  const __m512i differences = _mm512_sub_epi32(values, _mm512_set1_epi32(c->zero_point));
  const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(differences), _mm512_set1_ps(c->scale));
  _mm512_mask_storeu_ps(y, mask, scaled);
}

// kStrip is 8: the last vector of a strip may be half a vector.
__mmask16 mask_of(std::int64_t rest) {
  return static_cast<__mmask16>(rest >= 16 ? 0xFFFF : 0xFF);
}

void from_uint8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    store_scaled(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, x + i)), c, y + 4 * i, mask);
  }
}

void from_int8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    store_scaled(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, x + i)), c, y + 4 * i, mask);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    store_scaled(_mm512_maskz_loadu_epi32(mask, x + 4 * i), c, y + 4 * i, mask);
  }
}

}  // namespace

extern const DequantizeLeaves dequantize_leaves_avx512;
const DequantizeLeaves dequantize_leaves_avx512 = {{from_uint8, from_int8, from_int32}};

}  // namespace qconform::reference
