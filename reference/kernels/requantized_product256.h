// Products that end in bytes of y, for the ISA files alone (see panel_product.h): those of 256 bits.
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "reference/kernels/panel_product.h"
#include "reference/kernels/vectors_x86.h"

namespace qconform::reference {
namespace {

// Requantization of four vectors of eight sums.

constexpr int kLanes = 8;

// A quad is two positions of two vectors of channels, or four positions of one.
template <int vectors>
constexpr int kPositions = kQuad / vectors;

struct Range {
  __m256 lo;  // y's range, less its zero point
  __m256 hi;
  __m256i zero_point16;
  __m256 fixed_offset;  // FixedPoint adds it to products before they are rounded
  bool is_signed;
  bool is_bounded;  // no product reaches 2^31, so that those beyond the range of y saturate when they are narrowed
};

// The parameters of one or two vectors of channels, from channel m on.
template <int vectors>
struct Columns {
  // `multipliers`: those of a profile.
  Columns(const RequantizeChannels* c, int m, const float* multipliers) : channels(c), first(m) {
    __m256 least = _mm256_loadu_ps(c->needs_exact_from + m);
    __m256 largest = _mm256_setzero_ps();
    for (int v = 0; v < vectors; ++v) {
      multiplier[v] = _mm256_loadu_ps(multipliers + m + v * kLanes);
      least = _mm256_min_ps(least, _mm256_loadu_ps(c->needs_exact_from + m + v * kLanes));
      const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), multiplier[v]);
      largest = _mm256_max_ps(magnitude, largest);
    }
    least = _mm256_min_ps(least, _mm256_permute2f128_ps(least, least, 1));
    least = _mm256_min_ps(least, _mm256_permute_ps(least, 0x4E));
    needs_exact_from = _mm256_min_ps(least, _mm256_permute_ps(least, 0xB1));
    const __m256 limit = _mm256_set1_ps(0.99F);
    range = {
        .lo = _mm256_set1_ps(static_cast<float>(c->lo - c->zero_point)),
        .hi = _mm256_set1_ps(static_cast<float>(c->hi - c->zero_point)),
        .zero_point16 = _mm256_set1_epi16(static_cast<std::int16_t>(c->zero_point)),
        .fixed_offset = _mm256_set1_ps(static_cast<float>(c->zero_point * kFixedOne + kFixedOne / 2 + kFixedOffset)),
        .is_signed = c->lo < 0,
        .is_bounded = _mm256_movemask_ps(_mm256_cmp_ps(largest, limit, _CMP_NLE_UQ)) == 0};
  }

  const RequantizeChannels* channels;
  int first;
  __m256 multiplier[vectors];
  __m256 needs_exact_from;  // beyond this distance from an integer no lane is certain
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

// The double path of correctly_rounded for the channels from m on: bits of elements that need exact arithmetic are
// added to *needs_exact.
__m128i round_half_exactly(__m128i sums, const RequantizeChannels* c, int m, int shift, std::uint32_t* needs_exact) {
  const __m256d product = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), _mm256_loadu_pd(c->exact_multiplier + m));
  const __m256d bounded = clamp(product, -kRequantizationBound, kRequantizationBound);
  const __m256d rounded = _mm256_round_pd(bounded, kNearestEven);
  const __m256d distance = _mm256_andnot_pd(_mm256_set1_pd(-0.0), _mm256_sub_pd(bounded, rounded));
  const int mask =
      _mm256_movemask_pd(_mm256_cmp_pd(distance, _mm256_loadu_pd(c->wide_needs_exact_from + m), _CMP_GE_OQ));
  *needs_exact |= static_cast<std::uint32_t>(mask) << shift;
  return _mm256_cvttpd_epi32(rounded);
}

__attribute__((noinline)) __m256i round_exactly(__m256i sums, const RequantizeChannels* c, int m,
                                                std::uint32_t* needs_exact) {
  const __m128i low = round_half_exactly(half_of(sums, 0), c, m, 0, needs_exact);
  return both(low, round_half_exactly(half_of(sums, 1), c, m + 4, 4, needs_exact));
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

// To the range of y; within 128 bits, as in_order undoes it.
inline __m256i narrow_words(__m256i low, __m256i high, const Range& r) {
  return r.is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
}

inline __m256i in_order(__m256i bytes) {
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// The bytes of the four vectors, one after the other.
inline __m256i narrow(const __m256i* values, const Range& r) {
  const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(values[0], values[1]), r.zero_point16);
  const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(values[2], values[3]), r.zero_point16);
  return in_order(narrow_words(low, high, r));
}

// Each profile has
//   multiplier(c)         of the channels
//   apply(values, c)      from sums to values; returns whether nothing needs exact arithmetic, otherwise they are
//   preliminary bytes(values, range)  of the values
struct IntegerValues {
  static const float* multiplier(const RequantizeChannels* c) { return c->multiplier; }
  static inline __m256i bytes(const __m256i* values, const Range& r) { return narrow(values, r); }
};

struct CorrectlyRounded : IntegerValues {
  template <int vectors>
  static inline __attribute__((always_inline)) bool apply(__m256i* values, const Columns<vectors>& c) {
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
    return _mm256_movemask_ps(_mm256_cmp_ps(most, c.needs_exact_from, _CMP_NLT_UQ)) == 0;
  }
};

// correctly_rounded where all channels have a fixed_multiplier: values are multiples of 2^-16 with the zero point
// added.
struct FixedPoint {
  static const float* multiplier(const RequantizeChannels* c) { return c->fixed_multiplier; }
  template <int vectors>
  static inline __attribute__((always_inline)) bool apply(__m256i* values, const Columns<vectors>& c) {
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      const __m256 product = _mm256_mul_ps(_mm256_cvtepi32_ps(values[i]), c.multiplier[i % vectors]);
      values[i] = _mm256_cvtps_epi32(_mm256_add_ps(product, c.range.fixed_offset));
    }
    // `lacking` is the distance of the least fractions from the bound; the upper halves do not count.
    const __m256i least =
        _mm256_min_epu16(_mm256_min_epu16(values[0], values[1]), _mm256_min_epu16(values[2], values[3]));
    const __m256i lacking = _mm256_subs_epu16(_mm256_set1_epi32(kFixedNeedsExactBelow), least);
    return _mm256_testz_si256(lacking, lacking) != 0;
  }
  // The integers of two vectors are the upper halves of their lanes: the second's stay where they are.
  static inline __m256i integers(__m256i even, __m256i odd) {
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xAA);
  }
  static inline __m256i bytes(const __m256i* values, const Range& r) {
    const __m256i interleaved = narrow_words(integers(values[0], values[1]), integers(values[2], values[3]), r);
    const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    return in_order(_mm256_shuffle_epi8(interleaved, _mm256_broadcastsi128_si256(order)));
  }
};

struct OrtF32 : IntegerValues {
  template <int vectors>
  static inline __attribute__((always_inline)) bool apply(__m256i* values, const Columns<vectors>& c) {
    __m256 product[kQuad];
    scale(values, c, product);
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = _mm256_cvttps_epi32(_mm256_round_ps(product[i], kNearestEven));
    return true;
  }
};

struct OnnxReference : IntegerValues {
  static __m128i half(__m128i sums, __m128 multiplier, const RequantizeChannels* c) {
    const __m256d scaled = _mm256_mul_pd(_mm256_cvtepi32_pd(sums), _mm256_cvtps_pd(multiplier));
    const __m256d clamped = clamp(_mm256_add_pd(scaled, _mm256_set1_pd(c->zero_point)), c->lo, c->hi);
    return _mm_sub_epi32(_mm256_cvttpd_epi32(_mm256_round_pd(clamped, kNearestEven)), _mm_set1_epi32(c->zero_point));
  }
  template <int vectors>
  static inline __attribute__((always_inline)) bool apply(__m256i* values, const Columns<vectors>& c) {
    for (int i = 0; i < kQuad; ++i) {
      const __m256 multiplier = c.multiplier[i % vectors];
      const __m128i low = half(half_of(values[i], 0), _mm256_castps256_ps128(multiplier), c.channels);
      values[i] = both(low, half(half_of(values[i], 1), _mm256_extractf128_ps(multiplier, 1), c.channels));
    }
    return true;
  }
};

// ConvolutionMicroKernels::subtract_products.
void subtract_products(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                       const std::int32_t* x_sums, const std::int32_t* w_zero_points) {
  for (int v = 0; v < vectors; ++v) {
    const auto* const from = reinterpret_cast<const __m256i*>(w_zero_points + v * 8);
    const __m256i zero_points = _mm256_loadu_si256(from);
    for (int p = 0; p < positions; ++p) {
      auto* const at = reinterpret_cast<__m256i*>(sums + p * sums_stride + v * 8);
      const __m256i product = _mm256_mullo_epi32(zero_points, _mm256_set1_epi32(x_sums[p]));
      _mm256_storeu_si256(at, _mm256_sub_epi32(_mm256_loadu_si256(at), product));
    }
  }
}

// run(profile), with FixedPoint in place of CorrectlyRounded where the parameters allow it.
template <typename Profile, typename Run>
inline bool with_profile(const RequantizeChannels* c, Run run) {
  if constexpr (std::is_same_v<Profile, CorrectlyRounded>) {
    if (c->fixed_multiplier != nullptr) return run(FixedPoint{});
  }
  return run(Profile{});
}

// Sums of V vectors of channels are requantized from the registers that they are in. Only where a quad needs exact
// arithmetic they go to memory; resolve_needs_exact() computes its bytes again when no sums are in registers any more,
// because a call would have them all saved.
template <typename Isa, typename Profile, int V>
class RequantizedSums {
 public:
  explicit RequantizedSums(const RequantizedOutput* out)
      : out_(out), columns_(out->parameters, 0, Profile::multiplier(out->parameters)) {}

  template <int vectors, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first, __m256i (&sums)[R][vectors]) {
    static_assert(vectors == V);
    std::uint8_t* y[R];
    locate<R>(c, first, y);
#pragma GCC unroll 16
    for (int row = 0; row < R; row += kPositions<V>) {
      // The last position stands in for those that are missing.
      const auto offset = [row](int i) { return row + i / V < R ? row + i / V : R - 1; };
      __m256i values[kQuad];
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) values[i] = sums[offset(i)][i % V];
      const bool certain = Profile::apply(values, columns_);
      store(y, offset, Profile::bytes(values, columns_.range));
      if (__builtin_expect(certain, 1)) continue;
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) {
        unresolved_ |= std::uint64_t{1} << (first + offset(i));
        Isa::store(c->sums + output_index_of(c, first + offset(i)) * c->sums_stride + i % V * kLanes,
                   sums[offset(i)][i % V]);
      }
    }
  }

  // Once all positions are finished. Returns whether anything needs exact arithmetic.
  bool resolve_needs_exact(const PanelProduct* c) {
    for (; unresolved_ != 0; unresolved_ &= unresolved_ - 1)
      resolve(c, output_index_of(c, __builtin_ctzll(unresolved_)));
    return needs_exact_.any();
  }

 private:
  // Locates the bytes of R positions before they are computed, and before stores that could change out_.
  template <int R>
  inline __attribute__((always_inline)) void locate(const PanelProduct* c, int first, std::uint8_t** y) const {
    const std::int64_t stride = out_->y_stride;
    if (c->output_index == nullptr) {
      y[0] = out_->y + first * stride;
#pragma GCC unroll 16
      for (int r = 1; r < R; ++r) y[r] = y[r - 1] + stride;
      return;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) y[r] = out_->y + c->output_index[first + r] * stride;
  }

  static void store_position(std::uint8_t* y, __m128i bytes) {
    auto* const to = reinterpret_cast<__m128i*>(y);
    V == 2 ? _mm_storeu_si128(to, bytes) : _mm_storel_epi64(to, bytes);
  }

  template <typename Offset>
  static inline __attribute__((always_inline)) void store(std::uint8_t* const* y, Offset offset, __m256i bytes) {
    const __m128i low = _mm256_castsi256_si128(bytes);
    const __m128i high = _mm256_extracti128_si256(bytes, 1);
    store_position(y[offset(0)], low);
    if (V == 1) store_position(y[offset(1)], _mm_unpackhi_epi64(low, low));
    store_position(y[offset(2)], high);
    if (V == 1) store_position(y[offset(3)], _mm_unpackhi_epi64(high, high));
  }

  __attribute__((noinline)) void resolve(const PanelProduct* c, std::int64_t output_index) {
    __m256i values[kQuad];
    std::uint64_t needs_exact = 0;
    for (int i = 0; i < kQuad; ++i) {
      const int channel = i % V * kLanes;
      std::uint32_t bits = 0;
      values[i] =
          round_exactly(Isa::load(c->sums + output_index * c->sums_stride + channel), out_->parameters, channel, &bits);
      needs_exact |= std::uint64_t{bits} << channel;
    }
    store_position(out_->y + output_index * out_->y_stride, _mm256_castsi256_si128(narrow(values, columns_.range)));
    if (needs_exact != 0) needs_exact_.note(out_, output_index, needs_exact);
  }

  const RequantizedOutput* out_;
  Columns<V> columns_;
  std::uint64_t unresolved_ = 0;  // by row
  NeedsExact needs_exact_;
};

template <typename Isa, typename Profile, int V>
bool multiply_vectors_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  RequantizedSums<Isa, Profile, V> finish(out);
  multiply_vectors<Isa, V>(c, finish);
  return finish.resolve_needs_exact(c);
}

template <typename Isa, typename Profile>
bool multiply_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out->parameters, [&](auto profile) {
    using Used = decltype(profile);
    return c->vectors == 2 ? multiply_vectors_requantized<Isa, Used, 2>(c, out)
                           : multiply_vectors_requantized<Isa, Used, 1>(c, out);
  });
}

}  // namespace
}  // namespace qconform::reference
