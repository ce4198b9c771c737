#include "harness/backends/model_runtime.h"

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
