#include "harness/operators/convolution/hooks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/directed_draft.h"

namespace qconform {
namespace {

using Values = std::vector<std::int64_t>;

using reference::ConvolutionGeometry;

void set_channels(ConvolutionGeometry& sizes, std::int64_t group, std::int64_t group_inputs,
                  std::int64_t group_outputs) {
  sizes.group = group;
  sizes.input_channels = group * group_inputs;
  sizes.output_channels = group * group_outputs;
}

// Channel counts lie around the widths of vector registers one time in four.
std::int64_t draw_channels(Rng& rng, const Swarm& swarm, std::int64_t most) {
  static constexpr std::int64_t kWidths[] = {4, 8, 16, 32};
  if (swarm.draw(rng, feature::register_widths, 1, 4)) {
    // Drawn one after the other: the order of evaluation within an expression is the compiler's.
    const std::int64_t width = rng.pick(kWidths);
    return std::clamp<std::int64_t>(width + rng.between(-1, 1), 1, most);
  }
  return rng.between(1, std::min<std::int64_t>(most, 6));
}

// More than blocks of 128 hold.
void draw_many_channels(Rng& rng, const Swarm& swarm, ConvolutionGeometry& sizes) {
  if (swarm.draw(rng, feature::groups, 1, 3)) return set_channels(sizes, rng.between(129, 260), 1, 1);
  const std::int64_t inputs = rng.between(1, 3);
  set_channels(sizes, 1, inputs, rng.between(129, 260));
}

void draw_channels(Rng& rng, const Swarm& swarm, ConvolutionGeometry& sizes) {
  if (!swarm.draw(rng, feature::groups, 3, 8)) {
    const std::int64_t inputs = draw_channels(rng, swarm, 33);
    return set_channels(sizes, 1, inputs, draw_channels(rng, swarm, 33));
  }
  const std::uint64_t kind = rng.below(3);
  // Depthwise, without or with a depth multiplier.
  if (kind == 0) return set_channels(sizes, draw_channels(rng, swarm, 33), 1, 1);
  const std::int64_t group = kind == 1 ? rng.between(2, 5) : rng.between(2, 4);
  if (kind == 1) return set_channels(sizes, group, 1, rng.between(2, 3));
  const std::int64_t inputs = rng.between(1, 5);
  set_channels(sizes, group, inputs, rng.between(1, 5));
}

// Returns the pads at the begin and at the end of an axis.
std::pair<std::int64_t, std::int64_t> draw_pads(Rng& rng, const Swarm& swarm, std::int64_t extent) {
  if (!swarm.draw(rng, feature::pads, 3, 5)) return {0, 0};
  switch (rng.below(3)) {
    case 0: return {extent / 2, extent / 2};
    case 1: return {rng.between(0, extent), rng.between(0, extent)};
    default: return {rng.chance(1, 2) ? 0 : rng.between(0, 2), rng.between(0, 3)};
  }
}

// One spatial dimension. `outputs` bounds the output size, so that the whole stays small; `large` is of this axis.
reference::SpatialAxis draw_axis(Rng& rng, const Swarm& swarm, std::int64_t outputs, LargeExtent large,
                                 std::string_view auto_pad) {
  static constexpr std::int64_t kKernels[] = {1, 1, 2, 3, 3, 3, 4, 5};
  static constexpr std::int64_t kSteps[] = {2, 2, 3};
  std::int64_t kernel = rng.pick(kKernels);
  if (large == LargeExtent::kernel) kernel = rng.between(9, 16);
  const std::int64_t stride = swarm.draw(rng, feature::strides, 3, 7) ? rng.pick(kSteps) : 1;
  std::int64_t dilation = swarm.draw(rng, feature::dilations, 3, 7) ? rng.pick(kSteps) : 1;
  if (large == LargeExtent::dilation) {
    dilation = rng.between(4, 9);
    kernel = std::max<std::int64_t>(kernel, 2);
  }
  const std::int64_t extent = (kernel - 1) * dilation + 1;
  const bool explicit_pads = auto_pad == "NOTSET";
  const bool same = auto_pad[0] == 'S';
  const auto [begin, end] = explicit_pads ? draw_pads(rng, swarm, extent) : std::pair<std::int64_t, std::int64_t>();
  const std::int64_t output = large == LargeExtent::position ? rng.between(129, 280) : rng.between(1, outputs);
  // The input that gives this output, with up to stride - 1 elements that no window reaches.
  const std::int64_t slack = rng.between(0, stride - 1);
  const std::int64_t reach = same ? (output - 1) * stride + 1 : (output - 1) * stride + extent - begin - end;
  const std::int64_t input = std::max<std::int64_t>(1, reach + slack);
  return {input, kernel, stride, dilation, begin, end, output};
}

void draw_most_channels(Rng& rng, const Swarm& swarm, LargeExtent large, ConvolutionGeometry& sizes) {
  if (large == LargeExtent::channels) {
    draw_many_channels(rng, swarm, sizes);
  } else {
    draw_channels(rng, swarm, sizes);
  }
  if (large != LargeExtent::position && large != LargeExtent::kernel) return;
  constexpr std::int64_t kFew = 6;  // so that the work stays small
  set_channels(sizes, std::min(sizes.group, kFew), std::min(sizes.group_input_channels(), kFew),
               std::min(sizes.group_output_channels(), kFew));
}

// Convolutions of any size kill as many defect models as small ones, but for float32 accumulation and sums beyond
// int32; the largest quarter of them costs nine tenths of the time. One in 16 may be as large as it is drawn.
constexpr std::int64_t kFewProducts = 2048;
constexpr std::uint64_t kLargeTurn = 16;

constexpr auto kAnyProducts = std::numeric_limits<std::int64_t>::max();

std::int64_t draw_most_products(const Rng& rng, LargeExtent large, const Swarm& swarm) {
  if (!swarm.keeps_small() || large != LargeExtent::none) return kAnyProducts;
  Rng own = aside(rng, 3);
  return own.chance(1, kLargeTurn) ? kAnyProducts : kFewProducts;
}

std::int64_t products_of(const ConvolutionGeometry& sizes) {
  std::int64_t products = sizes.batch * sizes.output_channels * sizes.group_input_channels();
  for (const reference::SpatialAxis& axis : sizes.axes) products *= axis.kernel * axis.output;
  return products;
}

// Takes output positions away, from the first axis on, and never a channel or a tap: kernels have a tail for each of
// those, and walk along the last axis.
void limit_products(ConvolutionGeometry& sizes, std::int64_t most) {
  for (reference::SpatialAxis& axis : sizes.axes) {
    const std::int64_t products = products_of(sizes);
    if (products <= most) return;
    const std::int64_t output = std::max<std::int64_t>(1, most / (products / axis.output));
    axis.input = std::max<std::int64_t>(1, axis.input - (axis.output - output) * axis.stride);
    axis.output = output;
  }
}

// Draws the attributes and the shapes of x and w.
Convolution draw_stated_sizes(Rng& rng, const Swarm& swarm, LargeExtent large, std::int64_t most_products) {
  static constexpr const char* kAutoPads[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  static constexpr std::size_t kRanks[] = {1, 2, 2, 2, 2, 2, 2, 3};
  Convolution result;
  result.auto_pad = swarm.draw(rng, feature::auto_pad, 3, 8) ? rng.pick(kAutoPads) : "NOTSET";
  ConvolutionGeometry sizes;
  sizes.batch = swarm.draw(rng, feature::batch, 1, 4) ? rng.between(2, 3) : 1;
  if (large == LargeExtent::batch) sizes.batch = rng.between(4, 9);
  draw_most_channels(rng, swarm, large, sizes);
  std::size_t rank = rng.chance(1, 64) ? 4 : rng.pick(kRanks);
  if (swarm.always_has(feature::one_axis)) rank = 1;
  if (swarm.always_has(feature::two_axes)) rank = 2;
  const bool is_large = swarm.draw(rng, feature::large_images, 1, 8);
  const bool stays_small = large == LargeExtent::position || large == LargeExtent::channels;
  const std::int64_t outputs = stays_small ? 2 : rank == 1 ? 40 : rank == 2 ? (is_large ? 18 : 6) : 3;
  // The last axis is the one that kernels walk along.
  const std::size_t long_axis = large == LargeExtent::position && rng.chance(1, 3) ? 0 : rank - 1;
  sizes.axes.reserve(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const LargeExtent of_axis = axis == long_axis ? large : LargeExtent::none;
    sizes.axes.push_back(draw_axis(rng, swarm, outputs, of_axis, *result.auto_pad));
  }
  limit_products(sizes, most_products);
  set_sizes(result, sizes);
  // Attributes are stated when they are not the default, and sometimes when they are.
  choose_attributes(result, [&](std::string_view name, bool is_default) {
    return !is_default || rng.chance(1, name == "kernel_shape" ? 2 : 4);
  });
  return result;
}

ElementType draw_type8(Rng& rng, const Swarm& swarm, Feature is_uint8) {
  return swarm.draw(rng, is_uint8, 1, 2) ? ElementType::uint8 : ElementType::int8;
}

ParameterValues<std::int64_t> draw_w_zero_point(Rng& rng, const Swarm& swarm, const Convolution& c, bool per_channel) {
  const auto channels = static_cast<std::size_t>(c.output_channels());
  if (swarm.always_has(feature::middle_w_zero_point)) {
    const std::int64_t middle = c.w.type == ElementType::int8 ? 0 : 128;
    if (!per_channel) return middle;
    return ParameterValues(Values(channels, middle));
  }
  if (!per_channel) return random_zero_point(rng, c.w.type, swarm);
  Values values(channels);
  for (std::int64_t& value : values) value = random_zero_point(rng, c.w.type, swarm);
  return ParameterValues(std::move(values));
}

ParameterValues<float> draw_w_scale(Rng& rng, const Swarm& swarm, const Convolution& c, bool per_channel) {
  if (!per_channel) return random_scale(rng, swarm);
  const float common = random_scale(rng, swarm);
  std::vector<float> values(static_cast<std::size_t>(c.output_channels()));
  for (float& value : values) {
    // Channels of one layer differ by a small factor, in (0.25, 2).
    const float factor = random_float(rng, -24 + static_cast<int>(rng.between(-1, 1)));
    value = rng.chance(1, 8) ? common : common * factor;
  }
  return ParameterValues(std::move(values));
}

// Fills x and w, whose types and shapes are set, and whose zero points are values that occur more often than others.
void fill_tensors(Rng& rng, const Swarm& swarm, Convolution& c) {
  c.x = random_data8(rng, c.x.type, std::move(c.x.shape), c.x_zero(), swarm);
  c.w = random_data8(rng, c.w.type, std::move(c.w.shape), c.w_zero(0), swarm);
}

// Mean and mean square of a tensor's values less their zero point.
struct Moments {
  double mean = 0;
  double square = 0;
};

template <typename Integer>
Moments moments_of(std::span<const std::byte> bytes, std::int64_t zero_point) {
  // In parts whose sums fit 32 bits, which a processor adds up several at a time.
  constexpr std::size_t kPart = 16384;
  static_assert(kPart * 255 * 255 < (std::size_t{1} << 31));
  const auto count = static_cast<double>(std::max<std::size_t>(bytes.size(), 1));
  const auto still = static_cast<std::int32_t>(zero_point);
  std::int64_t sum = 0;
  std::int64_t squares = 0;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPart, bytes.size()))) {
    std::int32_t part = 0;
    std::int32_t part_squares = 0;
    for (const std::byte byte : bytes.first(std::min(kPart, bytes.size()))) {
      const auto value = static_cast<std::int16_t>(static_cast<Integer>(byte) - still);  // vectors multiply 16 bits
      part += value;
      part_squares += std::int32_t{value} * value;
    }
    sum += part;
    squares += part_squares;
  }
  return {static_cast<double>(sum) / count, static_cast<double>(squares) / count};
}

// Returns the moments of an int8 or uint8 tensor less its zero point.
Moments moments_of(const Tensor& tensor, std::int64_t zero_point) {
  return tensor.type == ElementType::int8 ? moments_of<std::int8_t>(tensor.bytes, zero_point)
                                          : moments_of<std::uint8_t>(tensor.bytes, zero_point);
}

// Products of one sum.
std::int64_t depth_of(const Convolution& c) {
  return elements_of(std::span(c.w.shape).subspan(1));
}

// An output scale that spreads the sums of `depth` products over the output range, and mostly a zero
// point that centres them: an output that saturates everywhere tests nothing else.
void draw_output(Rng& rng, Convolution& c) {
  const Moments x = moments_of(c.x, c.x_zero());
  const Moments w = moments_of(c.w, c.w_zero(0));
  const float multiplier = c.x_scale.of(0) * c.w_scale.of(0);
  const auto count = static_cast<double>(depth_of(c));
  const double mean = count * x.mean * w.mean;
  const double variance = std::max(0.0, x.square * w.square - x.mean * w.mean * x.mean * w.mean);
  const double spread = std::fabs(mean) / 2 + 2 * std::sqrt(count * variance) + 1;
  const auto wanted = static_cast<double>(rng.between(32, 120));
  auto scale = static_cast<float>(multiplier * spread / wanted);
  if (rng.chance(1, 8)) {
    int exponent = 0;
    std::frexp(scale, &exponent);
    scale = std::ldexp(1.0F, exponent);
  }
  c.y_scale = scale;
  const std::int64_t shift = rng.between(-20, 20);
  if (rng.chance(1, 8)) {
    c.y_zero_point = random_zero_point(rng, c.y_type);
    return;
  }
  const bool is_signed = c.y_type == ElementType::int8;
  const double centre = (is_signed ? 0 : 128) - mean * multiplier / scale + static_cast<double>(shift);
  const double clamped = std::clamp(centre, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  c.y_zero_point = static_cast<std::int64_t>(clamped);
}

std::vector<std::int32_t> draw_bias(Rng& rng, const Convolution& c) {
  const auto bound = static_cast<std::int64_t>(6000.0F * std::sqrt(static_cast<float>(depth_of(c))));
  std::vector<std::int32_t> values(static_cast<std::size_t>(c.output_channels()));
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(rng.between(-bound, bound));
  return values;
}

Convolution draw_qlinear_conv(Rng& rng, LargeExtent large, const Swarm& swarm, std::int64_t most_products) {
  Convolution c = draw_stated_sizes(rng, swarm, large, most_products);
  c.x.type = draw_type8(rng, swarm, feature::uint8_x);
  c.w.type = draw_type8(rng, swarm, feature::uint8_w);
  c.y_type = draw_type8(rng, swarm, feature::uint8_y);
  const bool per_channel = swarm.draw(rng, feature::per_channel, 1, 2);
  c.x_zero_point = random_zero_point(rng, c.x.type, swarm);
  c.x_scale = random_scale(rng, swarm);
  c.w_scale = draw_w_scale(rng, swarm, c, per_channel);
  c.w_zero_point = draw_w_zero_point(rng, swarm, c, per_channel);
  fill_tensors(rng, swarm, c);
  draw_output(rng, c);
  if (swarm.draw(rng, feature::bias, 1, 2)) c.bias = draw_bias(rng, c);
  return c;
}

Convolution draw_conv_integer(Rng& rng, LargeExtent large, const Swarm& swarm, std::int64_t most_products) {
  Convolution c = draw_stated_sizes(rng, swarm, large, most_products);
  c.is_quantized = false;
  c.x.type = draw_type8(rng, swarm, feature::uint8_x);
  c.w.type = draw_type8(rng, swarm, feature::uint8_w);
  c.x_zero_point = random_zero_point(rng, c.x.type, swarm);
  c.w_zero_point = draw_w_zero_point(rng, swarm, c, swarm.draw(rng, feature::per_channel, 1, 2));
  fill_tensors(rng, swarm, c);
  // One zero point or both are omitted in three of eight.
  const std::uint64_t omitted = rng.below(8);
  if (omitted == 0 || omitted == 2) c.x_zero_point.reset();
  if (omitted <= 1) c.w_zero_point.reset();
  return c;
}

bool leaves_out(const Swarm& swarm, Feature feature) {
  return swarm.scaled(feature, 1) == 0;
}

// One case in 64, where the block does not leave out what it is about.
LargeExtent draw_large_extent(const Rng& rng, const Swarm& swarm) {
  struct LargeExtentKind {
    LargeExtent large;
    Feature about;
  };
  static constexpr LargeExtentKind kKinds[] = {{LargeExtent::dilation, feature::dilations},
                                               {LargeExtent::kernel, feature::large_images},
                                               {LargeExtent::batch, feature::batch},
                                               {LargeExtent::position, feature::large_images},
                                               {LargeExtent::channels, feature::register_widths}};
  Rng own = aside(rng, 1);
  if (!own.chance(1, 64)) return LargeExtent::none;
  const LargeExtentKind kind = own.pick(kKinds);
  return leaves_out(swarm, kind.about) ? LargeExtent::none : kind.large;
}

// One case in 32 has sums and multipliers, or zero points, that usual ones do not have.
void make_values_rare(const Rng& rng, const Swarm& swarm, Convolution& drawn) {
  Rng own = aside(rng, 2);
  if (!own.chance(1, 32)) return;
  if (own.chance(1, 2)) {
    directed::shrink_sums(own, drawn, swarm.draw(own, feature::bias, 1, 2));
  } else if (!leaves_out(swarm, feature::extreme_zero_points)) {
    directed::move_zero_points_to_ends(own, drawn);
  }
}

}  // namespace

Convolution random_convolution(Rng& rng, bool is_quantized, LargeExtent large, const Swarm& swarm) {
  return is_quantized ? draw_qlinear_conv(rng, large, swarm, kAnyProducts)
                      : draw_conv_integer(rng, large, swarm, kAnyProducts);
}

Case random_qlinear_conv(Rng& rng, const Swarm& swarm) {
  const LargeExtent large = draw_large_extent(rng, swarm);
  Convolution drawn = draw_qlinear_conv(rng, large, swarm, draw_most_products(rng, large, swarm));
  make_values_rare(rng, swarm, drawn);
  return build_convolution(std::move(drawn));
}

Case random_conv_integer(Rng& rng, const Swarm& swarm) {
  const LargeExtent large = draw_large_extent(rng, swarm);
  return build_convolution(draw_conv_integer(rng, large, swarm, draw_most_products(rng, large, swarm)));
}

}  // namespace qconform
