// Tiles of sums, sixteen lanes at a time: numerics/requantize512.h over memory.
#include <immintrin.h>

#include "reference/kernels/requantize512.h"

namespace qconform::reference {
namespace {

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

template <typename Profile, int vectors>
bool tile_of(const std::int32_t* sums, std::int64_t sums_stride, int positions, const RequantizeChannels* c,
             std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  const Range range = range_of(c, vectors);
  const __m512 doubt = least_doubt(c, vectors);
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
