// USMMLA: a 2x8 matrix of uint8 times an 8x2 matrix of int8, added to four 32-bit sums modulo 2^32 (rule C17).
// Each of those is a sum of eight products, at most 8 * 255 * 128.
//
//   x    two positions, eight bytes of depth each
//   w    two channels, eight bytes of depth each
//   sums [position 0, channel 0], [0, 1], [1, 0], [1, 1]
#include <arm_neon.h>

#include "reference/kernels/arm_bytes.h"
#include "reference/kernels/panel_product.h"
#include "reference/kernels/peak_loop.h"

namespace qconform::reference {
namespace {

constexpr int kPairLanes = 4;                   // channels of a vector of sums, as the panel counts them
constexpr std::int64_t kPairStep = 8;           // bytes of depth of one product
constexpr int kMostPairs[5] = {0, 6, 5, 3, 3};  // pairs of positions: at most 24 sums, weights and x in 32 registers

int32x4_t load_start(const PanelProduct* c, int row0, int row1, int channel) {
  return vcombine_s32(vld1_s32(c->start + row0 * c->start_stride + channel),
                      vld1_s32(c->start + row1 * c->start_stride + channel));
}

// Sixteen bytes of each of two positions become two pairs of eight.
void load_pairs(const std::byte* row0, const std::byte* row1, uint8x16_t* pairs) {
  const auto bytes = [](const std::byte* row) {
    return vreinterpretq_u64_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(row)));
  };
  const uint64x2_t x0 = bytes(row0);
  const uint64x2_t x1 = bytes(row1);
  pairs[0] = vreinterpretq_u8_u64(vzip1q_u64(x0, x1));
  pairs[1] = vreinterpretq_u8_u64(vzip2q_u64(x0, x1));
}

// Eight bytes of depth of all channels.
template <int P, int M>
inline __attribute__((always_inline)) void add_products(int32x4_t (&acc)[P][M], const uint8x16_t* inputs,
                                                        const std::byte* w) {
  static_assert(M % 2 == 0);
#pragma GCC unroll 4
  for (int m = 0; m < M; m += 2) {
    const int8x16_t weights0 = vld1q_s8(reinterpret_cast<const std::int8_t*>(w + m * 16));
    const int8x16_t weights1 = vld1q_s8(reinterpret_cast<const std::int8_t*>(w + m * 16 + 16));
#pragma GCC unroll 6
    for (int p = 0; p < P; ++p) acc[p][m] = vusmmlaq_s32(acc[p][m], inputs[p], weights0);
#pragma GCC unroll 6
    for (int p = 0; p < P; ++p) acc[p][m + 1] = vusmmlaq_s32(acc[p][m + 1], inputs[p], weights1);
  }
}

uint8x16_t load_pair(const std::byte* row0, const std::byte* row1) {
  return vcombine_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(row0)),
                     vld1_u8(reinterpret_cast<const std::uint8_t*>(row1)));
}

// P pairs of positions from `first` on, of which the last may be one position twice, and V vectors of channels.
template <int V, int P>
void multiply_pairs(const PanelProduct* c, int first, int count) {
  constexpr int kChannelPairs = V * kPairLanes / 2;
  const auto row = [&](int i) { return first + (i < count ? i : count - 1); };
  int32x4_t acc[P][kChannelPairs];
#pragma GCC unroll 6
  for (int p = 0; p < P; ++p) {
#pragma GCC unroll 8
    for (int m = 0; m < kChannelPairs; ++m) acc[p][m] = load_start(c, row(2 * p), row(2 * p + 1), 2 * m);
  }
  const std::byte* w = c->w;
  for (std::int64_t run = 0; run < c->runs; ++run) {
    const std::byte* x[2 * P];
#pragma GCC unroll 12
    for (int i = 0; i < 2 * P; ++i) x[i] = c->rows[row(i)] + c->run_offsets[run];
    std::int64_t at = 0;
    for (; at + 2 * kPairStep <= c->run_bytes; at += 2 * kPairStep) {
      uint8x16_t inputs[2][P];
#pragma GCC unroll 6
      for (int p = 0; p < P; ++p) {
        uint8x16_t pairs[2];
        load_pairs(x[2 * p] + at, x[2 * p + 1] + at, pairs);
        inputs[0][p] = pairs[0];
        inputs[1][p] = pairs[1];
      }
      add_products(acc, inputs[0], w);
      add_products(acc, inputs[1], w + V * kPairLanes * kPairStep);
      w += 2 * V * kPairLanes * kPairStep;
    }
    if (at < c->run_bytes) {
      uint8x16_t inputs[P];
#pragma GCC unroll 6
      for (int p = 0; p < P; ++p) inputs[p] = load_pair(x[2 * p] + at, x[2 * p + 1] + at);
      add_products(acc, inputs, w);
      w += V * kPairLanes * kPairStep;
    }
    w += c->w_skip;
  }
#pragma GCC unroll 6
  for (int p = 0; p < P; ++p) {
    std::int32_t* const sums0 = c->sums + output_index_of(c, row(2 * p)) * c->sums_stride;
    std::int32_t* const sums1 = c->sums + output_index_of(c, row(2 * p + 1)) * c->sums_stride;
#pragma GCC unroll 8
    for (int m = 0; m < kChannelPairs; ++m) {
      vst1_s32(sums0 + 2 * m, vget_low_s32(acc[p][m]));
      vst1_s32(sums1 + 2 * m, vget_high_s32(acc[p][m]));
    }
  }
}

template <int V, int P>
void multiply_pair_count(const PanelProduct* c, int first, int count) {
  if constexpr (P > 1) {
    if ((count + 1) / 2 < P) {
      multiply_pair_count<V, P - 1>(c, first, count);
      return;
    }
  }
  multiply_pairs<V, P>(c, first, count);
}

template <int V>
void multiply_by_pairs(const PanelProduct* c) {
  if constexpr (V > 1) {
    if (c->vectors < V) {
      multiply_by_pairs<V - 1>(c);
      return;
    }
  }
  constexpr int kRows = 2 * kMostPairs[V];
  for (int first = 0; first < c->positions; first += kRows) {
    const int rest = c->positions - first;
    multiply_pair_count<V, kMostPairs[V]>(c, first, rest < kRows ? rest : kRows);
  }
}

void multiply(const PanelProduct* product) {
  multiply_by_pairs<4>(product);
}

// SMMLA, as fast as USMMLA, by its code, which every assembler takes: smmla vN.4s, v30.16b, v31.16b.
#define QCONFORM_SMMLA(n) ".inst 0x4e9fa7c0 + " n "\n"

void run_peak(std::uint64_t rounds) {
  QCONFORM_PEAK_LOOP(rounds, QCONFORM_SMMLA);
}

}  // namespace

const ConvolutionMicroKernels QCONFORM_TABLE(convolution) = byte_micro_kernels(false, 8, multiply);

const PeakLoop QCONFORM_TABLE(peak_loop) = {run_peak, kPeakChains * 32};

}  // namespace qconform::reference
