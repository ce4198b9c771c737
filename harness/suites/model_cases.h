// The cases of a whole model, made in the process that has read it. onnx_model.h makes a suite of them, which leaves
// that process to a hostile model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/suites/model_nodes.h"
#include "harness/suites/onnx_model.h"

namespace qconform {

/// A node or unit of the model, as a case or left out.
struct ModelStep {
  std::optional<Case> test_case;       ///< nothing: left out
  std::vector<std::size_t> positions;  ///< positions of its nodes, as ModelNodes counts them
  std::string reason;                  ///< why it is left out
  bool is_unit = false;
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
  [[nodiscard]] const std::vector<ModelNodes::Entry>& nodes() const;
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

}  // namespace qconform
