// Third-party libraries as backends: what the program was built with, found by name, and the runtime that computes
// whole models.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/tensor.h"

namespace qconform::backend {

struct LibraryState {
  std::string version;  ///< the version of the library that would be used; empty when there is none
  std::string absent;   ///< why it cannot be used here, and what to do; empty when it can
};

struct Library {
  std::string_view name;         ///< as on the command line
  std::string_view description;  ///< the library's name and what it takes, for lists
  Accepted accepted;             ///< words and keys that may stand behind the @
  std::function<LibraryState()> state;
  /// `what` has settings that are accepted, and its text is the backend's name. Called only for a library that is
  /// there.
  std::function<Result<std::unique_ptr<Backend>>(const Specification& what)> open = nullptr;
  /// Opens a version that is not that of `state`; the error tells which ones are there. Null: there is one version
  /// only, or `release_program` has others.
  std::function<Result<std::unique_ptr<Backend>>(const Specification& what)> open_release = nullptr;
  /// Takes the place of `open_release` for releases that cannot be loaded into this process: returns the beginning of a
  /// command that goes on as `qconform worker` does. The command checks the settings. Errors as those of
  /// `open_release`.
  std::function<Result<std::vector<std::string>>(const Specification& what)> release_program = nullptr;
  /// Versions that these know, the oldest first. Null: none.
  std::function<std::vector<std::string>()> releases = nullptr;
  /// Starts a library that runs as a program of its own; takes the place of open and open_release. Such a library is
  /// judged where it is named.
  std::function<Result<std::unique_ptr<Backend>>(const Specification& what, const SandboxLimits& limits)> start =
      nullptr;
  /// Words behind the @ between which a right answer may not change: levels of optimization. No word is the first.
  std::vector<std::string_view> levels = {};
  /// Words and keys behind the @ that reach an interface of the library with other operators: whatever that refuses
  /// says nothing of the other interface.
  std::vector<std::string_view> interfaces = {};
  /// Parts that experiments switch off one by one: beside any level but the first, or always where there are no levels.
  std::vector<Switch> switches = {};
};

/// The libraries that select() offers; none before the program says so. `libraries` must outlive
/// every use of select().
void offer_libraries(std::span<const Library> libraries);
[[nodiscard]] std::span<const Library> offered_libraries();

}  // namespace qconform::backend

namespace qconform {

// Something that computes whole models, offered by the program that has one.

using NamedTensors = std::map<std::string, Tensor>;

struct ModelRuntime {
  std::string name;    ///< "ONNX Runtime 1.30.0"
  std::string absent;  ///< why it cannot be used here, and what to do; empty when it can
  /// The outputs of the model's graph from its inputs, in this process: what the runtime does to it is to be feared.
  /// `setting` is the runtime's backend as the command line names it; the word and settings behind its @ hold, without
  /// any nodes are computed as stated. `model` is a serialized ModelProto whose external data lies below `folder`. An
  /// error of rule `limit` says that there is not enough memory.
  Result<NamedTensors> (*run)(const std::string& model, const std::filesystem::path& folder, const NamedTensors& inputs,
                              const backend::Specification& setting) = nullptr;
  /// The model as the runtime computes it with that setting, in this process too.
  Result<std::string> (*rewritten)(const std::string& model, const std::filesystem::path& folder,
                                   const backend::Specification& setting) = nullptr;
};

/// `find` is called when a model is to be run, once. None is there before the program says so.
void offer_model_runtime(ModelRuntime (*find)());
/// The one that was offered, or one that says why there is none.
[[nodiscard]] const ModelRuntime& offered_model_runtime();

}  // namespace qconform
