// Third-party libraries as backends: what the program was built with, found by name.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"

namespace qconform::backend {

struct LibraryState {
  std::string version;  ///< of the library that would be used; empty when there is none
  std::string absent;   ///< why it cannot be used here, and what to do; empty when it can
};

struct Library {
  std::string_view name;         ///< as on the command line
  std::string_view description;  ///< what it takes
  Accepted accepted;             ///< what may stand behind the @
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
};

/// The libraries that select() offers; none before the program says so. `libraries` must outlive
/// every use of select().
void offer_libraries(std::span<const Library> libraries);
[[nodiscard]] std::span<const Library> offered_libraries();

}  // namespace qconform::backend
