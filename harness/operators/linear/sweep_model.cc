#include "harness/operators/linear/sweep_model.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

#include "harness/model/sweep/model.h"
#include "harness/model/text.h"

namespace qconform::sweep::linear {
namespace {

constexpr std::int64_t kMostElements = 400;
constexpr std::int64_t kLongestAxis = 70;

bool is_blocked(const Row& row) {
  return row[kLayout] == kWholeBlocks || row[kLayout] == kPartialBlock;
}

std::uint8_t elements_class(std::int64_t elements) {
  if (elements == 1) return kOneElement;
  if (elements < 8) return kFew;
  switch (elements % 16) {
    case 15: return kUnder16;
    case 0: return kOf16;
    case 1: return kOver16;
    default: return elements % 2 == 1 ? kOdd : kEven;
  }
}

std::uint8_t block_class(std::int64_t block) {
  return block == 0    ? std::uint8_t{kNoBlock}
         : block == 1  ? std::uint8_t{kBlock1}
         : block < 16  ? std::uint8_t{kBlockSmall}
         : block == 16 ? std::uint8_t{kBlock16}
                       : std::uint8_t{kBlock32};
}

// The sizes of a class, in any order.
std::vector<std::int64_t> draw_blocks(Rng& rng, std::uint8_t block) {
  static constexpr std::int64_t kBlocks[] = {0, 1, 0, 16, 32};
  if (block != kBlockSmall) return {kBlocks[block]};
  std::vector<std::int64_t> blocks(14);
  std::iota(blocks.begin(), blocks.end(), 2);
  rng.shuffle(blocks);
  return blocks;
}

// The length of the axis that parameters lie along, and the product of the other dimensions.
struct AxisSize {
  std::int64_t length;
  std::int64_t others;
};

bool fits(const Row& row, std::int64_t block, AxisSize size) {
  if (elements_class(size.length * size.others) != row[kElements]) return false;
  if (row[kRank] <= 1 && size.others != 1) return false;
  if (row[kRank] == 0 && size.length != 1) return false;
  const std::int64_t rest = block == 0 ? 0 : size.length % block;
  if (row[kLayout] == kWholeBlocks && rest != 0) return false;
  if (row[kLayout] == kPartialBlock && rest == 0) return false;
  const std::int64_t parameters = row[kLayout] == kScalar ? 1
                                  : block == 0            ? size.length
                                                          : (size.length + block - 1) / block * size.others;
  return (row[kScales] == kOneScale) == (parameters == 1);
}

std::optional<AxisSize> draw_size(Rng& rng, const Row& row, std::int64_t block) {
  std::vector<AxisSize> sizes;
  for (std::int64_t length = 1; length <= kLongestAxis; ++length) {
    const std::int64_t most = length == 1 ? kLongestAxis : 12;
    for (std::int64_t others = 1; others <= most && length * others <= kMostElements; ++others) {
      if (fits(row, block, {length, others})) sizes.push_back({length, others});
    }
  }
  if (sizes.empty()) return std::nullopt;
  return sizes[rng.below(static_cast<std::uint32_t>(sizes.size()))];
}

// The dimension that the parameters lie along.
std::int64_t draw_dimension(Rng& rng, const Row& row) {
  const std::int64_t rank = row[kRank];
  switch (row[kAxis]) {
    case kFirst: return 0;
    case kMiddleAxis: return rng.between(1, rank - 2);
    case kLast: return rank - 1;
    case kNegative: return rng.between(0, rank - 1);
    default: return rank > 1 ? 1 : 0;
  }
}

std::vector<std::int64_t> dimensions(Rng& rng, std::int64_t rank, std::int64_t dimension, AxisSize size) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  if (rank == 0) return shape;
  shape[static_cast<std::size_t>(dimension)] = size.length;
  if (rank == 1) return shape;
  // The other dimensions' product goes to one of them, and what divides it to the next.
  auto at = static_cast<std::size_t>((dimension + rng.between(1, rank - 1)) % rank);
  shape[at] = size.others;
  const auto next = (at + 1) % static_cast<std::size_t>(rank);
  if (rank > 2 && next != static_cast<std::size_t>(dimension) && size.others % 2 == 0) {
    shape[at] /= 2;
    shape[next] = 2;
  }
  return shape;
}

// No class for parameters of one element in a shape that is not that of an axis or of blocks: a kernel that takes
// scalars may refuse it.
std::uint8_t layout_class(const LinearQuantization& node) {
  constexpr std::uint8_t kShaped = 255;
  if (node.zero_point && node.zero_point->shape != node.scale.shape) return kShaped;
  if (node.scale.is_scalar()) return kScalar;
  const auto dimension = node.dimension();
  if (node.opset_version < 13 || !dimension) return kShaped;
  const std::int64_t block = node.block_size.value_or(0);
  if (block == 0) return node.scale.shape == node.parameter_shape() ? std::uint8_t{kPerAxis} : kShaped;
  return node.x.shape[*dimension] % block == 0 ? kWholeBlocks : kPartialBlock;
}

std::uint8_t axis_class(const LinearQuantization& node) {
  if (!node.axis) return kDefaultAxis;
  if (*node.axis < 0) return kNegative;
  return *node.axis == 0 ? kFirst : node.dimension() == node.x.shape.size() - 1 ? kLast : kMiddleAxis;
}

bool are_distinct(const Tensor& tensor) {
  for (std::int64_t i = 1; i < tensor.elements(); ++i) {
    if (number_at(tensor, i) != number_at(tensor, 0)) return true;
  }
  return false;
}

std::uint8_t zero_points_class(const std::optional<Tensor>& tensor) {
  if (!tensor) return kOmitted;
  if (!is_integer(tensor->type)) return kMiddle;
  return are_distinct(*tensor) ? std::uint8_t{kDistinct} : zero_point_class(tensor->type, integer_at(*tensor, 0));
}

}  // namespace

std::vector<Parameter> common_parameters() {
  return {
      {"version", {"10", "13", "19", "21", "23", "24", "25"}, 1},
      {"rank", {"0", "1", "2", "3", "4"}, 2},
      {"layout", {"scalar", "per axis", "whole blocks", "partial last block"}, 0, ParameterRole::core},
      // As the attribute states it: one that is the first and the last counts as the first.
      {"axis", {"default", "first", "middle", "last", "negative"}},
      {"block size", {"none", "1", "2 to 15", "16", "32"}},
      {"elements", {"1", "2 to 7", "1 under 16n", "16n", "1 over 16n", "odd", "even"}, 3},
      {"zero point", {"low end", "middle", "high end", "other", "omitted", "distinct"}},
      // One, or several: beside zero points that are not distinct, "alike" is a tensor of parameters that are all
      // alike.
      {"scales", {"one", "alike", "distinct"}},
  };
}

namespace {

// Versions, ranks, layouts and blocks.
std::vector<Constraint> layout_constraints() {
  return {
      {"version 10 has scalar parameters and no axis",
       {kVersion, kLayout, kAxis},
       [](const Row& r) { return implies(r[kVersion] == k10, r[kLayout] == kScalar && r[kAxis] == kDefaultAxis); }},
      {"blocks begin with version 21",
       {kVersion, kLayout},
       [](const Row& r) { return implies(is_blocked(r), r[kVersion] >= k21); }},
      {"a block size is stated for blocks, and only there",
       {kLayout, kBlock},
       [](const Row& r) { return is_blocked(r) == (r[kBlock] != kNoBlock); }},
      {"no block of 1 is partial",
       {kLayout, kBlock},
       [](const Row& r) { return implies(r[kLayout] == kPartialBlock, r[kBlock] != kBlock1); }},
      {"rank 0 has one element, a scalar parameter and no axis",
       {kRank, kElements, kLayout, kAxis},
       [](const Row& r) {
         return implies(r[kRank] == 0,
                        r[kElements] == kOneElement && r[kLayout] == kScalar && r[kAxis] == kDefaultAxis);
       }},
      {"a stated axis lies within the rank",
       {kRank, kAxis},
       [](const Row& r) { return r[kAxis] == kMiddleAxis ? r[kRank] >= 3
                                 : r[kAxis] == kLast     ? r[kRank] >= 2
                                                         : true; }},
      {"the default axis, 1, needs rank 2 where it is used",
       {kRank, kLayout, kAxis},
       [](const Row& r) { return implies(r[kLayout] != kScalar && r[kAxis] == kDefaultAxis, r[kRank] >= 2); }},
      {"whole blocks of 2 and more have elements for them",
       {kLayout, kBlock, kElements},
       [](const Row& r) {
         if (r[kLayout] != kWholeBlocks || r[kBlock] == kBlock1) return true;
         return r[kBlock] == kBlockSmall ? r[kElements] != kOneElement : r[kElements] == kOf16;
       }},
      {"16n elements of one axis are whole blocks of 16",
       {kRank, kLayout, kBlock, kElements},
       [](const Row& r) {
         return r[kRank] != 1 || r[kLayout] != kPartialBlock || r[kBlock] != kBlock16 || r[kElements] != kOf16;
       }},
  };
}

// How many parameters there are, and how many elements they have.
std::vector<Constraint> parameter_constraints() {
  return {
      {"several parameters need a layout and elements for them",
       {kLayout, kElements, kScales},
       [](const Row& r) {
         return implies(r[kScales] != kOneScale, r[kLayout] != kScalar && r[kElements] != kOneElement);
       }},
      {"distinct zero points need several parameters",
       {kZeroPoint, kScales},
       [](const Row& r) { return implies(r[kZeroPoint] == kDistinct, r[kScales] != kOneScale); }},
      {"a few elements of one axis are not several blocks of 16 or 32",
       {kRank, kBlock, kElements, kScales},
       [](const Row& r) {
         return r[kRank] != 1 || r[kBlock] < kBlock16 || r[kElements] != kFew || r[kScales] == kOneScale;
       }},
      {"one parameter along the only axis has one element",
       {kRank, kLayout, kElements, kScales},
       [](const Row& r) {
         return implies(r[kRank] == 1 && r[kLayout] == kPerAxis && r[kScales] == kOneScale,
                        r[kElements] == kOneElement);
       }},
      {"one block has no more elements than its size",
       {kLayout, kBlock, kElements, kScales},
       [](const Row& r) {
         if (!is_blocked(r) || r[kScales] != kOneScale || r[kBlock] == kBlock32) return true;
         if (r[kBlock] == kBlock1) return r[kElements] == kOneElement;
         const bool is_longer = r[kElements] == kOf16 || r[kElements] == kOver16;
         if (r[kLayout] == kWholeBlocks) return r[kBlock] == kBlock16 || !is_longer;
         return !is_longer && (r[kBlock] == kBlock16 || r[kElements] != kUnder16);
       }},
  };
}

}  // namespace

std::vector<Constraint> common_constraints() {
  std::vector<Constraint> all = layout_constraints();
  std::ranges::move(parameter_constraints(), std::back_inserter(all));
  return all;
}

LinearQuantization draw_placement(Rng& rng, const Row& row, bool quantizes) {
  LinearQuantization node{.quantizes = quantizes, .opset_version = kVersions[row[kVersion]]};
  std::optional<AxisSize> size;
  for (const std::int64_t block : draw_blocks(rng, row[kBlock])) {
    if (block > 0) node.block_size = block;
    if ((size = draw_size(rng, row, block))) break;
  }
  assert(size && "the model allows a layout that no shape has");
  const std::int64_t rank = row[kRank];
  const std::int64_t dimension = draw_dimension(rng, row);
  node.x.shape = dimensions(rng, rank, dimension, *size);
  if (row[kAxis] != kDefaultAxis) node.axis = row[kAxis] == kNegative ? dimension - rank : dimension;
  if (row[kLayout] != kScalar) node.scale.shape = node.parameter_shape();
  return node;
}

Tensor draw_scales(const Row& row, const std::vector<std::int64_t>& shape, ElementType type,
                   const std::function<std::uint64_t()>& draw) {
  Tensor tensor{type, shape, {}};
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, tensor.elements())));
  const std::uint64_t first = draw();
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    std::uint64_t bits = first;
    if (i > 0 && row[kScales] == kDistinctScales) {
      do bits = draw();
      while (i == 1 && bits == first);
    }
    set_raw_bits_at(tensor.bytes, bits_of(type), i, bits);
  }
  return tensor;
}

std::optional<Tensor> draw_zero_points(Rng& rng, const Row& row, const std::vector<std::int64_t>& shape,
                                       ElementType type) {
  if (row[kZeroPoint] == kOmitted) return std::nullopt;
  Tensor tensor{type, shape, {}};
  const std::int64_t count = tensor.elements();
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, count)));
  if (!is_integer(type)) return tensor;
  const bool distinct = row[kZeroPoint] == kDistinct;
  std::int64_t value = distinct ? 0 : draw_zero_point(rng, type, row[kZeroPoint]);
  for (std::int64_t i = 0; i < count; ++i) {
    // The first two differ.
    if (distinct)
      value =
          draw_zero_point(rng, type, i < 2 ? static_cast<std::uint8_t>(i) : static_cast<std::uint8_t>(rng.below(4)));
    set_raw_bits_at(tensor.bytes, bits_of(type), i, static_cast<std::uint64_t>(value));
  }
  return tensor;
}

void classify_placement(const LinearQuantization& node, Row& row) {
  const auto* const version = std::find(std::begin(kVersions), std::end(kVersions), node.opset_version);
  row[kVersion] = static_cast<std::uint8_t>(version - std::begin(kVersions));
  row[kRank] = static_cast<std::uint8_t>(node.x.shape.size());
  row[kAxis] = axis_class(node);
  row[kBlock] = block_class(node.block_size.value_or(0));
  row[kElements] = elements_class(node.x.elements());
}

void classify_common(const LinearQuantization& node, Row& row) {
  classify_placement(node, row);
  row[kLayout] = layout_class(node);
  row[kZeroPoint] = zero_points_class(node.zero_point);
  row[kScales] = node.scale.elements() == 1 ? kOneScale : are_distinct(node.scale) ? kDistinctScales : kAlike;
}

}  // namespace qconform::sweep::linear
