// Draws cases of QuantizeLinear and DequantizeLinear that are like a given one but for their sizes and values, and
// tells their elements apart.
#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/linear.h"
#include "reference/numerics/floats.h"

namespace qconform::diagnose {
namespace {

using LinearShape = std::vector<std::int64_t>;

void set_number(Tensor& tensor, std::int64_t index, double number) {
  const std::uint64_t bits = tensor.type == ElementType::float32
                                 ? std::bit_cast<std::uint32_t>(static_cast<float>(number))
                                 : encode(reference::float_format(tensor.type), number, reference::Overflow::saturate);
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, bits);
}

Tensor of_shape(ElementType type, LinearShape shape) {
  Tensor result{type, std::move(shape), {}};
  result.bytes.resize(static_cast<std::size_t>(bytes_for(type, result.elements())));
  return result;
}

std::int64_t any_index(const Tensor& tensor, Rng& rng) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint32_t>(tensor.elements())));
}

// As many values as the shape has elements, drawn from those of the tensor; scales also times powers of two.
Tensor drawn_parameter(const Tensor& like, const LinearShape& shape, bool is_varied, Rng& rng) {
  Tensor result = of_shape(like.type, shape);
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const std::int64_t from = any_index(like, rng);
    if (is_varied && !is_integer(like.type)) {
      set_number(result, i, number_at(like, from) * static_cast<double>(1U << rng.below(4)));
    } else {
      set_bits_at(result, i, bits_at(like, from));
    }
  }
  return result;
}

// Values that the scales spread over the range of y, and quarters of steps between them; or values of the given x.
void draw_floats(LinearQuantization& node, const Tensor& like, bool is_fresh, Rng& rng) {
  const auto layout = layout_of(node);
  for (std::int64_t i = 0; i < node.x.elements(); ++i) {
    const double scale = layout ? number_at(node.scale, static_cast<std::int64_t>(layout->parameter_of(i))) : 1;
    if (is_fresh) {
      set_number(node.x, i, scale * (static_cast<double>(rng.between(-140, 140)) + 0.25));
    } else {
      set_bits_at(node.x, i, bits_at(like, any_index(like, rng)));
    }
  }
}

// Dimensions are added and dropped in front, where they are 1; an axis from the front moves with its dimension.
void set_rank(LinearQuantization& node, std::int64_t rank) {
  const auto by = rank - std::ssize(node.x.shape);
  if (by == 0) return;
  const bool has_axis = node.scale.elements() != 1 || !node.scale.shape.empty();
  const auto change = [&](LinearShape& shape) {
    if (by > 0) shape.insert(shape.begin(), static_cast<std::size_t>(by), 1);
    if (by < 0) shape.erase(shape.begin(), shape.begin() - by);
  };
  if (has_axis && node.axis_or_default() >= 0) node.axis = node.axis_or_default() + by;
  change(node.x.shape);
}

}  // namespace

std::vector<CaseSize> linear_sizes(const Case& test_case) {
  const auto node = read_linear(test_case);
  if (!node || node->x.elements() == 0) return {};
  std::vector<CaseSize> sizes{{"rank", std::ssize(node->x.shape)}, {"block_size", node->block_size.value_or(0), 0}};
  if (node->block_size.value_or(0) > 0) sizes.back().least = 1;
  for (std::size_t i = 0; i < node->x.shape.size(); ++i) {
    sizes.push_back({"dimension " + std::to_string(i), node->x.shape[i]});
  }
  return sizes;
}

std::optional<Case> draw_linear_like(const Case& test_case, std::span<const std::int64_t> sizes, Rng& rng) {
  const auto like = read_linear(test_case);
  if (!like) return std::nullopt;
  LinearQuantization node = *like;
  const bool is_blocked = like->block_size.value_or(0) > 0;
  if (is_blocked) node.block_size = sizes[1];
  if (!is_blocked && sizes[1] > 0) return std::nullopt;
  node.x.shape.assign(sizes.begin() + 2, sizes.end());
  const std::int64_t dropped = std::ssize(node.x.shape) - sizes[0];
  for (std::int64_t i = 0; i < dropped; ++i) {
    if (node.x.shape[static_cast<std::size_t>(i)] != 1) return std::nullopt;
  }
  set_rank(node, sizes[0]);
  const bool is_one = like->scale.shape.empty() || (like->scale.shape == LinearShape{1} && !like->dimension());
  if (!is_one && !node.dimension()) return std::nullopt;
  const LinearShape parameters = is_one ? like->scale.shape : node.parameter_shape();
  const bool is_fresh = rng.chance(3, 4);
  node.scale = drawn_parameter(like->scale, parameters, is_fresh, rng);
  if (like->zero_point) {
    node.zero_point = drawn_parameter(*like->zero_point, parameters, false, rng);
    const bool is_free = is_integer(node.zero_point->type) && bits_of(node.zero_point->type) <= 16 && is_fresh;
    if (is_free) node.zero_point = random_bits(rng, node.zero_point->type, parameters);
  }
  node.x = of_shape(like->x.type, node.x.shape);
  if (!node.quantizes && is_fresh) {
    node.x = random_bits(rng, node.x.type, node.x.shape);
  } else if (is_integer(node.x.type)) {
    node.x = drawn_parameter(like->x, node.x.shape, false, rng);
  } else {
    draw_floats(node, like->x, is_fresh, rng);
  }
  return build_linear(std::move(node));
}

std::vector<Coordinate> linear_coordinates(const Lowered& lowered) {
  const reference::QuantizationLayout& layout = *layout_of(lowered);
  const LinearShape shape = lowered.output_shape();
  std::vector<Coordinate> all;
  for (std::size_t i = 0; i < shape.size(); ++i) all.push_back({"index " + std::to_string(i), {}, {}});
  const std::size_t own = all.size();
  if (layout.parameters() > 1) all.push_back({"position along the axis", {}, {}});
  if (layout.is_blocked()) {
    for (const char* name : {"block", "position in its block", "scale"}) all.push_back({name, {}, {}});
  }
  for (std::int64_t index = 0; index < layout.elements(); ++index) {
    std::int64_t rest = index;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) all[i].add(rest % shape[i], shape[i]);
    std::size_t at = own;
    const std::int64_t position = index / layout.inner % layout.channels;
    if (layout.parameters() > 1) all[at++].add(position, layout.channels);
    if (!layout.is_blocked()) continue;
    const std::int64_t block = position / layout.block;
    all[at++].add(block, layout.blocks());
    all[at++].add(position % layout.block, std::min(layout.block, layout.channels - block * layout.block));
    all[at].add(static_cast<std::int64_t>(layout.parameter_of(index)), layout.parameters());
  }
  return all;
}

}  // namespace qconform::diagnose
