// A QuantizeLinear or DequantizeLinear as its node states it, with its tensors: the one form in which the family's
// engines read a case, draw or change its parts, and build a case again. What the reference makes of it has everything
// decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/operator.h"
#include "reference/linear_quantization/linear_quantization.h"

namespace qconform {

/// Nothing is checked: members may contradict each other.
struct LinearQuantization {
  bool quantizes = true;  ///< QuantizeLinear; else DequantizeLinear
  std::int64_t opset_version = 10;

  // Attributes: nothing where the node does not state them. DequantizeLinear has the first two and output_dtype.
  std::optional<std::int64_t> axis = {};
  std::optional<std::int64_t> block_size = {};
  std::optional<std::int64_t> saturate = {};
  std::optional<std::int64_t> output_dtype = {};  ///< the number of an element type
  std::optional<std::int64_t> precision = {};     ///< the number of an element type

  Tensor x{ElementType::float32, {}, {}};
  Tensor scale{ElementType::float32, {}, {}};
  std::optional<Tensor> zero_point = {};

  [[nodiscard]] std::int64_t axis_or_default() const { return axis.value_or(1); }
  /// The dimension of x that axis names, if x has it.
  [[nodiscard]] std::optional<std::size_t> dimension() const;
  /// The shape of parameters along that dimension, which x has: one for each position, or for each block.
  [[nodiscard]] std::vector<std::int64_t> parameter_shape() const;
  /// The type of the output, from what is stated.
  [[nodiscard]] ElementType y_type() const;

  /// Calls visit(tensor) for the scale, and for the zero point where there is one.
  template <typename Visit>
  void visit_parameters(Visit visit) {
    visit(scale);
    if (zero_point) visit(*zero_point);
  }

  bool operator==(const LinearQuantization&) const = default;
};

/// Reads a case of the family that has x and a scale, in contract or not; nothing of other cases. Attributes of
/// other names and types than the description's are passed over.
[[nodiscard]] std::optional<LinearQuantization> read_linear(const Case& test_case);

/// Returns the case alone, or `frame` with this node and these tensors in place of its own: its id, what is said of it,
/// and what read_linear() passes over stay. An input that `frame` omits may stand at the end, none that `stated` omits.
[[nodiscard]] Case build_linear(LinearQuantization stated, Case frame = {});

[[nodiscard]] const Operator& operator_of(const LinearQuantization& stated);

/// Tells where the parameters lie, with axis and block_size in use whatever the version; nothing where shapes and
/// attributes do not fit together.
[[nodiscard]] std::optional<reference::QuantizationLayout> layout_of(const LinearQuantization& stated);

}  // namespace qconform
