// Tiles of sums in memory.
#include <immintrin.h>

#include "reference/kernels/requantize256.h"

namespace qconform::reference {
namespace {

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
  const Columns<vectors> column(c, m, Profile::multiplier(c));
  std::uint32_t any = 0;
  for (int p = 0; p < positions; p += kPositions<vectors>) {
    const int rest = positions - p;
    const auto place = [&](int i) { return p + (i / vectors < rest ? i / vectors : rest - 1); };
    const auto at = [&](int i) { return sums + place(i) * sums_stride + m + i % vectors * kLanes; };
    __m256i values[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = load_sums(at(i));
    const bool certain = Profile::apply(values, column);
    __m256i bytes = Profile::bytes(values, column.range);
    if (__builtin_expect(!certain, 0)) {
      for (int i = 0; i < kQuad; ++i) {
        std::uint32_t bits = 0;
        const int channel = m + i % vectors * kLanes;
        values[i] = round_exactly(load_sums(at(i)), c, channel, &bits);
        doubtful[place(i)] |= std::uint64_t{bits} << channel;
        any |= bits;
      }
      bytes = narrow(values, column.range);
    }
    store<vectors>(y + p * y_stride + m, y_stride, rest, bytes);
  }
  return any != 0;
}

template <typename Profile>
bool tile_with(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels,
               const RequantizeChannels* c, std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  for (int p = 0; p < positions; ++p) doubtful[p] = 0;
  bool any = false;
  int m = 0;
  for (; m + 2 * kLanes <= channels; m += 2 * kLanes) {
    any |= columns<Profile, 2>(sums, sums_stride, positions, m, c, y, y_stride, doubtful);
  }
  if (m < channels) any |= columns<Profile, 1>(sums, sums_stride, positions, m, c, y, y_stride, doubtful);
  return any;
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* doubtful) {
  return with_profile<Profile>(c, [&](auto profile) {
    return tile_with<decltype(profile)>(sums, sums_stride, positions, channels, c, y, y_stride, doubtful);
  });
}

}  // namespace

extern const RequantizeLeaves requantize_leaves_avx2;
const RequantizeLeaves requantize_leaves_avx2 = {.row = {},
                                                 .tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>}};

}  // namespace qconform::reference
