// Divides the tiles of a strip into products, so that kernel rows and columns that lie in the padding are
// not multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

/// Taps [row_begin, row_end) x [column_begin, column_end) of the kernel.
struct WindowPart {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t column_begin;
  std::int64_t column_end;

  [[nodiscard]] bool operator==(const WindowPart&) const = default;
};

/// Positions of one tile that multiply the same taps.
struct TilePiece {
  WindowPart window;
  std::int64_t first;  ///< index in rows() and output_index()
  int positions;
};

class PaddingSplit {
 public:
  /// Whether parts are worth it for a layer: windows that reach into the padding often enough, taps so deep that
  /// a short piece pays, and weights that can be entered at each of them.
  PaddingSplit(const Lowering& lowering, const ConvolutionMicroKernels& micro_kernels, bool padding_is_zero);

  [[nodiscard]] bool divides() const { return by_rows_; }

  /// `rows`: where the window of each position of the range begins; tiles have tile_size(first) of them.
  template <typename TileSize>
  void divide(const StripRange& range, std::span<const std::byte* const> rows, TileSize tile_size) {
    begin(range);
    const auto count = static_cast<std::int64_t>(rows.size());
    for (std::int64_t first = 0; first < count; first += tile_size(first)) divide_tile(rows, first, tile_size(first));
    tile_ends_.push_back(pieces_.size());
  }

  /// Of the tile with this number.
  [[nodiscard]] std::span<const TilePiece> pieces(std::size_t tile) const {
    return std::span(pieces_).subspan(tile_ends_[tile], tile_ends_[tile + 1] - tile_ends_[tile]);
  }
  /// By pieces: where the parts of the windows begin, and the place of each position in its tile.
  [[nodiscard]] const std::byte* const* rows(const TilePiece& piece) const { return rows_.data() + piece.first; }
  [[nodiscard]] const std::uint8_t* output_index(const TilePiece& piece) const {
    return output_index_.data() + piece.first;
  }

 private:
  void begin(const StripRange& range);
  void divide_tile(std::span<const std::byte* const> rows, std::int64_t first, int count);
  [[nodiscard]] WindowPart window_of(std::int64_t position) const;

  const Lowering& lowering_;
  std::int64_t tap_bytes_;
  bool by_rows_ = false;
  bool by_columns_ = false;
  StripRange range_{};
  std::vector<TilePiece> pieces_;
  std::vector<std::size_t> tile_ends_;
  std::vector<const std::byte*> rows_;
  std::vector<std::uint8_t> output_index_;
};

}  // namespace qconform::reference
