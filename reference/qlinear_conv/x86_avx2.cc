// Four doubles at a time for the profiles that compute in double, eight floats for ort_f32. Every
// rounding to an integer states its mode; comparisons are written so that NaN takes the branch that
// the reference takes (MAXPD and MINPD return their second operand).
#include <immintrin.h>

#include "reference/numerics/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

__m128i load4(const std::int32_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// Eight integers in [-128, 255], each kept as its low byte.
void store8bytes(__m128i low, __m128i high, std::uint8_t* y) {
  const __m128i words = _mm_and_si128(_mm_packs_epi32(low, high), _mm_set1_epi16(0xFF));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(words, words));
}

__m128i add_zero_point_and_clamp(__m128i rounded, const FastRequantization* c) {
  const __m128i shifted = _mm_add_epi32(rounded, _mm_set1_epi32(c->zero_point));
  return _mm_min_epi32(_mm_max_epi32(shifted, _mm_set1_epi32(c->lo)), _mm_set1_epi32(c->hi));
}

// Four elements; the bits of those in doubt are added to `doubtful` from bit `first` on.
__m128i round_exactly(const std::int32_t* sums, int first, const FastRequantization* c, std::uint64_t* doubtful) {
  const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(load4(sums + first)), _mm256_set1_pd(c->multiplier));
  const __m256d bounded = _mm256_min_pd(_mm256_max_pd(product, _mm256_set1_pd(-kRequantizationBound)),
                                        _mm256_set1_pd(kRequantizationBound));
  const __m256d rounded = _mm256_round_pd(bounded, kNearestEven);
  const __m256d distance = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(bounded, rounded));
  const int mask = _mm256_movemask_pd(_mm256_cmp_pd(distance, _mm256_set1_pd(c->doubt), _CMP_GE_OQ));
  *doubtful |= static_cast<std::uint64_t>(static_cast<unsigned>(mask)) << first;
  return add_zero_point_and_clamp(_mm256_cvttpd_epi32(rounded), c);
}

std::uint64_t correctly_rounded(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  std::uint64_t doubtful = 0;
  for (int i = 0; i < count; i += 8) {
    const __m128i low = round_exactly(sums, i, c, &doubtful);
    const __m128i high = round_exactly(sums, i + 4, c, &doubtful);
    store8bytes(low, high, y + i);
  }
  return doubtful;
}

std::uint64_t ort_f32(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  const __m256 multiplier = _mm256_set1_ps(c->float_multiplier);
  const __m256 lo = _mm256_set1_ps(static_cast<float>(c->lo - c->zero_point));
  const __m256 hi = _mm256_set1_ps(static_cast<float>(c->hi - c->zero_point));
  const __m256i zero_point = _mm256_set1_epi32(c->zero_point);
  for (int i = 0; i < count; i += 8) {
    const __m256i integers = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums + i));
    const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(integers), multiplier);
    const __m256 clamped = _mm256_min_ps(_mm256_max_ps(scaled, lo), hi);
    const __m256i rounded = _mm256_cvttps_epi32(_mm256_round_ps(clamped, kNearestEven));
    const __m256i shifted = _mm256_add_epi32(rounded, zero_point);
    store8bytes(_mm256_castsi256_si128(shifted), _mm256_extracti128_si256(shifted, 1), y + i);
  }
  return 0;
}

__m128i round_with_zero_point(const std::int32_t* sums, const FastRequantization* c) {
  const __m256d multiplier = _mm256_set1_pd(static_cast<double>(c->float_multiplier));
  const __m256d scaled = _mm256_mul_pd(_mm256_cvtepi32_pd(load4(sums)), multiplier);
  const __m256d shifted = _mm256_add_pd(scaled, _mm256_set1_pd(c->zero_point));
  const __m256d clamped = _mm256_min_pd(_mm256_max_pd(shifted, _mm256_set1_pd(c->lo)), _mm256_set1_pd(c->hi));
  return _mm256_cvttpd_epi32(_mm256_round_pd(clamped, kNearestEven));
}

std::uint64_t onnx_reference(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  for (int i = 0; i < count; i += 8) {
    store8bytes(round_with_zero_point(sums + i, c), round_with_zero_point(sums + i + 4, c), y + i);
  }
  return 0;
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx2;
const RequantizeLeaves requantize_leaves_avx2 = {{correctly_rounded, ort_f32, onnx_reference}};

}  // namespace qconform::reference
