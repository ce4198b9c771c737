// The family of QLinearConv and ConvInteger.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/core/element_map.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "reference/convolution/convolution.h"

namespace qconform {

[[nodiscard]] const Family& convolution_family();

[[nodiscard]] const Operator& qlinear_conv_operator();
[[nodiscard]] const Operator& conv_integer_operator();

/// The reference's description of a case that classify() has read: null for other operators. Valid as long as
/// `lowered`.
[[nodiscard]] const reference::QLinearConv* qlinear_conv_of(const Lowered& lowered);
[[nodiscard]] const reference::ConvInteger* conv_integer_of(const Lowered& lowered);
/// Returns the operands of a QLinearConv or ConvInteger: null for other families.
[[nodiscard]] const reference::ConvolutionOperands* operands_of(const Lowered& lowered);

/// Returns the geometry of the windows, for element maps: nothing for other families.
[[nodiscard]] std::optional<WindowGeometry> window_geometry_of(const Lowered& lowered);

// For the family alone: Family says what they do.

namespace mutation {
bool change_convolution(Case& test_case, Rng& rng);
bool solve_convolution_tie(Case& test_case, Rng& rng);
}  // namespace mutation

namespace bench {
[[nodiscard]] std::vector<LayerSet> convolution_layer_sets();
}  // namespace bench

// The cases of both convolutions have this contract in common.

/// The parameter holds one value, or one for each output channel: one element of any rank, or [M]
/// (rule C11). An omitted input passes.
[[nodiscard]] bool check_weight_parameter(NodeReader& reader, std::string_view name, std::int64_t output_channels,
                                          reference::Contract& contract);

/// `values` repeated to `count` if it holds one value.
template <typename T>
[[nodiscard]] std::vector<T> expand(std::vector<T> values, std::int64_t count) {
  if (values.size() == 1) values.resize(static_cast<std::size_t>(count), values[0]);
  return values;
}

/// Reads attributes, geometry, types and zero points; the bias stays empty. nullopt on a violation.
[[nodiscard]] std::optional<reference::ConvolutionOperands> read_operands(NodeReader& reader,
                                                                          reference::Contract& contract);

/// The attributes as a case states them; it has passed read_operands().
[[nodiscard]] reference::ConvolutionAttributes stated_attributes(const Case& test_case);

/// The attributes that both convolutions take.
[[nodiscard]] std::span<const AttributeSignature> convolution_attributes();

/// Whether auto_pad is SAME_UPPER or SAME_LOWER.
[[nodiscard]] bool has_same_padding(const NodeReader& reader);

/// The geometry of a convolution whose attributes and shapes fit together; nullopt for anything else,
/// whatever is wrong with it. Types, zero points and scales are not looked at.
[[nodiscard]] std::optional<reference::ConvolutionGeometry> geometry_of(const Case& test_case);

/// Returns all sums of the case, bias included, exactly.
[[nodiscard]] std::vector<std::int64_t> exact_sums(const reference::ConvolutionOperands& operands, const Tensor& x,
                                                   const Tensor& w);

/// Returns all sums of the case with every product and the bias by its magnitude, exactly.
[[nodiscard]] std::vector<std::int64_t> sums_of_magnitudes(const reference::ConvolutionOperands& operands,
                                                           const Tensor& x, const Tensor& w);

// LoweredConvolution has the answers that both convolutions have in common.

class LoweredConvolution : public Lowered {
 public:
  [[nodiscard]] virtual const reference::ConvolutionOperands& operands() const = 0;

  [[nodiscard]] std::vector<std::int64_t> output_shape() const final { return operands().geometry.output_shape(); }
  [[nodiscard]] std::int64_t work() const final;
  /// The part of x under the windows, without what is padding; of w the filters; a parameter for each channel.
  [[nodiscard]] std::optional<Box> read_by(InputRole role, const Box& output) const final;
};

}  // namespace qconform
