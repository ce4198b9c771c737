#include "harness/backends/libraries/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "harness/backends/libraries/adapters.h"
#include "harness/core/version.h"

namespace qconform::libraries {
namespace {

namespace fs = std::filesystem;

// "libdnnl.so.2: cannot open shared object file: No such file or directory": the part before the first colon is the
// library that is missing. Any other message stays as it is.
std::string why_not_loaded(const AdapterModule& what, const fs::path& file) {
  const char* error = dlerror();
  const std::string message = error == nullptr ? "unknown reason" : error;
  const std::size_t end = message.find(": cannot open shared object file");
  if (end == std::string::npos || end == file.string().size()) return message;
  return fmt::format("{} is not installed: {}", message.substr(0, end), what.remedy);
}

backend::Library absent(const AdapterModule& what, std::string reason) {
  backend::Library library;
  library.name = what.name;
  library.description = what.title;
  library.state = [reason] { return backend::LibraryState{{}, reason}; };
  library.open = [name = what.name](const auto&) -> Result<std::unique_ptr<Backend>> {
    return fail("--backend", std::string(name) + " could not be loaded");
  };
  return library;
}

}  // namespace

backend::Library library_of_module(const AdapterModule& what, const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return absent(what, fmt::format("this build has no {}", file.string()));
  void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return absent(what, why_not_loaded(what, file));
  const auto* entry = static_cast<const ModuleEntry*>(dlsym(module, kModuleEntry));
  if (entry == nullptr) return absent(what, fmt::format("{} has no symbol {}", file.string(), kModuleEntry));
  if (std::string_view(entry->version) != kVersion) {
    return absent(what, fmt::format("{} belongs to qconform {}, this is {}", file.string(), entry->version, kVersion));
  }
  return entry->library();
}

fs::path file_of_module(std::string_view name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "qconform" / (std::string(name) + ".so");
}

namespace {

[[maybe_unused]] Result<std::unique_ptr<Backend>> nothing_to_open(const backend::Specification& what) {
  return fail("--backend", what.name + " is not part of this build");
}

// A library that does not load its other releases itself has a program for each.
[[maybe_unused]] backend::Library with_releases(backend::Library library, std::vector<std::string> (*releases)()) {
#ifndef QCONFORM_NO_RELEASE_WORKERS
  if (library.releases != nullptr) return library;
  library.releases = releases;
  library.release_program = worker_program;
#else
  static_cast<void>(releases);
#endif
  return library;
}

}  // namespace

std::string_view own_root() {
#ifdef QCONFORM_OWN_ROOT
  return QCONFORM_OWN_ROOT;
#else
  return {};
#endif
}

ModelRuntime model_runtime() {
#ifdef QCONFORM_HAS_ONNXRUNTIME
  return onnxruntime_models();
#else
  const auto all = libraries();
  const auto found = std::find_if(all.begin(), all.end(), [](const auto& l) { return l.name == "onnxruntime"; });
  return {"ONNX Runtime", found->state().absent, nullptr};
#endif
}

std::span<const backend::Library> libraries() {
#define QCONFORM_LIBRARY(name) with_releases(name(), [] { return versions_of_roots(#name); }),
#define QCONFORM_ABSENT_LIBRARY(name, title, reason)         \
  with_releases({#name,                                      \
                 title,                                      \
                 {},                                         \
                 [] {                                        \
                   return backend::LibraryState{{}, reason}; \
                 },                                          \
                 nothing_to_open},                           \
                [] { return versions_of_roots(#name); }),
#define QCONFORM_MODULE_OF_LIBRARY(name, title, remedy)                           \
  with_releases(library_of_module({#name, title, remedy}, file_of_module(#name)), \
                [] { return versions_of_roots(#name); }),
#define QCONFORM_PEER(name, title, program, ...) peer({name, title, program, __VA_ARGS__}),
  static const std::vector<backend::Library> all = {
#include <libraries.inc>
  };
#undef QCONFORM_LIBRARY
#undef QCONFORM_ABSENT_LIBRARY
#undef QCONFORM_MODULE_OF_LIBRARY
#undef QCONFORM_PEER
  return all;
}

}  // namespace qconform::libraries
