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

  [[nodiscard]] bool any_needs_exact() const { return out_.any_needs_exact(); }

  template <int V, int R>
  inline __attribute__((always_inline)) void finish(const PanelProduct* c, int first,
                                                    typename Isa::Vector (&sums)[R][V]) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) finish_line(c, first + r, sums[r]);
  }

  // Once all lines are finished.
  void resolve_needs_exact(const PanelProduct* c) {
    for (; unresolved_ != 0; unresolved_ &= unresolved_ - 1) {
      const int line = __builtin_ctzll(unresolved_);
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
    unresolved_ |= std::uint64_t{1} << line;
    Isa::separate(sums);
#pragma GCC unroll 4
    for (int v = 0; v < kLineVectors; ++v) Isa::store(c->sums + line * c->sums_stride + v * kLanes, sums[v]);
  }

  QuadOutput<Profile> out_;
  const float* multiplier_;       // by line
  std::uint64_t unresolved_ = 0;  // by line
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
    finish.resolve_needs_exact(c);
    return finish.any_needs_exact();
  });
}

// Depthwise products of a row: four neighbouring taps of 64 positions take one shuffle within 128 bits for each vector
// of sums.

// The columns under four taps of 64 positions: bytes 16 l + 4 v + i, of a stride of 1, for lane i of the 128 bits l
// of vector v.
template <int stride>
class PlaneColumns {
 public:
  // `first`: the column under the first of the taps at position 0.
  PlaneColumns(std::int64_t first, std::int64_t columns) : first_(first) {
    for (int i = 0; i < kLoads; ++i) {
      const auto border = [&](std::int64_t at) {
        const std::int64_t distance = at - first - offset(i);
        return distance < 0 ? 0 : distance > 64 ? 64 : static_cast<int>(distance);
      };
      inside_[i] = first_bytes(border(columns)) & ~first_bytes(border(0));
    }
  }

  // The taps in one row, all padding where that is null.
  inline __attribute__((always_inline)) void load(const std::byte* row, __m512i padding, __m512i flip,
                                                  __m512i* taps) const {
    __m512i bytes[kLoads];
    const __mmask64 none = row == nullptr ? 0 : ~__mmask64{0};
    const std::byte* const from = row == nullptr ? kNowhere : row + first_;
#pragma GCC unroll 4
    for (int i = 0; i < kLoads; ++i) {
      bytes[i] = _mm512_mask_loadu_epi8(padding, inside_[i] & none, from + (row == nullptr ? 0 : offset(i)));
      bytes[i] = _mm512_xor_si512(bytes[i], flip);
    }
    arrange(bytes, taps);
  }

 private:
  static constexpr int kLoads = 2 * stride;
  static constexpr std::byte kNowhere[1] = {};

  static constexpr std::int64_t offset(int load) {
    return stride == 1 ? 4 * load : load % 2 * 64 + load / 2 * 8;
  }

  // Bytes first, first + stride, ... for the four lanes of 128 bits, with the three that follow each of them.
  static __m512i pick(__m512i bytes, int first) {
    const __m512i taps = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 1, 2, 3, stride, stride + 1, stride + 2, stride + 3, 2 * stride, 2 * stride + 1,
                      2 * stride + 2, 2 * stride + 3, 3 * stride, 3 * stride + 1, 3 * stride + 2, 3 * stride + 3));
    return _mm512_shuffle_epi8(bytes, _mm512_add_epi8(taps, _mm512_set1_epi8(static_cast<char>(first))));
  }

  static inline __attribute__((always_inline)) void arrange(const __m512i* bytes, __m512i* taps) {
    if constexpr (stride == 1) {
      taps[0] = pick(bytes[0], 0);
      taps[1] = pick(bytes[0], 4);
      taps[2] = pick(bytes[0], 8);
      taps[3] = pick(bytes[1], 8);  // bytes beyond 15 are in the next 128 bits
    } else {
      taps[0] = pick(_mm512_shuffle_i32x4(bytes[0], bytes[1], 0x88), 0);
      taps[1] = pick(_mm512_shuffle_i32x4(bytes[2], bytes[3], 0x88), 0);
      taps[2] = pick(_mm512_shuffle_i32x4(bytes[0], bytes[1], 0xDD), 0);
      taps[3] = pick(_mm512_shuffle_i32x4(bytes[2], bytes[3], 0xDD), 0);
    }
  }

  std::int64_t first_;
  __mmask64 inside_[kLoads];
};

inline const std::byte* plane_row(const PlaneProduct* c, int line, int kernel_row) {
  const std::int64_t row = c->first_row + line * c->row_stride + kernel_row * c->row_dilation;
  return row < 0 || row >= c->rows ? nullptr : c->x + row * c->columns;
}

inline __m512i plane_weights(const PlaneProduct* c, std::int64_t group) {
  std::int32_t bits;
  __builtin_memcpy(&bits, c->w + group * kStepBytes, sizeof bits);
  return _mm512_set1_epi32(bits);
}

template <typename Isa>
inline __attribute__((always_inline)) void add_taps(__m512i* sums, const __m512i* taps, __m512i w) {
#pragma GCC unroll 4
  for (int v = 0; v < kLineVectors; ++v) sums[v] = Isa::multiply_add(sums[v], taps[v], w);
}

// 3x3: a line takes over the rows that it shares with the one before.
template <typename Isa, int stride, typename Finish>
void multiply_plane_3x3(const PlaneProduct* c, Finish& finish) {
  constexpr int kRows = 3;
  const PlaneColumns<stride> columns(c->first_column, c->columns);
  const __m512i padding = _mm512_set1_epi8(static_cast<char>(c->padding));
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(c->flip));
  const __m512i start = _mm512_set1_epi32(c->start);
  __m512i w[kRows];
#pragma GCC unroll 3
  for (int r = 0; r < kRows; ++r) w[r] = plane_weights(c, r);
  __m512i x[kRows][kLineVectors];
#pragma GCC unroll 3
  for (int r = stride; r < kRows; ++r) columns.load(plane_row(c, 0, r - stride), padding, flip, x[r]);
  for (int line = 0; line < c->lines; ++line) {
#pragma GCC unroll 3
    for (int r = 0; r < kRows - stride; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kLineVectors; ++v) x[r][v] = x[r + stride][v];
    }
#pragma GCC unroll 3
    for (int r = kRows - stride; r < kRows; ++r) columns.load(plane_row(c, line, r), padding, flip, x[r]);
    __m512i sums[kLineVectors] = {start, start, start, start};
#pragma GCC unroll 3
    for (int r = 0; r < kRows; ++r) add_taps<Isa>(sums, x[r], w[r]);
    finish.finish(c, line, sums);
  }
}

template <typename Isa, int stride, typename Finish>
void multiply_plane_rows(const PlaneProduct* c, Finish& finish) {
  if (c->kernel_rows == 3 && c->groups == 1 && c->row_stride == stride && c->row_dilation == 1) {
    multiply_plane_3x3<Isa, stride>(c, finish);
    return;
  }
  const __m512i padding = _mm512_set1_epi8(static_cast<char>(c->padding));
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(c->flip));
  const __m512i start = _mm512_set1_epi32(c->start);
  for (int line = 0; line < c->lines; ++line) {
    __m512i sums[kLineVectors] = {start, start, start, start};
    for (int group = 0; group < c->groups; ++group) {
      const PlaneColumns<stride> columns(c->first_column + std::int64_t{group} * Isa::kTaps, c->columns);
      for (int r = 0; r < c->kernel_rows; ++r) {
        __m512i taps[kLineVectors];
        columns.load(plane_row(c, line, r), padding, flip, taps);
        add_taps<Isa>(sums, taps, plane_weights(c, std::int64_t{r} * c->groups + group));
      }
    }
    finish.finish(c, line, sums);
  }
}

// Finish takes the sums of one line out of the registers:
//   void finish(const PlaneProduct* c, int line, Vector* sums)
template <typename Isa, typename Finish>
void multiply_plane_with(const PlaneProduct* c, Finish& finish) {
  c->column_stride == 1 ? multiply_plane_rows<Isa, 1>(c, finish) : multiply_plane_rows<Isa, 2>(c, finish);
}

// Leaves the sums in memory, in the order of positions.
template <typename Isa>
struct SeparatedPlane {
  static void finish(const PlaneProduct* c, int line, __m512i* sums) {
    Isa::separate(sums);
#pragma GCC unroll 4
    for (int v = 0; v < kLineVectors; ++v) Isa::store(c->sums + line * kTilePositions + v * kLanes, sums[v]);
  }
};

template <typename Isa, typename Profile>
class RequantizedPlane {
 public:
  explicit RequantizedPlane(const RequantizedOutput* out)
      : out_(out, 1),
        multiplier_(_mm512_set1_ps(out_.multiplier()[0])),
        y_end_(out->y_end),
        positions_(out->channels) {}

  inline __attribute__((always_inline)) void finish(const PlaneProduct* c, int line, __m512i* sums) {
    const __m512 multiplier[kQuad] = {multiplier_, multiplier_, multiplier_, multiplier_};
    __m512i values[kQuad] = {sums[0], sums[1], sums[2], sums[3]};
    if (__builtin_expect(!out_.apply(values, multiplier), 0)) {
      unresolved_ |= std::uint64_t{1} << line;
      SeparatedPlane<Isa>::finish(c, line, sums);
    }
    const __m512i bytes = Profile::interleaved_bytes(values, out_.range());
    std::uint8_t* const y = out_.y(line);
    if (__builtin_expect(y_end_ - y >= kTilePositions, 1)) {
      _mm512_storeu_si512(y, bytes);
    } else {
      store_front(reinterpret_cast<std::byte*>(y), bytes, positions_);
    }
  }

  // Once all lines are finished.
  [[nodiscard]] bool resolve_needs_exact(const PlaneProduct* c) {
    for (; unresolved_ != 0; unresolved_ &= unresolved_ - 1) {
      const int line = __builtin_ctzll(unresolved_);
      out_.resolve_line(c->sums + line * kTilePositions, line, 0);
    }
    return out_.any_needs_exact();
  }

 private:
  QuadOutput<Profile> out_;
  __m512 multiplier_;
  const std::uint8_t* y_end_;
  int positions_;
  std::uint64_t unresolved_ = 0;  // by line
};

template <typename Isa>
void multiply_plane(const PlaneProduct* c) {
  SeparatedPlane<Isa> finish;
  multiply_plane_with<Isa>(c, finish);
}

template <typename Isa, typename Profile>
bool multiply_plane_requantized(const PlaneProduct* c, const RequantizedOutput* out) {
  return with_profile<Profile>(out, [&](auto profile) {
    RequantizedPlane<Isa, decltype(profile)> finish(out);
    multiply_plane_with<Isa>(c, finish);
    return finish.resolve_needs_exact(c);
  });
}

template <typename Isa>
constexpr LineMicroKernels line_micro_kernels512() {
  return {.interleave = interleave_pixels<Isa>,
          .multiply = multiply_lines<Isa>,
          .multiply_requantized = {multiply_lines_requantized<Isa, CorrectlyRounded>,
                                   multiply_lines_requantized<Isa, OrtF32>, nullptr},
          .multiply_plane = multiply_plane<Isa>,
          .multiply_plane_requantized = {multiply_plane_requantized<Isa, CorrectlyRounded>,
                                         multiply_plane_requantized<Isa, OrtF32>, nullptr}};
}

}  // namespace
}  // namespace qconform::reference
