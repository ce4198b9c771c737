// The cases of both convolutions have this contract in common.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/model/node_reader.h"
#include "reference/convolution/accumulate.h"

namespace qconform {

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
[[nodiscard]] std::optional<reference::ConvolutionOperands> read_convolution(NodeReader& reader,
                                                                             reference::Contract& contract);

/// The attributes as a case states them; it has passed read_convolution().
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

}  // namespace qconform
