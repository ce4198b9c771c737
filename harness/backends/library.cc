#include "harness/backends/library.h"

namespace qconform::backend {

namespace {
std::span<const Library> offered;
}  // namespace

void offer_libraries(std::span<const Library> libraries) {
  offered = libraries;
}

std::span<const Library> offered_libraries() {
  return offered;
}

}  // namespace qconform::backend

namespace qconform {

namespace {

ModelRuntime none() {
  return {"no runtime", "this program computes no whole models", nullptr};
}
ModelRuntime (*offered)() = none;

}  // namespace

void offer_model_runtime(ModelRuntime (*find)()) {
  offered = find;
}

const ModelRuntime& offered_model_runtime() {
  static const ModelRuntime runtime = offered();
  return runtime;
}

}  // namespace qconform
