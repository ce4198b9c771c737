// VPDPBUSD on 512 bits, for the ISA files alone (see panel_product.h).
#pragma once

#include <immintrin.h>

#include "reference/convolution/depthwise_product.h"

namespace qconform::reference {
namespace {

struct Vnni512 {
  using Vector = __m512i;
  using Weights = Vector;
  static constexpr int kLanes = 16;
  // At most 24 sums, with the weights and an x in 32 registers.
  static constexpr int kRows[5] = {0, 12, 12, 8, 6};

  static Vector load(const void* from) { return _mm512_loadu_si512(from); }
  static void store(void* to, Vector value) { _mm512_storeu_si512(to, value); }
  static Weights weights(const std::byte* from) { return load(from); }
  static Vector broadcast(const std::byte* from) {
    std::int32_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  static Vector multiply_add(Vector sums, Vector x, Vector w) { return _mm512_dpbusd_epi32(sums, x, w); }

  static constexpr int kTaps = 4;
  static constexpr int kBlockVectors = 4;
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  static void interleave(const std::byte* const* taps, Vector* out) {
    const Vector low01 = _mm512_unpacklo_epi8(load(taps[0]), load(taps[1]));
    const Vector high01 = _mm512_unpackhi_epi8(load(taps[0]), load(taps[1]));
    const Vector low23 = _mm512_unpacklo_epi8(load(taps[2]), load(taps[3]));
    const Vector high23 = _mm512_unpackhi_epi8(load(taps[2]), load(taps[3]));
    out[0] = _mm512_unpacklo_epi16(low01, low23);
    out[1] = _mm512_unpackhi_epi16(low01, low23);
    out[2] = _mm512_unpacklo_epi16(high01, high23);
    out[3] = _mm512_unpackhi_epi16(high01, high23);
  }
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

void multiply_depthwise(const DepthwiseProduct* product) {
  multiply_depthwise_block<Vnni512>(product);
}

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
