// A panel product by tiles of 16 x 64 bytes, written over the tile instructions so that a test can run
// it on an emulation of them. For the ISA file and that test alone; internal linkage, as in
// panel_product.h.
//
// Tiles has static members, tile registers as template arguments:
//   configure(), release()                     8 tiles of 16 rows of 64 bytes
//   load<t>(const void* from, stride), store<t>(void* to, stride)
//   dot<sums, x, w>()                          TDPBUSD: sums[i][j] += sum of four x[i][4k..] * w[k][4j..]
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {
namespace {

constexpr int kTileRows = 16;   // positions of one tile of sums
constexpr int kTileBytes = 64;  // bytes of depth in a row of x; and sixteen channels' four bytes in a row of w
constexpr int kTileChannels = 16;
constexpr int kBlockRows = 2 * kTileRows;

// Sixteen rows of x where they lie at equal distances, else a copy of them.
class TileRows {
 public:
  TileRows(const std::byte* const* rows, int count) : rows_(rows), count_(count) {
    stride_ = count > 1 ? rows[1] - rows[0] : 0;
    for (int i = 1; i < count; ++i) regular_ = regular_ && rows[i] - rows[i - 1] == stride_;
    regular_ = regular_ && count == kTileRows;
  }

  template <typename Tiles, int t>
  void load(std::int64_t offset) {
    if (regular_) {
      Tiles::template load<t>(rows_[0] + offset, stride_);
      return;
    }
    // Positions beyond the last repeat it; nobody takes their sums.
    for (int i = 0; i < kTileRows; ++i) {
      __builtin_memcpy(copy_ + i * kTileBytes, rows_[i < count_ ? i : count_ - 1] + offset, kTileBytes);
    }
    Tiles::template load<t>(copy_, kTileBytes);
  }

 private:
  const std::byte* const* rows_;
  int count_;
  std::int64_t stride_ = 0;
  bool regular_ = true;
  alignas(64) std::byte copy_[kTileRows * kTileBytes];
};

// 16 or 32 positions and 16 or 32 channels: up to four tiles of sums, so that every tile of x and of w
// is used twice. Sums are written for whole tiles: their memory has room for kTilePositions positions.
template <typename Tiles, bool two_rows, bool two_columns>
void multiply_tiles(const PanelProduct* c, int first, int vector) {
  const std::int64_t start_bytes = c->start_stride * 4;
  const std::int64_t sums_bytes = c->sums_stride * 4;
  const std::int32_t* const start = c->start + first * c->start_stride + vector * kTileChannels;
  const int rest = c->positions - first;
  TileRows top(c->rows + first, rest < kTileRows ? rest : kTileRows);
  TileRows bottom(c->rows + first + (two_rows ? kTileRows : 0),
                  two_rows ? (rest < kBlockRows ? rest - kTileRows : kTileRows) : 1);
  Tiles::template load<0>(start, start_bytes);
  if constexpr (two_columns) Tiles::template load<1>(start + kTileChannels, start_bytes);
  if constexpr (two_rows) Tiles::template load<2>(start + kTileRows * c->start_stride, start_bytes);
  if constexpr (two_rows && two_columns) {
    Tiles::template load<3>(start + kTileRows * c->start_stride + kTileChannels, start_bytes);
  }
  const std::int64_t w_stride = std::int64_t{c->vectors} * kTileBytes;
  const std::byte* w = c->w + vector * kTileBytes;
  for (std::int64_t run = 0; run < c->runs; ++run) {
    const std::int64_t offset = c->run_offsets[run];
    for (std::int64_t at = 0; at < c->run_bytes; at += kTileBytes, w += kTileRows * w_stride) {
      top.load<Tiles, 4>(offset + at);
      Tiles::template load<6>(w, w_stride);
      Tiles::template dot<0, 4, 6>();
      if constexpr (two_columns) {
        Tiles::template load<7>(w + kTileBytes, w_stride);
        Tiles::template dot<1, 4, 7>();
      }
      if constexpr (two_rows) {
        bottom.load<Tiles, 5>(offset + at);
        Tiles::template dot<2, 5, 6>();
        if constexpr (two_columns) Tiles::template dot<3, 5, 7>();
      }
    }
  }
  std::int32_t* const sums = c->sums + first * c->sums_stride + vector * kTileChannels;
  Tiles::template store<0>(sums, sums_bytes);
  if constexpr (two_columns) Tiles::template store<1>(sums + kTileChannels, sums_bytes);
  if constexpr (two_rows) Tiles::template store<2>(sums + kTileRows * c->sums_stride, sums_bytes);
  if constexpr (two_rows && two_columns) {
    Tiles::template store<3>(sums + kTileRows * c->sums_stride + kTileChannels, sums_bytes);
  }
}

template <typename Tiles>
void multiply_by_tiles(const PanelProduct* c) {
  Tiles::configure();
  for (int vector = 0; vector < c->vectors; vector += 2) {
    const bool two_columns = vector + 1 < c->vectors;
    for (int first = 0; first < c->positions; first += kBlockRows) {
      if (c->positions - first > kTileRows) {
        two_columns ? multiply_tiles<Tiles, true, true>(c, first, vector)
                    : multiply_tiles<Tiles, true, false>(c, first, vector);
      } else {
        two_columns ? multiply_tiles<Tiles, false, true>(c, first, vector)
                    : multiply_tiles<Tiles, false, false>(c, first, vector);
      }
    }
  }
  Tiles::release();
}

}  // namespace
}  // namespace qconform::reference
