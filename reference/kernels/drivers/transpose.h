// Transposition of small blocks, in vectors that every processor of an architecture has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace qconform::reference {

/// Sixteen bytes in a register.
using ByteVector = std::uint8_t __attribute__((vector_size(16)));

[[nodiscard]] inline ByteVector load_bytes(const void* from) {
  ByteVector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

inline void store_bytes(void* to, ByteVector v) {
  std::memcpy(to, &v, sizeof v);
}

[[nodiscard]] inline ByteVector interleave_low(ByteVector a, ByteVector b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

[[nodiscard]] inline ByteVector interleave_high(ByteVector a, ByteVector b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

/// Pixels and channels that are transposed at a time.
inline constexpr int kTransposed = 16;

/// rows[i][j] becomes rows[j][i]: four perfect shuffles of the 256 bytes.
inline void transpose_16x16(ByteVector* rows) {
  ByteVector other[kTransposed];
#pragma GCC unroll 2
  for (int pass = 0; pass < 2; ++pass) {
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      other[2 * i] = interleave_low(rows[i], rows[i + 8]);
      other[2 * i + 1] = interleave_high(rows[i], rows[i + 8]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      rows[2 * i] = interleave_low(other[i], other[i + 8]);
      rows[2 * i + 1] = interleave_high(other[i], other[i + 8]);
    }
  }
}

}  // namespace qconform::reference
