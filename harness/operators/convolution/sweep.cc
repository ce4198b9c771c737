#include "harness/operators/convolution/suites.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>

#include "harness/model/draws/rng.h"
#include "harness/operators/convolution/sweep_case.h"
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
  // Beside an auto_pad, even pads of 0 leave latitude (rule C5).
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
