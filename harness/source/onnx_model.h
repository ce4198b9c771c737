// Cases from the quantized nodes of any ONNX model: suite `model:FILE.onnx`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/core/case_source.h"

namespace qconform {

/// One case for each quantized node, those in the bodies of If, Loop and Scan included. Weights and
/// parameters come from the model; activations are drawn from the seed, in shapes that ONNX's shape
/// inference and our own propagation find (harness/onnx/shape_propagation.h). What had to be assumed
/// (an unknown spatial size, a parameter that the model computes at run time) stands in the note.
/// All other nodes, and quantized ones that give no case, are counted as skipped, by reason.
///
/// The id is the node's name, or its operator when it has none, with its position in the model:
/// "Conv_12_quant#17".
class OnnxModelSource final : public CaseSource {
 public:
  /// Activations above this number of elements are not generated; the node is skipped.
  static constexpr std::int64_t kGeneratedElements = std::int64_t{1} << 26;

  /// Errors: what protobuf_file.h refuses, and a model without a graph.
  [[nodiscard]] static Result<std::unique_ptr<OnnxModelSource>> open(const std::filesystem::path& file,
                                                                     std::uint64_t seed);
  ~OnnxModelSource() override;

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] Result<std::optional<Case>> next() override;
  /// Quantized nodes; some may yet be skipped.
  [[nodiscard]] std::optional<std::uint64_t> size() const override;

 private:
  struct State;
  explicit OnnxModelSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qconform
