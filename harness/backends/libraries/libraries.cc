#include "harness/backends/libraries/libraries.h"

#include <algorithm>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/module.h"
#include "harness/backends/libraries/peers.h"
#include "harness/backends/libraries/roots.h"
#include "harness/backends/libraries/worker_program.h"

namespace qconform::libraries {
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
