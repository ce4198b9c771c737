// A long sum by fewer products, or as the bias and one tap: what goes wrong behind the sum needs no more. And its
// scales by one of them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/reductions.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/hooks.h"
#include "reference/convolution/geometry.h"
#include "reference/kernels/kernels.h"

namespace qconform::shrink {

namespace {

// Sums of so few products read as well as they are.
constexpr std::int64_t kShortSum = 4;
// Products of sums as long as this are too many to be told apart.
constexpr std::int64_t kLongSum = 64;

// The output element that is wrong, or the first.
std::int64_t wrong_index(const Subject& subject, std::span<const std::int64_t> shape) {
  const std::vector<std::int64_t>& wrong = subject.wrong_element();
  if (wrong.size() != shape.size()) return 0;
  return flat_index(wrong, shape);
}

void make_scalar(std::optional<Tensor>& parameter, std::int64_t channel) {
  if (parameter && !parameter->shape.empty() && parameter->elements() > channel) {
    parameter = element_as_scalar(*parameter, channel);
  }
}

// The value of an 8-bit type at `distance` from its zero point, or as near to that as the type goes.
std::int64_t value_at(ElementType type, std::int64_t zero_point, std::int64_t distance) {
  const std::int64_t lowest = is_signed_integer(type) ? -128 : 0;
  return std::clamp(zero_point + distance, lowest, lowest + 255);
}

// One output element with one tap, whose factors are at these distances from their zero points as far
// as their types allow, and with the rest of the sum in the bias as far as that holds it.
Case with_bias(const Case& from, const reference::QLinearConv& node, std::int64_t channel, std::int64_t sum,
               std::int64_t x_distance, std::int64_t w_distance) {
  Case result = from;
  result.node().attributes.clear();
  const std::int64_t x_zero = node.operands.x_zero_point;
  const std::int64_t w_zero = node.operands.w_zero_point[static_cast<std::size_t>(channel)];
  const auto one = [](Tensor& tensor, std::int64_t value) {
    tensor.shape.assign(tensor.shape.size(), 1);
    tensor.bytes.assign(1, std::byte{0});
    set_bits_at(tensor, 0, integer_bits(tensor.type, value));
  };
  const std::int64_t x = value_at(result.inputs[0]->type, x_zero, x_distance);
  const std::int64_t w = value_at(result.inputs[3]->type, w_zero, w_distance);
  one(*result.inputs[0], x);
  one(*result.inputs[3], w);
  make_scalar(result.inputs[4], channel);
  make_scalar(result.inputs[5], channel);
  const std::int64_t rest =
      std::clamp<std::int64_t>(sum - (x - x_zero) * (w - w_zero), std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max());
  result.inputs.resize(rest == 0 ? 8 : 9);
  if (rest != 0) {
    result.inputs[8] = Tensor::of<std::int32_t>(ElementType::int32, {1}, {static_cast<std::int32_t>(rest)});
  }
  return result;
}

// `count` channels of one tap: every x and w at the greatest distance from its zero point that its type
// allows, on sides that give products of the sign of `sum`.
Case with_largest_products(const Case& from, std::int64_t sum, std::int64_t count) {
  Case result = from;
  result.node().attributes.clear();
  const auto fill = [&](std::string_view name, std::string_view zero_point, bool upwards) {
    Tensor& tensor = *result.inputs[*position_of(result, name)];
    const std::int64_t lowest = is_signed_integer(tensor.type) ? -128 : 0;
    const std::int64_t highest = lowest + 255;
    tensor.shape.assign(tensor.shape.size(), 1);
    tensor.shape[1] = count;
    tensor.bytes.assign(static_cast<std::size_t>(count), static_cast<std::byte>((upwards ? highest : lowest) & 0xFF));
    const auto at = position_of(result, zero_point);
    if (!at || result.input(*at) == nullptr) return;
    Tensor& parameter = *result.inputs[*at];
    std::fill(parameter.bytes.begin(), parameter.bytes.end(),
              static_cast<std::byte>((upwards ? lowest : highest) & 0xFF));
  };
  fill("x", "x_zero_point", true);
  fill("w", "w_zero_point", sum > 0);
  return result;
}

// The greatest distance of x, or w, from its zero point; 0 has to do where there is none.
std::int64_t greatest_distance(const Case& test_case, std::string_view name, std::string_view zero_point) {
  if (tensor_named(test_case, zero_point) != nullptr) return 255;
  return is_signed_integer(tensor_named(test_case, name)->type) ? 127 : 255;
}

// The ends of the factors' types that make products large.
struct Extremes {
  bool x_is_highest;
  bool w_is_highest;
};

// `count` products of such factors, along `axis` of x and w, of which all others are 1. Zero points stay.
Case with_extreme_products(const Case& from, std::int64_t count, std::size_t axis, Extremes extremes) {
  Case result = from;
  result.node().attributes.clear();
  const auto fill = [&](std::string_view name, bool is_highest) {
    Tensor& tensor = *result.inputs[*position_of(result, name)];
    const std::int64_t lowest = is_signed_integer(tensor.type) ? -128 : 0;
    tensor.shape.assign(tensor.shape.size(), 1);
    tensor.shape[axis] = count;
    tensor.bytes.assign(static_cast<std::size_t>(count),
                        static_cast<std::byte>((is_highest ? lowest + 255 : lowest) & 0xFF));
  };
  fill("x", extremes.x_is_highest);
  fill("w", extremes.w_is_highest);
  return result;
}

}  // namespace

// A failure that needs a large sum may be left with many middling values, none of which it can do without.
void few_extreme_products(Subject& subject) {
  constexpr std::int64_t kFewProducts = 4;
  const auto g = geometry_of(subject.current());
  if (!g || g->depth() < 2 || g->depth() > kLongSum) return;
  if (g->batch * g->output_channels * g->output_positions() != 1) return;
  for (std::int64_t count = 1; count <= std::min(kFewProducts, g->depth() - 1); ++count) {
    for (const std::size_t axis : {std::size_t{1}, g->axes.size() + 1}) {
      for (const Extremes extremes : {Extremes{true, true}, {true, false}, {false, true}, {false, false}}) {
        if (subject.offer(with_extreme_products(subject.current(), count, axis, extremes))) return;
      }
    }
  }
}

void fewer_larger_products(Subject& subject) {
  const Case current = subject.current();
  const Classification classification = classify(current);
  if (classification.lowered == nullptr) return;
  const reference::ConvolutionOperands* const o = operands_of(*classification.lowered);
  if (o == nullptr || o->geometry.depth() <= kLongSum) return;
  const reference::ConvolutionGeometry& g = o->geometry;
  if (g.batch * g.output_channels * g.output_positions() != 1) return;
  std::vector<std::int64_t> sums(1);
  fast_sums(*o, tensor_named(current, "x")->bytes, tensor_named(current, "w")->bytes, sums);
  const std::int64_t sum = sums[0] - (o->bias.empty() ? 0 : o->bias[0]);
  const std::int64_t product =
      greatest_distance(current, "x", "x_zero_point") * greatest_distance(current, "w", "w_zero_point");
  const std::int64_t count = std::abs(sum) / product + 1;
  if (count < g.depth()) subject.offer(with_largest_products(current, sum, count));
}

void sum_into_bias(Subject& subject) {
  const Case current = subject.current();
  const Classification classification = classify(current);
  if (classification.lowered == nullptr) return;
  const reference::QLinearConv* const quantized = qlinear_conv_of(*classification.lowered);
  if (quantized == nullptr || quantized->operands.geometry.depth() <= kShortSum) return;
  const reference::QLinearConv& node = *quantized;
  const reference::ConvolutionGeometry& g = node.operands.geometry;
  const std::int64_t outputs = g.batch * g.output_channels * g.output_positions();
  if (outputs == 0) return;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(outputs));
  fast_sums(node.operands, current.input(0)->bytes, current.input(3)->bytes, sums);
  const std::int64_t index = wrong_index(subject, classification.lowered->output_shape());
  const std::int64_t channel = index / g.output_positions() % g.output_channels;
  const std::int64_t sum = sums[static_cast<std::size_t>(index)];
  // All of the sum in one product, where it has such factors.
  for (std::int64_t factor = 1; factor <= 255; ++factor) {
    if (sum == 0 || sum % factor != 0 || std::abs(sum / factor) > 255) continue;
    for (const std::int64_t sign : {1, -1}) {
      if (subject.offer(with_bias(current, node, channel, sum, sign * factor, sign * sum / factor))) return;
    }
  }
  for (const auto& [x, w] : {std::pair{0, 0}, std::pair{1, 1}, std::pair{255, 255}, std::pair{255, -255}}) {
    if (subject.offer(with_bias(current, node, channel, sum, x, w))) return;
  }
}

// The three scales of a requantization act by x_scale * w_scale / y_scale: the whole of it in one of them.
std::vector<Case> with_gathered_multiplier(const Case& test_case) {
  const auto x = position_of(test_case, "x_scale");
  const auto w = position_of(test_case, "w_scale");
  const auto y = position_of(test_case, "y_scale");
  if (!x || !w || !y) return {};
  for (const std::size_t position : {*x, *w, *y}) {
    const Tensor* scale = test_case.input(position);
    if (scale == nullptr || scale->type != ElementType::float32 || scale->elements() != 1) return {};
  }
  const auto value = [&](std::size_t position) { return double{float_at(*test_case.input(position), 0)}; };
  const double product = value(*x) * value(*w);
  const double multiplier = product / value(*y);
  if (!std::isfinite(multiplier) || multiplier <= 0 || multiplier > 1e30 || multiplier < 1e-30) return {};
  const auto with = [&](double x_scale, double w_scale, double y_scale) {
    Case result = test_case;
    const auto put = [&](std::size_t position, double scale) {
      Tensor& tensor = *result.inputs[position];
      tensor = Tensor::of<float>(ElementType::float32, tensor.shape, std::vector<float>{static_cast<float>(scale)});
    };
    put(*x, x_scale);
    put(*w, w_scale);
    put(*y, y_scale);
    return result;
  };
  return {with(1, 1, 1 / multiplier), with(1, multiplier, 1), with(multiplier, 1, 1), with(product, 1, value(*y)),
          with(1, product, value(*y))};
}

// Fewer taps, and no padding, strides or dilations, at the same outputs: steps that change x and the kernel together.

namespace {

using Indices = std::vector<std::int64_t>;
using reference::ConvolutionGeometry;
using reference::SpatialAxis;

constexpr std::int64_t kNothing = -1;  // in place of a position: values that contribute nothing
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;

// Replaces x or w by what it has at `positions` of `axis`. False where that would be too large, or it has no values.
bool gather(Case& test_case, std::string_view name, std::size_t axis, const Indices& positions) {
  const std::size_t at = *position_of(test_case, name);
  const Tensor& from = *test_case.input(at);
  const auto length = static_cast<std::int64_t>(positions.size());
  if (from.elements() == 0 || from.elements() / from.shape[axis] > kMostElements / length) return false;
  Indices keep = positions;
  std::replace(keep.begin(), keep.end(), kNothing, std::int64_t{0});
  test_case.inputs[at] = with_positions(from, axis, keep);
  Tensor& to = *test_case.inputs[at];
  const std::vector<Role> roles = roles_of(test_case);
  const auto role = std::find_if(roles.begin(), roles.end(), [&](const Role& one) { return one.position == at; });
  const std::int64_t inner = elements_of(std::span<const std::int64_t>(to.shape).subspan(axis + 1));
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    if (positions[static_cast<std::size_t>(i / inner % length)] != kNothing) continue;
    set_bits_at(to, i, integer_bits(to.type, neutral_value(test_case, *role, i)));
  }
  return true;
}

// One entry of an attribute of all axes, or of two of them as pads has. Attributes of plain entries go.
void set_entry(Case& test_case, const char* name, std::size_t entry, std::int64_t value, std::int64_t plain) {
  Indices* const values = integers_of(test_case, name);
  if (values == nullptr || entry >= values->size()) return;
  (*values)[entry] = value;
  if (std::all_of(values->begin(), values->end(), [&](std::int64_t one) { return one == plain; })) {
    erase_attribute(test_case, name);
  }
}

// Gives x the positions along an axis that windows reach from `first` on; what lay in the padding has the zero point.
bool with_padding_as_values(Case& test_case, const ConvolutionGeometry& g, std::size_t axis, const Indices& reached) {
  Indices positions = reached;
  for (std::int64_t& position : positions) {
    if (position < 0 || position >= g.axes[axis].input) position = kNothing;
  }
  if (positions.empty() || !gather(test_case, "x", 2 + axis, positions)) return false;
  set_entry(test_case, "pads", axis, 0, 0);
  set_entry(test_case, "pads", axis + g.axes.size(), 0, 0);
  return true;
}

Indices range(std::int64_t first, std::int64_t count) {
  Indices result = positions(std::max<std::int64_t>(count, 0));
  for (std::int64_t& position : result) position += first;
  return result;
}

// The case has pads for all axes, or none, and no auto_pad.
bool has_explicit_pads(const Case& test_case, const ConvolutionGeometry& g) {
  const Indices* pads = integers_of(test_case, "pads");
  return test_case.attribute("auto_pad") == nullptr && (pads == nullptr || pads->size() == 2 * g.axes.size());
}

bool has_padding(const SpatialAxis& axis) {
  return axis.pad_begin != 0 || axis.pad_end != 0;
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace

std::optional<Case> with_taps(const Case& test_case, std::size_t axis, std::int64_t begin, std::int64_t count) {
  const auto g = geometry_of(test_case);
  if (!g || axis >= g->axes.size() || !has_explicit_pads(test_case, *g)) return std::nullopt;
  const SpatialAxis& a = g->axes[axis];
  const std::int64_t first = begin * a.dilation - a.pad_begin;
  Indices reached;
  if (count == 1) {
    for (std::int64_t output = 0; output < a.output; ++output) reached.push_back(first + output * a.stride);
  } else {
    reached = range(first, (a.output - 1) * a.stride + (count - 1) * a.dilation + 1);
  }
  Case result = test_case;
  if (!with_padding_as_values(result, *g, axis, reached)) return std::nullopt;
  if (count == 1) {
    set_entry(result, "strides", axis, 1, 1);
    set_entry(result, "dilations", axis, 1, 1);
  }
  Tensor& w = *result.inputs[*position_of(result, "w")];
  w = with_positions(w, 2 + axis, range(begin, count));
  if (Indices* kernel = integers_of(result, "kernel_shape"); kernel != nullptr && axis < kernel->size()) {
    (*kernel)[axis] = count;
  }
  return result;
}

void one_tap(Subject& subject) {
  constexpr std::int64_t kMostTaps = 16;
  const auto g = geometry_of(subject.current());
  if (!g) return;
  std::int64_t taps = 1;
  for (const SpatialAxis& axis : g->axes) taps = saturating_product(taps, axis.kernel);
  if (taps < 2) return;
  for (std::int64_t tap = 0; tap < std::min(taps, kMostTaps) && !subject.exhausted(); ++tap) {
    std::optional<Case> candidate = subject.current();
    std::int64_t rest = tap;
    for (std::size_t axis = g->axes.size(); axis-- > 0 && candidate;) {
      candidate = with_taps(*candidate, axis, rest % g->axes[axis].kernel, 1);
      rest /= g->axes[axis].kernel;
    }
    if (candidate && subject.offer(std::move(*candidate))) return;
  }
}

void padding_as_values(Subject& subject) {
  const auto g = geometry_of(subject.current());
  const std::size_t axes = g ? g->axes.size() : 0;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto now = geometry_of(subject.current());
    if (!now || !has_explicit_pads(subject.current(), *now) || !has_padding(now->axes[axis])) continue;
    const SpatialAxis& a = now->axes[axis];
    Case candidate = subject.current();
    const Indices reached = range(-a.pad_begin, a.pad_begin + a.input + a.pad_end);
    if (with_padding_as_values(candidate, *now, axis, reached)) subject.offer(std::move(candidate));
  }
}

void gaps_as_taps(Subject& subject) {
  const auto g = geometry_of(subject.current());
  const std::size_t axes = g ? g->axes.size() : 0;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const SpatialAxis& a = g->axes[axis];
    const Indices* dilations = integers_of(subject.current(), "dilations");
    if (dilations == nullptr || a.dilation == 1 || a.kernel < 2) continue;
    Indices taps(static_cast<std::size_t>(a.kernel_extent()), kNothing);
    for (std::int64_t tap = 0; tap < a.kernel; ++tap) taps[static_cast<std::size_t>(tap * a.dilation)] = tap;
    Case candidate = subject.current();
    if (!gather(candidate, "w", 2 + axis, taps)) continue;
    set_entry(candidate, "dilations", axis, 1, 1);
    if (Indices* kernel = integers_of(candidate, "kernel_shape"); kernel != nullptr && axis < kernel->size()) {
      (*kernel)[axis] = a.kernel_extent();
    }
    subject.offer(std::move(candidate));
  }
}

std::int64_t implied_elements(const Case& test_case) {
  const auto g = geometry_of(test_case);
  if (!g) return 0;
  const std::int64_t x = tensor_named(test_case, "x")->elements();
  const std::int64_t w = tensor_named(test_case, "w")->elements();
  std::int64_t padded = saturating_product(g->batch, g->input_channels);
  std::int64_t dilated = saturating_product(g->output_channels, g->group_input_channels());
  for (const SpatialAxis& axis : g->axes) {
    padded = saturating_product(padded, axis.pad_begin + axis.input + axis.pad_end);
    dilated = saturating_product(dilated, axis.kernel == 0 ? 0 : axis.kernel_extent());
  }
  const std::int64_t padding = std::max<std::int64_t>(padded - x, 0);
  const std::int64_t gaps = std::max<std::int64_t>(dilated - w, 0);
  return gaps > std::numeric_limits<std::int64_t>::max() - padding ? padding : padding + gaps;
}

}  // namespace qconform::shrink
