// NumPy's files of arrays, .npy and .npz, from bytes that may be damaged or hostile.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/tensor.h"

namespace qconform {

/// An array of bool, integers of 8 to 64 bits, or floats of 16 to 64, little endian, in C order, as numpy.save writes
/// it. `field` names it in messages. Errors: other arrays, sizes that do not fit, and what limits.h refuses.
[[nodiscard]] Result<Tensor> tensor_from_npy(std::string_view bytes, const std::string& field);

/// The arrays of a file as numpy.savez writes it, by their names, in its order. Errors: as above, and members that are
/// compressed, or no arrays.
[[nodiscard]] Result<std::vector<std::pair<std::string, Tensor>>> tensors_from_npz(std::string_view bytes,
                                                                                   const std::string& field);

}  // namespace qconform
