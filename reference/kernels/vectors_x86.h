// 256-bit registers of 8 sums, for the ISA files alone (see panel_product.h).
#pragma once

#include <immintrin.h>

#include "reference/kernels/depthwise_product.h"
#include "reference/kernels/requantize_fast.h"

namespace qconform::reference {
namespace {

// Requantization with 256 and with 512 bits shares this code, for the ISA files alone (internal linkage, see
// panel_product.h). Four vectors of sums are taken at a time: in fixed point, in float32, or in two halves of double.
// Every rounding to an integer but that to fixed point states its mode; comparisons are written so that NaN takes the
// branch that the reference takes (MAXPS and MINPS return their second operand).

constexpr int kNearestEven = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

// Four vectors of 32-bit integers become one of bytes by saturating narrowing, which clamps to the range of y.
constexpr int kQuad = 4;

// The 256-bit instruction sets share these operations, whatever their multiplication.
struct Words256 {
  using Vector = __m256i;
  using Weights = Vector;
  static constexpr int kLanes = 8;
  // 12 sums; the weights, an x and, where there is one, a product take the other registers.
  static constexpr int kRows[3] = {0, 12, 6};
  static constexpr int kWideSteps = 1;

  static Vector load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static Vector start(const std::int32_t* at, int v) { return load(at + v * kLanes); }
  static void store(void* to, Vector value) { _mm256_storeu_si256(static_cast<__m256i*>(to), value); }
  static void pin(Vector& value) { __asm__("" : "+x"(value)); }
  static Weights weights(const std::byte* from) { return load(from); }
  static Vector broadcast(const std::byte* from) {
    std::int32_t bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return _mm256_set1_epi32(bits);
  }
};

// VPDPBUSD. Dot::apply is the instruction, in the encoding of the file that includes this.
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
