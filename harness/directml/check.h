// Whether a description keeps what DirectML's documents demand: rules X1 to X13 of
// docs/operators/dml_quantized_linear_convolution.md, and those of docs/numerics.md that it shares
// with QLinearConv.
#pragma once

#include <optional>

#include "harness/directml/operator_desc.h"
#include "reference/contract/remark.h"
#include "reference/convolution/geometry.h"

namespace qconform::directml {

/// The convolution that is described, or nothing when a rule is violated: `contract` then says which,
/// naming the member ("FilterTensor.Sizes"). Pointers are null or point to as many values as the
/// counts beside them say; the numbers may be any.
[[nodiscard]] std::optional<reference::ConvolutionGeometry> check(
    const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc, reference::Contract& contract);

/// The buffer tensor in that role, or null. The description has been checked.
[[nodiscard]] const DML_BUFFER_TENSOR_DESC* buffer_tensor(const DML_TENSOR_DESC* tensor);

}  // namespace qconform::directml
