// The difference is formed in integers, so that the product is the only rounding (rule D1).
#include <immintrin.h>

#include "reference/dequantize_linear/leaves.h"

namespace qconform::reference {
namespace {

// kStrip is 8: the last vector of a strip may be half a vector.
__mmask16 mask_of(std::int64_t rest) {
  return static_cast<__mmask16>(rest >= 16 ? 0xFFFF : (1U << rest) - 1);
}

struct FromUint8 {
  static constexpr int kSize = 1;
  static __m512i load(const std::byte* x, __mmask16 mask) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, x));
  }
};

struct FromInt8 {
  static constexpr int kSize = 1;
  static __m512i load(const std::byte* x, __mmask16 mask) {
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, x));
  }
};

struct FromInt32 {
  static constexpr int kSize = 4;
  static __m512i load(const std::byte* x, __mmask16 mask) { return _mm512_maskz_loadu_epi32(mask, x); }
};

__m512 scaled(__m512i values, const DequantizeChannel* c) {
  const __m512i differences = _mm512_sub_epi32(values, _mm512_set1_epi32(c->zero_point));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(differences), _mm512_set1_ps(c->scale));
}

template <typename From>
void store_some(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  const __mmask16 mask = mask_of(count);
  _mm512_mask_storeu_ps(y, mask, scaled(From::load(x, mask), c));
}

// Elements before the first vector of y that lies at a cache line; y lies at a multiple of its elements.
std::int64_t unaligned_elements(const std::byte* y) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(y) % 64 / 4);
}

template <typename From>
void dequantize(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  std::int64_t i = 0;
  if (count * 4 >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(y) % 4 == 0) {
    i = unaligned_elements(y);
    store_some<From>(x, i, c, y);
    for (; i + 16 <= count; i += 16) {
      _mm512_stream_ps(reinterpret_cast<float*>(y + 4 * i), scaled(From::load(x + From::kSize * i, 0xFFFF), c));
    }
    _mm_sfence();
  }
  for (; i + 16 <= count; i += 16) {
    _mm512_storeu_ps(y + 4 * i, scaled(From::load(x + From::kSize * i, 0xFFFF), c));
  }
  if (i < count) store_some<From>(x + From::kSize * i, count - i, c, y + 4 * i);
}

}  // namespace

extern const DequantizeLeaves dequantize_leaves_avx512;
const DequantizeLeaves dequantize_leaves_avx512 = {
    {dequantize<FromUint8>, dequantize<FromInt8>, dequantize<FromInt32>}};

}  // namespace qconform::reference
