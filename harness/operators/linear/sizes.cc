// Sizes at which element-wise kernels change their way: chunks of elements, indices of channels, lengths of blocks, and
// axes of more dimensions than the model has.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/sweep_model.h"

namespace qconform::sweep::linear {
namespace {

enum class SweptExtent : std::uint8_t {
  elements,
  channels,  ///< parameters along an axis
  block,     ///< elements of a block
  axis_of_5,
  axis_of_6,  ///< the axis of the parameters, of so many dimensions
};

constexpr std::array kNames{"elements", "channels", "block", "axis of 5", "axis of 6"};

struct SweptSize {
  SweptExtent extent;
  std::int64_t value;
};

// More elements than this are worth one case.
constexpr std::int64_t kMostOfSmall = 5000;

const std::vector<SweptSize>& all_sizes() {
  static const std::vector<SweptSize> all = [] {
    std::vector<SweptSize> list;
    const auto add = [&](SweptExtent extent, std::initializer_list<std::int64_t> values) {
      for (const std::int64_t value : values) list.push_back({extent, value});
    };
    add(SweptExtent::elements, {255, 256, 257, 1023, 1025, 4095, 4097});
    add(SweptExtent::channels, {127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 1025, 2049, 4097});
    add(SweptExtent::block, {24, 48, 64, 100, 128, 192, 256});
    add(SweptExtent::axis_of_5, {0, 1, 2, 3, 4});
    add(SweptExtent::axis_of_6, {0, 1, 2, 3, 4, 5});
    add(SweptExtent::elements, {16383, 16384, 16385, 32769, 65537});
    return list;
  }();
  return all;
}

std::int64_t draw_block_length(Rng& rng, const Row& row, std::int64_t block) {
  if (row[kLayout] == kWholeBlocks) return 4 * block;
  const std::int64_t whole = rng.between(0, 2);
  return block * whole + rng.between(1, block - 1);
}

// Gives x more dimensions, and the axis another place among them.
bool deepen(Rng& rng, std::int64_t rank, std::int64_t to, LinearQuantization& node) {
  const std::int64_t length = node.x.shape[*node.dimension()];
  if (!node.axis && to != 1) return false;
  if (node.axis) node.axis = *node.axis < 0 ? to - rank : to;
  node.x.shape.assign(static_cast<std::size_t>(rank), 1);
  for (std::int64_t& extent : node.x.shape) extent = rng.between(1, 2);
  node.x.shape[static_cast<std::size_t>(to)] = length;
  return true;
}

// Makes x long along an axis that has no parameters.
bool lengthen(std::int64_t elements, LinearQuantization& node) {
  const bool is_scalar = node.scale.is_scalar();
  const std::size_t along = is_scalar ? node.x.shape.size() : *node.dimension();
  const std::size_t at = along + 1 == node.x.shape.size() ? 0 : node.x.shape.size() - 1;
  if (node.x.shape.empty() || at == along) return false;
  if (is_scalar) node.x.shape.assign(node.x.shape.size(), 1);
  node.x.shape[at] = 1;
  node.x.shape[at] = (elements + node.x.elements() - 1) / node.x.elements();
  return true;
}

// False where the row does not go with the size.
bool resize(Rng& rng, const Row& row, const SweptSize& size, LinearQuantization& node) {
  if (size.extent == SweptExtent::elements) return lengthen(size.value, node);
  if (row[kLayout] == kScalar) return false;
  std::int64_t& length = node.x.shape[*node.dimension()];
  switch (size.extent) {
    case SweptExtent::channels: length = size.value; return row[kLayout] == kPerAxis;
    case SweptExtent::block:
      if (row[kLayout] == kPerAxis) return false;
      node.block_size = size.value;
      length = draw_block_length(rng, row, size.value);
      return true;
    default: return deepen(rng, size.extent == SweptExtent::axis_of_5 ? 5 : 6, size.value, node);
  }
}

// The model has no class for more dimensions: who takes them takes four.
Row with_rank(Row row) {
  row[kRank] = std::min<std::uint8_t>(row[kRank], 4);
  return row;
}

std::optional<Case> realise_size(const LinearFilling& of, const Row& row, std::size_t size, Rng rng,
                                 const std::function<bool(const Row&)>& takes) {
  LinearQuantization node = draw_placement(rng, row, of.quantizes);
  if (!resize(rng, row, all_sizes()[size], node)) return std::nullopt;
  if (row[kLayout] != kScalar) node.scale.shape = node.parameter_shape();
  if ((node.scale.elements() == 1) != (row[kScales] == kOneScale)) return std::nullopt;
  Row placed = row;
  classify_placement(node, placed);
  if (!takes(with_rank(placed))) return std::nullopt;
  Case drawn = build_linear(of.with_values(rng, row, node));
  if (!takes(with_rank(of.classify(drawn, ask_all)))) return std::nullopt;
  return drawn;
}

std::string size_name(std::size_t size) {
  const SweptSize& one = all_sizes()[size];
  return fmt::format("{} {}", kNames[static_cast<std::size_t>(one.extent)], one.value);
}

SizedModel sized(decltype(SizedModel::realise) realise) {
  const auto is_large = [](const SweptSize& size) { return size.value > kMostOfSmall; };
  const auto large = std::find_if(all_sizes().begin(), all_sizes().end(), is_large);
  return {all_sizes().size(), size_name, realise, static_cast<std::size_t>(large - all_sizes().begin())};
}

}  // namespace

SizedModel sized_quantize_linear() {
  return sized([](const auto& row, auto size, auto seed, auto index, const auto& takes) {
    return realise_size(quantize::kFilling, row, size, Rng(seed, index), takes);
  });
}

SizedModel sized_dequantize_linear() {
  return sized([](const auto& row, auto size, auto seed, auto index, const auto& takes) {
    return realise_size(dequantize::kFilling, row, size, Rng(seed, index), takes);
  });
}

}  // namespace qconform::sweep::linear
