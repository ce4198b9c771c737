// VPDPBUSD on 512 bits: four products of uint8 and int8, at most 4 * 255 * 128 in magnitude, added
// to a 32-bit lane modulo 2^32 (rule C17). The instruction's saturating form, VPDPBUSDS, is not used.
#include "reference/kernels/line_products512.h"
#include "reference/kernels/peak_loop.h"
#include "reference/kernels/vnni512.h"

namespace qconform::reference {
namespace {

void multiply(const PanelProduct* product) {
  multiply_panel<Vnni512, 4>(product);
}

constexpr LineMicroKernels kLines = line_micro_kernels512<Vnni512>();

// QLinearConv: tiles of sums in memory.

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
             std::uint8_t* y, std::int64_t y_stride, std::uint64_t* needs_exact) {
  const Range range = range_of(c, vectors);
  const __m512 needs_exact_from = least_needs_exact_from(c, vectors);
  __m512 multiplier[kQuad];
#pragma GCC unroll 4
  for (int i = 0; i < kQuad; ++i) multiplier[i] = _mm512_loadu_ps(c->multiplier + vector_of<vectors>(i) * kLanes);
  std::uint32_t any = 0;
  for (int p = 0; p < positions; ++p) needs_exact[p] = 0;
  for (int p = 0; p < positions; p += kPositions<vectors>) {
    const int last = positions - p - 1;
    const auto at = [&](int i) {
      const int position = position_of<vectors>(i) < last ? position_of<vectors>(i) : last;
      return sums + (p + position) * sums_stride + vector_of<vectors>(i) * kLanes;
    };
    __m512i values[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = _mm512_loadu_si512(at(i));
    if (__builtin_expect(!Profile::apply(values, multiplier, c, range, needs_exact_from), 0)) {
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
        needs_exact[p + position_of<vectors>(i)] |= std::uint64_t{bits[i]} << (vector_of<vectors>(i) * kLanes);
        any |= bits[i];
      }
    }
    store<vectors>(y + p * y_stride, y_stride, positions - p, narrow(values, range));
  }
  return any != 0;
}

template <typename Profile>
bool tile(const std::int32_t* sums, std::int64_t sums_stride, int positions, int channels, const RequantizeChannels* c,
          std::uint8_t* y, std::int64_t y_stride, std::uint64_t* needs_exact) {
  switch (channels / kLanes) {
    case 1: return tile_of<Profile, 1>(sums, sums_stride, positions, c, y, y_stride, needs_exact);
    case 2: return tile_of<Profile, 2>(sums, sums_stride, positions, c, y, y_stride, needs_exact);
    case 3: return tile_of<Profile, 3>(sums, sums_stride, positions, c, y, y_stride, needs_exact);
    default: return tile_of<Profile, 4>(sums, sums_stride, positions, c, y, y_stride, needs_exact);
  }
}

// QuantizeLinear: a division, never a reciprocal (rule Q1), and an explicit rounding mode.

// Sixteen quotients to bytes: clamped, rounded, zero point added. NaN gives the zero point.
void store_quantized(__m512 quotient, const QuantizeChannel* c, std::byte* y, __mmask16 mask) {
  const __mmask16 is_number = _mm512_cmp_ps_mask(quotient, quotient, _CMP_ORD_Q);
  const __m512 number = _mm512_maskz_mov_ps(is_number, quotient);
  const __m512 clamped = _mm512_min_ps(_mm512_max_ps(number, _mm512_set1_ps(c->lo)), _mm512_set1_ps(c->hi));
  const __m512i rounded = _mm512_cvt_roundps_epi32(clamped, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // In [-128, 255]: the low byte of each is the result.
  const __m512i values = _mm512_add_epi32(rounded, _mm512_set1_epi32(c->zero_point));
  _mm_mask_storeu_epi8(y, mask, _mm512_cvtepi32_epi8(values));
}

// kSegment is 8: the last vector of a segment may be half a vector.
__mmask16 mask_of(std::int64_t rest) {
  return static_cast<__mmask16>(rest >= 16 ? 0xFFFF : (1U << rest) - 1);
}

void from_float32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m512 scale = _mm512_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    store_quantized(_mm512_div_ps(_mm512_maskz_loadu_ps(mask, x + 4 * i), scale), c, y + i, mask);
  }
}

void from_int32(const std::byte* x, std::int64_t count, const QuantizeChannel* c, std::byte* y) {
  const __m512 scale = _mm512_set1_ps(c->scale);
  for (std::int64_t i = 0; i < count; i += 16) {
    const __mmask16 mask = mask_of(count - i);
    const __m512 values = _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(mask, x + 4 * i));
    store_quantized(_mm512_div_ps(values, scale), c, y + i, mask);
  }
}

// DequantizeLinear: the difference is formed in integers, so that the product is the only rounding (rule D1).

struct FromUint8 {
  static constexpr int kSize = 1;
  static __m512i load(const std::byte* x, __mmask16 mask) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, x));
  }
};

struct FromInt8 {
  static constexpr int kSize = 1;
  static __m512i load(const std::byte* x, __mmask16 mask) {
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, x));
  }
};

struct FromInt32 {
  static constexpr int kSize = 4;
  static __m512i load(const std::byte* x, __mmask16 mask) { return _mm512_maskz_loadu_epi32(mask, x); }
};

__m512 scaled(__m512i values, const DequantizeChannel* c) {
  const __m512i differences = _mm512_sub_epi32(values, _mm512_set1_epi32(c->zero_point));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(differences), _mm512_set1_ps(c->scale));
}

template <typename From>
void store_some(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  const __mmask16 mask = mask_of(count);
  _mm512_mask_storeu_ps(y, mask, scaled(From::load(x, mask), c));
}

// Elements before the first vector of y that lies at a cache line; y lies at a multiple of its elements.
std::int64_t unaligned_elements(const std::byte* y) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(y) % 64 / 4);
}

template <typename From>
void dequantize(const std::byte* x, std::int64_t count, const DequantizeChannel* c, std::byte* y) {
  std::int64_t i = 0;
  if (count * 4 >= kStreamedBytes && reinterpret_cast<std::uintptr_t>(y) % 4 == 0) {
    i = unaligned_elements(y);
    store_some<From>(x, i, c, y);
    for (; i + 16 <= count; i += 16) {
      _mm512_stream_ps(reinterpret_cast<float*>(y + 4 * i), scaled(From::load(x + From::kSize * i, 0xFFFF), c));
    }
    _mm_sfence();
  }
  for (; i + 16 <= count; i += 16) {
    _mm512_storeu_ps(y + 4 * i, scaled(From::load(x + From::kSize * i, 0xFFFF), c));
  }
  if (i < count) store_some<From>(x + From::kSize * i, count - i, c, y + 4 * i);
}

#define QCONFORM_DOT(n) "vpdpbusd %%zmm14, %%zmm15, %%zmm" n "\n"

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_ZMM_SOURCES, QCONFORM_DOT);
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = {
    .x_bytes = 1,
    .signed_x = false,
    .group = 4,
    .unit = 4,
    .lanes = 16,
    .max_vectors = 4,
    .multiply = multiply,
    .multiply_requantized = {multiply_requantized<Vnni512, Vnni512Half, CorrectlyRounded>,
                             multiply_requantized<Vnni512, Vnni512Half, OrtF32>, nullptr},
    .takes_output_index = true,
    .widen = nullptr,
    .subtract_products = subtract_products,
    .depthwise = {kDepthwise64, kDepthwise32},
    .to_channels_last = to_channels_last,
    .to_channels_first = to_channels_first,
    .lines = &kLines};

const ElementwiseMicroKernels QCONFORM_TABLE(elementwise) = {
    .requantize_row = {},
    .requantize_tile = {tile<CorrectlyRounded>, tile<OrtF32>, tile<OnnxReference>},
    .quantize = {from_float32, from_int32},
    .dequantize = {dequantize<FromUint8>, dequantize<FromInt8>, dequantize<FromInt32>}};

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 64};

}  // namespace qconform::reference
