// Cases from the quantized nodes and units of any ONNX model: suite `model:FILE.onnx`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/library.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/case.h"
#include "harness/core/limits.h"
#include "harness/core/suite.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/tensor_file.h"
#include "harness/suites/model_nodes.h"

namespace onnx {
class GraphProto;
class ModelProto;
}  // namespace onnx

namespace qconform {

/// Ends the message on a model that takes too much.
inline constexpr const char* kMoreMemory = "; --model-memory gives it more";

/// A case of a model, and where it stands among the others.
struct ModelLayer {
  std::string id;
  std::size_t position = 0;           ///< of the node that it is about, as ModelNodes counts
  std::size_t number = 0;             ///< of the layer, also among those that give no case
  std::uint64_t digest = 0;           ///< of the case
  std::int64_t elements = 0;          ///< of the recorded outputs that are judged
  std::vector<std::size_t> behind{};  ///< numbers of the layers from which its inputs follow
};

/// Facts about a model that are learnt while its cases are made.
struct ModelFacts {
  std::string origin;              ///< of the activations
  std::string disturbed;           ///< see ModelActivations
  std::vector<ModelLayer> layers;  ///< in the order of the cases
};

/// Options of a model's suite: the source of its activations, its context, and bounds.
struct ModelOptions {
  enum class Activations : std::uint8_t {
    drawn,     ///< from the seed, for each node by itself
    computed,  ///< those that reach the node when the model runs
    /// Computed; where that cannot be, drawn, which skipped() tells with the reason.
    computed_if_possible,
  };
  Activations activations = Activations::drawn;
  std::vector<std::filesystem::path> inputs{};  ///< files for the model's inputs (read_model_inputs()); empty: drawn
  std::size_t context = 0;                      ///< nodes that each unit takes along, before it and behind it
  std::uint64_t memory = limits::kModelMemory;  ///< bytes that reading the model, and running it, may take
  /// The setting of the offered runtime that computes the activations.
  backend::Specification runtime{.name = "onnxruntime"};
  /// Values are taken out at the ends of units alone, so that what a runtime fuses stays together, and nodes of units
  /// are no cases by themselves.
  bool keeps_units = false;
  /// The file that the runtime runs in place of the model, whose values have the same names; empty: the model.
  std::filesystem::path run_file{};
  std::int64_t sample = 0;  ///< elements of each recorded output that are judged, about; 0: all
  std::map<std::string, std::int64_t> dimensions{};  ///< sizes of symbolic dimensions, by name
  /// Gets what is learnt while cases are made; may be null. It outlives the suite.
  ModelFacts* facts = nullptr;
  /// Told what is being done, again and again while it is.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

/// One case for each node of QLinearConv, ConvInteger, QuantizeLinear and DequantizeLinear, those in the bodies of If,
/// Loop and Scan included. Weights and parameters come from the model, also where it moves or converts them first
/// (harness/onnx/graph_scope.h). Activations are those of a run of the model, with the run's own output as the
/// recorded one; or they are drawn from the seed, in shapes that ONNX's shape inference and our own propagation find
/// (harness/onnx/graph_scope.h). What had to be assumed (an unknown spatial size, a parameter that the model
/// computes at run time) stands in the note.
///
/// Behind them stands a case of several nodes for each quantized unit of the outermost graph (model_nodes.h); units
/// that give no case are counted as skipped, by reason. node_coverage() tells of every quantized node whether a case
/// holds it, and why not.
///
/// The model is read, cut into units and made into cases in a process of its own, forked from this one, whose memory is
/// limited; the model runs in a further one.
///
/// The id is the node's name, or its operator when it has none, with its position in the model:
/// "Conv_12_quant#17"; of a unit, the node whose result it quantizes and the position of its QuantizeLinear:
/// "Conv_12.unit#17".
class OnnxModelSuite final : public Suite {
 public:
  /// Activations above this number of elements are not generated; the node is skipped.
  static constexpr std::int64_t kGeneratedElements = std::int64_t{1} << 26;

  /// Errors: what read_model() and check_sizes() refuse, a model without a graph or without a quantized node, constants
  /// that cannot be read, activations that must be computed and cannot be, or are of no case, and a model that takes
  /// more memory.
  [[nodiscard]] static Result<std::unique_ptr<OnnxModelSuite>> open(const std::filesystem::path& file,
                                                                    std::uint64_t seed,
                                                                    const ModelOptions& options = {});

  /// "model:FILE", with the origin of computed activations behind it.
  [[nodiscard]] std::string name() const override { return name_; }
  /// Source of the activations, in words.
  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Result<std::optional<Case>> next() override;
  /// Single nodes and units; some may yet be skipped.
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] std::optional<NodeCoverage> node_coverage(const std::vector<std::string>* why_not) const override;

 private:
  OnnxModelSuite(std::filesystem::path file, const ForkLimits& limits, Descriptor read, ForkedProcess process);
  [[nodiscard]] Result<void> begin(const ModelOptions& options);
  [[nodiscard]] Result<void> take_opened(std::vector<std::string> texts);
  [[nodiscard]] Result<std::optional<Case>> case_of(const std::vector<std::string>& texts);
  void leave_out(const std::vector<std::string>& texts);
  [[nodiscard]] tl::unexpected<Error> fault_of(const Error& error);

  std::filesystem::path file_;
  ForkLimits limits_;
  Descriptor read_;
  ForkedProcess process_;
  MessageReader messages_;
  std::string name_;
  std::string origin_;
  std::uint64_t size_ = 0;
  ModelFacts* facts_ = nullptr;
  ModelNodes nodes_;
  bool at_end_ = false;
};

// The cases of a whole model, made in the process that has read it, which OnnxModelSuite leaves to a hostile model.

/// A node or unit of the model, as a case or left out.
struct ModelStep {
  std::optional<Case> test_case;       ///< nothing: left out
  std::vector<std::size_t> positions;  ///< positions of its nodes, as ModelNodes counts them
  std::string reason;                  ///< why it is left out
  bool is_unit = false;
  std::size_t position = 0;              ///< of the node that it is about
  std::size_t number = 0;                ///< of the step
  std::vector<std::size_t> behind = {};  ///< numbers of the steps from whose outputs its inputs follow
};

class ModelCases {
 public:
  /// See OnnxModelSuite::open().
  [[nodiscard]] static Result<std::unique_ptr<ModelCases>> open(const std::filesystem::path& file, std::uint64_t seed,
                                                                const ModelOptions& options);
  ~ModelCases();

  [[nodiscard]] std::string name() const;
  [[nodiscard]] const std::string& origin() const;
  /// Why activations are drawn that should have been computed; else empty.
  [[nodiscard]] const std::string& why_drawn() const;
  /// See ModelActivations.
  [[nodiscard]] const std::string& disturbed() const;
  [[nodiscard]] const std::vector<ModelNodes::ModelNode>& nodes() const;
  /// How many steps there are.
  [[nodiscard]] std::size_t size() const;
  /// Nothing behind the last.
  [[nodiscard]] Result<std::optional<ModelStep>> next();

 private:
  [[nodiscard]] Result<std::optional<ModelStep>> next_unit();

  struct State;
  explicit ModelCases(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Inputs of a whole model, and the values that reach its quantized nodes when it runs.

struct ModelActivations {
  TensorFile values;   ///< inputs that are no constants, and outputs, of the quantized nodes of the outermost graph
  std::string origin;  ///< "activations of ONNX Runtime 1.30.0, inputs drawn from seed 1"
  /// Says what changes in the model as the runtime computes it when values are taken out: "23 DynamicQuantizeMatMul
  /// instead of 25"; empty where it changes nothing, or nobody can tell.
  std::string disturbed = {};
};

struct ActivationOptions {
  std::filesystem::path folder = {};              ///< below which external data lies
  std::vector<std::filesystem::path> files = {};  ///< with the inputs; without any, they are drawn from the seed
  std::uint64_t seed = 1;
  std::set<std::string> also = {};          ///< further values of the outermost graph that are wanted
  std::set<std::string> within_units = {};  ///< values that runtimes may fuse away
  bool takes_nodes_apart = true;            ///< values between nodes that are cases by themselves are wanted
  backend::Specification runtime{.name = "onnxruntime"};
  std::uint64_t memory = limits::kModelMemory;  ///< memory of the process in which the model runs
};

/// Runs the model in the offered runtime, in a process of its own. `scope` holds what is known of the model's graph.
/// Errors: no runtime, what read_model_inputs() and draw_model_inputs() refuse, and what the runtime does; rule `limit`
/// where the model takes more memory.
[[nodiscard]] Result<ModelActivations> compute_activations(const onnx::ModelProto& model, const GraphScope& scope,
                                                           const ActivationOptions& options);

/// A tensor for each input of the graph that has no initializer, from TensorProto files and NumPy's .npy and .npz. A
/// tensor with the name of an input is for that one; the others are taken in order. Errors: too few or too many
/// tensors, those whose type, rank or sizes are not what the model declares, and files that cannot be read.
[[nodiscard]] Result<NamedTensors> read_model_inputs(const onnx::GraphProto& graph,
                                                     std::span<const std::filesystem::path> files);

/// Gives dimensions that the graph's inputs leave open the sizes that these tensors have. Error: two sizes for one
/// name.
[[nodiscard]] Result<void> take_dimensions_of(const NamedTensors& inputs, onnx::GraphProto& graph);

/// Gives the symbolic dimensions of the graph's inputs the sizes that `stated` has for their names. Where it `assumes`,
/// what else is unknown behind an input's first dimension gets a size too, the same for the same name: 64 for the
/// spatial dimensions of images, else 16. Returns what was assumed, for people. Errors: a name in `stated` that no
/// input has.
[[nodiscard]] Result<std::string> set_dimensions(onnx::GraphProto& graph,
                                                 const std::map<std::string, std::int64_t>& stated, bool assumes);

/// Draws the model's inputs from the seed: float, float16 and bfloat16 within [-2, 2], integers of 8 and 16 bits from
/// all values, wider ones from 0 to 9, but 1 for masks and 0 for token types, by their names. An unknown first
/// dimension is `first_dimension`. Errors: other types, other unknown dimensions, what exceeds limits.h.
[[nodiscard]] Result<NamedTensors> draw_model_inputs(const onnx::GraphProto& graph, std::uint64_t seed,
                                                     std::int64_t first_dimension = kAssumedBatch);

}  // namespace qconform
