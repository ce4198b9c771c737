// Changes of one thing in a convolution, of which a cache of packed weights, offsets or tables may know nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/operators/convolution/hooks.h"
#include "harness/operators/convolution/sweep_model.h"
#include "reference/numerics/element.h"

namespace qconform::sweep::convolution {
namespace {

using List = Convolution::List;

// Another value of the type, at most 15 away.
void move_number(Rng& rng, ElementType type, std::int64_t& value) {
  const IntegerEnds ends = ends_of(type);
  const std::int64_t step = rng.between(1, 15);
  value += value + step <= ends.hi && (value - step < ends.lo || rng.chance(1, 2)) ? step : -step;
}

bool change_x_zero_point(Rng& rng, Convolution& c) {
  if (c.x_zero_point) move_number(rng, c.x.type, c.x_zero_point->values[0]);
  return c.x_zero_point.has_value();
}

bool change_w_zero_point(Rng& rng, Convolution& c) {
  if (c.w_zero_point) move_number(rng, c.w.type, c.w_zero_point->values.back());
  return c.w_zero_point.has_value();
}

bool change_y_zero_point(Rng& rng, Convolution& c) {
  if (c.is_quantized) move_number(rng, c.y_type, c.y_zero_point.values[0]);
  return c.is_quantized;
}

// The same bytes in the other type.
bool change_x_type(Rng& /*rng*/, Convolution& c) {
  c.x.type = c.x.type == ElementType::uint8 ? ElementType::int8 : ElementType::uint8;
  return c.x_zero() >= 0 && c.x_zero() <= std::numeric_limits<std::int8_t>::max();
}

// One pad to the other side, so that the output stays as large.
bool move_pad(Rng& /*rng*/, Convolution& c) {
  if (!c.pads || c.has_auto_pad()) return false;
  List& pads = *c.pads;
  const std::size_t axes = pads.size() / 2;
  for (std::size_t a = axes; a-- > 0;) {
    if (pads[a] == pads[a + axes] && pads[a] == 0) continue;
    const bool forward = pads[a] < pads[a + axes];
    pads[a] += forward ? 1 : -1;
    pads[a + axes] += forward ? -1 : 1;
    return true;
  }
  return false;
}

// To two outputs along the last axis, and one element of x beside what they need: then other strides give two, too.
bool change_width(Rng& /*rng*/, Convolution& c) {
  const auto sizes = geometry_of(c);
  if (!sizes || c.has_auto_pad() || sizes->axes.back().stride < 2) return false;
  const reference::SpatialAxis& axis = sizes->axes.back();
  const std::int64_t width = axis.kernel_extent() + 3 - axis.pad_begin - axis.pad_end;
  if (width < 1) return false;
  const Tensor before = c.x;
  c.x.shape.back() = width;
  c.x.bytes.resize(static_cast<std::size_t>(c.x.elements()));
  for (std::int64_t i = 0; i < c.x.elements(); ++i) {
    c.x.bytes[static_cast<std::size_t>(i)] =
        before.bytes[static_cast<std::size_t>(i / width * axis.input + i % width % axis.input)];
  }
  return true;
}

bool change_stride(Rng& /*rng*/, Convolution& c) {
  const auto sizes = geometry_of(c);
  if (!sizes || c.has_auto_pad()) return false;
  for (std::size_t a = sizes->axes.size(); a-- > 0;) {
    const reference::SpatialAxis& axis = sizes->axes[a];
    const std::int64_t room = axis.input + axis.pad_begin + axis.pad_end - axis.kernel_extent();
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
      if (stride == axis.stride || room / stride + 1 != axis.output) continue;
      if (!c.strides) c.strides = List(sizes->axes.size(), 1);
      (*c.strides)[a] = stride;
      return true;
    }
  }
  return false;
}

bool change_last_weight(Rng& rng, Convolution& c) {
  const std::int64_t last = c.w.elements() - 1;
  std::int64_t value = integer_at(c.w, last);
  move_number(rng, c.w.type, value);
  c.w.bytes.back() = reference::store8(static_cast<std::int32_t>(value));
  return true;
}

// Two neighbouring weights of one filter, so that its sum stays.
bool exchange_weights(Rng& /*rng*/, Convolution& c) {
  const std::size_t filter = c.w.bytes.size() / static_cast<std::size_t>(c.output_channels());
  for (std::size_t i = c.w.bytes.size() - 1; i % filter != 0; --i) {
    if (c.w.bytes[i] == c.w.bytes[i - 1]) continue;
    std::swap(c.w.bytes[i], c.w.bytes[i - 1]);
    return true;
  }
  return false;
}

bool double_last(Rng& rng, ParameterValues<float>& scale) {
  const float factor = rng.chance(1, 2) ? 2.0F : 0.5F;
  scale.values.back() *= factor;
  return std::isnormal(scale.values.back());
}

bool change_y_scale(Rng& rng, Convolution& c) {
  return c.is_quantized && double_last(rng, c.y_scale);
}

bool change_w_scale(Rng& rng, Convolution& c) {
  return c.is_quantized && double_last(rng, c.w_scale);
}

// By some steps of y.
bool change_bias(Rng& rng, Convolution& c) {
  if (!c.bias) return false;
  const double step =
      double{c.y_scale.of(0)} / (double{c.x_scale.of(0)} * c.w_scale.of(static_cast<std::size_t>(c.bias->size() - 1)));
  const double value = c.bias->back() + (rng.chance(1, 2) ? -10 : 10) * std::max(1.0, step);
  if (!(std::fabs(value) < 0x1p30)) return false;
  c.bias->back() = static_cast<std::int32_t>(value);
  return true;
}

constexpr std::array<std::string_view, 12> kChanges{"x zero point", "pads",         "last weight",  "weights exchanged",
                                                    "width",        "stride",       "y scale",      "w scale",
                                                    "bias",         "w zero point", "y zero point", "x type"};

// Winograd's algorithm takes these.
constexpr std::array<ParameterClass, 6> kSpecial{{{kRank, 1},
                                                  {kKernel, kThree},
                                                  {kStride, kStride1},
                                                  {kDilation, kDilation1},
                                                  {kAutoPad, kNotSet},
                                                  {kPads, kSymmetric}}};

constexpr std::array<bool (*)(Rng&, Convolution&), kChanges.size()> kChange{
    change_x_zero_point, move_pad,       change_last_weight, exchange_weights,    change_width,        change_stride,
    change_y_scale,      change_w_scale, change_bias,        change_w_zero_point, change_y_zero_point, change_x_type};

std::optional<Case> changed(const Case& test_case, std::size_t change, Rng& rng) {
  auto c = read_convolution(test_case);
  if (!c || !kChange[change](rng, *c)) return std::nullopt;
  return build_convolution(std::move(*c));
}

}  // namespace
}  // namespace qconform::sweep::convolution

namespace qconform::sweep {

NeighbourModel neighbouring_convolutions() {
  return {convolution::kChanges, convolution::changed, convolution::kSpecial};
}

}  // namespace qconform::sweep
