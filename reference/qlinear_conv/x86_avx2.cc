// Four vectors of eight sums at a time: in float32, or in two halves of double. Every rounding to an integer states
// its mode; comparisons are written so that NaN takes the branch that the reference takes (MAXPS and
// MINPS return their second operand).
#include <immintrin.h>

#include "reference/numerics/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kLanes = 8;

// Two positions of two vectors of channels, or four positions of one. Four vectors of 32-bit integers become one of
// bytes by saturating narrowing, which clamps to the range of y.
constexpr int kQuad = 4;

template <int vectors>
constexpr int kPositions = kQuad / vectors;

struct Range {
  __m256 lo;  // of y, less its zero point
  __m256 hi;
  __m256i zero_point16;
  bool is_signed;
  bool is_bounded;  // no product reaches 2^31, so that those beyond the range of y saturate when they are narrowed
};

// The parameters of one or two vectors of channels, from channel m on.
template <int vectors>
struct Columns {
  Columns(const RequantizeChannels* c, int m) : channels(c), first(m) {
    __m256 least = _mm256_loadu_ps(c->doubt + m);
    __m256 largest = _mm256_setzero_ps();
    for (int v = 0; v < vectors; ++v) {
      multiplier[v] = _mm256_loadu_ps(c->multiplier + m + v * kLanes);
      least = _mm256_min_ps(least, _mm256_loadu_ps(c->doubt + m + v * kLanes));
      const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), multiplier[v]);
      largest = _mm256_max_ps(magnitude, largest);
    }
    least = _mm256_min_ps(least, _mm256_permute2f128_ps(least, least, 1));
    least = _mm256_min_ps(least, _mm256_permute_ps(least, 0x4E));
    doubt = _mm256_min_ps(least, _mm256_permute_ps(least, 0xB1));
    const __m256 limit = _mm256_set1_ps(0.99F);
    range = {.lo = _mm256_set1_ps(static_cast<float>(c->lo - c->zero_point)),
             .hi = _mm256_set1_ps(static_cast<float>(c->hi - c->zero_point)),
             .zero_point16 = _mm256_set1_epi16(static_cast<std::int16_t>(c->zero_point)),
             .is_signed = c->lo < 0,
             .is_bounded = _mm256_movemask_ps(_mm256_cmp_ps(largest, limit, _CMP_NLE_UQ)) == 0};
  }

  const RequantizeChannels* channels;
  int first;
  __m256 multiplier[vectors];
  __m256 doubt;  // beyond this distance from an integer no lane is certain
  Range range;
};

__m128i half_of(__m256i sums, int half) {
  return half == 0 ? _mm256_castsi256_si128(sums) : _mm256_extracti128_si256(sums, 1);
}

__m256i both(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

__m256d clamp(__m256d value, double lo, double hi) {
  return _mm256_min_pd(_mm256_max_pd(value, _mm256_set1_pd(lo)), _mm256_set1_pd(hi));
}

// The double path of correctly_rounded for the channels from m on: bits of elements in doubt are added to *doubtful.
__m128i round_half_exactly(__m128i sums, const RequantizeChannels* c, int m, int shift, std::uint32_t* doubtful) {
  const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), _mm256_loadu_pd(c->exact_multiplier + m));
  const __m256d bounded = clamp(product, -kRequantizationBound, kRequantizationBound);
  const __m256d rounded = _mm256_round_pd(bounded, kNearestEven);
  const __m256d distance = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(bounded, rounded));
  const int mask = _mm256_movemask_pd(_mm256_cmp_pd(distance, _mm256_loadu_pd(c->exact_doubt + m), _CMP_GE_OQ));
  *doubtful |= static_cast<std::uint32_t>(mask) << shift;
  return _mm256_cvttpd_epi32(rounded);
}

__attribute__((noinline)) __m256i round_exactly(__m256i sums, const RequantizeChannels* c, int m,
                                                std::uint32_t* doubtful) {
  const __m128i low = round_half_exactly(half_of(sums, 0), c, m, 0, doubtful);
  return both(low, round_half_exactly(half_of(sums, 1), c, m + 4, 4, doubtful));
}

template <int vectors>
inline void scale(const __m256i* sums, const Columns<vectors>& c, __m256* products) {
#pragma GCC unroll 4
  for (int i = 0; i < kQuad; ++i) {
    products[i] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), c.multiplier[i % vectors]);
    if (__builtin_expect(!c.range.is_bounded, 0)) {
      products[i] = _mm256_min_ps(_mm256_max_ps(products[i], c.range.lo), c.range.hi);
    }
  }
}

struct CorrectlyRounded {
  // Values of a quad, less the zero point; false where they are uncertain.
  template <int vectors>
  static inline bool apply(__m256i* values, const Columns<vectors>& c) {
    __m256 product[kQuad];
    scale(values, c, product);
    __m256 most = _mm256_setzero_ps();
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      const __m256 rounded = _mm256_round_ps(product[i], kNearestEven);
      const __m256 distance = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), _mm256_sub_ps(product[i], rounded));
      most = _mm256_max_ps(distance, most);
      values[i] = _mm256_cvttps_epi32(rounded);
    }
    return _mm256_movemask_ps(_mm256_cmp_ps(most, c.doubt, _CMP_NLT_UQ)) == 0;
  }
};

struct OrtF32 {
  template <int vectors>
  static inline bool apply(__m256i* values, const Columns<vectors>& c) {
    __m256 product[kQuad];
    scale(values, c, product);
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = _mm256_cvttps_epi32(_mm256_round_ps(product[i], kNearestEven));
    return true;
  }
};

struct OnnxReference {
  static __m128i half(__m128i sums, __m128 multiplier, const RequantizeChannels* c) {
    const __m256d scaled = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), _mm256_cvtps_pd(multiplier));
    const __m256d clamped = clamp(_mm256_add_pd(scaled, _mm256_set1_pd(c->zero_point)), c->lo, c->hi);
    return _mm_sub_epi32(_mm256_cvttpd_epi32(_mm256_round_pd(clamped, kNearestEven)), _mm_set1_epi32(c->zero_point));
  }
  template <int vectors>
  static inline bool apply(__m256i* values, const Columns<vectors>& c) {
    for (int i = 0; i < kQuad; ++i) {
      const __m256 multiplier = c.multiplier[i % vectors];
      const __m128i low = half(half_of(values[i], 0), _mm256_castps256_ps128(multiplier), c.channels);
      values[i] = both(low, half(half_of(values[i], 1), _mm256_extractf128_ps(multiplier, 1), c.channels));
    }
    return true;
  }
};

// The bytes of the four vectors, one after the other: narrowing works within 128 bits.
inline __m256i narrow(const __m256i* values, const Range& r) {
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(values[0], values[1]), r.zero_point16);
  const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(values[2], values[3]), r.zero_point16);
  const __m256i bytes = r.is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Of the quad's positions those that exist.
template <int vectors>
inline void store(std::uint8_t* y, std::int64_t y_stride, int positions, __m256i bytes) {
  const __m128i low = _mm256_castsi256_si128(bytes);
  const __m128i high = _mm256_extracti128_si256(bytes, 1);
  if constexpr (vectors == 2) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), low);
    if (positions > 1) _mm_storeu_si128(reinterpret_cast<__m128i*>(y + y_stride), high);
  } else {
    const auto store8 = [&](int p, __m128i eight) {
      if (p < positions) _mm_storel_epi64(reinterpret_cast<__m128i*>(y + p * y_stride), eight);
    };
    store8(0, low);
    store8(1, _mm_unpackhi_epi64(low, low));
    store8(2, high);
    store8(3, _mm_unpackhi_epi64(high, high));
  }
}

__m256i load_sums(const std::int32_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// Sums of the vectors of channels from m on, for all positions. Returns whether any is in doubt.
template <typename Profile, int vectors>
bool columns(const std::int32_t* sums, std::int64_t sums_stride, int positions, int m, const RequantizeChannels* c,
             std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  const Columns<vectors> column(c, m);
  std::uint32_t any = 0;
  for (int p = 0; p < positions; p += kPositions<vectors>) {
    const int rest = positions - p;
    const auto place = [&](int i) { return p + (i / vectors < rest ? i / vectors : rest - 1); };
    const auto at = [&](int i) { return sums + place(i) * sums_stride + m + i % vectors * kLanes; };
    __m256i values[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = load_sums(at(i));
    if (__builtin_expect(!Profile::apply(values, column), 0)) {
      for (int i = 0; i < kQuad; ++i) {
        std::uint32_t bits = 0;
        const int channel = m + i % vectors * kLanes;
        values[i] = round_exactly(load_sums(at(i)), c, channel, &bits);
        doubtful[place(i)] |= std::uint64_t{bits} << channel;
        any |= bits;
      }
    }
    store<vectors>(y + p * y_stride + m, y_stride, rest, narrow(values, column.range));
  }
  return any != 0;
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  for (int p = 0; p < positions; ++p) doubtful[p] = 0;
  bool any = false;
  int m = 0;
  for (; m + 2 * kLanes <= channels; m += 2 * kLanes) {
    any |= columns<Profile, 2>(sums, sums_stride, positions, m, c, y, y_stride, doubtful);
  }
  if (m < channels) any |= columns<Profile, 1>(sums, sums_stride, positions, m, c, y, y_stride, doubtful);
  return any;
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx2;
const RequantizeLeaves requantize_leaves_avx2 = {.row = {},
                                                 .tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>}};

}  // namespace qconform::reference
