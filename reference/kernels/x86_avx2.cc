// Exact for every input: differences lie in [-255, 255], so a product of two fits 17 bits, and the
// pair sum of VPMADDWD fits its 32-bit lane. Nothing saturates; lanes add modulo 2^32 (rule C17).
#include <immintrin.h>

#include "reference/kernels/peak_loop.h"
#include "reference/kernels/requantized_product256.h"
#include "reference/kernels/vectors_x86.h"

namespace qconform::reference {
namespace {

struct Avx2 : Words256 {
  static Vector multiply_add(Vector sums, Vector x, Vector w) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(x, w));
  }

  static constexpr int kTaps = 2;
  static constexpr int kBlockVectors = 2;
  static void interleave(const std::byte* const* taps, Vector* out) {
    out[0] = _mm256_unpacklo_epi16(load(taps[0]), load(taps[1]));
    out[1] = _mm256_unpackhi_epi16(load(taps[0]), load(taps[1]));
  }
  static void separate(Vector* v) {
    const Vector low = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    v[1] = _mm256_permute2x128_si256(v[0], v[1], 0x31);
    v[0] = low;
  }
};

// Bytes in pairs. The weights are such that no sum of two products saturates: drivers/paired_weights.h.
struct Avx2Pairs : Words256 {
  // 10 sums: products of pairs and ones take registers as well.
  static constexpr int kRows[3] = {0, 5, 5};

  static Vector multiply_add(Vector sums, Vector x, Vector w) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
  }
};

struct DoubleBlock {
  static void copy(const std::byte* from, __m256i order, std::byte* to) {
    Words256::store(to, _mm256_shuffle_epi8(Words256::load(from), order));
  }
};

struct SingleBlock {
  static void copy(const std::byte* from, __m256i order, std::byte* to) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(bytes, _mm256_castsi256_si128(order)));
  }
};

// Positions that share what locates a block; the last one stands in for those that are missing.
constexpr int kShared = 4;

template <typename Size>
void copy_blocks(const RowOrder* o, const RowOrder::Block* begin, const RowOrder::Block* end, int first) {
  const std::byte* from[kShared];
  std::byte* to[kShared];
#pragma GCC unroll 4
  for (int i = 0; i < kShared; ++i) {
    const int position = first + i < o->positions ? first + i : o->positions - 1;
    from[i] = o->rows[position];
    to[i] = o->to + position * o->to_stride;
  }
  for (const RowOrder::Block* b = begin; b != end; ++b) {
    const std::int64_t at = o->run_offsets[b->run] + b->at;
    const std::int64_t written = b->to;
    const __m256i order = Words256::load(b->order);
#pragma GCC unroll 4
    for (int i = 0; i < kShared; ++i) Size::copy(from[i] + at, order, to[i] + written);
  }
}

void reorder(const RowOrder* o) {
  for (int p = 0; p < o->positions; p += kShared) {
    copy_blocks<DoubleBlock>(o, o->blocks, o->blocks + o->doubles, p);
    copy_blocks<SingleBlock>(o, o->blocks + o->doubles, o->blocks + o->count, p);
  }
}

template <typename Isa>
void multiply(const PanelProduct* product) {
  multiply_panel<Isa, 2>(product);
}

void widen(const std::uint8_t* bytes, std::int64_t count, std::uint8_t flip, std::int16_t offset, std::int16_t* out) {
  const __m128i flips = _mm_set1_epi8(static_cast<char>(flip));
  const __m256i offsets = _mm256_set1_epi16(offset);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __m128i values = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i)), flips);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_sub_epi16(_mm256_cvtepu8_epi16(values), offsets));
  }
}

// QLinearConv: tiles of sums in memory.

// Stores the bytes of those of the quad's positions that exist.
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

// Sums of the vectors of channels from m on, for all positions. Returns whether any needs exact arithmetic.
template <typename Profile, int vectors>
bool columns(const std::int32_t* sums, std::int64_t sums_stride, int positions, int m, const RequantizeChannels* c,
             std::uint8_t* y, std::int64_t y_stride, std::uint64_t* needs_exact) {
  const Columns<vectors> column(c, m, Profile::multiplier(c));
  std::uint32_t any = 0;
  for (int p = 0; p < positions; p += kPositions<vectors>) {
    const int rest = positions - p;
    const auto position = [&](int i) { return p + (i / vectors < rest ? i / vectors : rest - 1); };
    const auto at = [&](int i) { return sums + position(i) * sums_stride + m + i % vectors * kLanes; };
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
        needs_exact[position(i)] |= std::uint64_t{bits} << channel;
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
               const RequantizeChannels* c, std::uint8_t* y, std::int64_t y_stride, std::uint64_t* needs_exact) {
  for (int p = 0; p < positions; ++p) needs_exact[p] = 0;
  bool any = false;
  int m = 0;
  for (; m + 2 * kLanes <= channels; m += 2 * kLanes) {
    any |= columns<Profile, 2>(sums, sums_stride, positions, m, c, y, y_stride, needs_exact);
  }
  if (m < channels) any |= columns<Profile, 1>(sums, sums_stride, positions, m, c, y, y_stride, needs_exact);
  return any;
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* needs_exact) {
  return with_profile<Profile>(c, [&](auto profile) {
    return tile_with<decltype(profile)>(sums, sums_stride, positions, channels, c, y, y_stride, needs_exact);
  });
}

// QuantizeLinear: a division, never a reciprocal (rule Q1), and an explicit rounding mode.

// Eight quotients to eight bytes: clamped, rounded, zero point added. NaN gives the zero point.
void store_quantized(__m256 quotient, const QuantizeChannel* c, std::byte* y) {
  const __m256 is_number = _mm256_cmp_ps(quotient, quotient, _CMP_ORD_Q);
  const __m256 number = _mm256_and_ps(quotient, is_number);
  const __m256 clamped = _mm256_min_ps(_mm256_max_ps(number, _mm256_set1_ps(c->lo)), _mm256_set1_ps(c->hi));
  const __m256 rounded = _mm256_round_ps(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m256i values = _mm256_add_epi32(_mm256_cvttps_epi32(rounded), _mm256_set1_epi32(c->zero_point));
  // In [-128, 255]: the low byte of each is the result.
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
  const __m128i bytes = _mm_and_si128(words, _mm_set1_epi16(0xFF));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), _mm_packus_epi16(bytes, bytes));
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m256 scale = _mm256_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256 values = _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 4 * i)));
    store_quantized(_mm256_div_ps(values, scale), c, y + i);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m256 scale = _mm256_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256 values = _mm256_cvtepi32_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + 4 * i)));
    store_quantized(_mm256_div_ps(values, scale), c, y + i);
  }
}

// DequantizeLinear: the difference is formed in integers, so that the product is the only rounding (rule D1).

struct FromUint8 {
  static constexpr int kSize = 1;
  static __m256i load(const std::byte* x) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
};

struct FromInt8 {
  static constexpr int kSize = 1;
  static __m256i load(const std::byte* x) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  }
};

struct FromInt32 {
  static constexpr int kSize = 4;
  static __m256i load(const std::byte* x) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)); }
};

template <typename From>
__m256i scaled(const std::byte* x, const DequantizeChannel* c) {
  const __m256i differences = _mm256_sub_epi32(From::load(x), _mm256_set1_epi32(c->zero_point));
  return _mm256_castps_si256(_mm256_mul_ps(_mm256_cvtepi32_ps(differences), _mm256_set1_ps(c->scale)));
}

// Whole vectors, the last of them over part of the one before: their elements come out the same.
template <typename From>
void dequantize(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  std::int64_t i = 0;
  if (count * 4 >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(y) % 4 == 0) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), scaled<From>(x, c));
    i = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(y) % 32 / 4);
    for (; i + 8 <= count; i += 8) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(y + 4 * i), scaled<From>(x + From::kSize * i, c));
    }
    _mm_sfence();
    i = count - 8;
  }
  for (; i < count; i += 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 4 * i), scaled<From>(x + From::kSize * i, c));
  }
}

// The product of a pair is added to a sum in a second instruction: without it nothing is accumulated.
#define QCONFORM_MADD(n) "vpmaddwd %%ymm14, %%ymm15, %%ymm13\nvpaddd %%ymm13, %%ymm" n ", %%ymm" n "\n"

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_YMM_SOURCES, QCONFORM_MADD);
}

constexpr ConvolutionMicroKernels kPairs = {.x_bytes = 1,
                                            .signed_x = false,
                                            .group = 4,
                                            .unit = kRowOrderBytes,
                                            .lanes = 8,
                                            .max_vectors = 2,
                                            .multiply = multiply<Avx2Pairs>,
                                            .multiply_requantized = {multiply_requantized<Avx2Pairs, CorrectlyRounded>,
                                                                     multiply_requantized<Avx2Pairs, OrtF32>, nullptr},
                                            .takes_output_index = false,
                                            .widen = nullptr,
                                            .subtract_products = subtract_products,
                                            .depthwise = {},
                                            .to_channels_last = nullptr,
                                            .to_channels_first = nullptr,
                                            .reorder = reorder};

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = {
    .x_bytes = 2,
    .signed_x = false,
    .group = 2,
    .unit = 2,
    .lanes = 8,
    .max_vectors = 2,
    .multiply = multiply<Avx2>,
    .multiply_requantized = {multiply_requantized<Avx2, CorrectlyRounded>, multiply_requantized<Avx2, OrtF32>, nullptr},
    .takes_output_index = true,
    .widen = widen,
    .subtract_products = nullptr,
    .depthwise = {{16, 8, multiply_depthwise_block<Avx2>, {}}, {}},
    .to_channels_last = nullptr,
    .to_channels_first = nullptr,
    .pairs = &kPairs};

const ElementwiseMicroKernels QCONFORM_TABLE(elementwise) = {
    .requantize_row = {},
    .requantize_tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>},
    .quantize = {from_float32, from_int32},
    .dequantize = {dequantize<FromUint8>, dequantize<FromInt8>, dequantize<FromInt32>}};

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 16};

}  // namespace qconform::reference
