// Whole models in ONNX Runtime.
#include <onnx/onnx_pb.h>

#include <memory>
#include <utility>
#include <vector>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/onnxruntime_api.h"
#include "harness/base/forked_process.h"
#include "harness/onnx/protobuf_file.h"
#include "harness/onnx/tensor_proto.h"

namespace qconform::libraries {
namespace {

using ort::failure;
using ort::Owned;
using ort::Runtime;

// Where a model that is given as bytes finds its external data; older releases do not know the key.
constexpr const char* kExternalFolder = "session.model_external_initializers_file_folder_path";
constexpr ForkLimits kLimits{.cpu_seconds = 600, .address_space = std::uint64_t{64} << 30};

Result<void> check(std::optional<std::string> failed) {
  if (failed) return fail("", std::move(*failed));
  return {};
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

// The outputs as the initializers of a graph, which is how they leave the process.
Result<std::string> packed(const OrtApi& api, const std::vector<std::string>& names,
                           const std::vector<OrtValue*>& values) {
  onnx::GraphProto graph;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ort::OutputView output;
    if (auto failed = ort::view(api, *values[i], output)) return fail("", names[i] + ": " + *failed);
    QCONFORM_ASSIGN(const auto bytes, checked_bytes(names[i], output.type, output.shape));
    Tensor tensor{output.type, output.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    ort::copy(output, tensor.bytes);
    write_tensor(tensor, names[i], *graph.add_initializer());
  }
  return message_bytes(graph);
}

Result<std::string> run_here(const std::string& model, const std::filesystem::path& folder, NamedTensors inputs) {
  Runtime runtime(*ort::loaded().api);
  const OrtApi& api = runtime.api;
  QCONFORM_TRY(check(runtime.start(ORT_DISABLE_ALL)));
  const std::string place = folder.empty() ? "." : folder.string();
  Owned<OrtSession> session(api.ReleaseSession);
  OrtStatus* status = api.AddSessionConfigEntry(runtime.options.get(), kExternalFolder, place.c_str());
  QCONFORM_TRY(check(failure(api, status)));
  QCONFORM_TRY(check(ort::create_session(runtime, model, session)));
  std::vector<std::unique_ptr<Owned<OrtValue>>> held;
  std::vector<const OrtValue*> given;
  std::vector<const char*> given_names;
  for (auto& [name, tensor] : inputs) {
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
  auto result = packed(api, names, values);
  for (OrtValue* value : values) api.ReleaseValue(value);
  return result;
}

Result<NamedTensors> run(const std::string& model, const std::filesystem::path& folder, const NamedTensors& inputs) {
  const std::string field = "ONNX Runtime " + ort::loaded().version;
  QCONFORM_ASSIGN(const auto bytes, run_forked(field, kLimits, [&]() { return run_here(model, folder, inputs); }));
  onnx::GraphProto graph;
  QCONFORM_TRY(in_context(field, parse_message(bytes, graph)));
  NamedTensors values;
  for (const onnx::TensorProto& proto : graph.initializer()) {
    QCONFORM_ASSIGN(auto tensor, in_context(field, tensor_from_proto(proto, std::nullopt)));
    values.emplace(proto.name(), std::move(tensor));
  }
  return values;
}

}  // namespace

ModelRuntime onnxruntime_models() {
  const ort::Loaded& library = ort::loaded();
  return {library.absent.empty() ? "ONNX Runtime " + library.version : "ONNX Runtime", library.absent, run};
}

}  // namespace qconform::libraries
