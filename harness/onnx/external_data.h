// Tensor values that a model keeps in files of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace onnx {
class GraphProto;
class TensorProto;
}  // namespace onnx

namespace qconform {

/// Reads the `expected` bytes that `proto` (data_location EXTERNAL) keeps in a file below
/// `base_folder`, the model's folder; an empty path stands for the current folder. Refused: absolute locations, "..",
/// links that lead out of the folder, files that are not regular, Git LFS pointers, offsets and lengths that do not fit
/// the file or the tensor. `field` names the tensor in messages.
[[nodiscard]] Result<std::vector<std::byte>> read_external_data(const onnx::TensorProto& proto,
                                                                const std::string& field, std::int64_t expected,
                                                                const std::filesystem::path& base_folder);

/// An error where an initializer of the graph lies in a file that is a Git LFS pointer. Other faults are left to
/// read_external_data.
[[nodiscard]] Result<void> check_external_data_is_fetched(const onnx::GraphProto& graph,
                                                          const std::filesystem::path& base_folder);

}  // namespace qconform
