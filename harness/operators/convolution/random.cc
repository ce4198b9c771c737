#include "harness/operators/convolution/suites.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/directed_draft.h"

namespace qconform {
namespace {

using Values = std::vector<std::int64_t>;

// A drawn convolution before its tensors exist.
struct Shape {
  std::int64_t batch = 1;
  std::int64_t group = 1;
  std::int64_t group_inputs = 1;
  std::int64_t group_outputs = 1;
  Values input, kernel, stride, dilation, pad_begin, pad_end;
  const char* auto_pad = "NOTSET";

  [[nodiscard]] std::int64_t input_channels() const { return group * group_inputs; }
  [[nodiscard]] std::int64_t output_channels() const { return group * group_outputs; }
  [[nodiscard]] std::int64_t depth() const {
    std::int64_t product = group_inputs;
    for (const std::int64_t k : kernel) product *= k;
    return product;
  }
  [[nodiscard]] Values x_shape() const { return joined(batch, input_channels(), input); }
  [[nodiscard]] Values w_shape() const { return joined(output_channels(), group_inputs, kernel); }

 private:
  static Values joined(std::int64_t first, std::int64_t second, const Values& spatial) {
    Values shape;
    shape.reserve(2 + spatial.size());
    shape.assign({first, second});
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    return shape;
  }
};

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
void draw_many_channels(Rng& rng, const Swarm& swarm, Shape& shape) {
  if (swarm.draw(rng, feature::groups, 1, 3)) {
    shape.group = rng.between(129, 260);
    return;
  }
  shape.group_inputs = rng.between(1, 3);
  shape.group_outputs = rng.between(129, 260);
}

void draw_channels(Rng& rng, const Swarm& swarm, Shape& shape) {
  if (!swarm.draw(rng, feature::groups, 3, 8)) {
    shape.group_inputs = draw_channels(rng, swarm, 33);
    shape.group_outputs = draw_channels(rng, swarm, 33);
    return;
  }
  switch (rng.below(3)) {
    case 0:  // depthwise
      shape.group = draw_channels(rng, swarm, 33);
      break;
    case 1:  // depthwise with a depth multiplier
      shape.group = rng.between(2, 5);
      shape.group_outputs = rng.between(2, 3);
      break;
    default:
      shape.group = rng.between(2, 4);
      shape.group_inputs = rng.between(1, 5);
      shape.group_outputs = rng.between(1, 5);
  }
}

struct Pads {
  std::int64_t begin;
  std::int64_t end;
};

Pads draw_pads(Rng& rng, const Swarm& swarm, std::int64_t extent) {
  if (!swarm.draw(rng, feature::pads, 3, 5)) return {0, 0};
  switch (rng.below(3)) {
    case 0: return {extent / 2, extent / 2};
    case 1: return {rng.between(0, extent), rng.between(0, extent)};
    default: return {rng.chance(1, 2) ? 0 : rng.between(0, 2), rng.between(0, 3)};
  }
}

// One spatial dimension. `outputs` bounds the output size, so that the whole stays small; `large` is of this axis.
void draw_axis(Rng& rng, const Swarm& swarm, std::int64_t outputs, LargeExtent large, Shape& shape) {
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
  const bool explicit_pads = shape.auto_pad == std::string_view("NOTSET");
  const bool same = shape.auto_pad[0] == 'S';
  const Pads pads = explicit_pads ? draw_pads(rng, swarm, extent) : Pads{0, 0};
  const std::int64_t output = large == LargeExtent::position ? rng.between(129, 280) : rng.between(1, outputs);
  // The input that gives this output, with up to stride - 1 elements that no window reaches.
  const std::int64_t slack = rng.between(0, stride - 1);
  const std::int64_t reach = same ? (output - 1) * stride + 1 : (output - 1) * stride + extent - pads.begin - pads.end;
  shape.input.push_back(std::max<std::int64_t>(1, reach + slack));
  shape.kernel.push_back(kernel);
  shape.stride.push_back(stride);
  shape.dilation.push_back(dilation);
  shape.pad_begin.push_back(pads.begin);
  shape.pad_end.push_back(pads.end);
}

Shape draw_shape(Rng& rng, const Swarm& swarm, LargeExtent large) {
  static constexpr const char* kAutoPads[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  static constexpr std::size_t kRanks[] = {1, 2, 2, 2, 2, 2, 2, 3};
  Shape shape;
  if (swarm.draw(rng, feature::auto_pad, 3, 8)) shape.auto_pad = rng.pick(kAutoPads);
  shape.batch = swarm.draw(rng, feature::batch, 1, 4) ? rng.between(2, 3) : 1;
  if (large == LargeExtent::batch) shape.batch = rng.between(4, 9);
  if (large == LargeExtent::channels) {
    draw_many_channels(rng, swarm, shape);
  } else {
    draw_channels(rng, swarm, shape);
  }
  if (large == LargeExtent::position || large == LargeExtent::kernel) {
    constexpr std::int64_t kFew = 6;  // so that the work stays small
    for (std::int64_t* count : {&shape.group, &shape.group_inputs, &shape.group_outputs}) {
      *count = std::min(*count, kFew);
    }
  }
  std::size_t rank = rng.chance(1, 64) ? 4 : rng.pick(kRanks);
  if (swarm.always_has(feature::one_axis)) rank = 1;
  if (swarm.always_has(feature::two_axes)) rank = 2;
  const bool is_large = swarm.draw(rng, feature::large_images, 1, 8);
  const bool stays_small = large == LargeExtent::position || large == LargeExtent::channels;
  const std::int64_t outputs = stays_small ? 2 : rank == 1 ? 40 : rank == 2 ? (is_large ? 18 : 6) : 3;
  // The last axis is the one that kernels walk along.
  const std::size_t long_axis = large == LargeExtent::position && rng.chance(1, 3) ? 0 : rank - 1;
  for (Values* each : {&shape.input, &shape.kernel, &shape.stride, &shape.dilation, &shape.pad_begin, &shape.pad_end}) {
    each->reserve(rank);
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    draw_axis(rng, swarm, outputs, axis == long_axis ? large : LargeExtent::none, shape);
  }
  return shape;
}

// Attributes are stated when they are not the default, and sometimes when they are.
void set_attributes(Rng& rng, const Shape& shape, Case& result) {
  result.node().attributes.reserve(6);
  const auto state = [&](const char* name, const auto& value, bool is_default) {
    if (!is_default || rng.chance(1, 4)) result.node().attributes.push_back({name, value});
  };
  const auto all = [](const Values& values, std::int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
  };
  const bool explicit_pads = shape.auto_pad == std::string_view("NOTSET");
  state("auto_pad", std::string(shape.auto_pad), explicit_pads);
  state("dilations", shape.dilation, all(shape.dilation, 1));
  state("group", shape.group, shape.group == 1);
  if (rng.chance(1, 2)) result.node().attributes.push_back({"kernel_shape", shape.kernel});
  if (explicit_pads) {
    Values pads = shape.pad_begin;
    pads.insert(pads.end(), shape.pad_end.begin(), shape.pad_end.end());
    state("pads", pads, all(pads, 0));
  }
  state("strides", shape.stride, all(shape.stride, 1));
}

ElementType draw_type8(Rng& rng, const Swarm& swarm, Feature is_uint8) {
  return swarm.draw(rng, is_uint8, 1, 2) ? ElementType::uint8 : ElementType::int8;
}

Tensor draw_w_zero_point(Rng& rng, const Swarm& swarm, ElementType type, std::int64_t channels, bool per_channel) {
  if (swarm.always_has(feature::middle_w_zero_point)) {
    const std::int64_t middle = type == ElementType::int8 ? 0 : 128;
    if (!per_channel) return tensor8(type, {}, {middle});
    return tensor8(type, {channels}, Values(static_cast<std::size_t>(channels), middle));
  }
  if (!per_channel) return tensor8(type, {}, {random_zero_point(rng, type, swarm)});
  Values values(static_cast<std::size_t>(channels));
  for (std::int64_t& value : values) value = random_zero_point(rng, type, swarm);
  return tensor8(type, {channels}, values);
}

Tensor draw_w_scale(Rng& rng, const Swarm& swarm, std::int64_t channels, bool per_channel) {
  if (!per_channel) return Tensor::scalar(ElementType::float32, random_scale(rng, swarm));
  const float common = random_scale(rng, swarm);
  std::vector<float> values(static_cast<std::size_t>(channels));
  for (float& value : values) {
    // Channels of one layer differ by a small factor, in (0.25, 2).
    const float factor = random_float(rng, -24 + static_cast<int>(rng.between(-1, 1)));
    value = rng.chance(1, 8) ? common : common * factor;
  }
  return Tensor::of(ElementType::float32, {channels}, values);
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
      const std::int32_t value = static_cast<Integer>(byte) - still;
      part += value;
      part_squares += value * value;
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

struct OutputParameters {
  float scale;
  std::int64_t zero_point;
};

// An output scale that spreads the sums of `depth` products over the output range, and mostly a zero
// point that centres them: an output that saturates everywhere tests nothing else.
OutputParameters draw_output(Rng& rng, const Moments& x, const Moments& w, float multiplier, std::int64_t depth,
                             ElementType type) {
  const auto count = static_cast<double>(depth);
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
  const std::int64_t shift = rng.between(-20, 20);
  if (rng.chance(1, 8)) return {scale, random_zero_point(rng, type)};
  const bool is_signed = type == ElementType::int8;
  const double centre = (is_signed ? 0 : 128) - mean * multiplier / scale + static_cast<double>(shift);
  const double clamped = std::clamp(centre, is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0);
  return {scale, static_cast<std::int64_t>(clamped)};
}

Tensor draw_bias(Rng& rng, std::int64_t channels, std::int64_t depth) {
  const auto bound = static_cast<std::int64_t>(6000.0F * std::sqrt(static_cast<float>(depth)));
  std::vector<std::int32_t> values(static_cast<std::size_t>(channels));
  for (std::int32_t& value : values) value = static_cast<std::int32_t>(rng.between(-bound, bound));
  return Tensor::of(ElementType::int32, {channels}, values);
}

// Moved in one by one: what stands in braces is copied. Leaves room for the inputs that may follow.
template <typename... Tensors>
void set_inputs(Case& result, Tensors... tensors) {
  result.inputs.reserve(sizeof...(tensors) + 2);
  (result.inputs.emplace_back(std::move(tensors)), ...);
}

Case draw_qlinear_conv(Rng& rng, LargeExtent large, const Swarm& swarm) {
  const Shape shape = draw_shape(rng, swarm, large);
  Case result;
  result.node().op_type = "QLinearConv";
  result.node().opset_version = 10;
  set_attributes(rng, shape, result);
  const ElementType x_type = draw_type8(rng, swarm, feature::uint8_x);
  const ElementType w_type = draw_type8(rng, swarm, feature::uint8_w);
  const ElementType y_type = draw_type8(rng, swarm, feature::uint8_y);
  const bool per_channel = swarm.draw(rng, feature::per_channel, 1, 2);
  const std::int64_t channels = shape.output_channels();
  const std::int64_t x_zero_point = random_zero_point(rng, x_type, swarm);
  const float x_scale = random_scale(rng, swarm);
  Tensor w_scale = draw_w_scale(rng, swarm, channels, per_channel);
  Tensor w_zero_point = draw_w_zero_point(rng, swarm, w_type, channels, per_channel);
  Tensor x = random_data8(rng, x_type, shape.x_shape(), x_zero_point, swarm);
  Tensor w = random_data8(rng, w_type, shape.w_shape(), integer_at(w_zero_point, 0), swarm);
  const OutputParameters y = draw_output(rng, moments_of(x, x_zero_point), moments_of(w, integer_at(w_zero_point, 0)),
                                         x_scale * float_at(w_scale, 0), shape.depth(), y_type);
  set_inputs(result, std::move(x), Tensor::scalar(ElementType::float32, x_scale), tensor8(x_type, {}, {x_zero_point}),
             std::move(w), std::move(w_scale), std::move(w_zero_point), Tensor::scalar(ElementType::float32, y.scale),
             tensor8(y_type, {}, {y.zero_point}));
  if (swarm.draw(rng, feature::bias, 1, 2)) result.inputs.emplace_back(draw_bias(rng, channels, shape.depth()));
  return result;
}

Case draw_conv_integer(Rng& rng, LargeExtent large, const Swarm& swarm) {
  const Shape shape = draw_shape(rng, swarm, large);
  Case result;
  result.node().op_type = "ConvInteger";
  result.node().opset_version = 10;
  set_attributes(rng, shape, result);
  const ElementType x_type = draw_type8(rng, swarm, feature::uint8_x);
  const ElementType w_type = draw_type8(rng, swarm, feature::uint8_w);
  const std::int64_t x_zero_point = random_zero_point(rng, x_type, swarm);
  Tensor w_zero_point =
      draw_w_zero_point(rng, swarm, w_type, shape.output_channels(), swarm.draw(rng, feature::per_channel, 1, 2));
  Tensor x = random_data8(rng, x_type, shape.x_shape(), x_zero_point, swarm);
  Tensor w = random_data8(rng, w_type, shape.w_shape(), integer_at(w_zero_point, 0), swarm);
  set_inputs(result, std::move(x), std::move(w));
  switch (rng.below(8)) {
    case 0: break;  // neither zero point
    case 1: result.inputs.emplace_back(tensor8(x_type, {}, {x_zero_point})); break;
    case 2:
      result.inputs.emplace_back(std::nullopt);
      result.inputs.emplace_back(std::move(w_zero_point));
      break;
    default:
      result.inputs.emplace_back(tensor8(x_type, {}, {x_zero_point}));
      result.inputs.emplace_back(std::move(w_zero_point));
  }
  return result;
}

bool leaves_out(const Swarm& swarm, Feature feature) {
  return swarm.scaled(feature, 1) == 0;
}

// One case in 64, where the block does not leave out what it is about.
LargeExtent draw_large_extent(const Rng& rng, const Swarm& swarm) {
  struct Kind {
    LargeExtent large;
    Feature about;
  };
  static constexpr Kind kKinds[] = {{LargeExtent::dilation, feature::dilations},
                                    {LargeExtent::kernel, feature::large_images},
                                    {LargeExtent::batch, feature::batch},
                                    {LargeExtent::position, feature::large_images},
                                    {LargeExtent::channels, feature::register_widths}};
  Rng own = aside(rng, 1);
  if (!own.chance(1, 64)) return LargeExtent::none;
  const Kind kind = own.pick(kKinds);
  return leaves_out(swarm, kind.about) ? LargeExtent::none : kind.large;
}

// One case in 32 has sums and multipliers, or zero points, that usual ones do not have.
Case with_rare_values(const Rng& rng, const Swarm& swarm, Case drawn) {
  Rng own = aside(rng, 2);
  if (!own.chance(1, 32)) return drawn;
  directed::ConvolutionDraft draft(std::move(drawn));
  if (own.chance(1, 2)) {
    directed::shrink_sums(own, draft, swarm.draw(own, feature::bias, 1, 2));
  } else if (!leaves_out(swarm, feature::extreme_zero_points)) {
    directed::move_zero_points_to_ends(own, draft);
  }
  return draft.get();
}

}  // namespace

Case random_convolution(Rng& rng, std::string_view op_type, LargeExtent large, const Swarm& swarm) {
  return op_type == "QLinearConv" ? draw_qlinear_conv(rng, large, swarm) : draw_conv_integer(rng, large, swarm);
}

Case random_qlinear_conv(Rng& rng, const Swarm& swarm) {
  Case drawn = draw_qlinear_conv(rng, draw_large_extent(rng, swarm), swarm);
  return with_rare_values(rng, swarm, std::move(drawn));
}

Case random_conv_integer(Rng& rng, const Swarm& swarm) {
  return draw_conv_integer(rng, draw_large_extent(rng, swarm), swarm);
}

}  // namespace qconform
