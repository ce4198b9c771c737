#include "harness/backends/libraries/libraries.h"

#include <algorithm>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/peers.h"

namespace qconform::libraries {
namespace {

[[maybe_unused]] Result<std::unique_ptr<Backend>> nothing_to_open(const backend::Specification& what) {
  return fail("--backend", what.name + " is not part of this build");
}

}  // namespace

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
#define QCONFORM_LIBRARY(name) name(),
#define QCONFORM_ABSENT_LIBRARY(name, title, reason) \
  {#name, title, {}, [] { return backend::LibraryState{{}, reason}; }, nothing_to_open},
#define QCONFORM_PEER(name, title, program, ...) peer({name, title, program, {__VA_ARGS__}}),
  static const std::vector<backend::Library> all = {
#include "libraries.inc"
  };
#undef QCONFORM_LIBRARY
#undef QCONFORM_ABSENT_LIBRARY
#undef QCONFORM_PEER
  return all;
}

}  // namespace qconform::libraries
