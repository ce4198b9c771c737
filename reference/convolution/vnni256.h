// VPDPBUSD on 256 bits, for the ISA files alone (see panel_product.h). Dot::apply is the instruction,
// in the encoding of the file that includes this.
#pragma once

#include <immintrin.h>

#include "reference/convolution/depthwise_product.h"

namespace qconform::reference {
namespace {

template <typename Dot>
struct Vnni256 {
  using Vector = __m256i;
  using Weights = Vector;
  static constexpr int kLanes = 8;
  // 12 sums, with the weights and an x in 16 registers.
  static constexpr int kRows[3] = {0, 12, 6};

  static Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static void store(void* to, Vector value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
  static Weights weights(const std::byte* from) { return load(from); }
  static Vector broadcast(const std::byte* from) {
    std::int32_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return _mm256_set1_epi32(bits);
  }
  static Vector multiply_add(Vector sums, Vector x, Vector w) { return Dot::apply(sums, x, w); }

  static constexpr int kTaps = 4;
  static constexpr int kBlockVectors = 4;
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  static void interleave(const std::byte* const* taps, Vector* out) {
    const Vector low01 = _mm256_unpacklo_epi8(load(taps[0]), load(taps[1]));
    const Vector high01 = _mm256_unpackhi_epi8(load(taps[0]), load(taps[1]));
    const Vector low23 = _mm256_unpacklo_epi8(load(taps[2]), load(taps[3]));
    const Vector high23 = _mm256_unpackhi_epi8(load(taps[2]), load(taps[3]));
    out[0] = _mm256_unpacklo_epi16(low01, low23);
    out[1] = _mm256_unpackhi_epi16(low01, low23);
    out[2] = _mm256_unpacklo_epi16(high01, high23);
    out[3] = _mm256_unpackhi_epi16(high01, high23);
  }
  static void separate(Vector* v) {
    const Vector low01 = _mm256_permute2x128_si256(v[0], v[1], 0x20);
    const Vector low23 = _mm256_permute2x128_si256(v[2], v[3], 0x20);
    v[3] = _mm256_permute2x128_si256(v[2], v[3], 0x31);
    v[2] = _mm256_permute2x128_si256(v[0], v[1], 0x31);
    v[0] = low01;
    v[1] = low23;
  }
};

template <typename Dot>
void multiply(const PanelProduct* product) {
  multiply_panel<Vnni256<Dot>, 2>(product);
}

template <typename Dot>
void multiply_depthwise(const DepthwiseProduct* product) {
  multiply_depthwise_block<Vnni256<Dot>>(product);
}

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

template <typename Dot>
constexpr ConvolutionLeaves vnni256_leaves() {
  return {.x_bytes = 1,
          .group = 4,
          .unit = 4,
          .lanes = 8,
          .max_vectors = 2,
          .multiply = multiply<Dot>,
          .widen = nullptr,
          .subtract_products = subtract_products,
          .depthwise_channels = 32,
          .multiply_depthwise = multiply_depthwise<Dot>,
          .to_channels_last = nullptr,
          .to_channels_first = nullptr};
}

}  // namespace
}  // namespace qconform::reference
