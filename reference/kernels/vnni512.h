// VPDPBUSD on 512 bits, for the ISA files alone (see panel_product.h).
#pragma once

#include <immintrin.h>

#include "reference/kernels/requantized_product512.h"
#include "reference/kernels/vectors_x86.h"

namespace qconform::reference {
namespace {

struct Vnni512 {
  using Vector = __m512i;
  using Weights = Vector;
  static constexpr int kLanes = 16;
  // At most 24 sums, with the weights and an x in 32 registers.
  static constexpr int kRows[5] = {0, 12, 12, 8, 6};
  static constexpr int kWideSteps = 1;

  static Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static Vector start(const std::int32_t* at, int v) { return load(at + v * kLanes); }
  static void store(void* to, Vector value) { _mm512_storeu_si512(to, value); }
  static void pin(Vector& value) { __asm__("" : "+v"(value)); }
  static Weights weights(const std::byte* from) { return load(from); }
  static Vector broadcast(const std::byte* from) {
    std::int32_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  static Vector multiply_add(Vector sums, Vector x, Vector w) { return _mm512_dpbusd_epi32(sums, x, w); }

  static constexpr int kTaps = 4;
  static constexpr int kBlockVectors = 4;
  static Vector low_bytes(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
  static Vector high_bytes(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
  static Vector low_words(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
  static Vector high_words(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }
  static void interleave(const std::byte* const* taps, Vector* out) { interleave_bytes<Vnni512>(taps, out); }
  // A transposition of four vectors of four times 128 bits.
  static void separate(Vector* v) {
    const Vector front01 = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
    const Vector front23 = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const Vector back01 = _mm512_shuffle_i32x4(v[0], v[1], 0xEE);
    const Vector back23 = _mm512_shuffle_i32x4(v[2], v[3], 0xEE);
    v[0] = _mm512_shuffle_i32x4(front01, front23, 0x88);
    v[1] = _mm512_shuffle_i32x4(front01, front23, 0xDD);
    v[2] = _mm512_shuffle_i32x4(back01, back23, 0x88);
    v[3] = _mm512_shuffle_i32x4(back01, back23, 0xDD);
  }
};

// For 24 channels: half a vector takes half the time.
struct Vnni512Half : Vnni512 {
  static Vector multiply_add_half(Vector sums, Vector x, Vector w) {
    return _mm512_castsi256_si512(
        _mm256_dpbusd_epi32(_mm512_castsi512_si256(sums), _mm512_castsi512_si256(x), _mm512_castsi512_si256(w)));
  }
};

struct Evex256Dot {
  static __m256i apply(__m256i sums, __m256i x, __m256i w) { return _mm256_dpbusd_epi32(sums, x, w); }
};

constexpr DepthwiseBlock kDepthwise64 = {64,
                                         16,
                                         multiply_depthwise_block<Vnni512>,
                                         {multiply_depthwise_requantized<Vnni512, CorrectlyRounded>,
                                          multiply_depthwise_requantized<Vnni512, OrtF32>, nullptr}};
constexpr DepthwiseBlock kDepthwise32 = {32, 8, multiply_depthwise_block<Vnni256<Evex256Dot>>, {}};

void subtract_products(std::int32_t* sums, std::int64_t sums_stride, int positions, int vectors,
                       const std::int32_t* x_sums, const std::int32_t* w_zero_points) {
  for (int v = 0; v < vectors; ++v) {
    const __m512i zero_points = _mm512_loadu_si512(w_zero_points + v * 16);
    for (int p = 0; p < positions; ++p) {
      std::int32_t* const at = sums + p * sums_stride + v * 16;
      const __m512i product = _mm512_mullo_epi32(zero_points, _mm512_set1_epi32(x_sums[p]));
      _mm512_storeu_si512(at, _mm512_sub_epi32(_mm512_loadu_si512(at), product));
    }
  }
}

}  // namespace
}  // namespace qconform::reference
