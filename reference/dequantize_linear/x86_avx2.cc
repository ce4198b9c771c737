// The difference is formed in integers, so that the product is the only rounding (rule D1).
#include <immintrin.h>

#include "reference/dequantize_linear/leaves.h"

namespace qconform::reference {
namespace {

void store_scaled(__m256i values, const DequantizeChannel* c, std::byte* y) {
  const __m256i differences = _mm256_sub_epi32(values, _mm256_set1_epi32(c->zero_point));
  const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(differences), _mm256_set1_ps(c->scale));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_castps_si256(scaled));
}

void from_uint8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i));
    store_scaled(_mm256_cvtepu8_epi32(bytes), c, y + 4 * i);
  }
}

void from_int8(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i));
    store_scaled(_mm256_cvtepi8_epi32(bytes), c, y + 4 * i);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  for (std::int64_t i = 0; i < count; i += 8) {
    store_scaled(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 4 * i)), c, y + 4 * i);
  }
}

}  // namespace

extern const DequantizeLeaves dequantize_leaves_avx2;
const DequantizeLeaves dequantize_leaves_avx2 = {{from_uint8, from_int8, from_int32}};

}  // namespace qconform::reference
