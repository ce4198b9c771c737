// ONNX Runtime through its C API, loaded at run time so that any release can be judged.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "harness/core/aligned_bytes.h"
#include "harness/libraries/adapters.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/node_proto.h"
#include "harness/operators/operator.h"

namespace qconform::libraries {
namespace {

// The oldest table of functions that has all that is called here: releases only append to it.
constexpr std::uint32_t kApiVersion = 11;

struct Loaded {
  const OrtApi* api = nullptr;
  std::string version;
  std::string absent;
};

std::vector<std::string> places_to_look() {
  static constexpr std::array kNames{"libonnxruntime.so", "libonnxruntime.so.1"};
  std::vector<std::string> places;
  const char* root = std::getenv("ONNXRUNTIME_ROOT");
  for (const char* name : kNames) {
    if (root != nullptr && *root != '\0') {
      for (const char* folder : {"/lib/", "/lib64/", "/"}) places.push_back(std::string(root) + folder + name);
    } else {
      places.push_back(std::string(QCONFORM_ONNXRUNTIME_DIRECTORY "/lib/") + name);
    }
  }
  if (root == nullptr || *root == '\0') places.insert(places.end(), kNames.begin(), kNames.end());
  return places;
}

void* open_library() {
  for (const std::string& place : places_to_look()) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

Loaded load() {
  // Read when the environment is created; otherwise releases write files under the home folder.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  void* library = open_library();
  if (library == nullptr) {
    const char* root = std::getenv("ONNXRUNTIME_ROOT");
    return {
        nullptr,
        {},
        root == nullptr || *root == '\0'
            ? std::string("libonnxruntime.so not found; scripts/get-onnxruntime fetches one, or set ONNXRUNTIME_ROOT")
            : std::string("no libonnxruntime.so that loads in ONNXRUNTIME_ROOT=") + root};
  }
  // POSIX: a function's address comes as an object's.
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) return {nullptr, {}, "the library has no OrtGetApiBase"};
  const OrtApiBase* base = get_base();
  const OrtApi* api = base->GetApi(kApiVersion);
  if (api == nullptr) return {nullptr, {}, std::string("release ") + base->GetVersionString() + " is older than 1.11"};
  return {api, base->GetVersionString(), {}};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

// The type of an output by the interface's number: ONNX's up to float4e2m1, its own behind it. Inputs
// are different: release 1.30 looks up the number that it is given among ONNX's, 2-bit types included.
[[nodiscard]] ElementType type_of_number(ONNXTensorElementDataType number) {
  constexpr std::int32_t kUint2 = 24;
  constexpr std::int32_t kInt2 = 25;
  const auto value = static_cast<std::int32_t>(number);
  if (value == kUint2) return ElementType::uint2;
  if (value == kInt2) return ElementType::int2;
  return value < kUint2 ? static_cast<ElementType>(value) : ElementType::undefined;
}

// Objects of the library, released by the table's functions.
template <typename T>
class Owned {
 public:
  explicit Owned(void(ORT_API_CALL* release)(T*)) : release_(release) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object_ != nullptr) release_(object_);
  }
  [[nodiscard]] T* get() const { return object_; }
  [[nodiscard]] T** out() { return &object_; }

 private:
  T* object_ = nullptr;
  void(ORT_API_CALL* release_)(T*);
};

// nullopt for success, otherwise the message.
[[nodiscard]] std::optional<std::string> failure(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return std::nullopt;
  std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  return message;
}

// The environment, options and memory description that all sessions of one backend share.
struct Runtime {
  explicit Runtime(const OrtApi& table)
      : api(table),
        environment(table.ReleaseEnv),
        options(table.ReleaseSessionOptions),
        memory(table.ReleaseMemoryInfo) {}

  [[nodiscard]] std::optional<std::string> start(GraphOptimizationLevel level) {
    OrtStatus* status = api.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "qconform", environment.out());
    if (status == nullptr) status = api.DisableTelemetryEvents(environment.get());
    if (status == nullptr) status = api.CreateSessionOptions(options.out());
    if (status == nullptr) status = api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_FATAL);
    if (status == nullptr) status = api.SetIntraOpNumThreads(options.get(), 1);
    if (status == nullptr) status = api.SetInterOpNumThreads(options.get(), 1);
    if (status == nullptr) status = api.SetSessionExecutionMode(options.get(), ORT_SEQUENTIAL);
    if (status == nullptr) status = api.SetSessionGraphOptimizationLevel(options.get(), level);
    if (status == nullptr) status = api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, memory.out());
    return failure(api, status);
  }

  const OrtApi& api;
  Owned<OrtEnv> environment;
  Owned<OrtSessionOptions> options;
  Owned<OrtMemoryInfo> memory;
};

// A tensor of the library over memory of ours.
[[nodiscard]] std::optional<std::string> over(const Runtime& runtime, ElementType type,
                                              std::span<const std::int64_t> shape, std::span<std::byte> memory,
                                              Owned<OrtValue>& value) {
  static std::byte nothing{};  // an address for tensors without elements
  void* data = memory.empty() ? &nothing : memory.data();
  return failure(runtime.api, runtime.api.CreateTensorWithDataAsOrtValue(
                                  runtime.memory.get(), data, memory.size(), shape.data(), shape.size(),
                                  static_cast<ONNXTensorElementDataType>(type), value.out()));
}

[[nodiscard]] std::optional<std::string> create_session(const Runtime& runtime, const std::string& model,
                                                        Owned<OrtSession>& session) {
  return failure(runtime.api, runtime.api.CreateSessionFromArray(runtime.environment.get(), model.data(), model.size(),
                                                                 runtime.options.get(), session.out()));
}

class PreparedSession final : public PreparedCase {
 public:
  PreparedSession(const Runtime& runtime, const Case& test_case, std::vector<std::size_t> fed)
      : runtime_(runtime), api_(runtime.api), case_(test_case), fed_(std::move(fed)), session_(api_.ReleaseSession) {}

  [[nodiscard]] std::optional<std::string> create(const std::string& model) {
    return create_session(runtime_, model, session_);
  }

  void run(OutputSink& sink) override {
    if (auto message = run_session(sink)) sink.refuse(refusal(case_, std::move(*message)));
  }

 private:
  [[nodiscard]] std::optional<std::string> run_session(OutputSink& sink) {
    std::vector<std::unique_ptr<Owned<OrtValue>>> values;
    std::vector<const OrtValue*> inputs;
    std::vector<const char*> names;
    const std::vector<std::string> all_names = input_names(case_);
    for (const std::size_t position : fed_) {
      const Tensor& tensor = *case_.inputs[position];
      auto& value = *values.emplace_back(std::make_unique<Owned<OrtValue>>(api_.ReleaseValue));
      // The interface takes a pointer to changeable memory for inputs too; they are not changed.
      const std::span<std::byte> bytes(const_cast<std::byte*>(tensor.bytes.data()), tensor.bytes.size());
      if (auto failed = over(runtime_, tensor.type, tensor.shape, bytes, value)) return failed;
      inputs.push_back(value.get());
      names.push_back(all_names[position].c_str());
    }
    Owned<OrtValue> output(api_.ReleaseValue);
    const char* output_name = kOutputName;
    if (auto failed = failure(api_, api_.Run(session_.get(), nullptr, names.data(), inputs.data(), inputs.size(),
                                             &output_name, 1, output.out()))) {
      return failed;
    }
    return copy_output(*output.get(), sink);
  }

  [[nodiscard]] std::optional<std::string> copy_output(OrtValue& output, OutputSink& sink) const {
    Owned<OrtTensorTypeAndShapeInfo> info(api_.ReleaseTensorTypeAndShapeInfo);
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    void* data = nullptr;
    OrtStatus* status = api_.GetTensorTypeAndShape(&output, info.out());
    if (status == nullptr) status = api_.GetTensorElementType(info.get(), &type);
    if (status == nullptr) status = api_.GetDimensionsCount(info.get(), &rank);
    std::vector<std::int64_t> shape(rank);
    if (status == nullptr) status = api_.GetDimensions(info.get(), shape.data(), rank);
    if (status == nullptr) status = api_.GetTensorMutableData(&output, &data);
    if (auto failed = failure(api_, status)) return failed;
    if (type_of_number(type) == ElementType::undefined) return "its output has type " + std::to_string(type);
    const std::span<std::byte> y = sink.allocate(type_of_number(type), shape);
    if (!y.empty()) std::memcpy(y.data(), data, y.size());
    // The library leaves bits of a packed tensor's last byte that no element has; a Tensor has zeros there.
    const auto used = static_cast<unsigned>(bits_of(type_of_number(type)) * elements_of(shape) % 8);
    if (used != 0) y.back() &= static_cast<std::byte>((1U << used) - 1U);
    return std::nullopt;
  }

  const Runtime& runtime_;
  const OrtApi& api_;
  const Case& case_;
  std::vector<std::size_t> fed_;
  Owned<OrtSession> session_;
};

// One input, and an output that stays where it is: the session's run and no copy around it.
class RepeatedSession final : public RepeatedRun {
 public:
  RepeatedSession(const Runtime& runtime, const Case& test_case, Tensor output)
      : runtime_(runtime),
        case_(test_case),
        output_(std::move(output)),
        x_memory_(test_case.input(0)->bytes),
        y_memory_(static_cast<std::size_t>(bytes_for(output_.type, output_.elements()))),
        session_(runtime.api.ReleaseSession),
        x_(runtime.api.ReleaseValue),
        y_(runtime.api.ReleaseValue),
        x_name_(input_names(test_case).front()) {}

  [[nodiscard]] std::optional<std::string> create(const std::string& model) {
    const Tensor& x = *case_.input(0);
    if (auto failed = create_session(runtime_, model, session_)) return failed;
    if (auto failed = over(runtime_, x.type, x.shape, x_memory_.bytes(), x_)) return failed;
    return over(runtime_, output_.type, output_.shape, y_memory_.bytes(), y_);
  }

  void run() override {
    const char* x_name = x_name_.c_str();
    const char* y_name = kOutputName;
    const OrtValue* x = x_.get();
    OrtStatus* status = runtime_.api.Run(session_.get(), nullptr, &x_name, &x, 1, &y_name, 1, y_.out());
    if (status != nullptr) refusal_ = refusal(case_, *failure(runtime_.api, status));
  }
  [[nodiscard]] Outcome outcome() override {
    if (refusal_) return *refusal_;
    output_.bytes.assign(y_memory_.bytes().begin(), y_memory_.bytes().end());
    return outcome::Produced{output_};
  }
  [[nodiscard]] RunSetting setting() const override { return {}; }

 private:
  const Runtime& runtime_;
  const Case& case_;
  Tensor output_;
  AlignedBytes x_memory_;
  AlignedBytes y_memory_;
  Owned<OrtSession> session_;
  Owned<OrtValue> x_;
  Owned<OrtValue> y_;
  std::string x_name_;
  std::optional<Outcome> refusal_;
};

// The data, as in a model in use: weights and parameters are constants that the runtime may repack.
std::vector<std::size_t> data_inputs(const Case& test_case) {
  std::vector<std::size_t> positions;
  const Operator* known = find_operator(test_case.domain, test_case.op_type);
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const bool is_data = known == nullptr || i >= known->inputs.size() || known->inputs[i].role == InputRole::data;
    if (is_data && test_case.inputs[i]) positions.push_back(i);
  }
  return positions;
}

class OnnxRuntime final : public Backend {
 public:
  OnnxRuntime(std::unique_ptr<Runtime> runtime, BackendInfo info)
      : runtime_(std::move(runtime)), info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    const std::vector<std::size_t> fed = data_inputs(test_case);
    const auto model = case_to_fed_model(test_case, fed);
    if (!model) return refused(test_case, model.error().text());
    auto session = std::make_unique<PreparedSession>(*runtime_, test_case, fed);
    if (auto message = session->create(*model)) return refused(test_case, std::move(*message));
    return session;
  }

  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& /*wanted*/) override {
    const Classification classification = classify(test_case);
    const std::vector<std::size_t> fed = data_inputs(test_case);
    // What has no output to lay out beforehand is run as any case.
    if (!classification.lowered || fed != std::vector<std::size_t>{0}) return std::nullopt;
    const auto model = case_to_fed_model(test_case, fed);
    if (!model) return refused_as<RepeatedPreparation>(test_case, model.error().text());
    const Lowered& lowered = *classification.lowered;
    auto session = std::make_unique<RepeatedSession>(*runtime_, test_case,
                                                     Tensor{lowered.output_type(), lowered.output_shape(), {}});
    if (auto message = session->create(*model)) return refused_as<RepeatedPreparation>(test_case, *message);
    return session;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  BackendInfo info_;
};

backend::LibraryState state() {
  return {loaded().version, loaded().absent};
}

Result<std::unique_ptr<Backend>> open(std::string_view variant, std::string name) {
  auto runtime = std::make_unique<Runtime>(*loaded().api);
  if (auto message = runtime->start(variant == "opt" ? ORT_ENABLE_ALL : ORT_DISABLE_ALL)) {
    return fail("--backend", "ONNX Runtime does not start: " + *message);
  }
  return std::make_unique<OnnxRuntime>(std::move(runtime), BackendInfo{std::move(name), loaded().version, "library"});
}

}  // namespace

backend::Library onnxruntime() {
  return {"onnxruntime",
          "ONNX Runtime, CPU; every operator; as stated, or with graph optimization (opt)",
          {"opt"},
          state,
          open};
}

}  // namespace qconform::libraries
