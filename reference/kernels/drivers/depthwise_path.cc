#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "reference/convolution/convolution.h"
#include "reference/kernels/drivers/packed_weights.h"
#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/drivers/strip_tiles.h"
#include "reference/kernels/micro_kernels.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {

/// The weights of a depthwise convolution as micro-kernels take them: no weight is shared by channels, so every channel
/// is a lane of its own. Weights by blocks of channels. The zero points of w are subtracted before packing. Where that
/// leaves a weight outside int8 and x has bytes, every tap is listed twice or three times and the weight is the sum of
/// its parts, so that no sum of x is needed.
class DepthwiseWeights {
 public:
  DepthwiseWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                   const ConvolutionMicroKernels& micro_kernels);

  [[nodiscard]] std::span<const WeightPanel> panels() const { return panels_; }
  [[nodiscard]] const DepthwiseBlock& block(const WeightPanel& panel) const {
    const DepthwiseBlock& narrow = micro_kernels_.depthwise[1];
    return panel.channels <= narrow.channels ? narrow : micro_kernels_.depthwise[0];
  }
  [[nodiscard]] const std::byte* data(const WeightPanel& panel) const { return memory_.data() + panel.offset; }
  [[nodiscard]] const std::int32_t* start(const WeightPanel& panel) const { return start_.data() + panel.first_lane; }
  /// Tap groups of one output element, and the taps that they list (surplus ones have weight 0). A group is a
  /// column of the kernel where that takes no more groups, so that neighbouring windows share groups.
  [[nodiscard]] int groups() const { return groups_; }
  [[nodiscard]] std::int64_t tap(std::int64_t listed) const;

 private:
  void pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                    std::span<const std::byte> w);
  [[nodiscard]] bool by_columns() const;
  // Returns the place in the list of part `part` of tap `tap`.
  [[nodiscard]] std::int64_t listed(std::int64_t tap, std::int64_t part) const;

  const ConvolutionMicroKernels& micro_kernels_;
  std::int64_t taps_;
  std::int64_t columns_;  // the kernel's
  std::int64_t parts_;    // a weight's
  int groups_;
  std::vector<WeightPanel> panels_;
  AlignedMemory memory_;
  std::vector<std::int32_t> start_;
};

namespace {

// One strip at a time, by one thread.
class DepthwiseRun {
 public:
  DepthwiseRun(const ConvolutionSetup& setup, const Lowering& lowering, const DepthwiseWeights& weights)
      : micro_kernels_(setup.micro_kernels),
        weights_(weights),
        tiles_(setup.operands, lowering, setup.micro_kernels, setup.layout) {}

  // Part `part` of `parts` of the panels.
  void run(std::span<const std::byte> x, std::int64_t image, const StripRange& range, std::int64_t part,
           std::int64_t parts, const TileWriter& writer) {
    tiles_.load(x, image, range);
    std::vector<std::int64_t> taps;
    tiles_.locate_runs(0, taps);
    tap_offsets_.clear();
    for (int i = 0; i < weights_.groups() * micro_kernels_.group; ++i) {
      tap_offsets_.push_back(taps[static_cast<std::size_t>(weights_.tap(i))]);
    }
    const std::span<const WeightPanel> panels = weights_.panels();
    const auto count = static_cast<std::int64_t>(panels.size());
    for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      run_panel(panels[static_cast<std::size_t>(i)], writer);
    }
  }

 private:
  void run_panel(const WeightPanel& panel, const TileWriter& writer) {
    const DepthwiseBlock& block = weights_.block(panel);
    for (std::int64_t first = 0; first < tiles_.positions(); first += tiles_.tile_size(first)) {
      const DepthwiseProduct product{.rows = tiles_.rows().data() + first,
                                     .channel_offset = panel.first_channel * micro_kernels_.x_bytes,
                                     .tap_offsets = tap_offsets_.data(),
                                     .groups = weights_.groups(),
                                     .w = weights_.data(panel),
                                     .start = weights_.start(panel),
                                     .sums = sums_,
                                     .positions = tiles_.tile_size(first)};
      writer.write_products(block, product, tiles_.sums_tile(first, panel, sums_, block.channels));
    }
  }

  const ConvolutionMicroKernels& micro_kernels_;
  const DepthwiseWeights& weights_;
  StripTiles tiles_;
  std::vector<std::int64_t> tap_offsets_;
  alignas(64) std::int32_t sums_[kTilePositions * kPanelChannels];
};

}  // namespace

std::unique_ptr<ConvolutionPath> make_depthwise_path(const ConvolutionSetup& setup, const Lowering& lowering,
                                                     std::span<const std::byte> w) {
  auto weights = std::make_unique<DepthwiseWeights>(setup.operands, w, setup.micro_kernels);
  const std::size_t panels = weights->panels().size();
  return std::make_unique<StripPath<DepthwiseRun, DepthwiseWeights>>(setup, lowering, std::move(weights), panels,
                                                                     "depthwise");
}

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

DepthwiseWeights::DepthwiseWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                                   const ConvolutionMicroKernels& micro_kernels)
    : micro_kernels_(micro_kernels),
      taps_(operands.geometry.kernel_taps()),
      columns_(operands.geometry.axes.back().kernel),
      parts_(micro_kernels.x_bytes == 1 ? parts_of_weights(operands, w) : 1),
      groups_(static_cast<int>((taps_ * parts_ + micro_kernels.group - 1) / micro_kernels.group)) {
  const std::int64_t channels = operands.geometry.output_channels;
  const std::int64_t channel_bytes = std::int64_t{groups_} * micro_kernels.group * micro_kernels.x_bytes;
  const std::int64_t step = micro_kernels.depthwise[0].channels;
  for (std::int64_t first = 0; first < channels; first += step) {
    const auto count = static_cast<int>(std::min(step, channels - first));
    panels_.push_back({.first_channel = first,
                       .channels = count,
                       .vectors = (count + micro_kernels.lanes - 1) / micro_kernels.lanes,
                       .first_lane = first,
                       .offset = first * channel_bytes});
  }
  const std::size_t lanes = panels_.size() * static_cast<std::size_t>(step);
  start_.assign(lanes, 0);
  memory_ = AlignedMemory(lanes * static_cast<std::size_t>(channel_bytes));
  std::memset(memory_.data(), 0, memory_.size());
  for (const WeightPanel& panel : panels_) {
    for (int i = 0; i < panel.channels; ++i) pack_channel(operands, panel, i, w);
  }
}

bool DepthwiseWeights::by_columns() const {
  return parts_ == 1 && columns_ == groups_ && taps_ / columns_ <= micro_kernels_.group;
}

std::int64_t DepthwiseWeights::listed(std::int64_t tap, std::int64_t part) const {
  return by_columns() ? tap % columns_ * micro_kernels_.group + tap / columns_ : part * taps_ + tap;
}

std::int64_t DepthwiseWeights::tap(std::int64_t listed) const {
  if (!by_columns()) return listed % taps_;
  const std::int64_t row = listed % micro_kernels_.group;
  return (row < taps_ / columns_ ? row * columns_ : 0) + listed / micro_kernels_.group;
}

void DepthwiseWeights::pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                                    std::span<const std::byte> w) {
  const std::int64_t channel = panel.first_channel + index;
  const DepthwiseBlock& kind = block(panel);
  const int vectors = kind.channels / kind.lanes;
  const std::int64_t lane = kind.lanes * (index / 4 % vectors) + index / 4 / vectors * 4 + index % 4;
  std::byte* const to = memory_.data() + panel.offset;
  std::int64_t sum = 0;
  for (std::int64_t tap = 0; tap < taps_; ++tap) {
    std::int32_t rest = weight_of(operands, w, channel, tap);
    sum += rest;
    for (std::int64_t part = 0; part < parts_; ++part) {
      const std::int64_t at = listed(tap, part);
      const std::int64_t element =
          (at / micro_kernels_.group * kind.channels + lane) * micro_kernels_.group + at % micro_kernels_.group;
      if (micro_kernels_.x_bytes == 1) {
        const std::int32_t value = saturate(rest, kByte);
        rest -= value;
        to[element] = static_cast<std::byte>(static_cast<std::int8_t>(value));
      } else {
        const auto wide = static_cast<std::int16_t>(rest);
        std::memcpy(to + 2 * element, &wide, sizeof wide);
      }
    }
  }
  const std::int64_t bias = operands.bias.empty() ? 0 : operands.bias[static_cast<std::size_t>(channel)];
  const std::int64_t x_zero_point = micro_kernels_.x_bytes == 1 ? packed_x_zero_point(operands, micro_kernels_) : 0;
  start_[static_cast<std::size_t>(panel.first_lane + lane)] = wrap_to_int32(bias - x_zero_point * sum);
}

}  // namespace qconform::reference
