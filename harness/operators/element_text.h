// Tensor elements for the reader.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/tensor.h"
#include "reference/numerics/element.h"

namespace qconform {

/// The reference's name of a type: both use ONNX's numbers.
[[nodiscard]] reference::Element element_of(ElementType type);

/// Element `index` as a number: exact for integers of up to 53 bits and every float type.
[[nodiscard]] double number_at(const Tensor& tensor, std::int64_t index);

/// An integer, or a float in the shortest decimal that reads back.
[[nodiscard]] std::string element_text(const Tensor& tensor, std::int64_t index);

}  // namespace qconform
