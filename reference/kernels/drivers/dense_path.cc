#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/kernels/drivers/lowering.h"
#include "reference/kernels/drivers/paired_weights.h"
#include "reference/kernels/drivers/strip_tiles.h"
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

/// Divides the tiles of a strip into products, so that kernel rows and columns that lie in the padding are not
/// multiplied.
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

  /// Returns the pieces of tile number `tile`.
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

namespace {

struct DenseWeights : PackedWeights {
  using PackedWeights::PackedWeights;

  std::unique_ptr<PairedWeights> pairs;  // in place of the panels' weights; null: none
};

// One strip at a time, by one thread.
class DenseRun {
 public:
  DenseRun(const ConvolutionSetup& setup, const Lowering& lowering, const DenseWeights& weights)
      : micro_kernels_(setup.micro_kernels),
        weights_(weights),
        groups_(setup.operands.geometry.group),
        tap_bytes_(lowering.group_channels * setup.micro_kernels.x_bytes),
        tiles_(setup.operands, lowering, setup.micro_kernels, setup.layout),
        split_(lowering, setup.micro_kernels, padding_is_zero(setup, weights)) {
    if (weights_.pairs == nullptr) return;
    // Rows that lie an odd number of cache lines apart share no set of a cache.
    const std::int64_t stride = (weights_.pairs->most_row_bytes() / 128 * 2 + 3) * 64;
    ordered_ = AlignedMemory(static_cast<std::size_t>(kTilePositions * stride));
    for (int p = 0; p < kTilePositions; ++p) ordered_rows_[p] = ordered_.data() + p * stride;
  }

  // Part `part` of `parts` of the panels.
  void run(std::span<const std::byte> x, std::int64_t image, const StripRange& range, std::int64_t part,
           std::int64_t parts, const TileWriter& writer) {
    tiles_.load(x, image, range);
    if (split_.divides()) {
      split_.divide(range, tiles_.rows(), [this](std::int64_t first) { return tiles_.tile_size(first); });
    }
    for (std::int64_t group = 0; group < groups_; ++group) {
      const std::span<const WeightPanel> panels = weights_.panels(group);
      const auto begin = panels.size() * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts);
      const auto end = panels.size() * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(parts);
      if (begin == end) continue;
      tiles_.locate_runs(group, run_offsets_);
      if (weights_.needs_x_sums()) sum_rows();
      for (auto rest = panels.subspan(begin, end - begin); !rest.empty();) {
        const std::size_t count = std::min(rest.size(), sharing(rest.front()));
        run_panels(rest.first(count), writer);
        rest = rest.subspan(count);
      }
    }
  }

 private:
  // Then taps in the padding add nothing, and what zero points add to the sums does not count them either.
  [[nodiscard]] static bool padding_is_zero(const ConvolutionSetup& setup, const PackedWeights& weights) {
    return weights.packs_differences() ||
           (packed_x_zero_point(setup.operands, setup.micro_kernels) == 0 && !weights.needs_x_sums());
  }

  // The product of the tile that begins at `first` with a panel of `vectors`.
  [[nodiscard]] PanelProduct product(std::int64_t first, const std::byte* w, const std::int32_t* start, int vectors) {
    return {.rows = tiles_.rows().data() + first,
            .run_offsets = run_offsets_.data(),
            .runs = weights_.runs(),
            .run_bytes = weights_.run_elements() * micro_kernels_.x_bytes,
            .w = w,
            .start = start,
            .start_stride = 0,
            .sums = sums_,
            .sums_stride = std::int64_t{vectors} * micro_kernels_.lanes,
            .positions = tiles_.tile_size(first),
            .vectors = vectors};
  }

  // Copies the rows of the tile that begins at `first` in the order of a panel's pairs.
  void order_rows(std::int64_t first, const PairOrder& order) {
    const RowOrder rows{.rows = tiles_.rows().data() + first,
                        .run_offsets = run_offsets_.data(),
                        .positions = tiles_.tile_size(first),
                        .blocks = order.blocks.data(),
                        .doubles = order.doubles,
                        .count = static_cast<std::int64_t>(order.blocks.size()),
                        .to = ordered_.data(),
                        .to_stride = ordered_rows_[1] - ordered_rows_[0]};
    micro_kernels_.reorder(&rows);
  }

  // The product of the tile that begins at `first`, and whose rows are in order, with a panel.
  [[nodiscard]] PanelProduct panel_product(std::int64_t first, const WeightPanel& panel) {
    static constexpr std::int64_t kNoOffset = 0;
    PanelProduct p = product(first, weights_.data(panel), weights_.start(panel), panel.vectors);
    if (weights_.pairs == nullptr) return p;
    p.rows = ordered_rows_;
    p.run_offsets = &kNoOffset;
    p.runs = 1;
    p.run_bytes = weights_.pairs->order(index_of(panel)).row_bytes;
    p.w = weights_.pairs->data(index_of(panel));
    return p;
  }

  // The number of panels from this one on that take x in the same order.
  [[nodiscard]] std::size_t sharing(const WeightPanel& panel) const {
    const std::size_t index = index_of(panel);
    return weights_.pairs == nullptr ? 1 : weights_.pairs->order(index).panels_end - index;
  }

  [[nodiscard]] std::size_t index_of(const WeightPanel& panel) const {
    return static_cast<std::size_t>(&panel - weights_.panels().data());
  }

  // sum x' of all positions, for zero points of w.
  void sum_rows() {
    static constexpr std::int32_t kZeros[kPanelChannels] = {};
    x_sums_.clear();
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const PanelProduct p = product(first, weights_.ones(), kZeros, 1);
      micro_kernels_.multiply(&p);
      for (int i = 0; i < p.positions; ++i) x_sums_.push_back(sums_[i * p.sums_stride]);
    }
  }

  // The products of a tile, whose number is `tile`: one, or those of its pieces.
  void list_products(const PanelProduct& whole, std::size_t tile) {
    products_.clear();
    if (!split_.divides()) {
      products_.push_back(whole);
      return;
    }
    const std::int64_t w_bytes = std::int64_t{whole.vectors} * micro_kernels_.lanes;  // for each byte of x
    for (const TilePiece& piece : split_.pieces(tile)) {
      const WindowPart& window = piece.window;
      PanelProduct part = whole;
      part.rows = split_.rows(piece);
      part.output_index = split_.output_index(piece);
      part.positions = piece.positions;
      part.run_offsets += window.row_begin;
      part.runs = window.row_end - window.row_begin;
      part.run_bytes = (window.column_end - window.column_begin) * tap_bytes_;
      part.w += (window.row_begin * whole.run_bytes + window.column_begin * tap_bytes_) * w_bytes;
      part.w_skip = (whole.run_bytes - part.run_bytes) * w_bytes;
      products_.push_back(part);
    }
  }

  // Panels that take the rows of x in the same order.
  void run_panels(std::span<const WeightPanel> panels, const TileWriter& writer) {
    std::size_t number = 0;
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first), ++number) {
      if (weights_.pairs != nullptr) order_rows(first, weights_.pairs->order(index_of(panels.front())));
      for (const WeightPanel& panel : panels) run_tile(first, number, panel, writer);
    }
  }

  // The tile that begins at `first`, whose number is `number`.
  void run_tile(std::int64_t first, std::size_t number, const WeightPanel& panel, const TileWriter& writer) {
    const PanelProduct p = panel_product(first, panel);
    const SumsTile tile = tiles_.sums_tile(first, panel, sums_, p.sums_stride);
    if (!weights_.needs_x_sums()) {
      list_products(p, number);
      writer.write_products(micro_kernels_, products_, tile);
      return;
    }
    micro_kernels_.multiply(&p);
    micro_kernels_.subtract_products(sums_, p.sums_stride, p.positions, p.vectors, x_sums_.data() + first,
                                     weights_.zero_points(panel));
    writer.write(tile);
  }

  const ConvolutionMicroKernels& micro_kernels_;
  const DenseWeights& weights_;
  std::int64_t groups_;
  std::int64_t tap_bytes_;  // bytes of x
  StripTiles tiles_;
  PaddingSplit split_;
  std::vector<PanelProduct> products_;
  std::vector<std::int64_t> run_offsets_;
  std::vector<std::int32_t> x_sums_;
  AlignedMemory ordered_;  // rows of a tile in the order of pairs
  const std::byte* ordered_rows_[kTilePositions];
  alignas(64) std::int32_t sums_[kTilePositions * kPanelChannels];
};

}  // namespace

std::unique_ptr<ConvolutionPath> make_dense_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                 std::span<const std::byte> w, DenseForm form) {
  auto weights = std::make_unique<DenseWeights>(setup.operands, w, setup.micro_kernels, lowering.runs());
  std::string name = setup.micro_kernels.pairs == nullptr ? "dense" : "dense, 0% pairs";
  if (form == DenseForm::pairs) {
    weights->pairs = PairedWeights::make(*weights, setup.micro_kernels.lanes);
    if (weights->pairs == nullptr) return nullptr;
    name = "dense, " + std::to_string(static_cast<int>(100 * weights->pairs->fitting())) + "% pairs";
  }
  const std::size_t panels = weights->panels(0).size();
  return std::make_unique<StripPath<DenseRun, DenseWeights>>(setup, lowering, std::move(weights), panels,
                                                             std::move(name));
}

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
