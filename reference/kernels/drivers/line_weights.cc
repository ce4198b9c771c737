#include "reference/kernels/drivers/line_weights.h"

#include <cstring>

#include "reference/numerics/saturate.h"

namespace qconform::reference {
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

// Of nearly the same size: a short one would cost almost as much.
void LineWeights::divide_into_panels(std::int64_t channels) {
  const std::int64_t count = (channels + kTilePositions - 1) / kTilePositions;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = channels * i / count;
    const auto size = static_cast<int>(channels * (i + 1) / count - begin);
    panels_.push_back({.first_channel = begin, .channels = size, .vectors = 0, .first_lane = begin, .offset = 0});
  }
}

}  // namespace qconform::reference
