// Vectors of sixteen sums: in float32, or in two halves of double. Every rounding to an integer
// states its mode; comparisons are written so that NaN takes the branch that the reference takes
// (MAXPS and MINPS return their second operand).
#include <immintrin.h>

#include "reference/numerics/requantize_fast.h"

namespace qconform::reference {
namespace {

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
constexpr int kLanes = 16;

// A tile is taken four vectors at a time: one position of four vectors of channels, two positions of
// two, four positions of one. Four vectors of 32-bit integers become one of bytes by saturating
// narrowing, which clamps to the range of y.
constexpr int kQuad = 4;

struct Range {
  __m512 lo;  // of y, less its zero point
  __m512 hi;
  __m512i zero_point;
  __m512i zero_point16;
  bool is_signed;
};

Range range_of(const RequantizeChannels* c) {
  return {.lo = _mm512_set1_ps(static_cast<float>(c->lo - c->zero_point)),
          .hi = _mm512_set1_ps(static_cast<float>(c->hi - c->zero_point)),
          .zero_point = _mm512_set1_epi32(c->zero_point),
          .zero_point16 = _mm512_set1_epi16(static_cast<std::int16_t>(c->zero_point)),
          .is_signed = c->lo < 0};
}

__m256i half_of(__m512i sums, int half) {
  return half == 0 ? _mm512_castsi512_si256(sums) : _mm512_extracti64x4_epi64(sums, 1);
}

__m512i both(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

__m512d clamp(__m512d value, double lo, double hi) {
  return _mm512_min_pd(_mm512_max_pd(value, _mm512_set1_pd(lo)), _mm512_set1_pd(hi));
}

// To integers in [-32768, 32767], bytes once the zero point is added.
__m512i round(__m512 value) {
  return _mm512_cvt_roundps_epi32(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// The double path of correctly_rounded for half a vector; bits of elements in doubt are added to
// *doubtful.
__m256i round_exactly(__m512i sums, int half, const RequantizeChannels* c, int m, std::uint32_t* doubtful) {
  const __m512d multiplier = _mm512_loadu_pd(c->exact_multiplier + m + 8 * half);
  const __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(half_of(sums, half)), multiplier);
  const __m512d bounded = clamp(product, -kRequantizationBound, kRequantizationBound);
  const __m512d rounded = _mm512_roundscale_pd(bounded, kNearestEven);
  const __m512d distance = _mm512_abs_pd(_mm512_sub_pd(bounded, rounded));
  const __mmask8 mask = _mm512_cmp_pd_mask(distance, _mm512_loadu_pd(c->exact_doubt + m + 8 * half), _CMP_GE_OQ);
  *doubtful |= static_cast<std::uint32_t>(mask) << (8 * half);
  return _mm512_cvttpd_epi32(rounded);
}

// Where the four vectors of sums are, and the first channel of each.
struct Quad {
  const std::int32_t* sums[kQuad];
  int channel[kQuad];
};

// The double path for all four; kept apart, so that the values of the other path stay in registers.
__attribute__((noinline)) void round_quad_exactly(const Quad* q, const RequantizeChannels* c, __m512i* values,
                                                  std::uint32_t* doubtful) {
  for (int i = 0; i < kQuad; ++i) {
    const __m512i sums = _mm512_loadu_si512(q->sums[i]);
    doubtful[i] = 0;
    const __m256i low = round_exactly(sums, 0, c, q->channel[i], &doubtful[i]);
    values[i] = both(low, round_exactly(sums, 1, c, q->channel[i], &doubtful[i]));
  }
}

struct CorrectlyRounded {
  // Returns whether nothing is in doubt; otherwise the values are meaningless.
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* /*c*/, const Range& r,
                           __m512 doubt) {
    __m512 product[kQuad];
    __m512 distance[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      // No lower bound: what is far below saturates when it is narrowed.
      product[i] = _mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(values[i]), multiplier[i]), r.hi);
      distance[i] = _mm512_sub_ps(product[i], _mm512_roundscale_ps(product[i], kNearestEven));
      values[i] = round(product[i]);
    }
    constexpr int kLargerMagnitude = 0x0B;  // with its sign cleared
    const __m512 most = _mm512_range_ps(_mm512_range_ps(distance[0], distance[1], kLargerMagnitude),
                                        _mm512_range_ps(distance[2], distance[3], kLargerMagnitude), kLargerMagnitude);
    return _mm512_cmp_ps_mask(most, doubt, _CMP_NLT_UQ) == 0;
  }
};

struct OrtF32 {
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* /*c*/, const Range& r,
                           __m512 /*doubt*/) {
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(values[i]), multiplier[i]);
      values[i] = round(_mm512_min_ps(_mm512_max_ps(product, r.lo), r.hi));
    }
    return true;
  }
};

struct OnnxReference {
  static __m256i half(__m512i sums, __m256 multiplier, int half, const RequantizeChannels* c) {
    const __m512d scaled = _mm512_mul_pd(_mm512_cvtepi32_pd(half_of(sums, half)), _mm512_cvtps_pd(multiplier));
    const __m512d clamped = clamp(_mm512_add_pd(scaled, _mm512_set1_pd(c->zero_point)), c->lo, c->hi);
    return _mm512_cvttpd_epi32(_mm512_roundscale_pd(clamped, kNearestEven));
  }
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* c, const Range& r,
                           __m512 /*doubt*/) {
    for (int i = 0; i < kQuad; ++i) {
      const __m256i low = half(values[i], _mm512_castps512_ps256(multiplier[i]), 0, c);
      const __m256i high = half(values[i], _mm512_extractf32x8_ps(multiplier[i], 1), 1, c);
      values[i] = _mm512_sub_epi32(both(low, high), r.zero_point);
    }
    return true;
  }
};

// The bytes of the four vectors, one vector after the other.
__m512i narrow(const __m512i* values, const Range& r) {
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(values[0], values[1]), r.zero_point16);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(values[2], values[3]), r.zero_point16);
  const __m512i bytes = r.is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  // Narrowing works within 128 bits: four bytes of each vector in each of them.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, bytes);
}

// A quad is this many positions of these vectors; in one of three vectors the last is there twice.
template <int vectors>
constexpr int kPositions = vectors >= 3 ? 1 : kQuad / vectors;
template <int vectors>
void store(std::uint8_t* y, std::int64_t y_stride, int positions, __m512i bytes) {
  if (vectors == 4 || (y_stride == vectors * kLanes && positions >= kPositions<vectors> && vectors != 3)) {
    _mm512_storeu_si512(y, bytes);
    return;
  }
  if constexpr (vectors == 4) {
    return;
  } else if constexpr (vectors == 3) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 32), _mm512_extracti32x4_epi32(bytes, 2));
  } else if constexpr (vectors == 2) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(bytes));
    if (positions > 1) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + y_stride), _mm512_extracti64x4_epi64(bytes, 1));
    }
  } else {
    alignas(64) std::uint8_t all[kQuad][kLanes];
    _mm512_store_si512(all, bytes);
    for (int i = 0; i < positions && i < kQuad; ++i) {
      const __m128i one = _mm_load_si128(reinterpret_cast<const __m128i*>(all[i]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i * y_stride), one);
    }
  }
}

template <int vectors>
constexpr int vector_of(int i) {
  return vectors == 3 ? (i < 3 ? i : 2) : i % vectors;
}
template <int vectors>
constexpr int position_of(int i) {
  return vectors >= 3 ? 0 : i / vectors;
}

template <typename Profile, int vectors>
bool tile_of(const std::int32_t* sums, std::int64_t sums_stride, int positions, const RequantizeChannels* c,
             std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  const Range range = range_of(c);
  __m512 doubt = _mm512_loadu_ps(c->doubt);
  for (int v = 1; v < vectors; ++v) doubt = _mm512_min_ps(doubt, _mm512_loadu_ps(c->doubt + v * kLanes));
  doubt = _mm512_set1_ps(_mm512_reduce_min_ps(doubt));
  __m512 multiplier[kQuad];
#pragma GCC unroll 4
  for (int i = 0; i < kQuad; ++i) multiplier[i] = _mm512_loadu_ps(c->multiplier + vector_of<vectors>(i) * kLanes);
  std::uint32_t any = 0;
  for (int p = 0; p < positions; ++p) doubtful[p] = 0;
  for (int p = 0; p < positions; p += kPositions<vectors>) {
    const int last = positions - p - 1;
    const auto at = [&](int i) {
      const int position = position_of<vectors>(i) < last ? position_of<vectors>(i) : last;
      return sums + (p + position) * sums_stride + vector_of<vectors>(i) * kLanes;
    };
    __m512i values[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = _mm512_loadu_si512(at(i));
    if (__builtin_expect(!Profile::apply(values, multiplier, c, range, doubt), 0)) {
      Quad quad;
      for (int i = 0; i < kQuad; ++i) {
        quad.sums[i] = at(i);
        quad.channel[i] = vector_of<vectors>(i) * kLanes;
      }
      __m512i exact[kQuad];
      std::uint32_t bits[kQuad];
      round_quad_exactly(&quad, c, exact, bits);
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) {
        values[i] = exact[i];
        if (position_of<vectors>(i) > last) continue;
        doubtful[p + position_of<vectors>(i)] |= std::uint64_t{bits[i]} << (vector_of<vectors>(i) * kLanes);
        any |= bits[i];
      }
    }
    store<vectors>(y + p * y_stride, y_stride, positions - p, narrow(values, range));
  }
  return any != 0;
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  switch (channels / kLanes) {
    case 1: return tile_of<Profile, 1>(sums, sums_stride, positions, c, y, y_stride, doubtful);
    case 2: return tile_of<Profile, 2>(sums, sums_stride, positions, c, y, y_stride, doubtful);
    case 3: return tile_of<Profile, 3>(sums, sums_stride, positions, c, y, y_stride, doubtful);
    default: return tile_of<Profile, 4>(sums, sums_stride, positions, c, y, y_stride, doubtful);
  }
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx512;
const RequantizeLeaves requantize_leaves_avx512 = {.row = {},
                                                   .tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>}};

}  // namespace qconform::reference
