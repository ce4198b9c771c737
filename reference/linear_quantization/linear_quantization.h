// QuantizeLinear and DequantizeLinear share the layout of their parameters and sets of right bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "reference/contract/remark.h"
#include "reference/numerics/element.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/right_values.h"

namespace qconform::reference {

// The scale and zero point of each element, for QuantizeLinear and DequantizeLinear (rule D7).

/// The tensor seen as [outer, channels, inner] in row-major order.
///
/// Per tensor: outer = channels = 1, inner is the element count, and there is one parameter. Per
/// axis: parameter c belongs to channel c. Blocked: `channels` is the length of the axis, and the
/// parameters form a tensor [outer, blocks(), inner], each for `block` neighbours along the axis; the
/// last block may be shorter.
struct QuantizationLayout {
  std::int64_t outer = 1;
  std::int64_t channels = 1;
  std::int64_t inner = 1;
  std::int64_t block = 0;  ///< elements along the axis that share a parameter; 0: not blocked

  [[nodiscard]] std::int64_t elements() const { return outer * channels * inner; }
  [[nodiscard]] bool is_blocked() const { return block > 0; }
  /// Blocks along the axis; the layout is blocked.
  [[nodiscard]] std::int64_t blocks() const { return channels / block + (channels % block != 0 ? 1 : 0); }
  [[nodiscard]] std::int64_t parameters() const { return is_blocked() ? outer * blocks() * inner : channels; }
  /// The parameter of element `index`, in [0, parameters()).
  [[nodiscard]] std::size_t parameter_of(std::int64_t index) const {
    const std::int64_t channel = index / inner % channels;
    if (!is_blocked()) return static_cast<std::size_t>(channel);
    const std::int64_t row = index / inner / channels * blocks() + channel / block;
    return static_cast<std::size_t>(row * inner + index % inner);
  }
  /// Calls visit(element, parameter) for every element in order: parameter_of() without its divisions.
  template <typename Visit>
  void for_each_element(Visit visit) const {
    std::int64_t index = 0;
    for (std::int64_t row = 0; row < outer * channels; ++row) {
      const std::int64_t channel = row % channels;
      const std::int64_t first = is_blocked() ? (row / channels * blocks() + channel / block) * inner : channel;
      for (std::int64_t i = 0; i < inner; ++i, ++index) {
        visit(index, static_cast<std::size_t>(is_blocked() ? first + i : first));
      }
    }
  }
};

/// The attributes of a node that place its parameters, and which of them its version knows.
struct PlacementAttributes {
  bool has_axis = true;
  std::int64_t axis = 1;
  bool has_block_size = false;
  std::int64_t block_size = 0;
};

/// Decides the layout from the shapes of x and of its scale: one element, of any rank; [x.shape[axis]]; or, with a
/// block size, the shape of x but for ceil(x.shape[axis] / block_size). axis in [-rank, rank-1].
/// `scale_field` names the scale input in messages.
[[nodiscard]] std::optional<QuantizationLayout> resolve_layout(std::span<const std::int64_t> x_shape,
                                                               std::span<const std::int64_t> scale_shape,
                                                               const char* scale_field,
                                                               const PlacementAttributes& attributes,
                                                               Contract& contract);

/// Calls visit(element, parameter, x) for every element in order, with its value (value_at()). Each of the usual types
/// has a loop of its own, which asks nothing about the type.
template <typename Visit>
void for_each_value(const QuantizationLayout& layout, ElementType type, std::span<const std::byte> x, Visit visit) {
  const auto loop = [&](auto load) {
    layout.for_each_element(
        [&](std::int64_t i, std::size_t parameter) { visit(i, parameter, static_cast<double>(load(i))); });
  };
  switch (type) {
    case ElementType::float32: return loop([&](std::int64_t i) { return load_word<float>(x, i); });
    case ElementType::uint8: return loop([&](std::int64_t i) { return load_word<std::uint8_t>(x, i); });
    case ElementType::int8: return loop([&](std::int64_t i) { return load_word<std::int8_t>(x, i); });
    case ElementType::int32: return loop([&](std::int64_t i) { return load_word<std::int32_t>(x, i); });
    case ElementType::float16:
      return loop([&](std::int64_t i) { return decode(kFloat16, load_word<std::uint16_t>(x, i)); });
    case ElementType::bfloat16:
      return loop([&](std::int64_t i) { return decode(kBfloat16, load_word<std::uint16_t>(x, i)); });
    default: return loop([&](std::int64_t i) { return value_at(type, x, i); });
  }
}

// Sets of right bits.

/// Says which wording decides what the specification leaves open.
enum class Wording : std::uint8_t {
  onnx,      ///< the rules Q1..Q8 and D1..D8
  directml,  ///< also: a reciprocal for the division, either neighbour of a tie, either sign of zero
};

}  // namespace qconform::reference
