// From DirectML's description to a case: QLinearConv at opset 10.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/forms/directml/description.h"
#include "harness/forms/directml/operator_desc.h"
#include "harness/forms/directml/tensor_roles.h"

namespace qconform::directml {

/// Says that the case's contract is DirectML's wording: either neighbour at an exact tie, and the
/// error of dequantizing, convolving and quantizing in float32.
inline constexpr const char* kProfileTag = "profile:dml-doc";

/// The memory that each tensor is bound to, indexed by TensorRole: the bytes from the tensor's base offset on. Empty
/// for a null tensor, and for an output that is not recorded.
using Bindings = std::array<std::span<const std::byte>, kTensorCount>;

/// Tensors are gathered into packed form; zero points that are null become 0; filter parameters are
/// both scalars or both [M] (rule C12 leaves the mixture open); a bound output becomes the recorded
/// output. Errors: what check() finds, and a binding that ends before its tensor (rule X14).
[[nodiscard]] Result<Case> lower(const DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC& desc, const Bindings& bindings);

/// Lowers a description to a case with its id, note, rules, tags and expectation.
[[nodiscard]] Result<Case> lower(const Description& description);

}  // namespace qconform::directml
