#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/model/family.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/suites.h"
#include "harness/operators/convolution/sweep.h"
#include "harness/operators/convolution/sweep_model.h"

namespace qconform::sweep::convolution {

namespace {

// Multiplications that one case should not exceed, where its classes let it.
constexpr std::int64_t kWork = 100'000;

// Values drawn anew until the case has its classes and its output is worth judging.
constexpr int kAttempts = 48;
// As long as none has its classes. Of many thousand rows one has values that no case has: no output is near a tie where
// every tap of an even, dilated kernel lies in the padding. Its case then has others.
constexpr int kMostAttempts = 512;

std::vector<std::int64_t> per_axis(const Shape& shape, std::int64_t reference::SpatialAxis::*member) {
  std::vector<std::int64_t> values;
  for (const auto& axis : shape.axes) values.push_back(axis.*member);
  return values;
}

}  // namespace

Shape draw_shape(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  const auto& lists = channels_of(row[kGroup], row[kInputChannels], row[kOutputChannels]);
  Shape shape;
  shape.channels = lists[rng.below(static_cast<std::uint32_t>(std::min<std::size_t>(lists.size(), 3)))];
  shape.batch = row[kBatch] + 1 + (row[kBatch] == kBatchMore ? rng.between(0, 1) : 0);
  const std::int64_t outputs = shape.batch * shape.channels.output * kWidths[row[kWidth]];
  const std::int64_t depth = shape.channels.input / shape.channels.group * 9;
  shape.axes = draw_axes(rng, row, std::max(positions, kWork / (outputs * depth)), pads_behind);
  return shape;
}

std::vector<Attribute> attributes_of(const Shape& shape, const Row& row) {
  static constexpr const char* kNames[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  const bool all_stated = row[kAttributes] == kAllStated;
  std::vector<Attribute> attributes;
  const auto state = [&](const char* name, Attribute::Value value, bool is_default) {
    if (all_stated || !is_default) attributes.push_back({name, std::move(value)});
  };
  const auto pads_end = per_axis(shape, &reference::SpatialAxis::pad_end);
  auto pads = per_axis(shape, &reference::SpatialAxis::pad_begin);
  pads.insert(pads.end(), pads_end.begin(), pads_end.end());
  state("auto_pad", std::string(kNames[row[kAutoPad]]), row[kAutoPad] == kNotSet);
  state("dilations", per_axis(shape, &reference::SpatialAxis::dilation), row[kDilation] == kDilation1);
  state("group", shape.channels.group, shape.channels.group == 1);
  state("kernel_shape", per_axis(shape, &reference::SpatialAxis::kernel), true);
  // Beside an auto_pad, even pads of 0 are implementation-defined (rule C5).
  if (row[kAutoPad] == kNotSet) state("pads", pads, row[kPads] == kNoPads);
  state("strides", per_axis(shape, &reference::SpatialAxis::stride), row[kStride] == kStride1);
  return attributes;
}

Case case_of(const Row& row, std::vector<Attribute> attributes, const Shape& shape, Values values) {
  Case result;
  result.node().op_type = row[kOperator] == kQLinearConv ? "QLinearConv" : "ConvInteger";
  result.node().opset_version = 10;
  result.node().attributes = std::move(attributes);
  const bool per_channel = row[kWParameters] == kPerChannel;
  const std::vector<std::int64_t> w_shape =
      per_channel ? std::vector<std::int64_t>{shape.channels.output} : std::vector<std::int64_t>{};
  const std::size_t w_count = per_channel ? values.w_zero_point.size() : 1;
  values.w_zero_point.resize(w_count);
  std::optional<Tensor> x_zero_point = tensor8(values.x.type, {}, {values.x_zero_point});
  std::optional<Tensor> w_zero_point = tensor8(values.w.type, w_shape, values.w_zero_point);
  if (row[kXZeroPoint] == kOmitted) x_zero_point.reset();
  if (row[kWZeroPoint] == kOmitted) w_zero_point.reset();
  if (row[kOperator] == kConvInteger) {
    result.inputs = {std::move(values.x), std::move(values.w), std::move(x_zero_point), std::move(w_zero_point)};
    while (!result.inputs.back()) result.inputs.pop_back();
    return result;
  }
  values.w_scale.resize(w_count);
  result.inputs = {std::move(values.x),
                   Tensor::scalar(ElementType::float32, values.x_scale),
                   std::move(x_zero_point),
                   std::move(values.w),
                   Tensor::of(ElementType::float32, w_shape, values.w_scale),
                   std::move(w_zero_point),
                   Tensor::scalar(ElementType::float32, values.y_scale),
                   tensor8(values.y_type, {}, {values.y_zero_point})};
  if (!values.bias.empty()) {
    result.inputs.emplace_back(Tensor::of(ElementType::int32, {shape.channels.output}, values.bias));
  }
  return result;
}

namespace {

Case realise(const Row& row, std::uint64_t seed, std::uint64_t index) {
  Rng rng(seed, index);
  // The first draw with the right classes serves where no draw detects much.
  std::optional<Case> best;
  std::optional<Case> last;
  for (int attempt = 0; attempt < (best ? kAttempts : kMostAttempts); ++attempt) {
    Rng own(rng.next());
    // One window, wholly in padding before x, without a bias: its sum is 0, which is near no tie.
    const bool pads_behind = attempt >= kAttempts / 2;
    const Shape shape = draw_shape(own, row, attempt < 8 ? 1 : 4, pads_behind);
    Drawn drawn = draw_values(own, row, shape);
    if (!drawn.in_class && !best && attempt + 1 == kMostAttempts) {
      last = case_of(row, attributes_of(shape, row), shape, std::move(drawn.values));
    }
    if (!drawn.in_class || (best && !drawn.detects_much)) continue;
    best = case_of(row, attributes_of(shape, row), shape, std::move(drawn.values));
    if (drawn.detects_much) break;
  }
  assert(best || last);
  return std::move(*(best ? best : last));
}

}  // namespace

}  // namespace qconform::sweep::convolution

namespace qconform::sweep {

SweptModel swept_convolutions() {
  static constexpr std::array<std::string_view, 2> kOperators{"QLinearConv", "ConvInteger"};
  return {convolution::model, convolution::realise, convolution::classify_convolution, sized_convolutions(),
          kOperators};
}

}  // namespace qconform::sweep

namespace qconform::sweep::convolution {

namespace {

bool mostly_ends(const Tensor& tensor) {
  const reference::IntegerRange range = reference::range_of(tensor.type);
  const std::byte lo = reference::store8(range.lo);
  const std::byte hi = reference::store8(range.hi);
  std::size_t left = tensor.bytes.size() / 2 + 1;  // ends that are still missing
  std::size_t others = tensor.bytes.size();        // bytes that are still to be looked at
  for (auto at = tensor.bytes.begin(); left > 0 && left <= others; ++at, --others) {
    left -= *at == lo || *at == hi ? 1U : 0U;
  }
  return left == 0;
}

bool is_power_of_two(float value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5F;
}

template <typename T>
bool are_distinct(const std::vector<T>& values) {
  return std::any_of(values.begin(), values.end(), [&](const T& value) { return value != values[0]; });
}

std::vector<std::int64_t> integers(const Tensor& tensor) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(integer_at(tensor, i));
  return values;
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(float_at(tensor, i));
  return values;
}

std::uint8_t type_class(ElementType type) {
  return type == ElementType::uint8 ? kUint8 : type == ElementType::int8 ? kInt8 : kInt32;
}

std::uint8_t zero_points_class(const Tensor* tensor) {
  if (tensor == nullptr) return kOmitted;
  const auto values = integers(*tensor);
  return are_distinct(values) ? std::uint8_t{kDistinct} : zero_point_class(tensor->type, values[0]);
}

std::vector<std::int64_t> ints(const Case& test_case, const char* name, std::size_t count, std::int64_t otherwise) {
  const Attribute* attribute = test_case.attribute(name);
  if (attribute == nullptr) return std::vector<std::int64_t>(count, otherwise);
  return std::get<std::vector<std::int64_t>>(attribute->value);
}

std::uint8_t auto_pad_class(const Case& test_case) {
  const Attribute* attribute = test_case.attribute("auto_pad");
  if (attribute == nullptr) return kNotSet;
  const auto& name = std::get<std::string>(attribute->value);
  return name == "VALID"        ? std::uint8_t{kValid}
         : name == "SAME_UPPER" ? std::uint8_t{kSameUpper}
         : name == "SAME_LOWER" ? std::uint8_t{kSameLower}
                                : std::uint8_t{kNotSet};
}

std::uint8_t attributes_class(const Case& test_case) {
  for (const char* name : {"auto_pad", "dilations", "group", "kernel_shape", "strides"}) {
    if (test_case.attribute(name) == nullptr) return kPlain;
  }
  return kAllStated;
}

std::uint8_t bias_class(const Tensor* bias) {
  if (bias == nullptr) return kNoBias;
  const auto values = integers(*bias);
  const bool large =
      std::any_of(values.begin(), values.end(), [](std::int64_t v) { return std::abs(v) > 1 << 24 && v % 2 != 0; });
  return large ? kLargeBias : kOrdinaryBias;
}

// Pads as the attribute has them; the output's size from the resolved geometry.
void classify_geometry(const Case& test_case, const reference::ConvolutionGeometry& geometry, Row& row) {
  auto axes = geometry.axes;
  const auto pads = ints(test_case, "pads", axes.size() * 2, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].pad_begin = pads[i];
    axes[i].pad_end = pads[i + axes.size()];
  }
  classify_axes(axes, row);
  row[kAutoPad] = auto_pad_class(test_case);
  row[kAttributes] = attributes_class(test_case);
  row[kGroup] = group_class({geometry.group, geometry.input_channels, geometry.output_channels});
  row[kInputChannels] = channel_class(geometry.input_channels);
  row[kOutputChannels] = channel_class(geometry.output_channels);
  row[kBatch] = static_cast<std::uint8_t>(std::min<std::int64_t>(geometry.batch, 3) - 1);
}

bool has_near_tie(const Case& test_case, reference::ConvolutionOperands operands, float x_scale,
                  const std::vector<float>& w_scale, float y_scale) {
  const Tensor* bias = test_case.input(8);
  if (bias != nullptr) operands.bias = int32_values(*bias);
  const auto sums = exact_sums(operands, *test_case.input(0), *test_case.input(3));
  const auto positions = static_cast<std::size_t>(operands.geometry.output_positions());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (is_near_tie(sums[i], x_scale, w_scale[i / positions % w_scale.size()], y_scale)) return true;
  }
  return false;
}

// Whether a parameter of one element has a shape, other than that of one value for each output channel. A kernel that
// takes scalars may refuse it.
bool has_shaped_scalars(const Case& test_case, std::int64_t output_channels) {
  const bool is_integer = test_case.node().op_type == "ConvInteger";
  const auto is_shaped = [&](std::size_t position) {
    const Tensor* parameter = test_case.input(position);
    const bool is_weights = is_integer ? position == 3 : position == 4 || position == 5;
    if (parameter == nullptr || parameter->is_scalar()) return false;
    return !is_weights || parameter->shape != std::vector<std::int64_t>{output_channels};
  };
  if (is_integer) return is_shaped(2) || is_shaped(3);
  return is_shaped(1) || is_shaped(2) || is_shaped(4) || is_shaped(5) || is_shaped(6) || is_shaped(7);
}

void classify_scales(const Case& test_case, reference::ConvolutionOperands operands, Row& row) {
  const float x_scale = float_at(*test_case.input(1), 0);
  const float y_scale = float_at(*test_case.input(6), 0);
  const auto w_scale = floats(*test_case.input(4));
  row[kScales] = scales_class(x_scale, w_scale, y_scale, false);
  // Only there do the sums matter, which cost more than all the rest.
  if (row[kScales] == kOrdinary && has_near_tie(test_case, std::move(operands), x_scale, w_scale, y_scale)) {
    row[kScales] = kNearTie;
  }
  row[kYType] = type_class(test_case.input(7)->type);
  row[kYZeroPoint] = zero_points_class(test_case.input(7));
  row[kWParameters] = test_case.input(4)->is_scalar() ? kPerTensor : kPerChannel;
  row[kWScale] = are_distinct(w_scale) ? kDistinctScales : kCommon;
  row[kBias] = bias_class(test_case.input(8));
}

}  // namespace

std::uint8_t data_class(const Tensor& x, const Tensor& w) {
  const bool x_ends = mostly_ends(x);
  return x_ends != mostly_ends(w) ? std::uint8_t{255} : x_ends ? std::uint8_t{kEnds} : std::uint8_t{kUniform};
}

std::uint8_t scales_class(float x_scale, const std::vector<float>& w_scale, float y_scale, bool near_tie) {
  if (x_scale < 0x1p-16F) return kTiny;
  if (x_scale >= 0x1p16F) return kHuge;
  const bool powers = is_power_of_two(x_scale) && is_power_of_two(y_scale) &&
                      std::all_of(w_scale.begin(), w_scale.end(), is_power_of_two);
  return powers ? kPowersOfTwo : near_tie ? kNearTie : kOrdinary;
}

Row classify_convolution(const Case& test_case) {
  Row row(kPositions, 0);
  const bool is_integer = test_case.node().op_type == "ConvInteger";
  const std::size_t w = is_integer ? 1 : 3;
  const Tensor* w_zero_point = test_case.input(is_integer ? 3 : 5);
  reference::Contract contract;
  const auto signature = find_operator("", test_case.node().op_type)->inputs;
  NodeReader reader(test_case, signature, contract);
  auto operands = read_operands(reader, contract);
  if (!operands || has_shaped_scalars(test_case, operands->geometry.output_channels)) return {};
  row[kOperator] = is_integer ? kConvInteger : kQLinearConv;
  row[kXType] = type_class(test_case.input(0)->type);
  row[kWType] = type_class(test_case.input(w)->type);
  row[kXZeroPoint] = zero_points_class(test_case.input(2));
  row[kWZeroPoint] = zero_points_class(w_zero_point);
  row[kData] = data_class(*test_case.input(0), *test_case.input(w));
  classify_geometry(test_case, operands->geometry, row);
  if (!is_integer) {
    classify_scales(test_case, std::move(*operands), row);
    return row;
  }
  row[kYType] = kInt32;
  row[kYZeroPoint] = kOmitted;
  row[kWParameters] = w_zero_point == nullptr || w_zero_point->is_scalar() ? kPerTensor : kPerChannel;
  row[kScales] = kNoScales;
  row[kWScale] = kNoWScale;
  row[kBias] = kNoBias;
  return row;
}

}  // namespace qconform::sweep::convolution
