// Layers of convolutions to time: the sets by name, and one layer as text.
#include <cmath>

#include "harness/model/case_builder.h"
#include "harness/model/draws/rng.h"
#include "harness/model/layers.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/layer_sets.h"

namespace qconform::bench {
namespace {

// Standard deviation of a uniform byte.
constexpr double kByteDeviation = 73.9;
// The standard deviation of an output, in steps of its scale; the mean lies kOutputMean deviations above the range's
// lower end.
constexpr double kOutputDeviation = 30;
constexpr double kOutputMean = 3.5;

Tensor uniform(ElementType type, std::vector<std::int64_t> shape, Rng& rng) {
  Tensor tensor{type, std::move(shape), {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()));
  rng.fill(tensor.bytes);
  return tensor;
}

// Sums of x - x_zero_point over a window have this mean for each unit of summed weights.
double mean_of_x(const LayerOptions& options) {
  const double middle = options.types == LayerTypes::s8s8 ? -0.5 : 127.5;
  return middle - static_cast<double>(options.x_zero_point);
}

std::int64_t depth_of(const LayerShape& shape) {
  std::int64_t depth = shape.input_channels / shape.group;
  for (const std::int64_t extent : shape.kernel) depth *= extent;
  return depth;
}

// One bias for each channel: what puts the mean of its outputs where it is wanted.
std::vector<std::int64_t> biases(const LayerShape& shape, const LayerOptions& options, const Tensor& w,
                                 const std::vector<float>& relative_scales) {
  const std::int64_t depth = depth_of(shape);
  const double deviation = kByteDeviation * kByteDeviation * std::sqrt(static_cast<double>(depth));
  const double w_zero_point = options.types == LayerTypes::u8u8 ? 128 : 0;
  std::vector<std::int64_t> values;
  for (std::int64_t channel = 0; channel < shape.output_channels; ++channel) {
    double sum = 0;
    for (std::int64_t i = 0; i < depth; ++i) {
      sum += static_cast<double>(integer_at(w, channel * depth + i)) - w_zero_point;
    }
    const double scale = relative_scales[static_cast<std::size_t>(channel)];
    values.push_back(static_cast<std::int64_t>(kOutputMean * deviation / scale - sum * mean_of_x(options)));
  }
  return values;
}

std::vector<std::int64_t> pads_of(const LayerShape& shape) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const std::int64_t extent : shape.kernel) {
    const std::int64_t total = (extent - 1) * shape.dilation;
    begins.push_back(total / 2);
    ends.push_back(total - total / 2);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return begins;
}

std::vector<std::int64_t> with_channels(std::int64_t first, std::int64_t second,
                                        const std::vector<std::int64_t>& spatial) {
  std::vector<std::int64_t> shape{first, second};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

// QLinearConv with a bias. Uniform data; the output's scale and the bias put most outputs well inside the
// output's range, so that few saturate and a wrong sum shows.
Case convolution_case(const LayerShape& shape, const LayerOptions& options) {
  Rng rng(options.seed);
  const bool x_signed = options.types == LayerTypes::s8s8;
  const ElementType x_type = x_signed ? ElementType::int8 : ElementType::uint8;
  const ElementType w_type = options.types == LayerTypes::u8u8 ? ElementType::uint8 : ElementType::int8;
  const std::size_t axes = shape.kernel.size();
  const Tensor w =
      uniform(w_type, with_channels(shape.output_channels, shape.input_channels / shape.group, shape.kernel), rng);
  std::vector<float> scales(static_cast<std::size_t>(shape.output_channels), 1.0F);
  if (w_type == ElementType::int8) {
    for (float& scale : scales) scale = static_cast<float>(rng.between(64, 128)) / 128.0F;
  }
  const std::vector<std::int64_t> bias = biases(shape, options, w, scales);
  const auto y_scale = static_cast<float>(kByteDeviation * kByteDeviation *
                                          std::sqrt(static_cast<double>(depth_of(shape))) / kOutputDeviation);
  QLinearConvBuilder builder;
  builder.id(text_of(shape))
      .x(uniform(x_type, with_channels(1, shape.input_channels, shape.input), rng))
      .x_zero_point(options.x_zero_point)
      .w(w)
      .y_type(x_type)
      .y_scale(y_scale)
      .y_zero_point(x_signed ? -128 : 0)
      .bias(bias)
      .kernel_shape(shape.kernel)
      .strides(std::vector<std::int64_t>(axes, shape.stride))
      .dilations(std::vector<std::int64_t>(axes, shape.dilation))
      .pads(pads_of(shape))
      .group(shape.group);
  if (w_type == ElementType::int8) {
    builder.w_scale(scales).w_zero_point(std::vector<std::int64_t>(scales.size(), 0));
  } else {
    builder.w_scale(1.0F).w_zero_point(128);
  }
  return builder.build();
}

Layer layer_of(std::string_view set, const CountedShape& counted, const LayerOptions& options) {
  Layer layer;
  layer.test_case = convolution_case(counted.shape, options);
  layer.name = layer.test_case.id;
  layer.set = set;
  layer.count = counted.count;
  return layer;
}

}  // namespace

std::vector<LayerSet> convolution_layer_sets() {
  std::vector<LayerSet> sets;
  for (const LayerSetInfo& info : convolution_sets()) {
    sets.push_back({info.name, info.description, info.is_network, [name = info.name](const LayerOptions& options) {
                      std::vector<Layer> layers;
                      const auto shapes = convolution_set(name);
                      for (const CountedShape& counted : *shapes) layers.push_back(layer_of(name, counted, options));
                      return layers;
                    }});
  }
  return sets;
}

Result<Layer> convolution_layer(std::string_view text, const LayerOptions& options) {
  QCONFORM_ASSIGN(const auto shape, parse_layer(text));
  return layer_of("layer", {shape, 1}, options);
}

void measure_convolution(const Lowered& lowered, Layer& layer) {
  const reference::ConvolutionGeometry& g = operands_of(lowered)->geometry;
  layer.macs = g.batch * g.output_channels * g.output_positions() * g.depth();
  layer.kind = g.group == 1                    ? LayerKind::dense
               : g.group_input_channels() == 1 ? LayerKind::depthwise
                                               : LayerKind::grouped;
}

}  // namespace qconform::bench
