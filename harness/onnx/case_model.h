// A case to and from ONNX: its nodes, its metadata, one model, and a folder of backend tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/onnx/protobuf.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace qconform {

// Nodes of an ONNX graph to and from the parts of a case.

/// The value that a node's input name stands for; an error where there is none.
using ValueLookup = std::function<Result<Tensor>(const std::string& name)>;

/// The attributes in the node's order. A case holds int, float, string, ints, floats and strings: others are
/// refused, as are values of two types, references to a function's attributes and more values than limits.h allows.
[[nodiscard]] Result<std::vector<Attribute>> attributes_of(const onnx::NodeProto& node);

/// The opset version that the model imports for the node's domain ("" and "ai.onnx" are the same).
[[nodiscard]] Result<std::int64_t> opset_version_of(const onnx::ModelProto& model, const onnx::NodeProto& node);

/// Operator, version and attributes, without the names of values. Refused: what attributes_of and opset_version_of
/// refuse.
[[nodiscard]] Result<Node> node_from_proto(const onnx::ModelProto& model, const onnx::NodeProto& proto);

/// A case of the node alone: operator, version, attributes and inputs; everything else keeps its default. Refused: more
/// than one output, and what node_from_proto and `lookup` refuse.
[[nodiscard]] Result<Case> case_from_node(const onnx::ModelProto& model, const onnx::NodeProto& node,
                                          const ValueLookup& lookup);

/// The case's nodes, with the names of their values. Refuses what exceeds limits.h or is not wired, because it could
/// not be read again.
[[nodiscard]] Result<void> write_nodes(const Case& test_case, onnx::GraphProto& graph);

// Attributes of a node by name.

/// The attribute of that name, or null.
[[nodiscard]] const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);

/// An int attribute of the node, or `absent`.
[[nodiscard]] std::int64_t int_attribute(const onnx::NodeProto& node, std::string_view name, std::int64_t absent);

/// The values of an ints attribute; nullopt where there is none, or more values than limits.h allows.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(const onnx::NodeProto& node,
                                                                      std::string_view name);

// The facts that a case states about itself beside its node, kept in a model's metadata_props under keys "qconform.*"
// (docs/formats.md).

/// The origin of the output that a model or folder holds.
enum class OutputOrigin : std::uint8_t {
  unstated,  ///< the model has no metadata of ours: another producer recorded it
  none,      ///< no output is held
  recorded,  ///< the case's recorded output
  computed,  ///< computed by qconform when the file was written; not part of the case
};

void write_metadata(const Case& test_case, OutputOrigin origin, onnx::ModelProto& model);

/// Fills id, expectation, rules, tags, the names of shown outputs, note, provenance and the verdict on the defect. A
/// model of another producer leaves the case as it is.
[[nodiscard]] Result<OutputOrigin> read_metadata(const onnx::ModelProto& model, Case& test_case);

// A case as one model: its nodes, with its tensors as initializers (docs/formats.md). An initializer that is also an
// input of the graph is what is fed to it. Lossless for every case within limits.h, wrong ones too.

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
/// wired (harness/graphs/case_graph.h).
[[nodiscard]] Result<std::string> case_to_model(const Case& test_case, const OutputTypes& outputs = {});

/// How the model holds what is not fed, what it says of what is, and where its nodes stand: other code of a runtime
/// runs behind each form.
struct ModelForm {
  enum class Storage : std::uint8_t { initializers, constants };   ///< constants: nodes of the operator Constant
  enum class Shapes : std::uint8_t { stated, symbolic, unknown };  ///< symbolic: the rank alone
  /// Whether put_in_branches() or put_in_loop() of harness/onnx/enclosed_graph.h was called.
  enum class Place : std::uint8_t { graph, branches, loop };
  Storage storage = Storage::initializers;
  Shapes shapes = Shapes::stated;
  Place place = Place::graph;
};

/// The model that a runtime is given: the inputs at `fed` are the graph's, it holds the others.
/// Names are those of input_names(). Says nothing of its output, and has no metadata.
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

// A case as a folder of ONNX's backend tests: model.onnx with graph inputs, test_data_set_0/input_0.pb, ...,
// output_0.pb (docs/formats.md). Lossless for every case within limits.h.

/// Writes or overwrites the case below `folder`, which is created. output_0.pb and so on hold the recorded outputs; a
/// case without gets `computed_outputs` if they are given, one for each, marked so that reading the folder back gives
/// no recorded ones. Of one node, all tensors are inputs of the graph.
[[nodiscard]] Result<void> write_case_folder(const Case& test_case, const std::filesystem::path& folder,
                                             std::span<const Tensor> computed_outputs = {},
                                             const OutputTypes& outputs = {});

/// One case for each data set, in the order of their numbers. Cases of other producers are named after the folder, with
/// "/1", "/2" for further data sets.
[[nodiscard]] Result<std::vector<Case>> read_case_folder(const std::filesystem::path& folder);

/// The folders test_data_set_0, test_data_set_1, ... in numerical order.
[[nodiscard]] std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder);

/// The files input_0.pb, input_1.pb, ... of a data set.
[[nodiscard]] std::vector<std::filesystem::path> input_files(const std::filesystem::path& data_set);

/// The case of one data set of a parsed model. External data lies below `folder`.
[[nodiscard]] Result<Case> case_from_data_set(const onnx::ModelProto& model, const std::filesystem::path& folder,
                                              const std::filesystem::path& data_set);

}  // namespace qconform
