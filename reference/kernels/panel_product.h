// The inner loop of a convolution, for the ISA files alone: they give it the vectors and the
// instructions of one instruction set.
//
// Everything here has internal linkage, so that each ISA file gets its own copy (docs/kernels.md).
// Isa has:
//   Vector, kLanes   32-bit sums
//   kRows[v]         positions at a time in a panel of v vectors: as many as the registers hold
//   load, store      a Vector of sums
//   start(at, v)     what the v-th Vector of sums of a position starts with
//   weights(w)       four bytes of depth for each channel of a vector
//   broadcast(x)     four bytes of depth for all channels
//   multiply_add(sums, inputs, weights)
//   pin(sums)        keeps a Vector in a register at this point
//   kWideSteps       steps of depth whose bytes of x one load takes, for instructions that multiply by a part of a
//                    register; 1 where there are none. Beyond 1 also
//   load_wide(x)     the bytes of all of them
//   multiply_add_part<s>(sums, inputs, weights)   the bytes of step s
// Optional, for panels whose last vector of channels is full by half:
//   multiply_add_half   multiply_add of the first half; the rest of the sums is any value
// Finish takes the sums out of the registers:
//   template <int V, int R> void finish(const PanelProduct* c, int first, Vector (&sums)[R][V])
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {
namespace {

// Four bytes of x meet the same four bytes' worth of depth of every channel of the panel.
constexpr std::int64_t kStepBytes = 4;

inline std::int64_t output_index_of(const PanelProduct* c, int row) {
  return c->output_index == nullptr ? row : c->output_index[row];
}

// One step of a wide load: the weights of a vector are in a register no longer than they are multiplied.
template <typename Isa, int V, int R, int step, typename Inputs>
inline __attribute__((always_inline)) void multiply_part(const Inputs* inputs, const std::byte* w,
                                                         typename Isa::Vector (&acc)[R][V]) {
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    const auto weights = Isa::weights(w + (step * V + v) * Isa::kLanes * kStepBytes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[r][v] = Isa::template multiply_add_part<step>(acc[r][v], inputs[r], weights);
  }
}

// As much of a run as wide loads take. Moves w behind it, and returns how many bytes that are.
template <typename Isa, int V, int R>
inline __attribute__((always_inline)) std::int64_t multiply_wide(const std::byte* const* x, std::int64_t run_bytes,
                                                                 const std::byte*& w,
                                                                 typename Isa::Vector (&acc)[R][V]) {
  constexpr std::int64_t kBytes = Isa::kWideSteps * kStepBytes;
  static_assert(Isa::kWideSteps == 4);
  std::int64_t at = 0;
  for (; at + kBytes <= run_bytes; at += kBytes) {
    decltype(Isa::load_wide(x[0])) inputs[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) inputs[r] = Isa::load_wide(x[r] + at);
    multiply_part<Isa, V, R, 0>(inputs, w, acc);
    multiply_part<Isa, V, R, 1>(inputs, w, acc);
    multiply_part<Isa, V, R, 2>(inputs, w, acc);
    multiply_part<Isa, V, R, 3>(inputs, w, acc);
    w += Isa::kWideSteps * V * Isa::kLanes * kStepBytes;
  }
  return at;
}

// Whether an Isa multiplies only half of a panel's last vector of channels.
template <typename Isa>
concept HasHalf = requires {
  &Isa::multiply_add_half;
};

// Multiplies and adds for vector number v of V, for the last one by halves if the Isa can.
template <typename Isa, int V, typename Inputs>
inline __attribute__((always_inline)) typename Isa::Vector multiply_add_at(int v, typename Isa::Vector sums,
                                                                           Inputs inputs,
                                                                           const typename Isa::Weights& weights) {
  if constexpr (HasHalf<Isa>) {
    if (v == V - 1) return Isa::multiply_add_half(sums, inputs, weights);
  }
  return Isa::multiply_add(sums, inputs, weights);
}

// The sums of R positions and V vectors of channels stay in registers over the whole depth.
template <typename Isa, int V, int R, typename Finish>
__attribute__((noinline)) void multiply_rows(const PanelProduct* c, int first, Finish& finish) {
  using Vector = typename Isa::Vector;
  const std::byte* const* const rows = c->rows + first;
  const std::int32_t* const start = c->start + first * c->start_stride;
  Vector acc[R][V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) acc[0][v] = Isa::start(start, v);
#pragma GCC unroll 16
  for (int r = 1; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) acc[r][v] = acc[0][v];
  }
  if (c->start_stride != 0) {
#pragma GCC unroll 16
    for (int r = 1; r < R; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[r][v] = Isa::start(start + r * c->start_stride, v);
    }
  }
  const std::byte* w = c->w;
  const std::int64_t run_bytes = c->run_bytes;
  for (std::int64_t run = 0; run < c->runs; ++run) {
    const std::byte* x[R];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) x[r] = rows[r] + c->run_offsets[run];
    std::int64_t at = 0;
    if constexpr (Isa::kWideSteps > 1) at = multiply_wide<Isa, V, R>(x, run_bytes, w, acc);
    for (; at < run_bytes; at += kStepBytes) {
      typename Isa::Weights weights[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) weights[v] = Isa::weights(w + v * Isa::kLanes * kStepBytes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const auto inputs = Isa::broadcast(x[r] + at);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) acc[r][v] = multiply_add_at<Isa, V>(v, acc[r][v], inputs, weights[v]);
      }
      w += V * Isa::kLanes * kStepBytes;
    }
    w += c->w_skip;
  }
  // Ends the registers' use by the loop: what finish does with them would otherwise spill some inside of it.
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) Isa::pin(acc[r][v]);
  }
  finish.template finish<V, R>(c, first, acc);
}

// Leaves the sums in memory.
template <typename Isa>
struct StoredSums {
  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first,
                                                    typename Isa::Vector (&sums)[R][V]) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      std::int32_t* const to = c->sums + output_index_of(c, first + r) * c->sums_stride;
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) Isa::store(to + v * Isa::kLanes, sums[r][v]);
    }
  }
};

// Writes a product's bits to RequantizedOutput::needs_exact, only once there is anything to write.
class NeedsExact {
 public:
  [[nodiscard]] bool any() const { return any_; }

  void note(const RequantizedOutput* out, std::int64_t output_index, std::uint64_t bits) {
    if (!any_) {
      for (int p = 0; p < kTilePositions; ++p) out->needs_exact[p] = 0;
      any_ = true;
    }
    out->needs_exact[output_index] |= bits;
  }

 private:
  bool any_ = false;
};

// R down to 1.
template <typename Isa, int V, int R, typename Finish>
void multiply_count(const PanelProduct* c, int first, int count, Finish& finish) {
  if constexpr (R > 1) {
    if (count < R) {
      multiply_count<Isa, V, R - 1>(c, first, count, finish);
      return;
    }
  }
  multiply_rows<Isa, V, R>(c, first, finish);
}

// Pieces of nearly the same size: a short one would cost as much time for its weights.
template <typename Isa, int V, typename Finish>
void multiply_vectors(const PanelProduct* c, Finish& finish) {
  constexpr int kRows = Isa::kRows[V];
  const int pieces = (c->positions + kRows - 1) / kRows;
  for (int i = 0, first = 0; i < pieces; ++i) {
    const int end = c->positions * (i + 1) / pieces;
    multiply_count<Isa, V, kRows>(c, first, end - first, finish);
    first = end;
  }
}

template <typename Isa, int V, typename Finish>
void multiply_panel(const PanelProduct* c, Finish& finish) {
  if constexpr (V > 1) {
    if (c->vectors < V) {
      multiply_panel<Isa, V - 1>(c, finish);
      return;
    }
  }
  multiply_vectors<Isa, V>(c, finish);
}

// With the sums in memory.
template <typename Isa, int V>
void multiply_panel(const PanelProduct* c) {
  StoredSums<Isa> finish;
  multiply_panel<Isa, V>(c, finish);
}

}  // namespace
}  // namespace qconform::reference
