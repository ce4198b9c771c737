// The family of QuantizeLinear and DequantizeLinear.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/model/family.h"
#include "harness/model/text.h"
#include "reference/linear_quantization/linear_quantization.h"
#include "reference/numerics/element.h"

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

// The cases of QuantizeLinear and DequantizeLinear have this contract in common: types by version, scale and zero
// point.

/// Lists the types that one version of QuantizeLinear or DequantizeLinear takes and gives.
struct LinearVersion {
  int version;
  TypeSet x;
  TypeSet scale;
  TypeSet y;
  std::size_t attributes;  ///< how many of the operator's attributes, listed by the version that added them
};

/// The version that an opset uses, from a list in ascending order.
[[nodiscard]] const LinearVersion& version_for(std::span<const LinearVersion> versions, std::int64_t opset_version);

/// The input's type is one of `types` (rule given).
bool check_type_in(const NodeReader& reader, std::string_view name, const TypeSet& types, const char* rule,
                   reference::Contract& contract);

/// The element type that an integer attribute names; `undefined` where it is absent or 0. Empty, and
/// a violation of `rule`, when it is not one of `types`.
[[nodiscard]] std::optional<ElementType> read_type_attribute(const NodeReader& reader, std::string_view name,
                                                             const TypeSet& types, const char* rule,
                                                             reference::Contract& contract);

/// The elements of a tensor of any type that is not complex, as number_at() gives them.
[[nodiscard]] std::vector<double> numbers_of(const Tensor& tensor);

struct QuantizationParameters {
  reference::QuantizationLayout layout;
  std::vector<double> scale;       ///< one per parameter of the layout, exact
  std::vector<double> zero_point;  ///< one per parameter of the layout, exact; 0 when omitted
};

/// Reads scale and zero point of the given names, and axis and block_size (rule D7). Their element
/// types have been checked. Version 10 has per-tensor parameters only; blocks begin with version 21.
[[nodiscard]] std::optional<QuantizationParameters> read_quantization(const NodeReader& reader, const char* scale_name,
                                                                      const char* zero_point_name, int version,
                                                                      reference::Contract& contract);

}  // namespace qconform
