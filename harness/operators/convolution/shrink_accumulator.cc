// A long sum by fewer products, or as the bias and one tap: what goes wrong behind the sum needs no more. And its
// scales by one of them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/roles.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/shrink.h"
#include "reference/kernels/fast_sums.h"

namespace qconform::shrink {
namespace {

// Sums of so few products read as well as they are.
constexpr std::int64_t kShortSum = 4;
// Products of sums as long as this are too many to be told apart.
constexpr std::int64_t kLongSum = 64;

// The output element that is wrong, or the first.
std::int64_t flat_index(const Subject& subject, std::span<const std::int64_t> shape) {
  const std::vector<std::int64_t>& wrong = subject.wrong_element();
  if (wrong.size() != shape.size()) return 0;
  std::int64_t flat = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + wrong[i];
  return flat;
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
  const std::int64_t index = flat_index(subject, classification.lowered->output_shape());
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

}  // namespace qconform::shrink
