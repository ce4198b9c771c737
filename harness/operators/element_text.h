// Tensor elements for the reader.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/tensor.h"

namespace qconform {

/// Element `index` as a number: exact for integers of up to 53 bits and every float type.
[[nodiscard]] double element_number(const Tensor& tensor, std::int64_t index);

/// An integer, or a float in the shortest decimal that reads back.
[[nodiscard]] std::string element_text(const Tensor& tensor, std::int64_t index);

}  // namespace qconform
