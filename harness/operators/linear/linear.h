// The family of QuantizeLinear and DequantizeLinear.
#pragma once

#include "harness/model/family.h"
#include "reference/linear_quantization/layout.h"

namespace qconform {

[[nodiscard]] const Family& linear_family();

[[nodiscard]] const Operator& quantize_linear_operator();
[[nodiscard]] const Operator& dequantize_linear_operator();

/// The reference's description of a case that classify() has read: null for other operators. Valid as long as
/// `lowered`.
[[nodiscard]] const reference::QuantizeLinear* quantize_linear_of(const Lowered& lowered);
[[nodiscard]] const reference::DequantizeLinear* dequantize_linear_of(const Lowered& lowered);
/// Returns the layout of a QuantizeLinear or DequantizeLinear: null for other families.
[[nodiscard]] const reference::QuantizationLayout* layout_of(const Lowered& lowered);

// For the family alone: Family says what they do.

namespace mutation {
bool change_linear(Case& test_case, Rng& rng);
bool solve_linear_tie(Case& test_case, Rng& rng);
}  // namespace mutation

namespace bench {
[[nodiscard]] std::vector<LayerSet> linear_layer_sets();
}  // namespace bench

}  // namespace qconform
