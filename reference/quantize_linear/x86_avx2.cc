// A division, never a reciprocal (rule Q1), and an explicit rounding mode.
#include <immintrin.h>

#include "reference/quantize_linear/leaves.h"

namespace qconform::reference {
namespace {

// Eight quotients to eight bytes: clamped, rounded, zero point added. NaN gives the zero point.
void store_quantized(__m256 quotient, const QuantizeChannel* c, std::byte* y) {
  const __m256 is_number = _mm256_cmp_ps(quotient, quotient, _CMP_ORD_Q);
  const __m256 number = _mm256_and_ps(quotient, is_number);
  const __m256 clamped = _mm256_min_ps(_mm256_max_ps(number, _mm256_set1_ps(c->lo)), _mm256_set1_ps(c->hi));
  const __m256 rounded = _mm256_round_ps(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256i values = _mm256_add_epi32(_mm256_cvttps_epi32(rounded), _mm256_set1_epi32(c->zero_point));
  // In [-128, 255]: the low byte of each is the result.
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  const __m128i bytes = _mm_and_si128(words, _mm_set1_epi16(0xFF));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(bytes, bytes));
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m256 scale = _mm256_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256 values = _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 4 * i)));
    store_quantized(_mm256_div_ps(values, scale), c, y + i);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m256 scale = _mm256_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256 values = _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 4 * i)));
    store_quantized(_mm256_div_ps(values, scale), c, y + i);
  }
}

}  // namespace

extern const QuantizeLeaves quantize_leaves_avx2;
const QuantizeLeaves quantize_leaves_avx2 = {{from_float32, from_int32}};

}  // namespace qconform::reference
