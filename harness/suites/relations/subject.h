// The case that a relation is applied to, taken apart so that it can be put together differently.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/error.h"
#include "reference/convolution/geometry.h"
#include "reference/linear_quantization/layout.h"

namespace qconform::relations {

using Values = std::vector<std::int64_t>;

/// An integer tensor as plain numbers, row-major.
struct Grid {
  ElementType type = ElementType::undefined;
  Values shape;
  Values values;

  [[nodiscard]] Tensor tensor() const;
};

[[nodiscard]] Grid grid_of(const Tensor& tensor);

/// Smallest and largest value of an integer type of at most 16 bits.
struct Range {
  std::int64_t lo;
  std::int64_t hi;
};
[[nodiscard]] Range range_of(ElementType type);

/// The 8-bit type of the other signedness, and what its numbers have to be moved by.
[[nodiscard]] ElementType other_sign(ElementType type);
[[nodiscard]] std::int64_t shift_to_other_sign(ElementType type);

/// A parameter that is one number, or one for each output channel.
template <typename T>
struct PerChannel {
  std::vector<T> values;
  bool is_scalar = true;  ///< shape [] rather than [M]; then there is one value

  [[nodiscard]] T of(std::int64_t channel) const { return values[is_scalar ? 0 : static_cast<std::size_t>(channel)]; }
};

/// QLinearConv or ConvInteger. Change any part, then build().
struct Convolution {
  Case frame;  ///< operator, version, attributes; inputs are rebuilt
  bool is_quantized = false;
  reference::ConvolutionGeometry geometry;  ///< of the base case; pads decided
  Grid x;
  Grid w;
  std::int64_t x_zero_point = 0;
  bool states_x_zero_point = true;  ///< ConvInteger may omit it
  PerChannel<std::int64_t> w_zero_point;
  bool states_w_zero_point = true;

  // QLinearConv only.
  float x_scale = 1;
  PerChannel<float> w_scale;
  float y_scale = 1;
  ElementType y_type = ElementType::uint8;
  std::int64_t y_zero_point = 0;
  std::optional<Values> bias;

  std::int64_t group = 1;

  // Explicit attributes. build() writes them in place of the frame's when `restated` is set.
  bool restated = false;
  Values strides;
  Values dilations;
  Values pads;  ///< all begins, then all ends

  [[nodiscard]] bool has_auto_pad() const;
  [[nodiscard]] std::size_t spatial_rank() const { return geometry.axes.size(); }
  /// The case, with `suffix` behind its id.
  [[nodiscard]] Case build(const std::string& suffix) const;
};

/// QuantizeLinear or DequantizeLinear.
struct Linear {
  reference::QuantizationLayout layout;
  std::vector<double> scale;       ///< one per parameter of the layout, exact
  std::vector<double> zero_point;  ///< likewise; 0 where omitted
  ElementType y_type = ElementType::undefined;
};

/// A case within the contract, without latitude.
struct Subject {
  const Case* base = nullptr;
  std::optional<Convolution> convolution;
  std::optional<Linear> linear;

  [[nodiscard]] bool is(std::string_view op_type) const { return base->op_type == op_type; }
};

/// Takes a case apart; the case must outlive the subject. The error says why no relation speaks of the
/// case: it is out of contract, or its answer is open.
[[nodiscard]] Result<Subject> subject_of(const Case& test_case);

}  // namespace qconform::relations
