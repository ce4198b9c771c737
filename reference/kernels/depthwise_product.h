// The inner loop of a depthwise convolution, for the ISA files alone, as panel_product.h is.
// Isa also has
//   kTaps, kBlockVectors                            of one group, and of one block of channels
//   interleave(const std::byte* const* taps, Vector* out)  the taps of each channel next to each other,
//                                                   interleaved within 128 bits
//   separate(Vector* sums)                          from the order of interleave to that of channels
#pragma once

#include "reference/kernels/panel_product.h"

namespace qconform::reference {
namespace {

// Four rows of bytes by four: byte i of each row next to each other, in the order that unpacking leaves. Isa has
//   low_bytes, high_bytes, low_words, high_words   of two vectors, unpacked within 128 bits
template <typename Isa>
inline __attribute__((always_inline)) void interleave_bytes(const std::byte* const* rows, typename Isa::Vector* out) {
  const auto low01 = Isa::low_bytes(Isa::load(rows[0]), Isa::load(rows[1]));
  const auto high01 = Isa::high_bytes(Isa::load(rows[0]), Isa::load(rows[1]));
  const auto low23 = Isa::low_bytes(Isa::load(rows[2]), Isa::load(rows[3]));
  const auto high23 = Isa::high_bytes(Isa::load(rows[2]), Isa::load(rows[3]));
  out[0] = Isa::low_words(low01, low23);
  out[1] = Isa::high_words(low01, low23);
  out[2] = Isa::low_words(high01, high23);
  out[3] = Isa::high_words(high01, high23);
}

// The taps of one group of the window at `row`.
template <typename Isa>
inline __attribute__((always_inline)) void load_group(const DepthwiseProduct* c, int group, const std::byte* row,
                                                      typename Isa::Vector* x) {
  const std::byte* taps[Isa::kTaps];
#pragma GCC unroll 4
  for (int t = 0; t < Isa::kTaps; ++t) taps[t] = row + c->tap_offsets[group * Isa::kTaps + t];
  Isa::interleave(taps, x);
}

template <typename Isa>
inline __attribute__((always_inline)) void add_group(typename Isa::Vector* sums, const typename Isa::Vector* x,
                                                     const typename Isa::Vector* weights) {
#pragma GCC unroll 4
  for (int v = 0; v < Isa::kBlockVectors; ++v) sums[v] = Isa::multiply_add(sums[v], x[v], weights[v]);
}

template <typename Isa>
inline __attribute__((always_inline)) void load_vectors(const void* from, typename Isa::Vector* to) {
#pragma GCC unroll 4
  for (int v = 0; v < Isa::kBlockVectors; ++v) {
    to[v] = Isa::load(static_cast<const std::byte*>(from) + v * Isa::kLanes * static_cast<int>(kStepBytes));
  }
}

// Bytes from group to group where all taps of a group have the same distance from those of the one before, as
// columns of a kernel have; else 0.
template <typename Isa>
std::int64_t column_bytes(const DepthwiseProduct* c) {
  const std::int64_t step = c->tap_offsets[Isa::kTaps] - c->tap_offsets[0];
  for (int i = Isa::kTaps; i < c->groups * Isa::kTaps; ++i) {
    if (c->tap_offsets[i] - c->tap_offsets[i - Isa::kTaps] != step) return 0;
  }
  return step;
}

// Three groups, as 3x3 kernels have: their weights stay in registers where these suffice. A window that is one or
// two columns further than the last takes over what they share.
template <typename Isa, typename Finish>
void multiply_three_groups(const DepthwiseProduct* c, Finish& finish) {
  constexpr int V = Isa::kBlockVectors;
  constexpr int kBytes = V * Isa::kLanes * static_cast<int>(kStepBytes);
  typename Isa::Vector w[3][V];
#pragma GCC unroll 3
  for (int g = 0; g < 3; ++g) load_vectors<Isa>(c->w + g * kBytes, w[g]);
  const std::int64_t step = column_bytes<Isa>(c);
  typename Isa::Vector x[3][V];
  for (int p = 0; p < c->positions; ++p) {
    const std::byte* const row = c->rows[p] + c->channel_offset;
    const std::int64_t moved = p == 0 || step == 0 ? 0 : c->rows[p] - c->rows[p - 1];
    if (moved != 0 && moved == step) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) x[0][v] = x[1][v];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) x[1][v] = x[2][v];
    } else {
      if (moved != 0 && moved == 2 * step) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) x[0][v] = x[2][v];
      } else {
        load_group<Isa>(c, 0, row, x[0]);
      }
      load_group<Isa>(c, 1, row, x[1]);
    }
    load_group<Isa>(c, 2, row, x[2]);
    typename Isa::Vector acc[V];
    load_vectors<Isa>(c->start, acc);
#pragma GCC unroll 3
    for (int g = 0; g < 3; ++g) add_group<Isa>(acc, x[g], w[g]);
    finish.finish(c, p, acc);
  }
}

// `fixed` groups, or as many as there are where that is 0.
template <typename Isa, int fixed, typename Finish>
void multiply_groups(const DepthwiseProduct* c, Finish& finish) {
  constexpr int V = Isa::kBlockVectors;
  constexpr int kBytes = V * Isa::kLanes * static_cast<int>(kStepBytes);
  const int groups = fixed > 0 ? fixed : c->groups;
  for (int p = 0; p < c->positions; ++p) {
    typename Isa::Vector acc[V];
    load_vectors<Isa>(c->start, acc);
#pragma GCC unroll 7
    for (int group = 0; group < groups; ++group) {
      typename Isa::Vector x[V];
      typename Isa::Vector w[V];
      load_group<Isa>(c, group, c->rows[p] + c->channel_offset, x);
      load_vectors<Isa>(c->w + group * kBytes, w);
      add_group<Isa>(acc, x, w);
    }
    finish.finish(c, p, acc);
  }
}

// Finish takes the sums of one position out of the registers, by lane:
//   void finish(const DepthwiseProduct* c, int position, Vector* sums)
template <typename Isa, typename Finish>
void multiply_depthwise_block(const DepthwiseProduct* c, Finish& finish) {
  switch (c->groups) {
    case 3: multiply_three_groups<Isa>(c, finish); return;
    case 5: multiply_groups<Isa, 5>(c, finish); return;  // 3x3 by pairs
    case 7: multiply_groups<Isa, 7>(c, finish); return;  // 5x5 by fours
    default: multiply_groups<Isa, 0>(c, finish); return;
  }
}

// Leaves the sums in memory, in the order of channels.
template <typename Isa>
struct StoredDepthwiseSums {
  inline __attribute__((always_inline)) void finish(const DepthwiseProduct* c, int position,
                                                    typename Isa::Vector* sums) {
    Isa::separate(sums);
#pragma GCC unroll 4
    for (int v = 0; v < Isa::kBlockVectors; ++v) {
      Isa::store(c->sums + (position * Isa::kBlockVectors + v) * Isa::kLanes, sums[v]);
    }
  }
};

template <typename Isa>
void multiply_depthwise_block(const DepthwiseProduct* c) {
  StoredDepthwiseSums<Isa> finish;
  multiply_depthwise_block<Isa>(c, finish);
}

}  // namespace
}  // namespace qconform::reference
