// Between channels first and channels last, for the ISA files alone (see panel_product.h): the 16x16
// transposition of tile_writer.h in each of the four 128-bit lanes, so 16 channels of 64 pixels at a time.
#pragma once

#include <immintrin.h>

#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {
namespace {

constexpr int kBlock = 16;
constexpr int kPixels = 64;

__mmask64 first_bytes(int count) {
  return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}

void store16(std::byte* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}

__m128i load16(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

inline __attribute__((always_inline)) void transpose_lanes(__m512i* rows) {
  __m512i other[kBlock];
#pragma GCC unroll 2
  for (int pass = 0; pass < 2; ++pass) {
#pragma GCC unroll 8
    for (int i = 0; i < kBlock / 2; ++i) {
      other[2 * i] = _mm512_unpacklo_epi8(rows[i], rows[i + 8]);
      other[2 * i + 1] = _mm512_unpackhi_epi8(rows[i], rows[i + 8]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < kBlock / 2; ++i) {
      rows[2 * i] = _mm512_unpacklo_epi8(other[i], other[i + 8]);
      rows[2 * i + 1] = _mm512_unpackhi_epi8(other[i], other[i + 8]);
    }
  }
}

// Gives the addresses to which the pixels of a block go, one after the other.
class PixelPointer {
 public:
  explicit PixelPointer(const ChannelBlock* b)
      : to_(b->to), stride_(b->to_stride), row_(b->row_pixels), gap_(b->row_gap) {}

  std::byte* next() {
    std::byte* const now = to_;
    to_ += stride_;
    if (++column_ == row_) {
      column_ = 0;
      to_ += gap_;
    }
    return now;
  }

 private:
  std::byte* to_;
  std::int64_t stride_;
  int row_;
  std::int64_t gap_;
  int column_ = 0;
};

// Stores the pixels of each row's 128-bit lane number `lane`, in order, because each store may reach into what follows.
template <int lane>
inline __attribute__((always_inline)) void store_pixels(const __m512i* rows, int pixels, PixelPointer* to) {
  if (pixels >= (lane + 1) * kBlock) {
#pragma GCC unroll 16
    for (int i = 0; i < kBlock; ++i) store16(to->next(), _mm512_extracti32x4_epi32(rows[i], lane));
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) {
    if (lane * kBlock + i < pixels) store16(to->next(), _mm512_extracti32x4_epi32(rows[i], lane));
  }
}

// Stores the pixels in order, only the first `channels` channels of each.
void store_some_channels(const __m512i* rows, int pixels, int channels, PixelPointer* to) {
  alignas(64) std::byte bytes[kBlock][kPixels];
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) _mm512_store_si512(bytes[i], rows[i]);
  const auto stored = static_cast<__mmask16>(first_bytes(channels));
  for (int p = 0; p < pixels; ++p) {
    _mm_mask_storeu_epi8(to->next(), stored, load16(bytes[p % kBlock] + p / kBlock * kBlock));
  }
}

void pixels_to_channels_last(const ChannelBlock* b, int first, int pixels, PixelPointer* to) {
  const __m512i flip = _mm512_set1_epi8(static_cast<char>(b->flip));
  const __mmask64 mask = first_bytes(pixels);
  __m512i rows[kBlock];
#pragma GCC unroll 16
  for (int c = 0; c < kBlock; ++c) {
    rows[c] =
        c < b->channels ? _mm512_maskz_loadu_epi8(mask, b->from + c * b->from_stride + first) : _mm512_setzero_si512();
    rows[c] = _mm512_xor_si512(rows[c], flip);
  }
  transpose_lanes(rows);
  if (b->stored_channels < kBlock) {
    store_some_channels(rows, pixels, b->stored_channels, to);
    return;
  }
  store_pixels<0>(rows, pixels, to);
  store_pixels<1>(rows, pixels, to);
  store_pixels<2>(rows, pixels, to);
  store_pixels<3>(rows, pixels, to);
}

void to_channels_last(const ChannelBlock* b) {
  PixelPointer to(b);
  for (int first = 0; first < b->pixels; first += kPixels) {
    const int rest = b->pixels - first;
    pixels_to_channels_last(b, first, rest < kPixels ? rest : kPixels, &to);
  }
}

// Stores under a mask take many times as long as others on some processors: only the rest gets one. Inlined, because
// `value` else goes through memory: of small depthwise layers that takes a third of the time.
inline __attribute__((always_inline)) void store_front(std::byte* to, __m512i value, int count) {
  if (count >= 64) {
    _mm512_storeu_si512(to, value);
    return;
  }
  int done = 0;
  if (count >= 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(value));
    value = _mm512_shuffle_i32x4(value, value, 0xEE);
    done = 32;
  }
  if (count - done >= 16) {
    store16(to + done, _mm512_castsi512_si128(value));
    value = _mm512_shuffle_i32x4(value, value, 0xE5);
    done += 16;
  }
  if (count > done) {
    _mm_mask_storeu_epi8(to + done, static_cast<__mmask16>(first_bytes(count - done)), _mm512_castsi512_si128(value));
  }
}

void to_channels_first(const ChannelBlock* b) {
  const std::int64_t lane = kBlock * b->from_stride;
  __m512i rows[kBlock];
#pragma GCC unroll 16
  for (int i = 0; i < kBlock; ++i) {
    const std::byte* const from = b->from + i * b->from_stride;
    rows[i] = _mm512_castsi128_si512(load16(from));
    rows[i] = _mm512_inserti32x4(rows[i], load16(from + lane), 1);
    rows[i] = _mm512_inserti32x4(rows[i], load16(from + 2 * lane), 2);
    rows[i] = _mm512_inserti32x4(rows[i], load16(from + 3 * lane), 3);
  }
  transpose_lanes(rows);
#pragma GCC unroll 16
  for (int c = 0; c < kBlock; ++c) {
    if (c < b->channels) store_front(b->to + c * b->to_stride, rows[c], b->pixels);
  }
}

}  // namespace
}  // namespace qconform::reference
