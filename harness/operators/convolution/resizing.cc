// Draws convolutions that are like a given one but for their sizes and values, and tells their elements apart.
#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/convolution/description.h"
#include "harness/operators/convolution/diagnosis.h"

namespace qconform::diagnose {
namespace {

using reference::SpatialAxis;

struct SizeOfAxis {
  std::string_view name;
  std::int64_t SpatialAxis::*member;
  std::int64_t least;
};
constexpr SizeOfAxis kAxisSizes[] = {{"output", &SpatialAxis::output, 1},
                                     {"kernel", &SpatialAxis::kernel, 1},
                                     {"stride along the", &SpatialAxis::stride, 1},
                                     {"dilation along the", &SpatialAxis::dilation, 1},
                                     {"pad before the", &SpatialAxis::pad_begin, 0},
                                     {"pad behind the", &SpatialAxis::pad_end, 0}};

// The last axis is the width, whatever the rank.
std::string name_of_axis(std::size_t axis, std::size_t rank, std::span<const std::string_view> names) {
  const std::size_t from_last = rank - 1 - axis;
  return from_last < names.size() ? std::string(names[from_last]) : "axis " + std::to_string(axis);
}
constexpr std::string_view kAxisExtents[] = {"width", "height", "depth"};
constexpr std::string_view kAxisPositions[] = {"column", "row", "plane"};

template <typename T>
T any_of_values(const std::vector<T>& values, Rng& rng) {
  return values[rng.below(static_cast<std::uint32_t>(values.size()))];
}

// As many values as the shape has elements, drawn from those of the tensor.
Tensor resampled(const Tensor& tensor, std::vector<std::int64_t> shape, Rng& rng) {
  Tensor result{tensor.type, std::move(shape), {}};
  result.bytes.resize(static_cast<std::size_t>(result.elements()));
  if (tensor.bytes.empty()) return uniform_bytes(result.type, result.shape, rng);
  for (std::byte& byte : result.bytes) byte = any_of_values(tensor.bytes, rng);
  return result;
}

template <typename T, typename Draw>
void redraw(ParameterValues<T>& parameter, std::int64_t channels, const Draw& draw) {
  if (parameter.is_scalar()) return;
  std::vector<T> values;
  for (std::int64_t i = 0; i < channels; ++i) values.push_back(draw());
  parameter = ParameterValues<T>(std::move(values));
}

// A quarter of the cases have values of the given one, the others any, and scales that spread their sums over y's
// range.
void draw_values_like(Convolution& c, const Convolution& like, const reference::ConvolutionGeometry& g, Rng& rng) {
  const bool is_fresh = rng.chance(3, 4);
  c.x = is_fresh ? uniform_bytes(c.x.type, c.x.shape, rng) : resampled(like.x, c.x.shape, rng);
  c.w = is_fresh ? uniform_bytes(c.w.type, c.w.shape, rng) : resampled(like.w, c.w.shape, rng);
  const auto spread = static_cast<std::int64_t>(5000 * std::sqrt(static_cast<double>(g.depth())));
  const IntegerEnds ends = ends_of(c.w.type);
  const bool has_zero_point = c.w_zero_point && any_nonzero(c.w_zero_point->values);
  if (c.w_zero_point) {
    redraw(*c.w_zero_point, g.output_channels, [&] {
      return is_fresh && has_zero_point ? rng.between(ends.lo, ends.hi) : any_of_values(like.w_zero_point->values, rng);
    });
  }
  if (!c.is_quantized) return;
  redraw(c.w_scale, g.output_channels, [&] {
    return is_fresh ? 1.0F / static_cast<float>(1U << rng.below(4)) : any_of_values(like.w_scale.values, rng);
  });
  if (c.bias) {
    c.bias->clear();
    for (std::int64_t m = 0; m < g.output_channels; ++m) {
      const bool is_drawn = is_fresh || like.bias->empty();
      c.bias->push_back(is_drawn ? static_cast<std::int32_t>(rng.between(-spread, spread))
                                 : any_of_values(*like.bias, rng));
    }
  }
  if (!is_fresh) return;
  if (c.w_scale.is_scalar()) c.w_scale = 1.0F;
  c.x_scale = 1.0F;
  c.y_scale = static_cast<float>(std::bit_floor(static_cast<std::uint64_t>(spread))) / 64.0F;
}

}  // namespace

std::vector<CaseSize> convolution_sizes(const Case& test_case) {
  const auto read = read_convolution(test_case);
  const auto g = read ? geometry_of(*read) : std::nullopt;
  if (!g || g->output_positions() == 0) return {};
  std::vector<CaseSize> sizes{{"batch", g->batch},
                              {"groups", g->group},
                              {"C of a group", g->group_input_channels()},
                              {"M of a group", g->group_output_channels()}};
  for (std::size_t i = 0; i < g->axes.size(); ++i) {
    const std::string axis = name_of_axis(i, g->axes.size(), kAxisExtents);
    for (const SizeOfAxis& size : kAxisSizes) {
      sizes.push_back({std::string(size.name) + " " + axis, g->axes[i].*size.member, size.least});
    }
  }
  return sizes;
}

std::optional<Case> draw_convolution_like(const Case& test_case, std::span<const std::int64_t> sizes, Rng& rng) {
  const auto like = read_convolution(test_case);
  if (!like) return std::nullopt;
  auto g = *geometry_of(*like);
  g.batch = sizes[0];
  g.group = sizes[1];
  g.input_channels = sizes[1] * sizes[2];
  g.output_channels = sizes[1] * sizes[3];
  std::vector<std::int64_t> pads;
  for (const SpatialAxis& axis : g.axes) pads.push_back(axis.pad_begin + axis.pad_end);
  std::size_t at = 4;
  std::size_t i = 0;
  for (SpatialAxis& axis : g.axes) {
    for (const SizeOfAxis& size : kAxisSizes) axis.*size.member = sizes[at++];
    // Pads make y larger, and not x smaller.
    const std::int64_t padded = axis.pad_begin + axis.pad_end;
    axis.input = (axis.output - 1) * axis.stride + axis.kernel_extent() - pads[i++];
    axis.output = 1 + (axis.input + padded - axis.kernel_extent()) / axis.stride;
    if (axis.input < 1 || axis.input + padded < axis.kernel_extent()) return std::nullopt;
  }
  Convolution drawn = *like;
  drawn.auto_pad.reset();
  set_sizes(drawn, g);
  draw_values_like(drawn, *like, g, rng);
  return build_convolution(std::move(drawn));
}

std::vector<Coordinate> convolution_coordinates(const Lowered& lowered) {
  const ConvolutionGeometry& g = operands_of(lowered)->geometry;
  const std::int64_t positions = g.output_positions();
  std::vector<Coordinate> all{
      {"image", {}, {}}, {"channel", {}, {}}, {"group", {}, {}}, {"channel of its group", {}, {}}};
  for (std::size_t i = 0; i < g.axes.size(); ++i)
    all.push_back({name_of_axis(i, g.axes.size(), kAxisPositions), {}, {}});
  all.push_back({"pixel", {}, {}});
  for (std::int64_t index = 0; index < g.batch * g.output_channels * positions; ++index) {
    const std::int64_t channel = index / positions % g.output_channels;
    all[0].add(index / positions / g.output_channels, g.batch);
    all[1].add(channel, g.output_channels);
    all[2].add(channel / g.group_output_channels(), g.group);
    all[3].add(channel % g.group_output_channels(), g.group_output_channels());
    std::int64_t rest = index % positions;
    for (std::size_t i = g.axes.size(); i-- > 0; rest /= g.axes[i].output) {
      all[4 + i].add(rest % g.axes[i].output, g.axes[i].output);
    }
    all.back().add(index % positions, positions);
  }
  return all;
}

}  // namespace qconform::diagnose
