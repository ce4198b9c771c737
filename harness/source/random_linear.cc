#include "harness/source/random_linear.h"

#include <bit>
#include <limits>
#include <vector>

#include "harness/source/random_values.h"

namespace qconform {
namespace {

using Values = std::vector<std::int64_t>;

// Shape, axis and number of parameters of a case.
struct Frame {
  Values shape;
  bool per_axis = false;
  std::int64_t axis = 1;
  std::int64_t parameters = 1;

  /// Which parameter belongs to element `index` of the tensor.
  [[nodiscard]] std::int64_t parameter_of(std::int64_t index) const {
    if (!per_axis) return 0;
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::int64_t inner = 1;
    for (auto i = static_cast<std::size_t>(axis < 0 ? axis + rank : axis) + 1; i < shape.size(); ++i) inner *= shape[i];
    return index / inner % parameters;
  }
  [[nodiscard]] Values parameter_shape() const { return per_axis ? Values{parameters} : Values{}; }
};

Frame draw_frame(Rng& rng, std::int64_t opset_version) {
  Frame frame;
  const std::int64_t rank = rng.chance(1, 16) ? 0 : rng.between(1, 4);
  for (std::int64_t i = 0; i < rank; ++i)
    frame.shape.push_back(rng.chance(1, 64) ? 0 : rng.between(1, rank == 1 ? 70 : 9));
  if (opset_version < 13 || rank == 0 || rng.chance(1, 2)) return frame;
  frame.axis = rng.between(-rank, rank - 1);
  frame.parameters = frame.shape[static_cast<std::size_t>(frame.axis < 0 ? frame.axis + rank : frame.axis)];
  frame.per_axis = true;
  return frame;
}

void set_axis(Rng& rng, const Frame& frame, Case& result) {
  if (frame.per_axis && (frame.axis != 1 || rng.chance(1, 2))) result.attributes.push_back({"axis", frame.axis});
}

Tensor draw_scales(Rng& rng, const Frame& frame) {
  std::vector<float> scales;
  for (std::int64_t i = 0; i < frame.parameters; ++i) scales.push_back(random_scale(rng));
  return Tensor::of(ElementType::float32, frame.parameter_shape(), scales);
}

// Scales that spread values in [-2^bits, 2^bits] over an 8-bit range.
Tensor draw_wide_scales(Rng& rng, const Frame& frame, int bits) {
  std::vector<float> scales;
  for (std::int64_t i = 0; i < frame.parameters; ++i) {
    const auto exponent = bits - static_cast<int>(rng.between(6, 8));
    scales.push_back(random_float(rng, exponent - 23));
  }
  return Tensor::of(ElementType::float32, frame.parameter_shape(), scales);
}

Tensor draw_zero_points(Rng& rng, ElementType type, const Frame& frame) {
  Values values;
  for (std::int64_t i = 0; i < frame.parameters; ++i) values.push_back(random_zero_point(rng, type));
  return tensor8(type, frame.parameter_shape(), values);
}

// A value to quantize: mostly within the output range and on exact quarters of a step, so that ties
// occur; sometimes far outside, infinite, tiny or a signed zero.
float draw_real(Rng& rng, float scale) {
  switch (rng.below(16)) {
    case 0: return rng.chance(1, 2) ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
    case 1: return random_float(rng, static_cast<int>(rng.between(-149 + 23, 104)));
    case 2: {
      const auto subnormal = static_cast<std::uint32_t>(rng.below(1U << 23));
      return std::bit_cast<float>(subnormal | (rng.chance(1, 2) ? 1U << 31 : 0U));
    }
    case 3:
    case 4:
    case 5:
    case 6: return static_cast<float>(rng.between(-700, 700)) * 0.25F * scale;
    default: return static_cast<float>(rng.between(-(1 << 19), 1 << 19)) * 0x1p-12F * scale;
  }
}

Tensor draw_reals(Rng& rng, const Frame& frame, const Tensor& scales) {
  std::vector<float> values;
  const std::int64_t elements = elements_of(frame.shape);
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(draw_real(rng, float_at(scales, frame.parameter_of(i))));
  return Tensor::of(ElementType::float32, frame.shape, values);
}

// Values in [-2^bits, 2^bits].
Tensor draw_int32s(Rng& rng, const Frame& frame, int bits) {
  std::vector<std::int32_t> values;
  const std::int64_t elements = elements_of(frame.shape);
  const auto width = std::int64_t{1} << bits;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(static_cast<std::int32_t>(rng.between(-width, width)));
  return Tensor::of(ElementType::int32, frame.shape, values);
}

}  // namespace

Case random_quantize_linear(Rng& rng) {
  Case result;
  result.op_type = "QuantizeLinear";
  result.opset_version = rng.chance(1, 3) ? 10 : 13;
  const Frame frame = draw_frame(rng, result.opset_version);
  set_axis(rng, frame, result);
  const ElementType y_type = rng.chance(1, 2) ? ElementType::uint8 : ElementType::int8;
  if (rng.chance(1, 5)) {
    const auto bits = static_cast<int>(rng.between(4, 30));
    Tensor scales = draw_wide_scales(rng, frame, bits);
    result.inputs = {draw_int32s(rng, frame, bits), std::move(scales)};
  } else {
    Tensor scales = draw_scales(rng, frame);
    Tensor x = draw_reals(rng, frame, scales);
    result.inputs = {std::move(x), std::move(scales)};
  }
  // Without a zero point the output is uint8.
  if (y_type == ElementType::int8 || rng.chance(7, 8)) result.inputs.emplace_back(draw_zero_points(rng, y_type, frame));
  return result;
}

Case random_dequantize_linear(Rng& rng) {
  static constexpr ElementType kTypes[] = {ElementType::uint8, ElementType::int8, ElementType::uint8, ElementType::int8,
                                           ElementType::int32};
  Case result;
  result.op_type = "DequantizeLinear";
  result.opset_version = rng.chance(1, 3) ? 10 : 13;
  const Frame frame = draw_frame(rng, result.opset_version);
  set_axis(rng, frame, result);
  const ElementType x_type = rng.pick(kTypes);
  Tensor scales = draw_scales(rng, frame);
  if (x_type == ElementType::int32) {
    const auto bits = static_cast<int>(rng.between(4, 30));
    result.inputs = {draw_int32s(rng, frame, bits), std::move(scales)};
    return result;
  }
  result.inputs = {random_data8(rng, x_type, frame.shape, 0), std::move(scales)};
  if (rng.chance(7, 8)) result.inputs.emplace_back(draw_zero_points(rng, x_type, frame));
  return result;
}

}  // namespace qconform
