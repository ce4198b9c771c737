// A Case as one ONNX model: a single node with its inputs as initializers (docs/formats.md).
// Lossless for every case within limits.h, wrong ones too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace qconform {

/// What the graph says about its output. Some runtimes load a model only with it.
struct OutputType {
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape;
};

/// The initializer that holds Case::recorded_output.
inline constexpr const char* kRecordedOutputName = "qconform.recorded_output";

/// The bytes of the model, the same for the same case on every machine. Fails only on a limit.
[[nodiscard]] Result<std::string> case_to_model(const Case& test_case, const std::optional<OutputType>& output = {});

/// The model that a runtime is given: the inputs at `fed` are the graph's, the others initializers.
/// Names are those of node_proto.h. Says nothing of its output, and has no metadata.
[[nodiscard]] Result<std::string> case_to_fed_model(const Case& test_case, std::span<const std::size_t> fed);

/// The case in a model of one node whose inputs are all initializers; models of other producers too,
/// with expectation unstated. Values in external files are refused.
[[nodiscard]] Result<Case> case_from_model(std::string_view bytes);

/// The same with files. Reading follows external data in the model's folder; errors name the file.
[[nodiscard]] Result<void> write_case_model(const Case& test_case, const std::filesystem::path& file,
                                            const std::optional<OutputType>& output = {});
[[nodiscard]] Result<Case> read_case_model(const std::filesystem::path& file);

/// A model with what both forms share: versions, producer, node, output. No inputs, no metadata.
[[nodiscard]] Result<void> write_one_node_model(const Case& test_case, const std::optional<OutputType>& output,
                                                onnx::ModelProto& model);

/// The IR version of the ONNX release that brought this opset, at least 8.
[[nodiscard]] std::int64_t ir_version_for(std::int64_t opset_version);

}  // namespace qconform
