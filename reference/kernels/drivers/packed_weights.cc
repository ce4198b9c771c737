#include "reference/kernels/drivers/packed_weights.h"

#include <algorithm>
#include <cstring>

#include "reference/numerics/integers.h"

namespace qconform::reference {

PackedWeights::PackedWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                             const ConvolutionMicroKernels& micro_kernels, std::int64_t runs)
    : micro_kernels_(micro_kernels),
      runs_(runs),
      run_(runs == 0 ? 0 : operands.geometry.depth() / runs),
      padded_run_(ceil_div(run_, micro_kernels.unit) * micro_kernels.unit) {
  const ConvolutionGeometry& g = operands.geometry;
  divide_into_panels(g);
  if (panels_.empty()) return;
  const WeightPanel& last = panels_.back();
  const std::int64_t lanes = last.first_lane + last.vectors * micro_kernels.lanes;
  start_.assign(static_cast<std::size_t>(lanes), 0);
  zero_points_.assign(static_cast<std::size_t>(lanes), 0);
  memory_ = AlignedMemory(static_cast<std::size_t>(lanes * runs_ * padded_run_ * micro_kernels.x_bytes));
  std::memset(memory_.data(), 0, memory_.size());

  for (const WeightPanel& panel : panels_) {
    for (int i = 0; i < panel.channels; ++i) pack_channel(operands, panel, i, w);
  }
  if (std::any_of(zero_points_.begin(), zero_points_.end(), [](std::int32_t z) { return z != 0; })) pack_ones();
}

void PackedWeights::pack_channel(const ConvolutionOperands& operands, const WeightPanel& panel, int index,
                                 std::span<const std::byte> w) {
  const ConvolutionGeometry& g = operands.geometry;
  const auto channel = static_cast<std::size_t>(panel.first_channel + index);
  const auto lane = static_cast<std::size_t>(panel.first_lane + index);
  const std::int32_t zero_point = operands.w_zero_point[channel];
  const bool is_byte = micro_kernels_.x_bytes == 1;
  const std::int32_t shift = !is_byte ? zero_point : operands.w_type == ElementType::uint8 ? 128 : 0;
  const std::int64_t taps = g.kernel_taps();
  const std::int64_t channels = g.group_input_channels();
  const std::byte* const from = w.data() + static_cast<std::int64_t>(channel) * g.depth();
  std::int64_t sum = 0;
  for (std::int64_t depth = 0; depth < g.depth(); ++depth) {
    const std::int32_t value = load8(operands.w_type, from[depth % channels * taps + depth / channels]) - shift;
    sum += value;
    store(memory_.data() + panel.offset, panel.vectors * micro_kernels_.lanes, index, depth, value);
  }
  zero_points_[lane] = zero_point - shift;
  const std::int64_t x_zero_point = is_byte ? packed_x_zero_point(operands, micro_kernels_) : 0;
  const std::int64_t bias = operands.bias.empty() ? 0 : operands.bias[channel];
  start_[lane] = wrap_to_int32(bias + x_zero_point * (g.depth() * zero_points_[lane] - sum));
}

std::span<const WeightPanel> PackedWeights::panels(std::int64_t group) const {
  return std::span(panels_).subspan(static_cast<std::size_t>(group * group_panels_),
                                    static_cast<std::size_t>(group_panels_));
}

// Panels of nearly the same number of vectors: a narrow last one would cost almost as much.
void PackedWeights::divide_into_panels(const ConvolutionGeometry& g) {
  const std::int64_t channels = g.group_output_channels();
  const std::int64_t vectors = ceil_div(channels, micro_kernels_.lanes);
  group_panels_ = ceil_div(vectors, micro_kernels_.max_vectors);
  std::int64_t first_lane = 0;
  for (std::int64_t group = 0; group < g.group; ++group) {
    for (std::int64_t i = 0; i < group_panels_; ++i) {
      const std::int64_t begin = vectors * i / group_panels_;
      const std::int64_t end = vectors * (i + 1) / group_panels_;
      const std::int64_t last = std::min(end * micro_kernels_.lanes, channels);
      panels_.push_back({.first_channel = group * channels + begin * micro_kernels_.lanes,
                         .channels = static_cast<int>(last - begin * micro_kernels_.lanes),
                         .vectors = static_cast<int>(end - begin),
                         .first_lane = first_lane,
                         .offset = first_lane * runs_ * padded_run_ * micro_kernels_.x_bytes});
      first_lane += (end - begin) * micro_kernels_.lanes;
    }
  }
}

void PackedWeights::pack_ones() {
  ones_ =
      AlignedMemory(static_cast<std::size_t>(std::max<std::int64_t>(1, micro_kernels_.lanes * runs_ * padded_run_)));
  std::memset(ones_.data(), 0, ones_.size());
  for (std::int64_t depth = 0; depth < runs_ * run_; ++depth) store(ones_.data(), micro_kernels_.lanes, 0, depth, 1);
}

void PackedWeights::store(std::byte* panel, std::int64_t panel_lanes, std::int64_t lane, std::int64_t depth,
                          std::int32_t value) {
  const std::int64_t in_run = depth % run_;
  const std::int64_t unit = (depth / run_ * padded_run_ + in_run) / micro_kernels_.group;
  const std::int64_t element = (unit * panel_lanes + lane) * micro_kernels_.group + in_run % micro_kernels_.group;
  if (micro_kernels_.x_bytes == 1) {
    panel[element] = static_cast<std::byte>(static_cast<std::int8_t>(value));
  } else {
    const auto wide = static_cast<std::int16_t>(value);
    std::memcpy(panel + 2 * element, &wide, sizeof wide);
  }
}

namespace {

constexpr std::int64_t kUnit = 4;

}  // namespace

LineWeights::LineWeights(const ConvolutionOperands& operands, std::span<const std::byte> w,
                         const ConvolutionMicroKernels& micro_kernels, std::int64_t run)
    : row_bytes_(operands.geometry.depth() / run * ((run + kUnit - 1) / kUnit * kUnit)) {
  const std::int64_t channels = operands.geometry.output_channels;
  memory_ = AlignedMemory(static_cast<std::size_t>(channels * row_bytes_));
  std::memset(memory_.data(), 0, memory_.size());
  start_.assign(static_cast<std::size_t>(channels), 0);
  const std::int64_t x_zero_point = packed_x_zero_point(operands, micro_kernels);
  for (std::int64_t m = 0; m < channels && fit_; ++m) fit_ = pack_row(operands, w, m, run, x_zero_point);
  divide_into_panels(channels);
}

bool LineWeights::pack_row(const ConvolutionOperands& operands, std::span<const std::byte> w, std::int64_t channel,
                           std::int64_t run, std::int64_t x_zero_point) {
  const std::int64_t depth = operands.geometry.depth();
  const std::int64_t padding = (run + kUnit - 1) / kUnit * kUnit - run;
  const auto m = static_cast<std::size_t>(channel);
  const std::byte* const from = w.data() + channel * depth;
  std::byte* const to = memory_.data() + channel * row_bytes_;
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::int32_t value = load8(operands.w_type, from[i]) - operands.w_zero_point[m];
    if (value < -128 || value > 127) return false;
    to[i + i / run * padding] = static_cast<std::byte>(static_cast<std::int8_t>(value));
    sum += value;
  }
  start_[m] = wrap_to_int32((operands.bias.empty() ? 0 : operands.bias[m]) - x_zero_point * sum);
  return true;
}

// Divides the channels into panels of nearly the same size: a short one would cost almost as much.
void LineWeights::divide_into_panels(std::int64_t channels) {
  const std::int64_t count = (channels + kTilePositions - 1) / kTilePositions;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = channels * i / count;
    const auto size = static_cast<int>(channels * (i + 1) / count - begin);
    panels_.push_back({.first_channel = begin, .channels = size, .vectors = 0, .first_lane = begin, .offset = 0});
  }
}

}  // namespace qconform::reference
