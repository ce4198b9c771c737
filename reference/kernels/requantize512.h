// Requantization of four vectors of sixteen sums: one position of four vectors of channels, two positions of two, or
// four positions of one.
#pragma once

#include "reference/kernels/vectors_x86.h"

namespace qconform::reference {
namespace {

constexpr int kLanes = 16;

struct Range {
  __m512 lo;  // y's range, less its zero point
  __m512 hi;
  __m512i zero_point;
  __m512i zero_point16;
  __m512 fixed_offset;  // FixedPoint adds it to products before they are rounded down
  bool is_signed;
  bool is_bounded;  // no product reaches 2^31, so that those beyond the range of y saturate when they are narrowed
};

__m512 load_multiplier(const RequantizeChannels* c, int vector) {
  return _mm512_loadu_ps(c->multiplier + vector * kLanes);
}

Range range_of(const RequantizeChannels* c, int vectors) {
  __m512 largest = _mm512_abs_ps(load_multiplier(c, 0));
  for (int v = 1; v < vectors; ++v) largest = _mm512_max_ps(_mm512_abs_ps(load_multiplier(c, v)), largest);
  return {.lo = _mm512_set1_ps(static_cast<float>(c->lo - c->zero_point)),
          .hi = _mm512_set1_ps(static_cast<float>(c->hi - c->zero_point)),
          .zero_point = _mm512_set1_epi32(c->zero_point),
          .zero_point16 = _mm512_set1_epi16(static_cast<std::int16_t>(c->zero_point)),
          .fixed_offset = _mm512_set1_ps(static_cast<float>(c->zero_point * kFixedOne + kFixedOne / 2 + kFixedOffset)),
          .is_signed = c->lo < 0,
          .is_bounded = _mm512_cmp_ps_mask(largest, _mm512_set1_ps(0.99F), _CMP_NLE_UQ) == 0};
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

// The double path of correctly_rounded for half a vector; bits of elements that need exact arithmetic are added to
// *needs_exact.
__m256i round_exactly(__m512i sums, int half, const RequantizeChannels* c, int m, std::uint32_t* needs_exact) {
  const __m512d multiplier = _mm512_loadu_pd(c->exact_multiplier + m + 8 * half);
  const __m512d product = _mm512_mul_pd(_mm512_cvtepi32_pd(half_of(sums, half)), multiplier);
  const __m512d bounded = clamp(product, -kRequantizationBound, kRequantizationBound);
  const __m512d rounded = _mm512_roundscale_pd(bounded, kNearestEven);
  const __m512d distance = _mm512_abs_pd(_mm512_sub_pd(bounded, rounded));
  const __mmask8 mask =
      _mm512_cmp_pd_mask(distance, _mm512_loadu_pd(c->wide_needs_exact_from + m + 8 * half), _CMP_GE_OQ);
  *needs_exact |= static_cast<std::uint32_t>(mask) << (8 * half);
  return _mm512_cvttpd_epi32(rounded);
}

// Points to four vectors of sums, and names the first channel of each.
struct Quad {
  const std::int32_t* sums[kQuad];
  int channel[kQuad];
};

// The double path for all four; kept apart, so that the values of the other path stay in registers.
__attribute__((noinline)) void round_quad_exactly(const Quad* q, const RequantizeChannels* c, __m512i* values,
                                                  std::uint32_t* needs_exact) {
  for (int i = 0; i < kQuad; ++i) {
    const __m512i sums = _mm512_loadu_si512(q->sums[i]);
    needs_exact[i] = 0;
    const __m256i low = round_exactly(sums, 0, c, q->channel[i], &needs_exact[i]);
    values[i] = both(low, round_exactly(sums, 1, c, q->channel[i], &needs_exact[i]));
  }
}

inline void scale(const __m512i* sums, const __m512* multiplier, __m512* products) {
#pragma GCC unroll 4
  for (int i = 0; i < kQuad; ++i) products[i] = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[i]), multiplier[i]);
}

inline void clamp_quad(__m512* values, const Range& r) {
#pragma GCC unroll 4
  for (int i = 0; i < kQuad; ++i) values[i] = _mm512_min_ps(_mm512_max_ps(values[i], r.lo), r.hi);
}

// The bits of a distance without its sign: they order as distances do, with NaN above all.
inline __m512i magnitude(__m512 distance) {
  return _mm512_and_si512(_mm512_castps_si512(distance), _mm512_set1_epi32(0x7FFFFFFF));
}

// The bytes of the four vectors: narrowing works within 128 bits, so four bytes of each vector in each of them.
inline __m512i narrow_interleaved(const __m512i* values, const Range& r) {
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(values[0], values[1]), r.zero_point16);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(values[2], values[3]), r.zero_point16);
  return r.is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
}

// The order of vectors, one after the other.
inline __m512i in_order(__m512i interleaved) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, interleaved);
}

inline __m512i narrow(const __m512i* values, const Range& r) {
  return in_order(narrow_interleaved(values, r));
}

// Each profile has
//   multiplier(c)       of the channels
//   apply(values, ...)  from sums to values; returns whether nothing needs exact arithmetic, otherwise they are
//   preliminary interleaved_bytes   of the values, as narrow_interleaved
struct IntegerValues {
  static const float* multiplier(const RequantizeChannels* c) { return c->multiplier; }
  static inline __m512i interleaved_bytes(const __m512i* values, const Range& r) {
    return narrow_interleaved(values, r);
  }
};

struct CorrectlyRounded : IntegerValues {
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* /*c*/, const Range& r,
                           __m512 needs_exact_from) {
    __m512 product[kQuad];
    __m512i distance[kQuad];
    scale(values, multiplier, product);
    if (__builtin_expect(!r.is_bounded, 0)) clamp_quad(product, r);
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      distance[i] = magnitude(_mm512_reduce_ps(product[i], kNearestEven));
      values[i] = round(product[i]);
    }
    const __m512i most =
        _mm512_max_epi32(_mm512_max_epi32(distance[0], distance[1]), _mm512_max_epi32(distance[2], distance[3]));
    return _mm512_cmp_epi32_mask(most, _mm512_castps_si512(needs_exact_from), _MM_CMPINT_NLT) == 0;
  }
};

// correctly_rounded where all channels have a fixed_multiplier: values are multiples of 2^-16 with the zero point
// added.
struct FixedPoint {
  static const float* multiplier(const RequantizeChannels* c) { return c->fixed_multiplier; }
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* /*c*/, const Range& r,
                           __m512 /*needs_exact_from*/) {
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      const __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(values[i]), multiplier[i], r.fixed_offset);
      values[i] = _mm512_cvt_roundps_epi32(product, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    }
    // The least fractions; the upper halves do not count.
    const __m512i least =
        _mm512_min_epu16(_mm512_min_epu16(values[0], values[1]), _mm512_min_epu16(values[2], values[3]));
    return (_mm512_cmplt_epu16_mask(least, _mm512_set1_epi16(kFixedNeedsExactBelow)) & 0x55555555U) == 0;
  }
  // The integers of two vectors are the upper halves of their lanes: the second's stay where they are.
  static inline __m512i integers(__m512i even, __m512i odd) {
    constexpr int kOddUnderMask = 0xF8;  // a | (b & c)
    return _mm512_ternarylogic_epi32(_mm512_srli_epi32(even, 16), odd, _mm512_set1_epi32(-0x10000), kOddUnderMask);
  }
  static inline __m512i interleaved_bytes(const __m512i* values, const Range& r) {
    const __m512i low = integers(values[0], values[1]);
    const __m512i high = integers(values[2], values[3]);
    const __m512i bytes = r.is_signed ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    return _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order));
  }
};

struct OrtF32 : IntegerValues {
  static inline bool apply(__m512i* values, const __m512* multiplier, const RequantizeChannels* /*c*/, const Range& r,
                           __m512 /*needs_exact_from*/) {
    __m512 product[kQuad];
    scale(values, multiplier, product);
    if (__builtin_expect(!r.is_bounded, 0)) clamp_quad(product, r);
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = round(product[i]);
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
                           __m512 /*needs_exact_from*/) {
    for (int i = 0; i < kQuad; ++i) {
      const __m256i low = half(values[i], _mm512_castps512_ps256(multiplier[i]), 0, c);
      const __m256i high = half(values[i], _mm512_extractf32x8_ps(multiplier[i], 1), 1, c);
      values[i] = _mm512_sub_epi32(both(low, high), r.zero_point);
    }
    return true;
  }
};

// A quad is this many positions of these vectors; in one of three vectors the last is there twice.
template <int vectors>
constexpr int kPositions = vectors >= 3 ? 1 : kQuad / vectors;
template <int vectors>
constexpr int vector_of(int i) {
  return vectors == 3 ? (i < 3 ? i : 2) : i % vectors;
}
template <int vectors>
constexpr int position_of(int i) {
  return vectors >= 3 ? 0 : i / vectors;
}

// Beyond this distance from an integer no lane of these vectors is certain.
__m512 least_needs_exact_from(const RequantizeChannels* c, int vectors) {
  __m512 needs_exact_from = _mm512_loadu_ps(c->needs_exact_from);
  for (int v = 1; v < vectors; ++v)
    needs_exact_from = _mm512_min_ps(needs_exact_from, _mm512_loadu_ps(c->needs_exact_from + v * kLanes));
  return _mm512_set1_ps(_mm512_reduce_min_ps(needs_exact_from));
}

}  // namespace
}  // namespace qconform::reference
