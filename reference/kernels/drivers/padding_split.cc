#include "reference/kernels/drivers/padding_split.h"

#include <algorithm>

namespace qconform::reference {
namespace {

// Below this depth of a tap, what a piece costs beyond its products is more than the padding does.
constexpr std::int64_t kLeastChannels = 32;

// Wider rows have so few windows at their ends in each tile that their pieces would be too short.
constexpr std::int64_t kMostColumns = 16;
constexpr std::int64_t kMostColumnsForRows = 32;

}  // namespace

PaddingSplit::PaddingSplit(const Lowering& l, const ConvolutionMicroKernels& micro_kernels, bool padding_is_zero)
    : lowering_(l), tap_bytes_(l.group_channels * micro_kernels.x_bytes) {
  const bool has_padding =
      l.rows.pad_begin > 0 || l.rows.pad_end > 0 || l.columns.pad_begin > 0 || l.columns.pad_end > 0;
  const bool has_depth = l.group_channels >= kLeastChannels && l.group_channels % micro_kernels.unit == 0;
  by_rows_ = padding_is_zero && micro_kernels.takes_output_index && l.whole_rows && has_padding && has_depth &&
             l.columns.output <= kMostColumnsForRows;
  by_columns_ = by_rows_ && l.columns.output <= kMostColumns && l.columns.dilation == 1;
}

void PaddingSplit::begin(const StripRange& range) {
  range_ = range;
  pieces_.clear();
  tile_ends_.clear();
  rows_.clear();
  output_index_.clear();
}

WindowPart PaddingSplit::window_of(std::int64_t position) const {
  const std::int64_t columns = range_.column_end - range_.column_begin;
  const auto [row_begin, row_end] = lowering_.rows.taps_inside(range_.row_begin + position / columns);
  if (!by_columns_) return {row_begin, row_end, 0, lowering_.columns.kernel};
  const auto [column_begin, column_end] = lowering_.columns.taps_inside(range_.column_begin + position % columns);
  return {row_begin, row_end, column_begin, column_end};
}

void PaddingSplit::divide_tile(std::span<const std::byte* const> rows, std::int64_t first, int count) {
  tile_ends_.push_back(pieces_.size());
  WindowPart windows[kTilePositions];
  for (int p = 0; p < count; ++p) windows[p] = window_of(first + p);
  std::uint64_t rest = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  while (rest != 0) {
    TilePiece piece{.window = {}, .first = static_cast<std::int64_t>(rows_.size()), .positions = 0};
    for (int p = 0; p < count; ++p) {
      if ((rest >> p & 1U) == 0) continue;
      if (piece.positions == 0) piece.window = windows[p];
      if (windows[p] != piece.window) continue;
      rest &= ~(std::uint64_t{1} << p);
      rows_.push_back(rows[static_cast<std::size_t>(first + p)] + piece.window.column_begin * tap_bytes_);
      output_index_.push_back(static_cast<std::uint8_t>(p));
      ++piece.positions;
    }
    pieces_.push_back(piece);
  }
}

}  // namespace qconform::reference
