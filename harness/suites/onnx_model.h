// Cases from the quantized nodes of any ONNX model: suite `model:FILE.onnx`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/suite.h"

namespace qconform {

/// Where the activations of a model come from.
struct ModelOptions {
  enum class Activations : std::uint8_t {
    drawn,     ///< from the seed, for each node by itself
    computed,  ///< those that reach the node when the model runs (model_activations.h)
    /// Computed; where that cannot be, drawn, which skipped() tells with the reason.
    computed_if_possible,
  };
  Activations activations = Activations::drawn;
  std::vector<std::filesystem::path> inputs{};  ///< TensorProto files for the model's inputs; empty: drawn
  std::size_t context = 0;                      ///< nodes that each unit takes along, before it and behind it
};

/// One case for each node of QLinearConv, ConvInteger, QuantizeLinear and DequantizeLinear, those in the bodies of If,
/// Loop and Scan included. Weights and parameters come from the model, also where it moves or converts them first
/// (harness/onnx/constant_folding.h). Activations are those of a run of the model, with the run's own output as the
/// recorded one; or they are drawn from the seed, in shapes that ONNX's shape inference and our own propagation find
/// (harness/onnx/shape_propagation.h). What had to be assumed (an unknown spatial size, a parameter that the model
/// computes at run time) stands in the note.
///
/// Behind them stands a case of several nodes for each quantized unit of the outermost graph (model_units.h); units
/// that give no case are counted as skipped, by reason. node_coverage() tells of every quantized node whether a case
/// holds it, and why not.
///
/// The id is the node's name, or its operator when it has none, with its position in the model:
/// "Conv_12_quant#17"; of a unit, the node whose result it quantizes and the position of its QuantizeLinear:
/// "Conv_12.unit#17".
class OnnxModelSuite final : public Suite {
 public:
  /// Activations above this number of elements are not generated; the node is skipped.
  static constexpr std::int64_t kGeneratedElements = std::int64_t{1} << 26;

  /// Errors: what protobuf_file.h refuses, a model without a graph or without a quantized node, constants that cannot
  /// be read, and activations that must be computed and cannot be, or are of no case.
  [[nodiscard]] static Result<std::unique_ptr<OnnxModelSuite>> open(const std::filesystem::path& file,
                                                                    std::uint64_t seed,
                                                                    const ModelOptions& options = {});
  ~OnnxModelSuite() override;

  /// "model:FILE", with the origin of computed activations behind it.
  [[nodiscard]] std::string name() const override;
  /// Where the activations come from, in words.
  [[nodiscard]] const std::string& origin() const;
  [[nodiscard]] Result<std::optional<Case>> next() override;
  /// Single nodes and units; some may yet be skipped.
  [[nodiscard]] std::optional<std::uint64_t> size() const override;
  [[nodiscard]] std::optional<NodeCoverage> node_coverage(const std::vector<std::string>* why_not) const override;

 private:
  [[nodiscard]] Result<std::optional<Case>> next_unit();

  struct State;
  explicit OnnxModelSuite(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qconform
