// Changes of one thing in a QuantizeLinear or DequantizeLinear, of which a cache of tables or reciprocals may know
// nothing.
#include <algorithm>
#include <array>
#include <utility>

#include "harness/operators/linear/hooks.h"
#include "harness/operators/linear/sweep_model.h"

namespace qconform::sweep::linear {
namespace {

// To half or twice the number, as near as the type has it.
void double_number(Rng& rng, Tensor& tensor, std::int64_t index) {
  const double value = number_at(tensor, index) * (rng.chance(1, 2) ? 2 : 0.5);
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, bits_of_number(tensor.type, value));
}

bool change_first_scale(Rng& rng, LinearQuantization& node) {
  double_number(rng, node.scale, 0);
  return true;
}

bool change_last_scale(Rng& rng, LinearQuantization& node) {
  double_number(rng, node.scale, node.scale.elements() - 1);
  return node.scale.elements() > 1;
}

// The first two parameters that differ, so that their sum stays.
bool exchange(Tensor& parameters) {
  const int width = bits_of(parameters.type);
  for (std::int64_t i = 1; i < parameters.elements(); ++i) {
    const std::uint64_t first = raw_bits_at(parameters.bytes, width, i - 1);
    const std::uint64_t second = raw_bits_at(parameters.bytes, width, i);
    if (first == second) continue;
    set_raw_bits_at(parameters.bytes, width, i - 1, second);
    set_raw_bits_at(parameters.bytes, width, i, first);
    return true;
  }
  return false;
}

bool exchange_scales(Rng& /*rng*/, LinearQuantization& node) {
  return exchange(node.scale);
}

bool exchange_zero_points(Rng& /*rng*/, LinearQuantization& node) {
  return node.zero_point && exchange(*node.zero_point);
}

bool change_last_zero_point(Rng& /*rng*/, LinearQuantization& node) {
  if (!node.zero_point || !is_integer(node.zero_point->type)) return false;
  const std::int64_t last = node.zero_point->elements() - 1;
  const std::int64_t value = integer_at(*node.zero_point, last);
  const std::int64_t moved = value + (value < ends_of(node.zero_point->type).hi ? 1 : -1);
  set_raw_bits_at(node.zero_point->bytes, bits_of(node.zero_point->type), last, static_cast<std::uint64_t>(moved));
  return true;
}

constexpr std::array<std::string_view, 5> kChanges{"first scale", "last scale", "scales exchanged", "last zero point",
                                                   "zero points exchanged"};

constexpr std::array<bool (*)(Rng&, LinearQuantization&), kChanges.size()> kChange{
    change_first_scale, change_last_scale, exchange_scales, change_last_zero_point, exchange_zero_points};

std::optional<Case> changed(const Case& test_case, std::size_t change, Rng& rng) {
  auto node = read_linear(test_case);
  if (!node || !kChange[change](rng, *node)) return std::nullopt;
  return build_linear(std::move(*node));
}

}  // namespace

NeighbourModel neighbours() {
  return {kChanges, changed};
}

}  // namespace qconform::sweep::linear
