// Products whose lanes are positions, for the ISA files alone (see panel_product.h). A line is 64 positions of one
// channel, four vectors of sums in the order in which interleaving within 128 bits leaves positions. Narrowing to
// bytes works within the same 128 bits and puts them right, so that neither x nor y is ever transposed.
#pragma once

#include <immintrin.h>

#include "reference/convolution/requantized_product512.h"

namespace qconform::reference {
namespace {

constexpr int kLineVectors = 4;
constexpr std::int64_t kLineStep = std::int64_t{kTilePositions} * kStepBytes;  // bytes of a panel

// Isa with the operands of its product exchanged: w is broadcast, x has the lanes.
template <typename Isa>
struct Lines : Isa {
  using Vector = typename Isa::Vector;
  static Vector start(const std::int32_t* at, int /*v*/) { return _mm512_set1_epi32(*at); }
  static Vector multiply_add(Vector sums, Vector w, Vector x) { return Isa::multiply_add(sums, x, w); }
};

template <typename Isa>
void interleave_pixels(const PixelPanel* c) {
  alignas(64) static constexpr std::byte kNothing[kTilePositions] = {};
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(c->flip));
  for (std::int64_t channel = 0; channel < c->channels; channel += Isa::kTaps) {
    const std::byte* const first = c->from + channel * c->from_stride;
    std::byte* const to = c->to + channel / Isa::kTaps * kLineStep;
    for (std::int64_t tile = 0; tile < c->tiles; ++tile) {
      const std::byte* planes[Isa::kTaps];
#pragma GCC unroll 4
      for (int i = 0; i < Isa::kTaps; ++i) {
        planes[i] = channel + i < c->channels ? first + i * c->from_stride + tile * kTilePositions : kNothing;
      }
      typename Isa::Vector pixels[kLineVectors];
      Isa::interleave(planes, pixels);
#pragma GCC unroll 4
      for (int v = 0; v < kLineVectors; ++v) {
        Isa::store(to + tile * c->to_stride + v * Isa::kLanes * kStepBytes, _mm512_xor_si512(pixels[v], flip));
      }
    }
  }
}

// Leaves the sums in memory, in the order of positions.
template <typename Isa>
struct SeparatedLines {
  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first,
                                                    typename Isa::Vector (&sums)[R][V]) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      Isa::separate(sums[r]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) Isa::store(c->sums + (first + r) * c->sums_stride + v * Isa::kLanes, sums[r][v]);
    }
  }
  template <int V>
  void step(const PanelProduct* /*c*/) {}
  template <int V>
  void flush(const PanelProduct* /*c*/) {}
};

// As RequantizedSums: the sums of some lines are requantized while the products of the next are formed.
template <typename Isa, typename Profile>
class RequantizedLines {
 public:
  explicit RequantizedLines(const RequantizedOutput* out) : out_(out, kLineVectors), multiplier_(out_.multiplier()) {}

  [[nodiscard]] bool any_doubt() const { return out_.any_doubt(); }

  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first,
                                                    typename Isa::Vector (&sums)[R][V]) {
    stored_.template finish<V, R>(c, first, sums);
    ready_ = first + R;
  }

  template <int V>
  inline __attribute__((always_inline)) void step(const PanelProduct* c) {
    if (next_ < ready_) take_next(c);
  }

  template <int V>
  void flush(const PanelProduct* c) {
    while (next_ < ready_) take_next(c);
    for (; uncertain_ != 0; uncertain_ &= uncertain_ - 1) {
      const int line = __builtin_ctzll(uncertain_);
      std::int32_t* const sums = c->sums + line * c->sums_stride;
      separate_in_memory(sums);
      out_.resolve_line(sums, line, line);
    }
  }

 private:
  inline __attribute__((always_inline)) void take_next(const PanelProduct* c) {
    __m512i values[kQuad];
    __m512 multiplier[kQuad];
#pragma GCC unroll 4
    for (int i = 0; i < kQuad; ++i) {
      values[i] = _mm512_loadu_si512(c->sums + next_ * c->sums_stride + i * kLanes);
      multiplier[i] = _mm512_set1_ps(multiplier_[next_]);
    }
    // No branch to be mispredicted.
    uncertain_ |= std::uint64_t{!out_.apply(values, multiplier)} << next_;
    _mm512_storeu_si512(out_.y(next_), Profile::interleaved_bytes(values, out_.range()));
    ++next_;
  }

  static void separate_in_memory(std::int32_t* sums) {
    typename Isa::Vector v[kLineVectors];
    for (int i = 0; i < kLineVectors; ++i) v[i] = Isa::load(sums + i * kLanes);
    Isa::separate(v);
    for (int i = 0; i < kLineVectors; ++i) Isa::store(sums + i * kLanes, v[i]);
  }

  StoredSums<Isa> stored_;
  QuadOutput<Profile> out_;
  const float* multiplier_;      // by line
  int next_ = 0;                 // lines below have been requantized
  int ready_ = 0;                // lines below have their sums
  std::uint64_t uncertain_ = 0;  // by line
};

template <typename Isa>
void multiply_lines(const PanelProduct* c) {
  SeparatedLines<Lines<Isa>> finish;
  multiply_vectors<Lines<Isa>, kLineVectors>(c, finish);
}

template <typename Isa, typename Profile>
bool multiply_lines_requantized(const PanelProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out, [&](auto profile) {
    RequantizedLines<Lines<Isa>, decltype(profile)> finish(out);
    multiply_vectors<Lines<Isa>, kLineVectors>(c, finish);
    return finish.any_doubt();
  });
}

}  // namespace
}  // namespace qconform::reference
