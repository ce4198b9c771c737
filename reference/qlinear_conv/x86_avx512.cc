// Sixteen sums at a time: in float32, or in two halves of double. Every rounding to an integer
// states its mode; comparisons are written so that NaN takes the branch that the reference takes
// (MAXPS and MINPS return their second operand).
#include <immintrin.h>

#include "reference/numerics/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kLanes = 16;

// Parameters of sixteen elements that stay the same from row to row.
struct Sixteen {
  __m512 multiplier;
  __m512 doubt;
  const double* exact_multiplier;
  const double* exact_doubt;
  std::int64_t exact_stride;  // 0: one exact multiplier and doubt for all lanes; else 1
};

// Those of all elements.
struct Range {
  __m512 lo;
  __m512 hi;
  __m512i zero_point;
  __m512d exact_lo;
  __m512d exact_hi;
  __m512d exact_zero_point;
};

Range range_of(std::int32_t zero_point, std::int32_t lo, std::int32_t hi) {
  return {.lo = _mm512_set1_ps(static_cast<float>(lo - zero_point)),
          .hi = _mm512_set1_ps(static_cast<float>(hi - zero_point)),
          .zero_point = _mm512_set1_epi32(zero_point),
          .exact_lo = _mm512_set1_pd(lo),
          .exact_hi = _mm512_set1_pd(hi),
          .exact_zero_point = _mm512_set1_pd(zero_point)};
}

__m512d load_doubles(const double* from, std::int64_t stride, int half) {
  return stride == 0 ? _mm512_set1_pd(*from) : _mm512_loadu_pd(from + 8 * half);
}

__m256i half_of(__m512i sums, int half) {
  return half == 0 ? _mm512_castsi512_si256(sums) : _mm512_extracti64x4_epi64(sums, 1);
}

// The double path of correctly_rounded: bits of elements in doubt are added to *doubtful.
__m256i round_exactly(__m512i sums, const Sixteen& s, const Range& r, int half, std::uint32_t* doubtful) {
  const __m512d multiplier = load_doubles(s.exact_multiplier, s.exact_stride, half);
  const __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(half_of(sums, half)), multiplier);
  const __m512d bounded = _mm512_min_pd(_mm512_max_pd(product, _mm512_set1_pd(-kRequantizationBound)),
                                        _mm512_set1_pd(kRequantizationBound));
  const __m512d rounded = _mm512_roundscale_pd(bounded, kNearestEven);
  const __m512d distance = _mm512_abs_pd(_mm512_sub_pd(bounded, rounded));
  const __mmask8 mask = _mm512_cmp_pd_mask(distance, load_doubles(s.exact_doubt, s.exact_stride, half), _CMP_GE_OQ);
  *doubtful |= static_cast<std::uint32_t>(mask) << (8 * half);
  const __m512d shifted = _mm512_add_pd(rounded, r.exact_zero_point);
  return _mm512_cvttpd_epi32(_mm512_min_pd(_mm512_max_pd(shifted, r.exact_lo), r.exact_hi));
}

struct CorrectlyRounded {
  static float multiplier(const FastRequantization* c) { return c->narrow_multiplier; }
  static __m512i apply(__m512i sums, const Sixteen& s, const Range& r, std::uint32_t* doubtful) {
    const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), s.multiplier);
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(product, r.lo), r.hi);
    // What is left after the nearest integer is taken away, exactly.
    const __m512 distance = _mm512_abs_ps(_mm512_reduce_ps(clamped, kNearestEven));
    if (__builtin_expect(_mm512_cmp_ps_mask(distance, s.doubt, _CMP_NLT_UQ) != 0, 0)) {
      const __m256i low = round_exactly(sums, s, r, 0, doubtful);
      return _mm512_inserti64x4(_mm512_castsi256_si512(low), round_exactly(sums, s, r, 1, doubtful), 1);
    }
    const __m512i rounded = _mm512_cvt_roundps_epi32(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_add_epi32(rounded, r.zero_point);
  }
};

struct OrtF32 {
  static float multiplier(const FastRequantization* c) { return c->float_multiplier; }
  static __m512i apply(__m512i sums, const Sixteen& s, const Range& r, std::uint32_t* /*doubtful*/) {
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), s.multiplier);
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(scaled, r.lo), r.hi);
    const __m512i rounded = _mm512_cvt_roundps_epi32(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_add_epi32(rounded, r.zero_point);
  }
};

struct OnnxReference {
  static float multiplier(const FastRequantization* c) { return c->float_multiplier; }
  static __m256i half(__m512i sums, const Sixteen& s, const Range& r, int half) {
    const __m256 multiplier =
        half == 0 ? _mm512_castps512_ps256(s.multiplier) : _mm512_extractf32x8_ps(s.multiplier, 1);
    const __m512d scaled = _mm512_mul_pd(_mm512_cvtepi32_pd(half_of(sums, half)), _mm512_cvtps_pd(multiplier));
    const __m512d shifted = _mm512_add_pd(scaled, r.exact_zero_point);
    const __m512d clamped = _mm512_min_pd(_mm512_max_pd(shifted, r.exact_lo), r.exact_hi);
    return _mm512_cvttpd_epi32(_mm512_roundscale_pd(clamped, kNearestEven));
  }
  static __m512i apply(__m512i sums, const Sixteen& s, const Range& r, std::uint32_t* /*doubtful*/) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(half(sums, s, r, 0)), half(sums, s, r, 1), 1);
  }
};

// Values in [-128, 255], each kept as its low byte.
void store_bytes(std::uint8_t* y, __m512i values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_cvtepi32_epi8(values));
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  const Range range = range_of(c->zero_point, c->lo, c->hi);
  for (int p = 0; p < positions; ++p) doubtful[p] = 0;
  std::uint32_t any = 0;
  for (int m = 0; m < channels; m += kLanes) {
    const Sixteen sixteen{.multiplier = _mm512_loadu_ps(c->multiplier + m),
                          .doubt = _mm512_loadu_ps(c->doubt + m),
                          .exact_multiplier = c->exact_multiplier + m,
                          .exact_doubt = c->exact_doubt + m,
                          .exact_stride = 1};
    for (int p = 0; p < positions; ++p) {
      std::uint32_t bits = 0;
      const __m512i values = _mm512_loadu_si512(sums + p * sums_stride + m);
      store_bytes(y + p * y_stride + m, Profile::apply(values, sixteen, range, &bits));
      doubtful[p] |= static_cast<std::uint64_t>(bits) << m;
      any |= bits;
    }
  }
  return any != 0;
}

template <typename Profile>
std::uint64_t row(const std::int32_t* sums, int count, const FastRequantization* c, std::uint8_t* y) {
  const Range range = range_of(c->zero_point, c->lo, c->hi);
  const Sixteen sixteen{.multiplier = _mm512_set1_ps(Profile::multiplier(c)),
                        .doubt = _mm512_set1_ps(c->narrow_doubt),
                        .exact_multiplier = &c->multiplier,
                        .exact_doubt = &c->doubt,
                        .exact_stride = 0};
  std::uint64_t doubtful = 0;
  for (int i = 0; i < count; i += kLanes) {
    const auto mask = static_cast<__mmask16>(count - i >= kLanes ? 0xFFFF : 0xFF);
    std::uint32_t bits = 0;
    const __m512i values = Profile::apply(_mm512_maskz_loadu_epi32(mask, sums + i), sixteen, range, &bits);
    _mm_mask_storeu_epi8(y + i, mask, _mm512_cvtepi32_epi8(values));
    doubtful |= static_cast<std::uint64_t>(bits & mask) << i;
  }
  return doubtful;
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx512;
const RequantizeLeaves requantize_leaves_avx512 = {.row = {row<CorrectlyRounded>, row<OrtF32>, row<OnnxReference>},
                                                   .tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>}};

}  // namespace qconform::reference
