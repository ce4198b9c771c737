// 256-bit registers of 8 sums, for the ISA files alone (see panel_product.h): what they share whatever
// the multiplication.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace qconform::reference {
namespace {

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

}  // namespace
}  // namespace qconform::reference
