#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/model/relations/relation.h"
#include "harness/operators/convolution/relation_parts.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::relations {
namespace {

Applied scale_by_power_of_two(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  const Convolution& base = parts.stated;
  if (!base.is_quantized) return NotApplicable{"no scales"};
  bool moderate = is_moderate(base.x_scale.of(0)) && is_moderate(base.y_scale.of(0));
  for (const float scale : base.w_scale.values) moderate = moderate && is_moderate(scale);
  if (!moderate) return kFarScales;
  const auto scaled = [&](float x, float w, float y, std::string_view suffix) {
    Convolution derived = base;
    for (float& scale : derived.x_scale.values) scale *= x;
    for (float& scale : derived.w_scale.values) scale *= w;
    for (float& scale : derived.y_scale.values) scale *= y;
    return parts.derive(std::move(derived), suffix);
  };
  std::vector<Case> derived{scaled(kScaleFactor, 1, kScaleFactor, "/x-and-y-scale-times-8"),
                            scaled(1, 1 / kScaleFactor, 1 / kScaleFactor, "/w-and-y-scale-by-8"),
                            scaled(1 / kScaleFactor, kScaleFactor, 1, "/x-scale-by-8-w-scale-times-8")};
  return Derivation([derived = std::move(derived)](const Tensor& y) {
    return Application{derived, links_to_all(derived.size(), y.elements()), nullptr};
  });
}

Applied move_zero_point(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  Convolution derived = parts.stated;
  if (!derived.is_quantized) return NotApplicable{"y has no zero point"};
  const IntegerEnds ends = ends_of(derived.y_type);
  const std::int64_t step = derived.y_zero_point.of(0) < ends.hi ? 1 : -1;
  derived.y_zero_point.values[0] += step;
  return moved_output(parts.derive(std::move(derived), "/y-zero-point-moved"), ends, step);
}

// Input channels that hold one number each, which is `deviation` away from x's zero point; a weight of
// at(m, channel) away from w's puts their product into every sum of output channel m.
struct BiasChannels {
  Values deviations;
  std::vector<Values> weights;  ///< [output channel][channel], relative to w's zero point
};

// Greedy: as much as a channel can take, the large ones first. Empty when something of a bias is left.
std::optional<BiasChannels> carry_bias(const Convolution& convolution) {
  constexpr int kLargeChannels = 8;
  const IntegerEnds x = ends_of(convolution.x.type);
  const IntegerEnds w = ends_of(convolution.w.type);
  BiasChannels result;
  const auto add = [&](std::int64_t deviation, int count) {
    const std::int64_t value = convolution.x_zero() + deviation;
    if (deviation == 0 || value < x.lo || value > x.hi) return;
    for (int i = 0; i < count; ++i) result.deviations.push_back(deviation);
  };
  add(x.hi - convolution.x_zero(), kLargeChannels);
  add(x.lo - convolution.x_zero(), kLargeChannels);
  add(1, 2);
  add(-1, 2);
  for (std::size_t m = 0; m < convolution.bias->size(); ++m) {
    const std::int64_t zero_point = convolution.w_zero(static_cast<std::int64_t>(m));
    std::int64_t left = (*convolution.bias)[m];
    Values& weights = result.weights.emplace_back();
    for (const std::int64_t deviation : result.deviations) {
      weights.push_back(std::clamp(left / deviation, w.lo - zero_point, w.hi - zero_point));
      left -= weights.back() * deviation;
    }
    if (left != 0) return std::nullopt;
  }
  return result;
}

Applied bias_as_channels(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  const Convolution& base = parts.stated;
  if (!base.bias) return NotApplicable{"no bias"};
  if (has_pads(parts.sizes)) return NotApplicable{"a further channel is padded where the bias is not"};
  const auto carried = carry_bias(base);
  if (!carried) return NotApplicable{"a bias is too large for a few channels"};
  const std::int64_t inputs = parts.sizes.group_input_channels();
  const auto more = static_cast<std::int64_t>(carried->deviations.size());
  Convolution derived = base;
  derived.bias.reset();
  Values x_shape = base.x.shape;
  x_shape[1] += parts.sizes.group * more;
  derived.x = tensor_from(base.x.type, x_shape, [&](Values index) {
    const std::int64_t channel = index[1] % (inputs + more);
    if (channel >= inputs) return base.x_zero() + carried->deviations[at(channel - inputs)];
    index[1] = index[1] / (inputs + more) * inputs + channel;
    return value_at(base.x, index);
  });
  Values w_shape = base.w.shape;
  w_shape[1] += more;
  derived.w = tensor_from(base.w.type, w_shape, [&](const Values& index) {
    if (index[1] < inputs) return value_at(base.w, index);
    const bool first_tap = std::all_of(index.begin() + 2, index.end(), [](std::int64_t i) { return i == 0; });
    const std::int64_t weight = first_tap ? carried->weights[at(index[0])][at(index[1] - inputs)] : 0;
    return base.w_zero(index[0]) + weight;
  });
  return same_output(parts.derive(std::move(derived), "/bias-as-channels"));
}

// A QLinearConv that shows part of an accumulator: clamp(rne((A + bias) / 2^exponent) + zero point).
struct AccumulatorWindow {
  int exponent;
  std::int64_t zero_point;
  Values bias;  ///< one for each output channel
};

constexpr ElementType kWindowType = ElementType::uint8;

class ThroughWindow final : public Agreement {
 public:
  ThroughWindow(std::vector<AccumulatorWindow> windows, std::int64_t channels, std::int64_t positions)
      : windows_(std::move(windows)), channels_(channels), positions_(positions) {}

  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    return integer_at(derived, link.element) == value(base, link);
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    return std::to_string(value(base, link));
  }
  [[nodiscard]] std::int64_t sum(const Tensor& base, const Link& link) const {
    return integer_at(base, link.base) + windows_[link.derived].bias[at(link.base / positions_ % channels_)];
  }

 private:
  [[nodiscard]] std::int64_t value(const Tensor& base, const Link& link) const {
    const AccumulatorWindow& window = windows_[link.derived];
    const double quotient = std::ldexp(static_cast<double>(sum(base, link)), -window.exponent);
    const auto rounded = static_cast<std::int64_t>(reference::round_half_even(quotient));
    const IntegerEnds ends = ends_of(kWindowType);
    return std::clamp(rounded + window.zero_point, ends.lo, ends.hi);
  }

  std::vector<AccumulatorWindow> windows_;
  std::int64_t channels_;
  std::int64_t positions_;
};

// The whole range of the accumulators; their neighbourhood of the first one of each channel; and half
// of that, where every odd difference is a tie.
std::vector<AccumulatorWindow> windows_on(const Tensor& sums, std::int64_t channels, std::int64_t positions) {
  std::uint64_t largest = 0;
  for (std::int64_t i = 0; i < sums.elements(); ++i) {
    largest = std::max(largest, reference::magnitude_of(integer_at(sums, i)));
  }
  const int exponent = std::max(0, static_cast<int>(std::bit_width(largest)) - 7);
  Values centred;
  for (std::int64_t m = 0; m < channels; ++m) {
    centred.push_back(std::clamp<std::int64_t>(-integer_at(sums, m * positions), INT32_MIN, INT32_MAX));
  }
  return {{exponent, 128, Values(at(channels), 0)}, {0, 128, centred}, {1, 127, centred}};
}

Case seen_through(const ConvolutionParts& base, const AccumulatorWindow& window, std::size_t number) {
  Convolution derived = base.stated;
  derived.is_quantized = true;
  if (derived.w_zero_point) {
    const auto& zeros = *derived.w_zero_point;
    derived.w_scale = {std::vector<float>(zeros.values.size(), 1.0F), zeros.shape};
  }
  derived.y_scale = std::ldexp(1.0F, window.exponent);
  derived.y_type = kWindowType;
  derived.y_zero_point = window.zero_point;
  derived.bias = std::vector<std::int32_t>(window.bias.begin(), window.bias.end());
  return base.derive(std::move(derived), "/accumulators-" + std::to_string(number));
}

// Returns whether the sum is exact in float32, so that scales that are powers of two leave one answer, and within 32
// bits.
bool is_determined(std::int64_t sum) {
  if (sum < INT32_MIN || sum > INT32_MAX) return false;
  const std::uint64_t magnitude = reference::magnitude_of(sum);
  return magnitude == 0 || magnitude >> std::countr_zero(magnitude) < (std::uint64_t{1} << 24);
}

Applied show_accumulators(const RelationSubject& subject) {
  if (!subject.is("ConvInteger")) return NotApplicable{"not ConvInteger"};
  const ConvolutionParts& base = *convolution_of(subject);
  return Derivation([&base](const Tensor& sums) {
    const std::int64_t channels = base.sizes.output_channels;
    const std::int64_t positions = base.sizes.output_positions();
    const std::vector<AccumulatorWindow> windows = windows_on(sums, channels, positions);
    const auto agreement = std::make_shared<ThroughWindow>(windows, channels, positions);
    Application result;
    result.agreement = agreement;
    for (std::size_t number = 0; number < windows.size(); ++number) {
      result.derived.push_back(seen_through(base, windows[number], number));
    }
    for (const Link& link : links_to_all(windows.size(), sums.elements())) {
      if (is_determined(agreement->sum(sums, link))) result.links.push_back(link);
    }
    return result;
  });
}

constexpr FamilyRelation kRequantizationRelations[] = {
    {kScalesPowerOfTwo, "QLinearConv", scale_by_power_of_two},
    {kYZeroPointMoved, "QLinearConv", move_zero_point},
    {{RelationTopic::requantization, "bias-as-channels",
      "A bias gives what input channels of constant x give whose products add up to it.",
      "The bias is one more term of an integer sum (C20)."},
     "QLinearConv",
     bias_as_channels},
    {{RelationTopic::requantization, "accumulators",
      "QLinearConv with scales that are powers of two shows the accumulators that ConvInteger returns: their whole "
      "range, their last bits, and their ties.",
      "The sums are the same; where one fits 24 bits, dividing it by a power of two is exact in float32 too, so that "
      "rounding has one answer (C19)."},
     "ConvInteger, QLinearConv",
     show_accumulators},
};

}  // namespace

std::span<const FamilyRelation> requantization_relations() {
  return kRequantizationRelations;
}

namespace {

// Zero points that are omitted are 0.
ParameterValues<std::int64_t> moved_zeros(std::optional<ParameterValues<std::int64_t>> zeros, std::int64_t by) {
  ParameterValues<std::int64_t> result = std::move(zeros).value_or(0);
  for (std::int64_t& value : result.values) value += by;
  return result;
}

Applied shift_x(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  Convolution derived = parts.stated;
  derived.x_zero_point = moved_zeros(derived.x_zero_point, shift_to_other_sign(derived.x.type));
  derived.x = shifted(derived.x);
  return same_output(parts.derive(std::move(derived), "/x-shift-128"));
}

Applied shift_w(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  Convolution derived = parts.stated;
  derived.w_zero_point = moved_zeros(derived.w_zero_point, shift_to_other_sign(derived.w.type));
  derived.w = shifted(derived.w);
  return same_output(parts.derive(std::move(derived), "/w-shift-128"));
}

Applied shift_y(const RelationSubject& subject) {
  const ConvolutionParts& parts = *convolution_of(subject);
  Convolution derived = parts.stated;
  if (!derived.is_quantized) return NotApplicable{"y has no zero point"};
  const std::int64_t by = shift_to_other_sign(derived.y_type);
  derived.y_zero_point.values[0] += by;
  derived.y_type = with_other_sign(derived.y_type);
  return shifted_output(parts.derive(std::move(derived), "/y-shift-128"), by);
}

constexpr FamilyRelation kSignednessRelations[] = {
    {kXShift, "QLinearConv, ConvInteger", shift_x},
    {{RelationTopic::signedness, "w-shift-128",
      "w and its zero points moved by 128 into the other 8-bit type leave y as it is.",
      "w enters as w - zero point only: exact in integers."},
     "QLinearConv, ConvInteger",
     shift_w},
    {kYShift, "QLinearConv", shift_y},
};

}  // namespace

std::span<const FamilyRelation> signedness_relations() {
  return kSignednessRelations;
}

}  // namespace qconform::relations
