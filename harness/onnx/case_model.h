// A Case as one ONNX model: its nodes, with its tensors as initializers (docs/formats.md). An initializer that is also
// an input of the graph is what is fed to it. Lossless for every case within limits.h, wrong ones too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/onnx/node_proto.h"
#include "harness/onnx/tensor_proto.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace qconform {

/// Type and shape that the graph states for its output. Some runtimes load a model only with it.
struct OutputType {
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape;
};

/// The initializer that holds the recorded output of one node; of several nodes, output i has ".i" behind it.
inline constexpr const char* kRecordedOutputName = "qconform.recorded_output";

/// One for each output, or none where they are not known.
using OutputTypes = std::vector<OutputType>;

/// The bytes of the model, the same for the same case on every machine. Fails on a limit, and on nodes that are not
/// wired (harness/graphs/wiring.h).
[[nodiscard]] Result<std::string> case_to_model(const Case& test_case, const OutputTypes& outputs = {});

/// How the model holds what is not fed, and what it says of what is: other code of a runtime runs behind each form.
struct ModelForm {
  enum class Storage : std::uint8_t { initializers, constants };   ///< constants: nodes of the operator Constant
  enum class Shapes : std::uint8_t { stated, symbolic, unknown };  ///< symbolic: the rank alone
  Storage storage = Storage::initializers;
  Shapes shapes = Shapes::stated;
};

/// The model that a runtime is given: the inputs at `fed` are the graph's, it holds the others.
/// Names are those of node_proto.h. Says nothing of its output, and has no metadata.
[[nodiscard]] Result<std::string> case_to_fed_model(const Case& test_case, std::span<const std::size_t> fed,
                                                    const ModelForm& form = {});

/// The case in a model whose inputs all have initializers; models of other producers too, with expectation unstated.
/// Values in external files are refused.
[[nodiscard]] Result<Case> case_from_model(std::string_view bytes);

/// A tensor for an input of a graph; without a name, for the next input in order.
struct FedTensor {
  std::string name;
  Tensor tensor;
};

/// The names of the inputs that so many tensors in order are for. Models before IR version 4 list initializers among
/// the inputs too; fewer tensors than inputs leave those out.
[[nodiscard]] std::vector<std::string> fed_names(const onnx::GraphProto& graph, std::size_t tensors);

/// The case of a model that is fed these tensors: all by name, or all in order. None: the model holds what it is fed,
/// as of case_from_model().
[[nodiscard]] Result<Case> case_from_fed_model(std::string_view bytes, std::vector<FedTensor> fed);

/// The positions of the tensors that a model in use is fed, the others being held: those of the role data.
[[nodiscard]] std::vector<std::size_t> data_inputs(const Case& test_case);

/// These write and read a case as a model file. Reading follows external data in the model's folder; errors name the
/// file.
[[nodiscard]] Result<void> write_case_model(const Case& test_case, const std::filesystem::path& file,
                                            const OutputTypes& outputs = {});
[[nodiscard]] Result<Case> read_case_model(const std::filesystem::path& file);

/// The answer of the defect that a case guards against, as initializers that no node uses; reading needs the case's
/// metadata.
void write_defect_outputs(const Case& test_case, onnx::GraphProto& graph);
[[nodiscard]] Result<void> read_defect_outputs(const onnx::GraphProto& graph, const ExternalFolder& external,
                                               Case& out);

/// A model with what both forms share: versions, producer, nodes, outputs. No inputs, no metadata.
[[nodiscard]] Result<void> write_graph(const Case& test_case, const OutputTypes& outputs, onnx::ModelProto& model);

/// Nodes, tensors and outputs of a model's graph; everything else keeps its default. `lookup` gives the tensors. Inputs
/// of the graph are fed if they are among `fed` or have no initializer.
[[nodiscard]] Result<Case> case_from_graph(const onnx::ModelProto& model, const std::set<std::string>& fed,
                                           const ValueLookup& lookup);

/// The IR version of the ONNX release that brought this opset, at least 8.
[[nodiscard]] std::int64_t ir_version_for(std::int64_t opset_version);

}  // namespace qconform
