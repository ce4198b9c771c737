#include "harness/operators/convolution/pipeline.h"

#include <algorithm>

#include "reference/numerics/bits.h"
#include "reference/numerics/integer8.h"

namespace qconform::diagnose {
namespace {

constexpr int kSumBits = 32;
constexpr int kQuantizedBits = 8;

bool within_limit(const ConvolutionGeometry& geometry) {
  std::int64_t elements = 1;
  for (const std::int64_t dimension : geometry.output_shape()) {
    if (dimension != 0 && elements > reference::kMaxOutputElements / dimension) return false;
    elements *= dimension;
  }
  return true;
}

}  // namespace

bool apply_geometry(const ConvolutionStages& stages, const StatedGeometry& stated, ConvolutionGeometry& geometry) {
  return stages.dilations(geometry, stated) && stages.pads(geometry, stated) && stages.auto_pad(geometry, stated) &&
         within_limit(geometry);
}

ConvolutionPipeline::ConvolutionPipeline(const Stages& stages, const ConvolutionOperands& operands,
                                         const QLinearConv* quantized, std::span<const std::byte> x,
                                         std::span<const std::byte> w)
    : stages_(stages),
      operands_(operands),
      geometry_(operands.geometry),
      quantized_(quantized),
      x_(x),
      w_(w),
      offsets_(static_cast<std::size_t>(geometry_.kernel_taps())),
      x_values_(static_cast<std::size_t>(geometry_.depth())),
      x_differences_(x_values_.size()),
      previous_(static_cast<std::size_t>(geometry_.batch * geometry_.output_channels), 0) {
  read_weights();
}

void ConvolutionPipeline::read_weights() {
  std::vector<std::size_t> from(offsets_.size());  // within a row, by tap
  for (std::size_t tap = 0; tap < from.size(); ++tap) {
    from[tap] = static_cast<std::size_t>(stages_.convolution.weight_tap(geometry_, static_cast<std::int64_t>(tap)));
  }
  weights_.resize(w_.size());
  for (std::size_t row = 0; row < w_.size(); row += from.size()) {
    for (std::size_t tap = 0; tap < from.size(); ++tap) {
      weights_[row + tap] = stages_.convolution.w_value(operands_.w_type, w_[row + from[tap]]);
    }
  }
}

void ConvolutionPipeline::locate_taps(std::int64_t output_position) {
  const std::vector<reference::SpatialAxis>& axes = geometry_.axes;
  std::vector<std::int64_t> position(axes.size());
  for (std::size_t tap = 0; tap < offsets_.size(); ++tap) {
    auto rest_of_tap = static_cast<std::int64_t>(tap);
    std::int64_t rest_of_output = output_position;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const reference::SpatialAxis& axis = axes[a];
      position[a] =
          rest_of_output % axis.output * axis.stride - axis.pad_begin + rest_of_tap % axis.kernel * axis.dilation;
      rest_of_output /= axis.output;
      rest_of_tap /= axis.kernel;
    }
    offsets_[tap] = stages_.convolution.locate(geometry_, position);
  }
  const auto padded = std::count(offsets_.begin(), offsets_.end(), kInPadding);
  touches_padding_ = padded != 0;
  is_empty_ = padded == static_cast<std::ptrdiff_t>(offsets_.size());
  x_zero_point_ = stages_.convolution.x_zero_point(operands_, touches_padding_);
}

void ConvolutionPipeline::read_x(std::int64_t image, std::int64_t group) {
  const ConvolutionStages& stages = stages_.convolution;
  const std::int64_t first = stages.image(image) * geometry_.input_channels + stages.group_base(geometry_, group);
  const std::int64_t plane = geometry_.input_positions();
  std::size_t k = 0;
  for (std::int64_t c = 0; c < geometry_.group_input_channels(); ++c) {
    for (const std::int64_t offset : offsets_) {
      x_values_[k] =
          offset == kInPadding
              ? stages.pad(operands_, x_zero_point_)
              : reference::load8(operands_.x_type, x_[static_cast<std::size_t>((first + c) * plane + offset)]);
      x_differences_[k] = stages.x_difference(x_values_[k], x_zero_point_);
      ++k;
    }
  }
}

std::int64_t ConvolutionPipeline::sum_of(std::int64_t image, std::int64_t channel) {
  const ConvolutionStages& stages = stages_.convolution;
  const std::size_t depth = x_values_.size();
  const Window window{.operands = operands_,
                      .x = x_values_,
                      .x_difference = x_differences_,
                      .w = std::span(weights_).subspan(static_cast<std::size_t>(channel) * depth, depth),
                      .x_zero_point = x_zero_point_,
                      .w_zero_point = stages.w_zero_point(operands_, channel)};
  std::int64_t sum = stages.accumulate(window) + stages.correction(window);
  std::int64_t& previous = previous_[static_cast<std::size_t>(image * geometry_.output_channels + channel)];
  if (is_empty_) sum = stages.empty_window(sum, previous);
  previous = sum;
  return stages.keep(sum + stages.bias(operands_, channel));
}

void ConvolutionPipeline::store(std::span<std::byte> y, std::int64_t index, std::int64_t channel,
                                std::int64_t sum) const {
  if (quantized_ == nullptr) return reference::store_bits(y, kSumBits, index, static_cast<std::uint64_t>(sum));
  Requantization parameters = quantized_->requantization(static_cast<std::size_t>(channel));
  parameters.w_scale = stages_.requantization.w_scale(*quantized_, channel);
  const Quotient value = stages_.requantization.product(sum, parameters, stages_.requantization.expression);
  const std::int64_t bias = operands_.bias.empty() ? 0 : operands_.bias[static_cast<std::size_t>(channel)];
  const std::int64_t stored = finish(stages_.output, value, {parameters.y_zero_point, parameters.y_range, bias});
  reference::store_bits(y, kQuantizedBits, index, static_cast<std::uint64_t>(stored));
}

void ConvolutionPipeline::run(std::span<std::byte> y) {
  const std::int64_t positions = geometry_.output_positions();
  if (y.empty()) return;
  const std::int64_t channels_of_group = geometry_.group_output_channels();
  for (std::int64_t position = 0; position < positions; ++position) {
    locate_taps(position);
    for (std::int64_t plane = 0; plane < geometry_.batch * geometry_.output_channels; ++plane) {
      const std::int64_t image = plane / geometry_.output_channels;
      const std::int64_t channel = plane % geometry_.output_channels;
      if (channel % channels_of_group == 0) read_x(image, channel / channels_of_group);
      store(y, plane * positions + position, channel, sum_of(image, channel));
    }
  }
}

}  // namespace qconform::diagnose
