// Whole models in ONNX Runtime.
#include <onnx/onnx_pb.h>

#include <memory>
#include <utility>
#include <vector>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_api.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform::libraries {
namespace {

using ort::failure;
using ort::Owned;
using ort::Runtime;

// The option that says where a model given as bytes finds its external data; older releases do not know the key.
constexpr const char* kExternalFolder = "session.model_external_initializers_file_folder_path";

Result<void> check(std::optional<std::string> failed) {
  if (!failed) return {};
  const bool is_limit =
      failed->find("Failed to allocate memory") != std::string::npos || failed->find("bad_alloc") != std::string::npos;
  return fail("", std::move(*failed), is_limit ? "limit" : "");
}

std::vector<std::string> output_names(const std::string& model) {
  onnx::ModelProto proto;
  std::vector<std::string> names;
  if (!parse_message(model, proto)) return names;
  for (const onnx::ValueInfoProto& output : proto.graph().output()) names.push_back(output.name());
  return names;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

// The outputs, which the library may forget then.
Result<NamedTensors> copied(const OrtApi& api, const std::vector<std::string>& names,
                            const std::vector<OrtValue*>& values) {
  NamedTensors tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ort::OutputView output;
    if (auto failed = ort::view(api, *values[i], output)) return fail("", names[i] + ": " + *failed);
    QCONFORM_ASSIGN(const auto bytes, checked_bytes(names[i], output.type, output.shape));
    Tensor tensor{output.type, output.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    ort::copy(output, tensor.bytes);
    tensors.emplace(names[i], std::move(tensor));
  }
  return tensors;
}

// One for all parts of a model, in the process that runs it: starting takes longer than a part.
Runtime& shared_runtime() {
  static Runtime& runtime = *new Runtime(*ort::loaded().api);
  return runtime;
}

Result<NamedTensors> run(const std::string& model, const std::filesystem::path& folder, const NamedTensors& inputs) {
  NamedTensors memory = inputs;  // a copy that the library may write to
  Runtime& runtime = shared_runtime();
  const OrtApi& api = runtime.api;
  if (runtime.environment.get() == nullptr) QCONFORM_TRY(check(runtime.start(ORT_DISABLE_ALL)));
  const std::string place = folder.empty() ? "." : folder.string();
  Owned<OrtSession> session(api.ReleaseSession);
  OrtStatus* status = api.AddSessionConfigEntry(runtime.options.get(), kExternalFolder, place.c_str());
  QCONFORM_TRY(check(failure(api, status)));
  QCONFORM_TRY(check(ort::create_session(runtime, model, session)));
  std::vector<std::unique_ptr<Owned<OrtValue>>> held;
  std::vector<const OrtValue*> given;
  std::vector<const char*> given_names;
  for (auto& [name, tensor] : memory) {
    auto& value = *held.emplace_back(std::make_unique<Owned<OrtValue>>(api.ReleaseValue));
    QCONFORM_TRY(check(ort::over(runtime, tensor.type, tensor.shape, tensor.bytes, value)));
    given.push_back(value.get());
    given_names.push_back(name.c_str());
  }
  const std::vector<std::string> names = output_names(model);
  std::vector<OrtValue*> values(names.size(), nullptr);
  status = api.Run(session.get(), nullptr, given_names.data(), given.data(), given.size(), pointers_to(names).data(),
                   names.size(), values.data());
  QCONFORM_TRY(check(failure(api, status)));
  auto result = copied(api, names, values);
  for (OrtValue* value : values) api.ReleaseValue(value);
  return result;
}

}  // namespace

ModelRuntime onnxruntime_models() {
  const ort::Loaded& library = ort::loaded();
  return {library.absent.empty() ? "ONNX Runtime " + library.version : "ONNX Runtime", library.absent, run};
}

}  // namespace qconform::libraries
