// Something that computes whole models, offered by the program that has one.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "harness/base/error.h"
#include "harness/core/tensor.h"

namespace qconform {

using NamedTensors = std::map<std::string, Tensor>;

struct ModelRuntime {
  std::string name;    ///< "ONNX Runtime 1.30.0"
  std::string absent;  ///< why it cannot be used here, and what to do; empty when it can
  /// The outputs of the model's graph from its inputs, nodes computed as stated, in this process: what the runtime does
  /// to it is to be feared. `model` is a serialized ModelProto whose external data lies below `folder`. An error of
  /// rule `limit` says that there is not enough memory.
  Result<NamedTensors> (*run)(const std::string& model, const std::filesystem::path& folder,
                              const NamedTensors& inputs) = nullptr;
};

/// `find` is called when a model is to be run, once. None is there before the program says so.
void offer_model_runtime(ModelRuntime (*find)());
/// The one that was offered, or one that says why there is none.
[[nodiscard]] const ModelRuntime& offered_model_runtime();

}  // namespace qconform
