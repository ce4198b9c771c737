// A Case as a folder of ONNX's backend tests: model.onnx with graph inputs, test_data_set_0/input_0.pb,
// ..., output_0.pb (docs/formats.md). Lossless for every case within limits.h.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/onnx/case_model.h"

namespace qconform {

/// Writes or overwrites the case below `folder`, which is created. output_0.pb and so on hold the recorded outputs; a
/// case without gets `computed_outputs` if they are given, one for each, marked so that reading the folder back gives
/// no recorded ones. Of one node, all tensors are inputs of the graph.
[[nodiscard]] Result<void> write_case_folder(const Case& test_case, const std::filesystem::path& folder,
                                             std::span<const Tensor> computed_outputs = {},
                                             const OutputTypes& outputs = {});

/// One case for each data set, in the order of their numbers. Cases of
/// other producers are named after the folder, with "/1", "/2" for further data sets.
[[nodiscard]] Result<std::vector<Case>> read_case_folder(const std::filesystem::path& folder);

/// The folders test_data_set_0, test_data_set_1, ... in numerical order.
[[nodiscard]] std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder);

/// The case of one data set of a parsed model. External data lies below `folder`.
[[nodiscard]] Result<Case> case_from_data_set(const onnx::ModelProto& model, const std::filesystem::path& folder,
                                              const std::filesystem::path& data_set);

}  // namespace qconform
