// Products that end in bytes of y, for the ISA files alone (see panel_product.h).
#pragma once

#include <immintrin.h>

#include <type_traits>

#include "reference/kernels/depthwise_product.h"
#include "reference/kernels/requantize512.h"
#include "reference/kernels/transpose512.h"

namespace qconform::reference {
namespace {

// Stores those of 16 bytes whose channels exist: the first 8 where `half`, otherwise all.
inline void store_channels(std::uint8_t* y, __m128i bytes, bool half) {
  if (half) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y), bytes);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
  }
}

// run(profile), with FixedPoint in place of CorrectlyRounded where the parameters allow it.
template <typename Profile, typename Run>
inline bool with_profile(const RequantizedOutput* out, Run run) {
  if constexpr (std::is_same_v<Profile, CorrectlyRounded>) {
    if (out->parameters->fixed_multiplier != nullptr) return run(FixedPoint{});
  }
  return run(Profile{});
}

// Output that float32 settles but for some quads. The sums of those are in memory; resolve() computes their
// bytes again when no sums are in registers any more, because a call would have them all saved.
template <typename Profile>
class QuadOutput {
 public:
  QuadOutput(const RequantizedOutput* out, int vectors)
      : out_(out),
        range_(range_of(out->parameters, kIsFixed ? 1 : vectors)),
        needs_exact_from_(kIsFixed ? _mm512_setzero_ps() : least_needs_exact_from(out->parameters, vectors)),
        half_(out->channels % kLanes != 0) {}

  [[nodiscard]] bool any_needs_exact() const { return needs_exact_.any(); }
  [[nodiscard]] bool half() const { return half_; }
  [[nodiscard]] const Range& range() const { return range_; }
  [[nodiscard]] std::uint8_t* y(std::int64_t output_index) const { return out_->y + output_index * out_->y_stride; }
  [[nodiscard]] std::int64_t y_stride() const { return out_->y_stride; }

  // Returns the multipliers of the channels, or of the lines.
  [[nodiscard]] const float* multiplier() const { return Profile::multiplier(out_->parameters); }

  // Values of a quad; false where they need exact arithmetic.
  inline __attribute__((always_inline)) bool apply(__m512i* values, const __m512* multiplier) const {
    return Profile::apply(values, multiplier, out_->parameters, range_, needs_exact_from_);
  }

  // The bytes of the quad of these vectors; one that is there twice is the same twice.
  __attribute__((noinline)) void resolve(const std::int32_t* sums, std::int64_t sums_stride,
                                         const std::int64_t* output_index, const int* channel) {
    Quad quad;
    for (int i = 0; i < kQuad; ++i) {
      quad.sums[i] = sums + output_index[i] * sums_stride + channel[i];
      quad.channel[i] = channel[i];
    }
    __m512i values[kQuad];
    std::uint32_t bits[kQuad];
    round_quad_exactly(&quad, out_->parameters, values, bits);
    alignas(64) std::uint8_t bytes[kQuad][kLanes];
    _mm512_store_si512(bytes, narrow(values, range_));
    for (int i = 0; i < kQuad; ++i) {
      store_channels(y(output_index[i]) + channel[i], _mm_load_si128(reinterpret_cast<const __m128i*>(bytes[i])),
                     channel[i] + kLanes > out_->channels);
      if (bits[i] != 0) needs_exact_.note(out_, output_index[i], std::uint64_t{bits[i]} << channel[i]);
    }
  }

  // The bytes of the line `output_index`, whose sums [kTilePositions] are of the channel with parameters number
  // `channel`.
  __attribute__((noinline)) void resolve_line(const std::int32_t* sums, std::int64_t output_index,
                                              std::int64_t channel) {
    double multiplier[kLanes];
    double needs_exact_from[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      multiplier[i] = out_->parameters->exact_multiplier[channel];
      needs_exact_from[i] = out_->parameters->wide_needs_exact_from[channel];
    }
    RequantizeChannels one = *out_->parameters;
    one.exact_multiplier = multiplier;
    one.wide_needs_exact_from = needs_exact_from;
    Quad quad{};
    for (int i = 0; i < kQuad; ++i) quad.sums[i] = sums + i * kLanes;
    __m512i values[kQuad];
    std::uint32_t bits[kQuad];
    round_quad_exactly(&quad, &one, values, bits);
    store_front(reinterpret_cast<std::byte*>(y(output_index)), narrow(values, range_), out_->channels);
    for (int i = 0; i < kQuad; ++i) {
      if (bits[i] != 0) needs_exact_.note(out_, output_index, std::uint64_t{bits[i]} << (i * kLanes));
    }
  }

 private:
  // Then neither the limit nor whether the range is bounded matters, and both take time for each tile.
  static constexpr bool kIsFixed = std::is_same_v<Profile, FixedPoint>;

  const RequantizedOutput* out_;
  Range range_;
  __m512 needs_exact_from_;
  bool half_;
  NeedsExact needs_exact_;
};

// Sums are requantized from the registers that they are in. Only where a quad needs exact arithmetic they go to memory.
template <typename Isa, typename Profile>
class RequantizedSums {
 public:
  RequantizedSums(const RequantizedOutput* out, int vectors)
      : out_(out, vectors), multiplier_(out_.multiplier()), is_dense_(out->y_stride == out->channels && !out_.half()) {}

  [[nodiscard]] bool any_needs_exact() const { return out_.any_needs_exact(); }

  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first, __m512i (&sums)[R][V]) {
#pragma GCC unroll 12
    for (int row = 0; row < R; row += kPositions<V>) {
      const auto offset = [row](int i) { return row + position_of<V>(i) < R ? position_of<V>(i) : R - 1 - row; };
      __m512i quad[kQuad];
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) quad[i] = sums[row + offset(i)][vector_of<V>(i)];
      finish_quad<V>(c, first + row, offset, quad);
    }
  }

  // Instead of finish, for one vector: four positions from `row` on, or what is left of them with the last repeated.
  inline __attribute__((always_inline)) void finish_some(const PanelProduct* c, int row, const __m512i* sums) {
    const int last = c->positions - row - 1;
    finish_quad<1>(
        c, row, [last](int i) { return i < last ? i : last; }, sums);
  }

  // Once all positions are finished.
  template <int V>
  void resolve_needs_exact(const PanelProduct* c) {
    while (unresolved_ != 0) resolve<V>(c);
  }

 private:
  // The quad of positions row + offset(i).
  template <int V, typename Offset>
  inline __attribute__((always_inline)) void finish_quad(const PanelProduct* c, int row, Offset offset,
                                                         const __m512i* sums) {
    __m512i values[kQuad];
    __m512 multiplier[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      values[i] = sums[i];
      multiplier[i] = _mm512_loadu_ps(multiplier_ + vector_of<V>(i) * kLanes);
    }
    const bool certain = out_.apply(values, multiplier);
    store<V>(c, row, offset, in_order(Profile::interleaved_bytes(values, out_.range())));
    if (__builtin_expect(certain, 1)) return;
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      unresolved_ |= std::uint64_t{1} << (row + offset(i));
      Isa::store(c->sums + output_index_of(c, row + offset(i)) * c->sums_stride + vector_of<V>(i) * kLanes, sums[i]);
    }
  }

  // A quad of the first unresolved rows.
  template <int V>
  void resolve(const PanelProduct* c) {
    std::int64_t rows[kPositions<V>];
    for (std::int64_t& row : rows) {
      row = unresolved_ != 0 ? output_index_of(c, __builtin_ctzll(unresolved_)) : rows[0];
      unresolved_ &= unresolved_ - 1;
    }
    std::int64_t output_index[kQuad];
    int channel[kQuad];
    for (int i = 0; i < kQuad; ++i) {
      output_index[i] = rows[position_of<V>(i)];
      channel[i] = vector_of<V>(i) * kLanes;
    }
    out_.resolve(c->sums, c->sums_stride, output_index, channel);
  }

  template <int V, typename Offset>
  inline __attribute__((always_inline)) void store(const PanelProduct* c, int row, Offset offset, __m512i bytes) {
    if (V == 4 && !out_.half()) {
      _mm512_storeu_si512(out_.y(output_index_of(c, row)), bytes);
      return;
    }
    if (V < 3 && is_dense_ && c->output_index == nullptr && offset(kQuad - 1) == kPositions<V> - 1) {
      _mm512_storeu_si512(out_.y(row), bytes);
      return;
    }
    store_piece<V, 0>(c, row + offset(0), _mm512_castsi512_si128(bytes));
    store_piece<V, 1>(c, row + offset(1), _mm512_extracti32x4_epi32(bytes, 1));
    store_piece<V, 2>(c, row + offset(2), _mm512_extracti32x4_epi32(bytes, 2));
    if (V != 3) store_piece<V, 3>(c, row + offset(3), _mm512_extracti32x4_epi32(bytes, 3));
  }

  template <int V, int i>
  inline __attribute__((always_inline)) void store_piece(const PanelProduct* c, int row, __m128i bytes) {
    store_channels(out_.y(output_index_of(c, row)) + vector_of<V>(i) * kLanes, bytes,
                   out_.half() && vector_of<V>(i) == V - 1);
  }

  QuadOutput<Profile> out_;
  const float* multiplier_;
  bool is_dense_;                 // y of consecutive positions lies without gaps
  std::uint64_t unresolved_ = 0;  // by row
};

// Interleaving and narrowing of bytes, both within 128 bits, undo each other: no permutation is left.
template <typename Isa, typename Profile>
class RequantizedDepthwiseSums {
 public:
  explicit RequantizedDepthwiseSums(const RequantizedOutput* out) : out_(out, kQuad) {
    __m512i lanes[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) lanes[i] = _mm512_loadu_si512(out_.multiplier() + i * kLanes);
    Isa::separate(lanes);  // its own inverse
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) multiplier_[i] = _mm512_castsi512_ps(lanes[i]);
  }

  // Once all positions are finished.
  [[nodiscard]] bool resolve_needs_exact(const DepthwiseProduct* c) {
    constexpr int kChannel[kQuad] = {0, kLanes, 2 * kLanes, 3 * kLanes};
    for (; unresolved_ != 0; unresolved_ &= unresolved_ - 1) {
      const std::int64_t position = __builtin_ctzll(unresolved_);
      const std::int64_t output_index[kQuad] = {position, position, position, position};
      out_.resolve(c->sums, kPanelChannels, output_index, kChannel);
    }
    return out_.any_needs_exact();
  }

  inline __attribute__((always_inline)) void finish(const DepthwiseProduct* c, int position, __m512i* sums) {
    __m512i values[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) values[i] = sums[i];
    if (__builtin_expect(!out_.apply(values, multiplier_), 0)) {
      unresolved_ |= std::uint64_t{1} << position;
      Isa::separate(sums);
#pragma GCC unroll 4
      for (int i = 0; i < kQuad; ++i) Isa::store(c->sums + position * kPanelChannels + i * kLanes, sums[i]);
    }
    store(position, Profile::interleaved_bytes(values, out_.range()));
  }

 private:
  inline __attribute__((always_inline)) void store(int position, __m512i bytes) {
    std::uint8_t* const y = out_.y(position);
    if (!out_.half()) {
      _mm512_storeu_si512(y, bytes);
      return;
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(bytes));
    store_channels(y + 32, _mm512_extracti32x4_epi32(bytes, 2), false);
    store_channels(y + 48, _mm512_extracti32x4_epi32(bytes, 3), true);
  }

  QuadOutput<Profile> out_;
  __m512 multiplier_[kQuad];
  std::uint64_t unresolved_ = 0;  // by position
};

template <typename Isa, typename Profile>
bool multiply_depthwise_requantized(const DepthwiseProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out, [&](auto profile) {
    RequantizedDepthwiseSums<Isa, decltype(profile)> finish(out);
    multiply_depthwise_block<Isa>(c, finish);
    return finish.resolve_needs_exact(c);
  });
}

// One vector of channels and so few steps of depth that all weights stay in registers: no loop over depth ends.
template <typename Isa, int steps, typename Finish>
__attribute__((noinline)) void multiply_shallow(const PanelProduct* c, Finish& finish) {
  typename Isa::Vector w[steps];
#pragma GCC unroll 16
  for (int s = 0; s < steps; ++s) w[s] = Isa::weights(c->w + s * Isa::kLanes * kStepBytes);
  const typename Isa::Vector start = Isa::load(c->start);
  for (int row = 0; row < c->positions; row += kQuad) {
    typename Isa::Vector sums[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      const int position = row + i < c->positions ? row + i : c->positions - 1;
      const std::byte* const x = c->rows[position] + c->run_offsets[0];
      sums[i] = start;
#pragma GCC unroll 16
      for (int s = 0; s < steps; ++s) sums[i] = Isa::multiply_add(sums[i], Isa::broadcast(x + s * kStepBytes), w[s]);
    }
    finish.finish_some(c, row, sums);
  }
}

template <typename Isa, typename Finish>
void multiply_one_vector(const PanelProduct* c, Finish& finish) {
  const std::int64_t steps = c->runs == 1 && c->start_stride == 0 ? c->run_bytes / kStepBytes : 0;
  switch (steps) {
    case 4: multiply_shallow<Isa, 4>(c, finish); break;
    case 8: multiply_shallow<Isa, 8>(c, finish); break;
    case 16: multiply_shallow<Isa, 16>(c, finish); break;
    default: multiply_vectors<Isa, 1>(c, finish); break;
  }
}

template <typename Isa, int V, typename Finish>
bool finish_vectors(const PanelProduct* c, Finish& finish) {
  V == 1 ? multiply_one_vector<Isa>(c, finish) : multiply_vectors<Isa, V>(c, finish);
  finish.template resolve_needs_exact<V>(c);
  return finish.any_needs_exact();
}

// HalfIsa: for panels of one and a half vectors.
template <typename Isa, typename HalfIsa, typename Profile>
bool multiply_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out, [&](auto profile) {
    RequantizedSums<Isa, decltype(profile)> finish(out, c->vectors);
    switch (c->vectors) {
      case 4: return finish_vectors<Isa, 4>(c, finish);
      case 3: return finish_vectors<Isa, 3>(c, finish);
      case 2:
        return out->channels < 2 * kLanes ? finish_vectors<HalfIsa, 2>(c, finish) : finish_vectors<Isa, 2>(c, finish);
      default: return finish_vectors<Isa, 1>(c, finish);
    }
  });
}

}  // namespace
}  // namespace qconform::reference
