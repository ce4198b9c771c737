// VPDPBUSD on 256 bits, for the ISA files alone (see panel_product.h). Dot::apply is the instruction,
// in the encoding of the file that includes this.
#pragma once

#include <immintrin.h>

#include "reference/kernels/depthwise_product.h"
#include "reference/kernels/words256.h"

namespace qconform::reference {
namespace {

template <typename Dot>
struct Vnni256 : Words256 {
  static Vector multiply_add(Vector sums, Vector x, Vector w) { return Dot::apply(sums, x, w); }

  static constexpr int kTaps = 4;
  static constexpr int kBlockVectors = 4;
  static Vector low_bytes(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  static Vector high_bytes(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  static Vector low_words(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  static Vector high_words(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
  static void interleave(const std::byte* const* taps, Vector* out) { interleave_bytes<Vnni256>(taps, out); }
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
