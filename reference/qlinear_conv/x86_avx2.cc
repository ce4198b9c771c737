// Eight sums at a time: in float32, or in two halves of double. Every rounding to an integer states
// its mode; comparisons are written so that NaN takes the branch that the reference takes (MAXPS and
// MINPS return their second operand).
#include <immintrin.h>

#include "reference/numerics/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kLanes = 8;

// Parameters of eight elements that stay the same from row to row.
struct Eight {
  __m256 multiplier;
  __m256 doubt;
  __m256d exact_multiplier[2];
  __m256d exact_doubt[2];
};

// Those of all elements.
struct Range {
  __m256 lo;
  __m256 hi;
  __m256i zero_point;
  __m256d exact_lo;
  __m256d exact_hi;
  __m256d exact_zero_point;
};

Range range_of(std::int32_t zero_point, std::int32_t lo, std::int32_t hi) {
  return {.lo = _mm256_set1_ps(static_cast<float>(lo - zero_point)),
          .hi = _mm256_set1_ps(static_cast<float>(hi - zero_point)),
          .zero_point = _mm256_set1_epi32(zero_point),
          .exact_lo = _mm256_set1_pd(lo),
          .exact_hi = _mm256_set1_pd(hi),
          .exact_zero_point = _mm256_set1_pd(zero_point)};
}

__m128i half_of(__m256i sums, int half) {
  return half == 0 ? _mm256_castsi256_si128(sums) : _mm256_extracti128_si256(sums, 1);
}

__m256i both(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

__m256d clamp(__m256d value, __m256d lo, __m256d hi) {
  return _mm256_min_pd(_mm256_max_pd(value, lo), hi);
}

// The double path of correctly_rounded: bits of elements in doubt are added to *doubtful.
__m128i round_exactly(__m256i sums, const Eight& e, const Range& r, int half, std::uint32_t* doubtful) {
  const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(half_of(sums, half)), e.exact_multiplier[half]);
  const __m256d bounded = clamp(product, _mm256_set1_pd(-kRequantizationBound), _mm256_set1_pd(kRequantizationBound));
  const __m256d rounded = _mm256_round_pd(bounded, kNearestEven);
  const __m256d distance = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(bounded, rounded));
  const int mask = _mm256_movemask_pd(_mm256_cmp_pd(distance, e.exact_doubt[half], _CMP_GE_OQ));
  *doubtful |= static_cast<std::uint32_t>(mask) << (4 * half);
  return _mm256_cvttpd_epi32(clamp(_mm256_add_pd(rounded, r.exact_zero_point), r.exact_lo, r.exact_hi));
}

// Eight floats in the range of y, less its zero point.
__m256 scale_and_clamp(__m256i sums, const Eight& e, const Range& r) {
  const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), e.multiplier);
  return _mm256_min_ps(_mm256_max_ps(product, r.lo), r.hi);
}

struct CorrectlyRounded {
  static __m256i apply(__m256i sums, const Eight& e, const Range& r, std::uint32_t* doubtful) {
    const __m256 clamped = scale_and_clamp(sums, e, r);
    const __m256 rounded = _mm256_round_ps(clamped, kNearestEven);
    const __m256 distance = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_sub_ps(clamped, rounded));
    if (__builtin_expect(_mm256_movemask_ps(_mm256_cmp_ps(distance, e.doubt, _CMP_NLT_UQ)) != 0, 0)) {
      const __m128i low = round_exactly(sums, e, r, 0, doubtful);
      return both(low, round_exactly(sums, e, r, 1, doubtful));
    }
    return _mm256_add_epi32(_mm256_cvttps_epi32(rounded), r.zero_point);
  }
};

struct OrtF32 {
  static __m256i apply(__m256i sums, const Eight& e, const Range& r, std::uint32_t* /*doubtful*/) {
    const __m256 rounded = _mm256_round_ps(scale_and_clamp(sums, e, r), kNearestEven);
    return _mm256_add_epi32(_mm256_cvttps_epi32(rounded), r.zero_point);
  }
};

struct OnnxReference {
  static __m128i half(__m256i sums, const Eight& e, const Range& r, int half) {
    const __m128 multiplier = half == 0 ? _mm256_castps256_ps128(e.multiplier) : _mm256_extractf128_ps(e.multiplier, 1);
    const __m256d scaled = _mm256_mul_pd(_mm256_cvtepi32_pd(half_of(sums, half)), _mm256_cvtps_pd(multiplier));
    const __m256d clamped = clamp(_mm256_add_pd(scaled, r.exact_zero_point), r.exact_lo, r.exact_hi);
    return _mm256_cvttpd_epi32(_mm256_round_pd(clamped, kNearestEven));
  }
  static __m256i apply(__m256i sums, const Eight& e, const Range& r, std::uint32_t* /*doubtful*/) {
    return both(half(sums, e, r, 0), half(sums, e, r, 1));
  }
};

// Values in [-128, 255], each kept as its low byte.
void store_bytes(std::uint8_t* y, __m256i values) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  const __m128i bytes = _mm_and_si128(words, _mm_set1_epi16(0xFF));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(bytes, bytes));
}

Eight load_eight(const RequantizeChannels* c, int m) {
  return {.multiplier = _mm256_loadu_ps(c->multiplier + m),
          .doubt = _mm256_loadu_ps(c->doubt + m),
          .exact_multiplier = {_mm256_loadu_pd(c->exact_multiplier + m), _mm256_loadu_pd(c->exact_multiplier + m + 4)},
          .exact_doubt = {_mm256_loadu_pd(c->exact_doubt + m), _mm256_loadu_pd(c->exact_doubt + m + 4)}};
}

__m256i load_sums(const std::int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  const Range range = range_of(c->zero_point, c->lo, c->hi);
  for (int p = 0; p < positions; ++p) doubtful[p] = 0;
  std::uint32_t any = 0;
  for (int m = 0; m < channels; m += kLanes) {
    const Eight eight = load_eight(c, m);
    for (int p = 0; p < positions; ++p) {
      std::uint32_t bits = 0;
      store_bytes(y + p * y_stride + m, Profile::apply(load_sums(sums + p * sums_stride + m), eight, range, &bits));
      doubtful[p] |= static_cast<std::uint64_t>(bits) << m;
      any |= bits;
    }
  }
  return any != 0;
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx2;
const RequantizeLeaves requantize_leaves_avx2 = {.row = {},
                                                 .tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>}};

}  // namespace qconform::reference
