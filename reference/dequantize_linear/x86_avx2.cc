// The difference is formed in integers, so that the product is the only rounding (rule D1).
#include <immintrin.h>

#include "reference/dequantize_linear/leaves.h"

namespace qconform::reference {
namespace {

struct FromUint8 {
  static constexpr int kSize = 1;
  static __m256i load(const std::byte* x) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
};

struct FromInt8 {
  static constexpr int kSize = 1;
  static __m256i load(const std::byte* x) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
};

struct FromInt32 {
  static constexpr int kSize = 4;
  static __m256i load(const std::byte* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
};

template <typename From>
__m256i scaled(const std::byte* x, const DequantizeChannel* c) {
  const __m256i differences = _mm256_sub_epi32(From::load(x), _mm256_set1_epi32(c->zero_point));
  return _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(differences), _mm256_set1_ps(c->scale)));
}

// Whole vectors, the last of them over part of the one before: their elements come out the same.
template <typename From>
void dequantize(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  std::int64_t i = 0;
  if (count * 4 >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(y) % 4 == 0) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), scaled<From>(x, c));
    i = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(y) % 32 / 4);
    for (; i + 8 <= count; i += 8) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(y + 4 * i), scaled<From>(x + From::kSize * i, c));
    }
    _mm_sfence();
    i = count - 8;
  }
  for (; i < count; i += 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 4 * i), scaled<From>(x + From::kSize * i, c));
  }
}

}  // namespace

extern const DequantizeLeaves dequantize_leaves_avx2;
const DequantizeLeaves dequantize_leaves_avx2 = {{dequantize<FromUint8>, dequantize<FromInt8>, dequantize<FromInt32>}};

}  // namespace qconform::reference
