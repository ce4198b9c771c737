// The inner loop of a depthwise convolution, for the ISA files alone, as panel_product.h is.
// Isa also has
//   kTaps, kBlockVectors                            of one group, and of one block of channels
//   interleave(const std::byte* const* taps, Vector* out)  the taps of each channel next to each other,
//                                                   interleaved within 128 bits
//   separate(Vector* sums)                          from the order of interleave to that of channels
#pragma once

#include "reference/convolution/panel_product.h"

namespace qconform::reference {
namespace {

// The sums of one position, `groups` groups of taps. The weights of group g are at weights(g), V vectors.
template <typename Isa, typename Weights>
inline void multiply_depthwise_position(const DepthwiseProduct* c, int groups, Weights weights, const std::byte* row,
                                        std::int32_t* sums) {
  constexpr int V = Isa::kBlockVectors;
  typename Isa::Vector acc[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) acc[v] = Isa::load(c->start + v * Isa::kLanes);
#pragma GCC unroll 5
  for (int group = 0; group < groups; ++group) {
    const std::byte* taps[Isa::kTaps];
#pragma GCC unroll 4
    for (int t = 0; t < Isa::kTaps; ++t) taps[t] = row + c->tap_offsets[group * Isa::kTaps + t];
    typename Isa::Vector x[V];
    Isa::interleave(taps, x);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[v] = Isa::multiply_add(acc[v], x[v], weights(group, v));
  }
  Isa::separate(acc);
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) Isa::store(sums + v * Isa::kLanes, acc[v]);
}

// 3x3 kernels keep their weights in registers where these suffice.
template <typename Isa>
void multiply_depthwise_block(const DepthwiseProduct* c) {
  constexpr int V = Isa::kBlockVectors;
  constexpr int kBytes = Isa::kLanes * static_cast<int>(kStepBytes);
  constexpr int kGroups3x3 = (9 + Isa::kTaps - 1) / Isa::kTaps;
  if (c->groups == kGroups3x3) {
    typename Isa::Vector kept[kGroups3x3 * V];
#pragma GCC unroll 12
    for (int i = 0; i < kGroups3x3 * V; ++i) kept[i] = Isa::load(c->w + i * kBytes);
    for (int p = 0; p < c->positions; ++p) {
      multiply_depthwise_position<Isa>(
          c, kGroups3x3, [&](int group, int v) { return kept[group * V + v]; }, c->rows[p] + c->channel_offset,
          c->sums + p * V * Isa::kLanes);
    }
    return;
  }
  for (int p = 0; p < c->positions; ++p) {
    multiply_depthwise_position<Isa>(
        c, c->groups, [c](int group, int v) { return Isa::load(c->w + (group * V + v) * kBytes); },
        c->rows[p] + c->channel_offset, c->sums + p * V * Isa::kLanes);
  }
}

}  // namespace
}  // namespace qconform::reference
