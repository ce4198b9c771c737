// Exact for every input: differences lie in [-255, 255], so a product of two fits 17 bits, and the
// pair sum of VPMADDWD fits its 32-bit lane. Nothing saturates; lanes add modulo 2^32 (rule C17).
#include <immintrin.h>

#include "reference/convolution/leaves.h"

namespace qconform::reference {
namespace {

constexpr int kChannels = 4;    // of one tile: 4 x 2 accumulators leave registers for x and w
constexpr int kPositions = 16;  // two vectors of eight positions
constexpr int kUnit = 2;        // the pair that VPMADDWD sums

void pack(const std::uint8_t* rows, int units, std::uint8_t flip, std::int16_t offset, std::int16_t* panel) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m256i offsets = _mm256_set1_epi16(offset);
  for (int unit = 0; unit < units; ++unit, rows += kUnit * kTilePositions, panel += kPositions * kUnit) {
    const __m128i even = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows)), flips);
    const __m128i odd = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + kTilePositions)), flips);
    const __m256i low = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(even, odd));
    const __m256i high = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(even, odd));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel), _mm256_sub_epi16(low, offsets));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(panel + 16), _mm256_sub_epi16(high, offsets));
  }
}

// One pair of weights in every lane.
__m256i broadcast_pair(const std::int16_t* pair) {
  std::int32_t bits;
  __builtin_memcpy(&bits, pair, sizeof bits);
  return _mm256_set1_epi32(bits);
}

void add_to(std::int32_t* sums, __m256i value) {
  auto* const at = reinterpret_cast<__m256i*>(sums);
  _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), value));
}

template <int channels>
void multiply_tile(const std::int16_t* w, const std::int16_t* x, int units, std::int32_t* sums,
                   std::int64_t sums_stride) {
  __m256i low[channels];
  __m256i high[channels];
  for (int m = 0; m < channels; ++m) low[m] = high[m] = _mm256_setzero_si256();
#pragma GCC unroll 2  // GCC copies every accumulator once per iteration
  for (int unit = 0; unit < units; ++unit, x += kPositions * kUnit, w += channels * kUnit) {
    const __m256i x_low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    const __m256i x_high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 16));
    for (int m = 0; m < channels; ++m) {
      const __m256i weights = broadcast_pair(w + m * kUnit);
      low[m] = _mm256_add_epi32(low[m], _mm256_madd_epi16(x_low, weights));
      high[m] = _mm256_add_epi32(high[m], _mm256_madd_epi16(x_high, weights));
    }
  }
  for (int m = 0; m < channels; ++m, sums += sums_stride) {
    add_to(sums, low[m]);
    add_to(sums + 8, high[m]);
  }
}

void multiply(const std::int16_t* w, const std::int16_t* x, int units, int channels, std::int32_t* sums,
              std::int64_t sums_stride) {
  switch (channels) {
    case 1: multiply_tile<1>(w, x, units, sums, sums_stride); break;
    case 2: multiply_tile<2>(w, x, units, sums, sums_stride); break;
    case 3: multiply_tile<3>(w, x, units, sums, sums_stride); break;
    default: multiply_tile<kChannels>(w, x, units, sums, sums_stride); break;
  }
}

}  // namespace

extern const ConvolutionLeaves convolution_leaves_avx2;
const ConvolutionLeaves convolution_leaves_avx2 = {kChannels, kPositions, kUnit, pack, multiply};

}  // namespace qconform::reference
