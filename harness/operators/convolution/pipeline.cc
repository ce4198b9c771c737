#include "harness/operators/convolution/pipeline.h"

#include <algorithm>
#include <vector>

#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/diagnosis.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"
#include "reference/numerics/requantize.h"

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

// The geometry stages on a resolved geometry. False when what they make of it has no output, or more
// elements than qconform handles.
bool apply_geometry(const Stages& stages, const StatedGeometry& stated, ConvolutionGeometry& geometry) {
  return stages.get(stage::dilations)(geometry, stated) && stages.get(stage::pads)(geometry, stated) &&
         stages.get(stage::auto_pad)(geometry, stated) && stages.get(stage::same_side)(geometry, stated) &&
         within_limit(geometry);
}

// One node, its geometry applied. `quantized` is null for ConvInteger. What it is given must outlive it.
class ConvolutionPipeline {
 public:
  ConvolutionPipeline(const Stages& stages, const ConvolutionOperands& operands, const QLinearConv* quantized,
                      std::span<const std::byte> x, std::span<const std::byte> w);

  // y has the size of the output: one byte for each element, or four for ConvInteger's.
  void run(std::span<std::byte> y);

 private:
  void read_weights();
  void locate_taps(std::int64_t output_position);
  void read_x(std::int64_t image, std::int64_t group);
  [[nodiscard]] std::int64_t sum_of(std::int64_t image, std::int64_t channel);
  void store(std::span<std::byte> y, std::int64_t index, std::int64_t channel, std::int64_t sum) const;

  const Stages& stages_;
  const ConvolutionOperands& operands_;
  const ConvolutionGeometry& geometry_;
  const QLinearConv* quantized_;
  std::span<const std::byte> x_;
  std::span<const std::byte> w_;

  std::vector<std::int32_t> weights_;  // as read, [channel][input channel][tap]
  std::vector<std::int64_t> offsets_;  // the offsets of the window's taps in a plane
  bool in_tail_ = false;               // whether the output is in the tail of a vector loop
  bool touches_padding_ = false;
  bool is_empty_ = false;  // wholly in padding
  std::int32_t x_zero_point_ = 0;
  std::vector<std::int32_t> x_values_;
  std::vector<std::int32_t> x_differences_;
  std::vector<std::int64_t> previous_;  // the last sum in each plane of y
};

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
  const auto weight_tap = stages_.get(stage::weight_tap);
  for (std::size_t tap = 0; tap < from.size(); ++tap) {
    from[tap] = static_cast<std::size_t>(weight_tap(geometry_, static_cast<std::int64_t>(tap)));
  }
  const auto w_value = stages_.get(stage::w_value);
  weights_.resize(w_.size());
  for (std::size_t row = 0; row < w_.size(); row += from.size()) {
    for (std::size_t tap = 0; tap < from.size(); ++tap) {
      weights_[row + tap] = w_value(operands_, w_[row + from[tap]]);
    }
  }
}

void ConvolutionPipeline::locate_taps(std::int64_t output_position) {
  const std::vector<reference::SpatialAxis>& axes = geometry_.axes;
  std::vector<std::int64_t> position(axes.size());
  const auto locate = stages_.get(stage::locate);
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
    offsets_[tap] = locate(geometry_, position, static_cast<std::int64_t>(tap));
  }
  const auto padded = std::count(offsets_.begin(), offsets_.end(), kInPadding);
  touches_padding_ = padded != 0;
  is_empty_ = padded == static_cast<std::ptrdiff_t>(offsets_.size());
  x_zero_point_ = stages_.get(stage::x_zero_point)(operands_, touches_padding_);
  in_tail_ = stages_.get(stage::vector_tail)(geometry_, output_position);
}

void ConvolutionPipeline::read_x(std::int64_t image, std::int64_t group) {
  const std::int64_t first =
      stages_.get(stage::image)(image) * geometry_.input_channels + stages_.get(stage::group_base)(geometry_, group);
  const auto pad = stages_.get(stage::pad);
  const auto x_difference = stages_.get(stage::x_difference);
  const std::int64_t plane = geometry_.input_positions();
  std::size_t k = 0;
  for (std::int64_t c = 0; c < geometry_.group_input_channels(); ++c) {
    for (const std::int64_t offset : offsets_) {
      const auto index = static_cast<std::size_t>((first + c) * plane + offset);
      x_values_[k] = offset == kInPadding || index >= x_.size() ? pad(operands_, x_zero_point_)
                                                                : reference::load8(operands_.x_type, x_[index]);
      x_differences_[k] = x_difference(x_values_[k], x_zero_point_);
      ++k;
    }
  }
}

std::int64_t ConvolutionPipeline::sum_of(std::int64_t image, std::int64_t channel) {
  const std::size_t depth = x_values_.size();
  const Window window{.operands = operands_,
                      .x = x_values_,
                      .x_difference = x_differences_,
                      .w = std::span(weights_).subspan(static_cast<std::size_t>(channel) * depth, depth),
                      .x_zero_point = x_zero_point_,
                      .w_zero_point = stages_.get(stage::w_zero_point)(operands_, channel)};
  std::int64_t sum = stages_.get(stage::accumulate)(window) + stages_.get(stage::correction)(window);
  std::int64_t& previous = previous_[static_cast<std::size_t>(image * geometry_.output_channels + channel)];
  if (is_empty_) sum = stages_.get(stage::empty_window)(sum, previous);
  previous = sum;
  return stages_.get(stage::keep)(stages_.get(stage::bias)(sum, operands_, channel));
}

void ConvolutionPipeline::store(std::span<std::byte> y, std::int64_t index, std::int64_t channel,
                                std::int64_t sum) const {
  if (quantized_ == nullptr) return reference::store_bits(y, kSumBits, index, static_cast<std::uint64_t>(sum));
  Requantization parameters = quantized_->requantization(static_cast<std::size_t>(channel));
  parameters.w_scale = stages_.get(stage::w_scale)(*quantized_, channel);
  const Quotient value = stages_.get(stage::product)(sum, parameters);
  const std::int64_t stored =
      finish(stages_, value, {parameters.y_zero_point, parameters.y_range, bias_of(operands_, channel), in_tail_});
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

Quotient float_product(std::int64_t accumulator, const Requantization& p,
                       const reference::FloatExpression* expression) {
  const reference::FloatArithmetic arithmetic(reference::Subnormals::kept);
  return quotient_of_float(
      expression->product({arithmetic, accumulator, static_cast<float>(accumulator), p.x_scale, p.w_scale, p.y_scale}));
}

// The profile of that name rounds after the zero point is added: what it gives is an integer, and the
// stage `round` has nothing left to do.
Quotient onnx_reference_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const std::int32_t y = reference::requantize(reference::RoundingProfile::onnx_reference, accumulator, p);
  return quotient_of_float(y - p.y_zero_point);
}

}  // namespace

// The accumulator of fixed-point kernels has 32 bits.
Quotient product_rounded_twice(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  return quotient_of_float(
      reference::multiply_rounding_twice(reference::wrap_to_int32(accumulator), reference::fixed_point_multiplier(p)));
}

Quotient product_rounded_once(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  return quotient_of_float(
      reference::multiply_rounding_once(reference::wrap_to_int32(accumulator), reference::fixed_point_multiplier(p)));
}

std::int64_t Window::sum() const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < w.size(); ++k) sum += product(k);
  return sum;
}

bool keep_geometry(ConvolutionGeometry&, const StatedGeometry&) {
  return true;
}

std::int64_t locate_in_input(const ConvolutionGeometry& geometry, std::span<const std::int64_t> position,
                             std::int64_t) {
  std::int64_t offset = 0;
  for (std::size_t a = 0; a < position.size(); ++a) {
    const std::int64_t size = geometry.axes[a].input;
    if (position[a] < 0 || position[a] >= size) return kInPadding;
    offset = offset * size + position[a];
  }
  return offset;
}

std::int64_t bias_of(const ConvolutionOperands& operands, std::int64_t channel) {
  return operands.bias.empty() ? 0 : operands.bias[static_cast<std::size_t>(channel)];
}

std::int64_t wrap_sum(std::int64_t sum) {
  return reference::wrap_to_int32(sum);
}

Quotient exact_product(std::int64_t accumulator, const Requantization& p, const reference::FloatExpression*) {
  const reference::ExactScale scale = reference::exact_scale(p.x_scale, p.w_scale, p.y_scale);
  return {Quotient::Kind::finite,
          reference::Ratio{.negative = (accumulator < 0) != scale.negative,
                           .numerator = reference::uint128{reference::magnitude_of(accumulator)} * scale.numerator,
                           .denominator = scale.denominator,
                           .exponent = scale.exponent}};
}

void use_expression(Stages& stages, const reference::FloatExpression& expression) {
  stages.set(stage::product, {float_product, &expression});
}

void use_requantization(RoundingProfile profile, Stages& stages) {
  switch (profile) {
    case RoundingProfile::correctly_rounded: break;
    case RoundingProfile::ort_f32: use_expression(stages, reference::float_expressions().front()); break;
    case RoundingProfile::onnx_reference: stages.set(stage::product, {onnx_reference_product}); break;
    case RoundingProfile::tflite: stages.set(stage::product, {product_rounded_twice}); break;
    case RoundingProfile::tflite_single_rounding: stages.set(stage::product, {product_rounded_once}); break;
  }
}

std::optional<Tensor> run_convolution(const Case& test_case, const Lowered& lowered, const Stages& stages) {
  const QLinearConv* quantized = qlinear_conv_of(lowered);
  const Tensor& x = *test_case.input(0);
  const Tensor& w = *test_case.input(quantized != nullptr ? 3 : 1);
  const ConvolutionAttributes attributes = stated_attributes(test_case);
  ConvolutionOperands changed = *operands_of(lowered);
  if (!apply_geometry(stages, {attributes, x.shape}, changed.geometry)) return std::nullopt;
  Tensor y = Tensor::zeros(lowered.output_type(), changed.geometry.output_shape());
  ConvolutionPipeline(stages, changed, quantized, x.bytes, w.bytes).run(y.bytes);
  return y;
}

}  // namespace qconform::diagnose
