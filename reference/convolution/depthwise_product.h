// The inner loop of a depthwise convolution, for the ISA files alone, as panel_product.h is.
// Isa also has
//   kTaps, kBlockVectors                            of one group, and of one block of channels
//   interleave(const std::byte* const* taps, Vector* out)  the taps of each channel next to each other,
//                                                   interleaved within 128 bits
//   separate(Vector* sums)                          from the order of interleave to that of channels
//   add(Vector, Vector)
#pragma once

#include "reference/convolution/panel_product.h"

namespace qconform::reference {
namespace {

// One position. kGroups is c->groups where that is known, or 0.
template <typename Isa, int kGroups>
void multiply_depthwise_position(const DepthwiseProduct* c, const std::byte* row, std::int32_t* sums) {
  constexpr int V = Isa::kBlockVectors;
  constexpr int kBytes = Isa::kLanes * static_cast<int>(kStepBytes);
  typename Isa::Vector acc[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) acc[v] = Isa::zero();
  const int groups = kGroups > 0 ? kGroups : c->groups;
  const std::byte* w = c->w;
#pragma GCC unroll 7
  for (int group = 0; group < groups; ++group, w += V * kBytes) {
    const std::byte* taps[Isa::kTaps];
#pragma GCC unroll 4
    for (int t = 0; t < Isa::kTaps; ++t) taps[t] = row + c->tap_offsets[group * Isa::kTaps + t];
    typename Isa::Vector x[V];
    Isa::interleave(taps, x);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[v] = Isa::multiply_add(acc[v], x[v], Isa::load(w + v * kBytes));
  }
  Isa::separate(acc);
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    Isa::store(sums + v * Isa::kLanes, Isa::add(acc[v], Isa::load(c->start + v * Isa::kLanes)));
  }
}

template <typename Isa, int kGroups>
void multiply_depthwise_positions(const DepthwiseProduct* c) {
  for (int p = 0; p < c->positions; ++p) {
    multiply_depthwise_position<Isa, kGroups>(c, c->rows[p] + c->channel_offset,
                                              c->sums + p * Isa::kBlockVectors * Isa::kLanes);
  }
}

// 3x3 and 5x5 kernels have loops of known length.
template <typename Isa>
void multiply_depthwise_block(const DepthwiseProduct* c) {
  constexpr int k3x3 = (9 + Isa::kTaps - 1) / Isa::kTaps;
  if (c->groups == k3x3) {
    multiply_depthwise_positions<Isa, k3x3>(c);
  } else {
    multiply_depthwise_positions<Isa, 0>(c);
  }
}

}  // namespace
}  // namespace qconform::reference
