// The third-party libraries that qconform has adapters for (docs/backends.md).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/library.h"
#include "harness/backends/specification.h"
#include "harness/base/error.h"

namespace qconform::libraries {

/// All libraries, those that this build lacks too: their state says why.
[[nodiscard]] std::span<const backend::Library> libraries();

/// The root that this program was built for; empty for qconform itself.
[[nodiscard]] std::string_view own_root();

/// ONNX Runtime for whole models; of a build without it too: it says why it is absent.
[[nodiscard]] ModelRuntime model_runtime();

// Adapters as modules that qconform loads when it runs, so that it starts where their libraries are missing.

/// The facts that the program knows of an adapter without loading it.
struct AdapterModule {
  std::string_view name;    ///< as on the command line
  std::string_view title;   ///< the library's name and what it takes, for lists
  std::string_view remedy;  ///< how to get the library
};

/// The adapter in `file`. Where it cannot be loaded, a library whose state says why: which shared library is missing
/// and the remedy, or that the module belongs to another version. The module stays loaded until the program ends.
[[nodiscard]] backend::Library library_of_module(const AdapterModule& what, const std::filesystem::path& file);

/// lib/qconform/NAME.so beside the folder of the program, which is bin.
[[nodiscard]] std::filesystem::path file_of_module(std::string_view name);

/// A module exports this under kModuleEntry: the version of qconform that it was built with, and its adapter.
struct ModuleEntry {
  const char* version;
  backend::Library (*library)();
};
inline constexpr const char* kModuleEntry = "qconform_adapter_module";

// Other releases of libraries than the one that the program was built with, each in a folder of its own.

/// A release as scripts/library-root fetched it: the folder NAME-VERSION below QCONFORM_ROOTS, or below build/roots of
/// the tree that the program was built in.
struct LibraryRoot {
  std::string version;
  std::filesystem::path folder;
};

/// The roots of library `name`, the oldest first. A folder without the file VERSION, which is written last, is none.
[[nodiscard]] std::vector<LibraryRoot> roots_of(std::string_view name);

/// The versions of the roots of library `name`.
[[nodiscard]] std::vector<std::string> versions_of_roots(std::string_view name);

/// The release that `what` asks for: its version, or the newest that begins with it ("1.14" of "1.14.0"). The error
/// tells the releases that are there, `built_with` among them, and how to fetch another.
[[nodiscard]] Result<LibraryRoot> root_for(const backend::Specification& what, std::string_view built_with);

/// Returns the error for a root that cannot be used as it is: it says `why`, and names the command that fetches it
/// again.
[[nodiscard]] Error damaged_root(const backend::Specification& what, const LibraryRoot& root, std::string_view why);

// Programs for releases of libraries that cannot share a process with qconform: each has another C library.

/// The program worker-NAME-VERSION beside this one, which qconform_release_worker of cmake/QconformLibraries.cmake
/// makes for the root that `what` asks for. Errors: no such root; no program, or one of another root, with the command
/// that makes it; a root without which the program does not start, with the command that fetches it again.
[[nodiscard]] Result<std::vector<std::string>> worker_program(const backend::Specification& what);

// Peers: runtimes that a program of harness/backends/peers asks, out of a root of scripts/library-root. They are
// libraries of a run that names them.

struct Peer {
  std::string_view name;                     ///< as on the command line, and of its roots
  std::string_view description;              ///< the runtime's name and what it takes, for lists
  std::string_view program;                  ///< NAME.py of harness/backends/peers, or a program in bin of the root
  std::vector<std::string_view> words = {};  ///< words that may stand behind the @; the program gets the one that does
  /// Keys behind the @ with their values, for the reader: "f32 or bf16"; the program gets KEY=VALUE.
  std::vector<std::pair<std::string_view, std::string_view>> keys = {};
  /// Keys whose value "off" switches a part off which may be wrong (Library::switches).
  std::vector<std::string_view> switches = {};
};

[[nodiscard]] backend::Library peer(const Peer& what);

}  // namespace qconform::libraries
