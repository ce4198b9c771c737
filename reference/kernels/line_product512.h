// Products whose lanes are positions, for the ISA files alone (see panel_product.h). A line is 64 positions of one
// channel, four vectors of sums in the order in which interleaving within 128 bits leaves positions. Narrowing to
// bytes works within the same 128 bits and puts them right, so that neither x nor y is ever transposed.
#pragma once

#include <immintrin.h>

#include "reference/kernels/requantized_product512.h"

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
};

// As RequantizedSums.
template <typename Isa, typename Profile>
class RequantizedLines {
 public:
  explicit RequantizedLines(const RequantizedOutput* out) : out_(out, kLineVectors), multiplier_(out_.multiplier()) {}

  [[nodiscard]] bool any_doubt() const { return out_.any_doubt(); }

  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first,
                                                    typename Isa::Vector (&sums)[R][V]) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) finish_line(c, first + r, sums[r]);
  }

  // Once all lines are finished.
  void resolve_doubt(const PanelProduct* c) {
    for (; uncertain_ != 0; uncertain_ &= uncertain_ - 1) {
      const int line = __builtin_ctzll(uncertain_);
      out_.resolve_line(c->sums + line * c->sums_stride, line, line);
    }
  }

 private:
  inline __attribute__((always_inline)) void finish_line(const PanelProduct* c, int line, typename Isa::Vector* sums) {
    const __m512 scale = _mm512_set1_ps(multiplier_[line]);
    const __m512 multiplier[kQuad] = {scale, scale, scale, scale};
    __m512i values[kQuad] = {sums[0], sums[1], sums[2], sums[3]};
    const bool certain = out_.apply(values, multiplier);
    _mm512_storeu_si512(out_.y(line), Profile::interleaved_bytes(values, out_.range()));
    if (__builtin_expect(certain, 1)) return;
    uncertain_ |= std::uint64_t{1} << line;
    Isa::separate(sums);
#pragma GCC unroll 4
    for (int v = 0; v < kLineVectors; ++v) Isa::store(c->sums + line * c->sums_stride + v * kLanes, sums[v]);
  }

  QuadOutput<Profile> out_;
  const float* multiplier_;      // by line
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
    finish.resolve_doubt(c);
    return finish.any_doubt();
  });
}

}  // namespace
}  // namespace qconform::reference
