#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "reference/kernels/drivers/drivers.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/tile_writer.h"

namespace qconform::reference {
namespace {

constexpr std::int64_t kDepth = 512;  // gathered at a time; a multiple of every unit and of 16
constexpr int kPanels = 4;            // panels that share what was gathered
constexpr std::int64_t kPitch = kDepth + kRowSlack;

// One tile at a time, by one thread.
class GatherRun {
 public:
  GatherRun(const ConvolutionSetup& setup, const PackedWeights& weights)
      : operands_(setup.operands),
        micro_kernels_(setup.micro_kernels),
        weights_(weights),
        gather_(operands_.geometry, std::to_integer<std::uint8_t>(store8(operands_.x_zero_point))) {
    for (int p = 0; p < kTilePositions; ++p) rows_[p] = packed_ + p * kPitch * micro_kernels_.x_bytes;
  }

  // Output positions [first, first + count) of all images and channels.
  void run(std::span<const std::byte> x_bytes, std::int64_t first, int count, const TileWriter& writer) {
    const ConvolutionGeometry& g = operands_.geometry;
    const std::int64_t group_size = g.group_input_channels() * g.input_positions();
    gather_.select(first, count);
    for (std::int64_t image = 0; image < g.batch; ++image) {
      for (std::int64_t group = 0; group < g.group; ++group) {
        const std::byte* const x = x_bytes.data() + (image * g.group + group) * group_size;
        std::span<const WeightPanel> panels = weights_.panels(group);
        while (!panels.empty()) {
          const std::span<const WeightPanel> now = panels.first(std::min<std::size_t>(kPanels, panels.size()));
          panels = panels.subspan(now.size());
          multiply(x, now, count);
          for (std::size_t i = 0; i < now.size(); ++i) finish(now[i], static_cast<int>(i), first, count, image, writer);
        }
      }
    }
  }

 private:
  void multiply(const std::byte* x, std::span<const WeightPanel> panels, int count) {
    const std::int64_t depth = operands_.geometry.depth();
    std::int64_t begin = 0;
    do {  // once at least: the sums have to begin
      const std::int64_t rows = std::min(kDepth, depth - begin);
      const std::int64_t padded = (rows + micro_kernels_.unit - 1) / micro_kernels_.unit * micro_kernels_.unit;
      gather_.gather(x, begin, begin + rows, gathered_);
      pack(rows, count);
      for (std::size_t i = 0; i < panels.size(); ++i) {
        const WeightPanel& panel = panels[i];
        add_product(weights_.data(panel), weights_.start(panel), panel.vectors, sums_[i], begin, padded, count);
      }
      if (weights_.needs_x_sums()) add_product(weights_.ones(), kZeros, 1, ones_sums_, begin, padded, count);
      begin += kDepth;
    } while (begin < depth);
  }

  // From [depth][position] to rows of positions. What completes a unit meets weights of zero.
  void pack(std::int64_t depth, int count) {
    const bool is_byte = micro_kernels_.x_bytes == 1;
    const std::uint8_t flip = x_flip(operands_, micro_kernels_);
    for (int p = 0; p < count; p += 16) {
      for (std::int64_t d = 0; d < depth; d += 16) {
        ByteVector block[16];
        for (int i = 0; i < 16; ++i) block[i] = load_bytes(gathered_ + (d + i) * kTilePositions + p) ^ flip;
        transpose_16x16(block);
        for (int i = 0; i < 16; ++i) store_bytes((is_byte ? packed_ : bytes_) + (p + i) * kPitch + d, block[i]);
      }
    }
    if (is_byte) return;
    const auto zero_point = static_cast<std::int16_t>(packed_x_zero_point(operands_, micro_kernels_));
    for (int p = 0; p < count; ++p) {
      micro_kernels_.widen(reinterpret_cast<const std::uint8_t*>(bytes_ + p * kPitch), depth, 0, zero_point,
                           reinterpret_cast<std::int16_t*>(packed_ + p * kPitch * 2));
    }
  }

  void add_product(const std::byte* w, const std::int32_t* start, int vectors, std::int32_t* sums, std::int64_t begin,
                   std::int64_t depth, int count) {
    static constexpr std::int64_t kNoOffset = 0;
    const std::int64_t lanes = std::int64_t{vectors} * micro_kernels_.lanes;
    const PanelProduct p{.rows = rows_,
                         .run_offsets = &kNoOffset,
                         .runs = 1,
                         .run_bytes = depth * micro_kernels_.x_bytes,
                         .w = w + begin * lanes * micro_kernels_.x_bytes,
                         .start = begin == 0 ? start : sums,
                         .start_stride = begin == 0 ? 0 : lanes,
                         .sums = sums,
                         .sums_stride = lanes,
                         .positions = count,
                         .vectors = vectors};
    micro_kernels_.multiply(&p);
  }

  void finish(const WeightPanel& panel, int index, std::int64_t first, int count, std::int64_t image,
              const TileWriter& writer) {
    const std::int64_t lanes = std::int64_t{panel.vectors} * micro_kernels_.lanes;
    if (weights_.needs_x_sums()) {
      std::int32_t x_sums[kTilePositions];
      for (int p = 0; p < count; ++p) x_sums[p] = ones_sums_[p * micro_kernels_.lanes];
      micro_kernels_.subtract_products(sums_[index], lanes, count, panel.vectors, x_sums, weights_.zero_points(panel));
    }
    writer.write({.sums = sums_[index],
                  .stride = lanes,
                  .positions = count,
                  .channels = panel.channels,
                  .first_channel = panel.first_channel,
                  .first_lane = panel.first_lane,
                  .first_position = first,
                  .image = image});
  }

  static constexpr std::int32_t kZeros[kPanelChannels] = {};

  const ConvolutionOperands& operands_;
  const ConvolutionMicroKernels& micro_kernels_;
  const PackedWeights& weights_;
  TileGather gather_;
  const std::byte* rows_[kTilePositions];
  alignas(64) std::uint8_t gathered_[kDepth * kTilePositions];
  alignas(64) std::byte bytes_[kPitch * kTilePositions];
  alignas(64) std::byte packed_[2 * kPitch * kTilePositions];
  alignas(64) std::int32_t sums_[kPanels][kTilePositions * kPanelChannels];
  alignas(64) std::int32_t ones_sums_[kTilePositions * kPanelChannels];
};

// x with channels first, as the gather takes it.
std::vector<std::byte> channels_first(const ConvolutionGeometry& g, std::span<const std::byte> x) {
  const std::int64_t positions = g.input_positions();
  std::vector<std::byte> result(x.size());
  std::size_t from = 0;
  for (std::int64_t image = 0; image < g.batch; ++image) {
    for (std::int64_t p = 0; p < positions; ++p) {
      for (std::int64_t c = 0; c < g.input_channels; ++c, ++from) {
        result[static_cast<std::size_t>((image * g.input_channels + c) * positions + p)] = x[from];
      }
    }
  }
  return result;
}

class GatheredPath final : public ConvolutionPath {
 public:
  GatheredPath(const ConvolutionSetup& setup, std::span<const std::byte> w)
      : setup_(setup), weights_(setup.operands, w, setup.micro_kernels, 1) {}

  void run(std::span<const std::byte> x, const TileWriter& writer, int threads) const override {
    const ConvolutionGeometry& g = setup_.operands.geometry;
    std::vector<std::byte> copy;
    if (setup_.layout == ImageLayout::channels_last) {
      copy = channels_first(g, x);
      x = copy;
    }
    const std::int64_t positions = g.output_positions();
    parallel((positions + kTilePositions - 1) / kTilePositions, threads,
             [this] { return runs_.borrow([this] { return std::make_unique<GatherRun>(setup_, weights_); }); },
             [&](auto& run, std::int64_t tile) {
               const std::int64_t first = tile * kTilePositions;
               run->run(x, first, static_cast<int>(std::min<std::int64_t>(kTilePositions, positions - first)), writer);
             });
  }

  [[nodiscard]] std::span<const WeightPanel> panels() const override { return weights_.panels(); }
  [[nodiscard]] std::string_view implementation() const override { return "gathered"; }

 private:
  const ConvolutionSetup& setup_;
  PackedWeights weights_;
  mutable Pool<GatherRun> runs_;
};

}  // namespace

std::unique_ptr<ConvolutionPath> make_gathered_path(const ConvolutionSetup& setup, std::span<const std::byte> w) {
  return std::make_unique<GatheredPath>(setup, w);
}

}  // namespace qconform::reference
