// The family of QLinearConv and ConvInteger.
#pragma once

#include "harness/model/family.h"
#include "reference/convolution/accumulate.h"

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

// For the family alone: Family says what they do.

namespace mutation {
bool change_convolution(Case& test_case, Rng& rng);
bool solve_convolution_tie(Case& test_case, Rng& rng);
}  // namespace mutation

namespace bench {
[[nodiscard]] std::vector<LayerSet> convolution_layer_sets();
[[nodiscard]] Result<Layer> convolution_layer(std::string_view text, const LayerOptions& options);
void measure_convolution(const Lowered& lowered, Layer& layer);
}  // namespace bench

}  // namespace qconform
