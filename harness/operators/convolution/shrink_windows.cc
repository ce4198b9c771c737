// Fewer taps, and no padding, strides or dilations, at the same outputs: steps that change x and the kernel together.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "harness/model/operator.h"
#include "harness/model/reductions/edits.h"
#include "harness/model/reductions/roles.h"
#include "harness/operators/convolution/contract.h"
#include "harness/operators/convolution/shrink.h"
#include "reference/convolution/geometry.h"

namespace qconform::shrink {
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

// x with its padding, and w with the gaps between its taps, beyond their own elements.
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
