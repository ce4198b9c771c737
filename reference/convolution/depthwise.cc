#include "reference/convolution/depthwise.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "reference/convolution/band_tiles.h"
#include "reference/numerics/saturate.h"

namespace qconform::reference {
namespace {

constexpr IntegerRange kByte{-128, 127};

std::int32_t weight_of(const ConvolutionOperands& o, std::span<const std::byte> w, std::int64_t channel,
                       std::int64_t tap) {
  const std::int64_t at = channel * o.geometry.kernel_taps() + tap;
  return load8(o.w_type, w[static_cast<std::size_t>(at)]) - o.w_zero_point[static_cast<std::size_t>(channel)];
}

// int8 values that sum to the largest weight.
std::int64_t parts_of_weights(const ConvolutionOperands& o, std::span<const std::byte> w) {
  std::int64_t parts = 1;
  for (std::int64_t channel = 0; channel < o.geometry.output_channels; ++channel) {
    for (std::int64_t tap = 0; tap < o.geometry.kernel_taps(); ++tap) {
      const std::int32_t weight = weight_of(o, w, channel, tap);
      const std::int32_t needed = weight < 0 ? (-weight + 127) / 128 : (weight + 126) / 127;
      parts = std::max<std::int64_t>(parts, needed);
    }
  }
  return parts;
}

}  // namespace

bool is_depthwise(const ConvolutionGeometry& g) {
  return g.group > 1 && g.group_input_channels() == 1 && g.group_output_channels() == 1;
}

DepthwiseWeights::DepthwiseWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                                   const ConvolutionLeaves& leaves)
    : leaves_(leaves),
      taps_(operands.geometry.kernel_taps()),
      parts_(leaves.x_bytes == 1 ? parts_of_weights(operands, w) : 1),
      groups_(static_cast<int>((taps_ * parts_ + leaves.group - 1) / leaves.group)) {
  const std::int64_t block = leaves.depthwise_channels;
  const std::int64_t channels = operands.geometry.output_channels;
  const std::int64_t block_bytes = block * groups_ * leaves.group * leaves.x_bytes;
  for (std::int64_t first = 0; first < channels; first += block) {
    const std::int64_t count = std::min(block, channels - first);
    panels_.push_back({.first_channel = first,
                       .channels = static_cast<int>(count),
                       .vectors = static_cast<int>((count + leaves.lanes - 1) / leaves.lanes),
                       .first_lane = first,
                       .offset = first / block * block_bytes});
  }
  start_.assign(panels_.size() * static_cast<std::size_t>(block), 0);
  memory_ = AlignedMemory(panels_.size() * static_cast<std::size_t>(block_bytes));
  std::memset(memory_.data(), 0, memory_.size());
  for (const WeightPanel& panel : panels_) {
    for (int i = 0; i < panel.channels; ++i) pack_channel(operands, panel, i, w);
  }
}

void DepthwiseWeights::pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                                    std::span<const std::byte> w) {
  const std::int64_t channel = panel.first_channel + index;
  const std::int64_t vectors = leaves_.depthwise_channels / leaves_.lanes;
  const std::int64_t lane = leaves_.lanes * (index / 4 % vectors) + index / 4 / vectors * 4 + index % 4;
  std::byte* const block = memory_.data() + panel.offset;
  std::int64_t sum = 0;
  for (std::int64_t tap = 0; tap < taps_; ++tap) {
    std::int32_t rest = weight_of(operands, w, channel, tap);
    sum += rest;
    for (std::int64_t part = 0; part < parts_; ++part) {
      const std::int64_t listed = part * taps_ + tap;
      const std::int64_t element =
          (listed / leaves_.group * leaves_.depthwise_channels + lane) * leaves_.group + listed % leaves_.group;
      if (leaves_.x_bytes == 1) {
        const std::int32_t value = saturate(rest, kByte);
        rest -= value;
        block[element] = static_cast<std::byte>(static_cast<std::int8_t>(value));
      } else {
        const auto wide = static_cast<std::int16_t>(rest);
        std::memcpy(block + 2 * element, &wide, sizeof wide);
      }
    }
  }
  const std::int64_t bias = operands.bias.empty() ? 0 : operands.bias[static_cast<std::size_t>(channel)];
  const std::int64_t x_zero_point = leaves_.x_bytes == 1 ? x_zero_point_byte(operands) : 0;
  start_[static_cast<std::size_t>(panel.first_lane + index)] = wrap_to_int32(bias - x_zero_point * sum);
}

namespace {

// One band at a time, by one thread.
class DepthwiseRun {
 public:
  DepthwiseRun(const DepthwiseConvolution& convolution, std::int64_t largest)
      : c_(convolution), tiles_(c_.operands, c_.lowering, c_.leaves, c_.layout, largest) {}

  // Part `part` of `parts` of the panels.
  void run(std::span<const std::byte> x, std::int64_t image, const BandRange& range, std::int64_t part,
           std::int64_t parts, const TileWriter& writer) {
    tiles_.load(x, image, range);
    std::vector<std::int64_t> taps;
    tiles_.locate_runs(0, taps);
    tap_offsets_.clear();
    for (int i = 0; i < c_.weights.groups() * c_.leaves.group; ++i) {
      tap_offsets_.push_back(taps[static_cast<std::size_t>(c_.weights.tap(i))]);
    }
    const std::span<const WeightPanel> panels = c_.weights.panels();
    const auto count = static_cast<std::int64_t>(panels.size());
    for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      run_panel(panels[static_cast<std::size_t>(i)], writer);
    }
  }

 private:
  void run_panel(const WeightPanel& panel, const TileWriter& writer) {
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const DepthwiseProduct product{.rows = tiles_.rows().data() + first,
                                     .channel_offset = panel.first_channel * c_.leaves.x_bytes,
                                     .tap_offsets = tap_offsets_.data(),
                                     .groups = c_.weights.groups(),
                                     .w = c_.weights.data(panel),
                                     .start = c_.weights.start(panel),
                                     .sums = sums_,
                                     .positions = tiles_.tile_size(first)};
      c_.leaves.multiply_depthwise(&product);
      writer.write({.sums = sums_,
                    .stride = c_.leaves.depthwise_channels,
                    .positions = product.positions,
                    .channels = panel.channels,
                    .first_channel = panel.first_channel,
                    .first_lane = panel.first_lane,
                    .first_position = tiles_.first_position() + first,
                    .image = tiles_.image()});
    }
  }

  const DepthwiseConvolution& c_;
  BandTiles tiles_;
  std::vector<std::int64_t> tap_offsets_;
  alignas(64) std::int32_t sums_[kTilePositions * kPanelChannels];
};

}  // namespace

void run_depthwise(const DepthwiseConvolution& convolution, std::span<const std::byte> x, const TileWriter& writer,
                   int threads) {
  const std::int64_t images = convolution.operands.geometry.batch;
  const BandWork work = divide_work(convolution.lowering, convolution.leaves, images, threads,
                                    static_cast<std::int64_t>(convolution.weights.panels().size()));
  for_each_band(
      work, images, threads, [&] { return std::make_unique<DepthwiseRun>(convolution, work.largest); }, x, writer);
}

}  // namespace qconform::reference
