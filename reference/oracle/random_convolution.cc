#include "reference/oracle/random_convolution.h"

#include <algorithm>
#include <limits>

namespace qconform::reference::oracle {
namespace {

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t elements = 1;
  for (const std::int64_t dimension : shape) elements *= static_cast<std::size_t>(dimension);
  return elements;
}

// Uniform values, or the extremes alone: those are what overflows.
IntegerTensor random_tensor(Random& random, std::vector<std::int64_t> shape, IntegerRange range) {
  IntegerTensor tensor{std::move(shape), {}};
  const bool extremes = random.one_in(4);
  tensor.values.resize(elements_of(tensor.shape));
  for (std::int64_t& value : tensor.values) {
    value = extremes ? (random.one_in(2) ? range.lo : range.hi) : random.between(range.lo, range.hi);
  }
  return tensor;
}

std::vector<std::byte> bytes_of(const IntegerTensor& tensor) {
  std::vector<std::byte> bytes;
  bytes.reserve(tensor.values.size());
  for (const std::int64_t value : tensor.values) bytes.push_back(static_cast<std::byte>(value & 0xFF));
  return bytes;
}

// Any 32 bits, or so near the ends of int32 that the sum is likely to leave it (rule C17).
std::int32_t random_bias(Random& random) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (!random.one_in(3)) return static_cast<std::int32_t>(random.between(Limits::min(), Limits::max()));
  const std::int64_t inward = random.between(0, 1000);
  return static_cast<std::int32_t>(random.one_in(2) ? Limits::max() - inward : Limits::min() + inward);
}

// One dimension into which at least one window fits.
SpatialAxis random_axis(Random& random, std::int64_t largest_input) {
  SpatialAxis axis{};
  axis.input = random.between(1, largest_input);
  axis.kernel = random.between(1, 3);
  axis.stride = random.between(1, 3);
  axis.dilation = random.between(1, 3);
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (random.one_in(3)) {
    const SamePadding same = same_padding(axis.input, extent, axis.stride, random.one_in(2));
    axis.pad_begin = same.begin;
    axis.pad_end = same.end;
  } else {
    axis.pad_begin = random.between(0, random.one_in(3) ? extent + 1 : 1);
    axis.pad_end = random.between(0, random.one_in(3) ? extent + 1 : 1);
    axis.pad_end += std::max<std::int64_t>(0, extent - axis.input - axis.pad_begin - axis.pad_end);
  }
  axis.output = count_windows(axis.pad_begin + axis.input + axis.pad_end, extent, axis.stride);
  return axis;
}

bool has_window_in_padding(const SpatialAxis& axis) {
  const std::int64_t last_start = (axis.output - 1) * axis.stride;
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  return extent <= axis.pad_begin || last_start >= axis.pad_begin + axis.input;
}

ConvolutionGeometry random_geometry(Random& random) {
  ConvolutionGeometry g;
  const auto rank = static_cast<std::size_t>(random.between(1, 4));
  const std::int64_t largest_input[] = {20, 8, 4, 3};
  g.group = random.between(1, 3);
  g.batch = random.between(1, 2);
  g.input_channels = g.group * random.between(1, 3);
  g.output_channels = g.group * random.between(1, 3);
  for (std::size_t a = 0; a < rank; ++a) g.axes.push_back(random_axis(random, largest_input[rank - 1]));
  return g;
}

void draw_parameters(Random& random, ConvolutionOperands& o) {
  o.x_type = random.one_in(2) ? ElementType::uint8 : ElementType::int8;
  o.w_type = random.one_in(2) ? ElementType::uint8 : ElementType::int8;
  const IntegerRange x_range = range_of(o.x_type);
  const IntegerRange w_range = range_of(o.w_type);
  o.x_zero_point = static_cast<std::int32_t>(random.between(x_range.lo, x_range.hi));
  const bool has_bias = random.one_in(2);
  for (std::int64_t m = 0; m < o.geometry.output_channels; ++m) {
    o.w_zero_point.push_back(static_cast<std::int32_t>(random.between(w_range.lo, w_range.hi)));
    if (has_bias) o.bias.push_back(random_bias(random));
  }
}

}  // namespace

RandomConvolution random_convolution(Random& random) {
  RandomConvolution c{};
  ConvolutionOperands& o = c.operands;
  o.geometry = random_geometry(random);
  draw_parameters(random, o);
  const ConvolutionGeometry& g = o.geometry;
  std::vector<std::int64_t> x_shape{g.batch, g.input_channels};
  std::vector<std::int64_t> w_shape{g.output_channels, g.input_channels / g.group};
  std::vector<AxisRule> rules;
  for (const SpatialAxis& axis : g.axes) {
    x_shape.push_back(axis.input);
    w_shape.push_back(axis.kernel);
    rules.push_back({axis.stride, axis.dilation, axis.pad_begin, axis.pad_end});
  }
  const IntegerTensor x = random_tensor(random, x_shape, range_of(o.x_type));
  const IntegerTensor w = random_tensor(random, w_shape, range_of(o.w_type));
  const std::vector<std::int64_t> zero_points(o.w_zero_point.begin(), o.w_zero_point.end());
  std::vector<std::int64_t> bias(o.bias.begin(), o.bias.end());
  bias.resize(static_cast<std::size_t>(g.output_channels), 0);
  c.x = bytes_of(x);
  c.w = bytes_of(w);
  c.expected = convolve(x, w, g.group, rules, o.x_zero_point, zero_points, bias);
  c.has_padding_window = std::any_of(g.axes.begin(), g.axes.end(), has_window_in_padding);
  return c;
}

}  // namespace qconform::reference::oracle
