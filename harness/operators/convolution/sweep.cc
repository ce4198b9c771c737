#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <optional>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/convolution/description.h"
#include "harness/operators/convolution/hooks.h"
#include "harness/operators/convolution/sweep_model.h"
#include "reference/numerics/floats.h"

namespace qconform::sweep::convolution {

namespace {

// Multiplications that one case should not exceed, where its classes let it.
constexpr std::int64_t kWork = 100'000;

// Values drawn anew until the case has its classes and its output is worth judging.
constexpr int kAttempts = 48;
// As long as none has its classes. Of many thousand rows one has values that no case has: no output is near a tie where
// every tap of an even, dilated kernel lies in the padding. Its case then has others.
constexpr int kMostAttempts = 512;

}  // namespace

reference::ConvolutionGeometry draw_sizes(Rng& rng, const Row& row, std::int64_t positions, bool pads_behind) {
  const auto& lists = channels_of(row[kGroup], row[kInputChannels], row[kOutputChannels]);
  reference::ConvolutionGeometry sizes;
  set_channels(sizes, lists[rng.below(static_cast<std::uint32_t>(std::min<std::size_t>(lists.size(), 3)))]);
  sizes.batch = row[kBatch] + 1 + (row[kBatch] == kBatchMore ? rng.between(0, 1) : 0);
  const std::int64_t outputs = sizes.batch * sizes.output_channels * kWidths[row[kWidth]];
  const std::int64_t depth = sizes.group_input_channels() * 9;
  sizes.axes = draw_axes(rng, row, std::max(positions, kWork / (outputs * depth)), pads_behind);
  return sizes;
}

Case finished(const Row& row, Convolution drawn) {
  choose_attributes(drawn,
                    [&](std::string_view, bool is_default) { return row[kAttributes] == kAllStated || !is_default; });
  if (row[kXZeroPoint] == kOmitted) drawn.x_zero_point.reset();
  if (row[kWParameters] == kPerTensor) {
    drawn.w_zero_point = drawn.w_zero(0);
    drawn.w_scale = drawn.w_scale.of(0);
  }
  if (row[kWZeroPoint] == kOmitted) drawn.w_zero_point.reset();
  return build_convolution(std::move(drawn));
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
    DrawnConvolution drawn = draw_values(own, row, draw_sizes(own, row, attempt < 8 ? 1 : 4, pads_behind));
    if (!drawn.in_class && !best && attempt + 1 == kMostAttempts) {
      last = finished(row, std::move(drawn.convolution));
    }
    if (!drawn.in_class || (best && !drawn.detects_much)) continue;
    best = finished(row, std::move(drawn.convolution));
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
  return {convolution::model,   convolution::realise,        convolution::classify_convolution,
          sized_convolutions(), neighbouring_convolutions(), kOperators};
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

template <typename T>
bool are_distinct(const std::vector<T>& values) {
  return std::any_of(values.begin(), values.end(), [&](const T& value) { return value != values[0]; });
}

std::uint8_t type_class(ElementType type) {
  return type == ElementType::uint8 ? kUint8 : type == ElementType::int8 ? kInt8 : kInt32;
}

std::uint8_t zero_points_class(ElementType type, const std::optional<ParameterValues<std::int64_t>>& zeros) {
  if (!zeros) return kOmitted;
  return are_distinct(zeros->values) ? std::uint8_t{kDistinct} : zero_point_class(type, zeros->of(0));
}

std::uint8_t auto_pad_class(const std::optional<std::string>& name) {
  return name == "VALID"        ? std::uint8_t{kValid}
         : name == "SAME_UPPER" ? std::uint8_t{kSameUpper}
         : name == "SAME_LOWER" ? std::uint8_t{kSameLower}
                                : std::uint8_t{kNotSet};
}

std::uint8_t attributes_class(const Convolution& c) {
  return c.auto_pad && c.dilations && c.group && c.kernel_shape && c.strides ? kAllStated : kPlain;
}

std::uint8_t bias_class(const std::optional<std::vector<std::int32_t>>& bias) {
  if (!bias) return kNoBias;
  const bool large = std::any_of(bias->begin(), bias->end(), [](std::int32_t value) {
    return std::abs(std::int64_t{value}) > 1 << 24 && value % 2 != 0;
  });
  return large ? kLargeBias : kOrdinaryBias;
}

// Pads as the attribute has them; the output's size from the resolved geometry.
void classify_geometry(const Convolution& c, const reference::ConvolutionGeometry& geometry, Row& row) {
  auto axes = geometry.axes;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    axes[i].pad_begin = c.pads ? (*c.pads)[i] : 0;
    axes[i].pad_end = c.pads ? (*c.pads)[i + axes.size()] : 0;
  }
  classify_axes(axes, row);
  row[kAutoPad] = auto_pad_class(c.auto_pad);
  row[kAttributes] = attributes_class(c);
  row[kGroup] = group_class({geometry.group, geometry.input_channels, geometry.output_channels});
  row[kInputChannels] = channel_class(geometry.input_channels);
  row[kOutputChannels] = channel_class(geometry.output_channels);
  row[kBatch] = static_cast<std::uint8_t>(std::min<std::int64_t>(geometry.batch, 3) - 1);
}

// Whether a parameter of one element has a shape, other than that of one value for each output channel. A kernel that
// takes scalars may refuse it.
bool has_shaped_scalars(const Convolution& c) {
  const Convolution::List of_channels{c.output_channels()};
  const auto is_shaped = [&](const auto& weights) { return !weights.is_scalar() && weights.shape != of_channels; };
  if (c.x_zero_point && !c.x_zero_point->is_scalar()) return true;
  if (c.w_zero_point && is_shaped(*c.w_zero_point)) return true;
  return !c.x_scale.is_scalar() || is_shaped(c.w_scale) || !c.y_scale.is_scalar() || !c.y_zero_point.is_scalar();
}

void classify_scales(const Convolution& c, const Asked& asked, Row& row) {
  row[kScales] = scales_class(c.x_scale.of(0), c.w_scale.values, c.y_scale.of(0), false);
  // Only there do the sums matter, which cost more than all the rest.
  if (row[kScales] == kOrdinary && asked(kScales, 1U << kOrdinary | 1U << kNearTie) && has_near_tie(c, exact_sums(c))) {
    row[kScales] = kNearTie;
  }
  row[kYType] = type_class(c.y_type);
  row[kYZeroPoint] = zero_points_class(c.y_type, c.y_zero_point);
  row[kWParameters] = c.w_scale.is_scalar() ? kPerTensor : kPerChannel;
  row[kWScale] = are_distinct(c.w_scale.values) ? kDistinctScales : kCommon;
  row[kBias] = bias_class(c.bias);
}

}  // namespace

std::uint8_t data_class(const Tensor& x, const Tensor& w) {
  const bool x_ends = mostly_ends(x);
  return x_ends != mostly_ends(w) ? std::uint8_t{255} : x_ends ? std::uint8_t{kEnds} : std::uint8_t{kUniform};
}

std::uint8_t scales_class(float x_scale, const std::vector<float>& w_scale, float y_scale, bool near_tie) {
  if (x_scale < 0x1p-16F) return kTiny;
  if (x_scale >= 0x1p16F) return kHuge;
  using reference::is_power_of_two;
  const bool powers = is_power_of_two(x_scale) && is_power_of_two(y_scale) &&
                      std::all_of(w_scale.begin(), w_scale.end(), is_power_of_two);
  return powers ? kPowersOfTwo : near_tie ? kNearTie : kOrdinary;
}

Row classify_convolution(const Case& test_case, const Asked& asked) {
  Row row(kPositions, 0);
  const Convolution c = lowered_convolution(test_case);
  if (has_shaped_scalars(c)) return {};
  row[kOperator] = c.is_quantized ? kQLinearConv : kConvInteger;
  row[kXType] = type_class(c.x.type);
  row[kWType] = type_class(c.w.type);
  row[kXZeroPoint] = zero_points_class(c.x.type, c.x_zero_point);
  row[kWZeroPoint] = zero_points_class(c.w.type, c.w_zero_point);
  if (asked(kData, 1U << kUniform | 1U << kEnds)) row[kData] = data_class(c.x, c.w);
  classify_geometry(c, *geometry_of(c), row);
  if (c.is_quantized) {
    classify_scales(c, asked, row);
    return row;
  }
  row[kYType] = kInt32;
  row[kYZeroPoint] = kOmitted;
  row[kWParameters] = !c.w_zero_point || c.w_zero_point->is_scalar() ? kPerTensor : kPerChannel;
  row[kScales] = kNoScales;
  row[kWScale] = kNoWScale;
  row[kBias] = kNoBias;
  return row;
}

}  // namespace qconform::sweep::convolution
