// VPDPBUSD on 256 bits, for the ISA files alone (see panel_product.h). Dot::apply is the instruction,
// in the encoding of the file that includes this.
#pragma once

#include <immintrin.h>

#include "reference/convolution/depthwise_product.h"
#include "reference/convolution/words256.h"

namespace qconform::reference {
namespace {

template <typename Dot>
struct Vnni256 : Words256 {
  static Vector multiply_add(Vector sums, Vector x, Vector w) { return Dot::apply(sums, x, w); }

  static constexpr int kTaps = 4;
  static constexpr int kBlockVectors = 4;
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

}  // namespace
}  // namespace qconform::reference
