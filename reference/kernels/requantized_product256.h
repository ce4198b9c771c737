// Products that end in bytes of y, for the ISA files alone (see panel_product.h): those of 256 bits.
#pragma once

#include <immintrin.h>

#include "reference/kernels/panel_product.h"
#include "reference/kernels/requantize256.h"

namespace qconform::reference {
namespace {

// Sums of V vectors of channels are requantized from the registers that they are in. Only where a quad needs exact
// arithmetic they go to memory; resolve_needs_exact() computes its bytes again when no sums are in registers any more,
// because a call would have them all saved.
template <typename Isa, typename Profile, int V>
class RequantizedSums {
 public:
  explicit RequantizedSums(const RequantizedOutput* out)
      : out_(out), columns_(out->parameters, 0, Profile::multiplier(out->parameters)) {}

  template <int vectors, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first, __m256i (&sums)[R][vectors]) {
    static_assert(vectors == V);
    std::uint8_t* y[R];
    locate<R>(c, first, y);
#pragma GCC unroll 16
    for (int row = 0; row < R; row += kPositions<V>) {
      // The last position stands in for those that are missing.
      const auto offset = [row](int i) { return row + i / V < R ? row + i / V : R - 1; };
      __m256i values[kQuad];
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) values[i] = sums[offset(i)][i % V];
      const bool certain = Profile::apply(values, columns_);
      store(y, offset, Profile::bytes(values, columns_.range));
      if (__builtin_expect(certain, 1)) continue;
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) {
        unresolved_ |= std::uint64_t{1} << (first + offset(i));
        Isa::store(c->sums + output_index_of(c, first + offset(i)) * c->sums_stride + i % V * kLanes,
                   sums[offset(i)][i % V]);
      }
    }
  }

  // Once all positions are finished. Returns whether anything needs exact arithmetic.
  bool resolve_needs_exact(const PanelProduct* c) {
    for (; unresolved_ != 0; unresolved_ &= unresolved_ - 1)
      resolve(c, output_index_of(c, __builtin_ctzll(unresolved_)));
    return needs_exact_.any();
  }

 private:
  // Locates the bytes of R positions before they are computed, and before stores that could change out_.
  template <int R>
  inline __attribute__((always_inline)) void locate(const PanelProduct* c, int first, std::uint8_t** y) const {
    const std::int64_t stride = out_->y_stride;
    if (c->output_index == nullptr) {
      y[0] = out_->y + first * stride;
#pragma GCC unroll 16
      for (int r = 1; r < R; ++r) y[r] = y[r - 1] + stride;
      return;
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) y[r] = out_->y + c->output_index[first + r] * stride;
  }

  static void store_position(std::uint8_t* y, __m128i bytes) {
    auto* const to = reinterpret_cast<__m128i*>(y);
    V == 2 ? _mm_storeu_si128(to, bytes) : _mm_storel_epi64(to, bytes);
  }

  template <typename Offset>
  static inline __attribute__((always_inline)) void store(std::uint8_t* const* y, Offset offset, __m256i bytes) {
    const __m128i low = _mm256_castsi256_si128(bytes);
    const __m128i high = _mm256_extracti128_si256(bytes, 1);
    store_position(y[offset(0)], low);
    if (V == 1) store_position(y[offset(1)], _mm_unpackhi_epi64(low, low));
    store_position(y[offset(2)], high);
    if (V == 1) store_position(y[offset(3)], _mm_unpackhi_epi64(high, high));
  }

  __attribute__((noinline)) void resolve(const PanelProduct* c, std::int64_t output_index) {
    __m256i values[kQuad];
    std::uint64_t needs_exact = 0;
    for (int i = 0; i < kQuad; ++i) {
      const int channel = i % V * kLanes;
      std::uint32_t bits = 0;
      values[i] =
          round_exactly(Isa::load(c->sums + output_index * c->sums_stride + channel), out_->parameters, channel, &bits);
      needs_exact |= std::uint64_t{bits} << channel;
    }
    store_position(out_->y + output_index * out_->y_stride, _mm256_castsi256_si128(narrow(values, columns_.range)));
    if (needs_exact != 0) needs_exact_.note(out_, output_index, needs_exact);
  }

  const RequantizedOutput* out_;
  Columns<V> columns_;
  std::uint64_t unresolved_ = 0;  // by row
  NeedsExact needs_exact_;
};

template <typename Isa, typename Profile, int V>
bool multiply_vectors_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  RequantizedSums<Isa, Profile, V> finish(out);
  multiply_vectors<Isa, V>(c, finish);
  return finish.resolve_needs_exact(c);
}

template <typename Isa, typename Profile>
bool multiply_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out->parameters, [&](auto profile) {
    using Used = decltype(profile);
    return c->vectors == 2 ? multiply_vectors_requantized<Isa, Used, 2>(c, out)
                           : multiply_vectors_requantized<Isa, Used, 1>(c, out);
  });
}

}  // namespace
}  // namespace qconform::reference
