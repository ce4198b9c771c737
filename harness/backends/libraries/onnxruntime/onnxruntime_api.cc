#include "harness/backends/libraries/onnxruntime/onnxruntime_api.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "harness/base/file.h"

namespace qconform::libraries::ort {
namespace {

// The oldest release whose table of functions has all that is called here: later ones only append to it, and give a
// table for every release up to their own.
constexpr std::uint32_t kApiVersion = 8;

std::vector<std::string> places_to_look() {
  static constexpr std::array kNames{"libonnxruntime.so", "libonnxruntime.so.1"};
  std::vector<std::string> candidates;
  const char* root = std::getenv("ONNXRUNTIME_ROOT");
  for (const char* name : kNames) {
    if (root != nullptr && *root != '\0') {
      for (const char* folder : {"/lib/", "/lib64/", "/"}) candidates.push_back(std::string(root) + folder + name);
    } else {
      candidates.push_back(std::string(QCONFORM_ONNXRUNTIME_DIRECTORY "/lib/") + name);
    }
  }
  if (root == nullptr || *root == '\0') candidates.insert(candidates.end(), kNames.begin(), kNames.end());
  return candidates;
}

void* open_library() {
  for (const std::string& place : places_to_look()) {
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

Loaded interface_of(void* library) {
  // POSIX: a function's address comes as an object's.
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) return {nullptr, {}, "the library has no OrtGetApiBase"};
  const OrtApiBase* base = get_base();
  const OrtApi* api = base->GetApi(kApiVersion);
  if (api == nullptr) {
    return {nullptr, {}, fmt::format("release {} is older than 1.{}", base->GetVersionString(), kApiVersion)};
  }
  return {api, base->GetVersionString(), {}, base};
}

// Read when the environment is created; otherwise releases write files under the home folder.
void disable_telemetry() {
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
}

Loaded load() {
  disable_telemetry();
  void* library = open_library();
  if (library == nullptr) {
    const char* root = std::getenv("ONNXRUNTIME_ROOT");
    return {
        nullptr,
        {},
        root == nullptr || *root == '\0'
            ? std::string("libonnxruntime.so not found; scripts/get-onnxruntime fetches one, or set ONNXRUNTIME_ROOT")
            : fmt::format("no libonnxruntime.so that loads in ONNXRUNTIME_ROOT={} (looked for: {})", root,
                          fmt::join(places_to_look(), ", "))};
  }
  return interface_of(library);
}

// The interface's own numbers of types: ONNX's up to float4e2m1, others behind it.
constexpr std::int32_t kUint2 = 24;
constexpr std::int32_t kInt2 = 25;

// The type of a value by the interface's number.
[[nodiscard]] ElementType type_of_number(ONNXTensorElementDataType number) {
  const auto value = static_cast<std::int32_t>(number);
  if (value == kUint2) return ElementType::uint2;
  if (value == kInt2) return ElementType::int2;
  return value < kUint2 ? static_cast<ElementType>(value) : ElementType::undefined;
}

}  // namespace

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

namespace {

Loaded load_file(const std::filesystem::path& file) {
  disable_telemetry();
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? Loaded{nullptr, {}, dlerror()} : interface_of(library);
}

}  // namespace

Loaded load_release(const std::filesystem::path& root) {
  return load_file(root / "lib" / "libonnxruntime.so");
}

Loaded load_named(const std::filesystem::path& place) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_regular_file(place, error)) return load_file(fs::absolute(place, error));
  const fs::path folders[] = {place / "onnxruntime" / "capi", place / "capi", place / "lib", place};
  for (const fs::path& folder : folders) {
    // Python's packages have the number behind the name, and no link without it.
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name == "libonnxruntime.so") return load_file(fs::absolute(entry->path(), error));
      const bool has_number =
          name.starts_with("libonnxruntime.so.") && name.find_first_not_of("0123456789.", 18) == name.npos;
      if (has_number) files.push_back(entry->path());
    }
    if (!files.empty()) return load_file(fs::absolute(*std::max_element(files.begin(), files.end()), error));
  }
  return {nullptr, {}, "no libonnxruntime.so in onnxruntime/capi, capi, lib or the folder itself"};
}

std::optional<std::string> failure(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return std::nullopt;
  std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  return message;
}

Runtime::Runtime(const OrtApi& table)
    : api(table),
      environment(table.ReleaseEnv),
      options(table.ReleaseSessionOptions),
      memory(table.ReleaseMemoryInfo) {}

std::optional<std::string> Runtime::start(GraphOptimizationLevel level) {
  OrtStatus* status = api.CreateEnv(ORT_LOGGING_LEVEL_FATAL, "qconform", environment.out());
  if (status == nullptr) status = api.DisableTelemetryEvents(environment.get());
  if (status == nullptr) status = api.CreateSessionOptions(options.out());
  if (status == nullptr) status = api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_FATAL);
  if (status == nullptr) status = api.SetIntraOpNumThreads(options.get(), 1);
  if (status == nullptr) status = api.SetInterOpNumThreads(options.get(), 1);
  if (status == nullptr) status = api.SetSessionExecutionMode(options.get(), ORT_SEQUENTIAL);
  if (status == nullptr) status = api.SetSessionGraphOptimizationLevel(options.get(), level);
  // Pins what releases may decide by the processor or change by default; those that do not know a key ignore it.
  for (const auto& [key, value] :
       {std::pair{kFlushSubnormals, "0"}, {"mlas.enable_gemm_fastmath_arm64_bfloat16", "0"}}) {
    if (status == nullptr) status = api.AddSessionConfigEntry(options.get(), key, value);
  }
  if (status == nullptr) status = api.CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, memory.out());
  return failure(api, status);
}

std::optional<std::string> Runtime::set(const std::string& key, const std::string& value) {
  return failure(api, api.AddSessionConfigEntry(options.get(), key.c_str(), value.c_str()));
}

namespace {

// The number by which the runtime makes tensors of a type. For 2-bit types release 1.30 wants ONNX's, and 1.32 its own:
// that one is right by which it makes a tensor of the type.
ONNXTensorElementDataType number_of(const Runtime& runtime, ElementType type) {
  const auto number = static_cast<ONNXTensorElementDataType>(type);
  if (type != ElementType::uint2 && type != ElementType::int2) return number;
  const auto own = static_cast<ONNXTensorElementDataType>(type == ElementType::uint2 ? kUint2 : kInt2);
  constexpr std::int64_t kOne = 1;
  std::byte element{};
  Owned<OrtValue> value(runtime.api.ReleaseValue);
  OutputView made;
  const bool is_own = !failure(runtime.api, runtime.api.CreateTensorWithDataAsOrtValue(
                                                runtime.memory.get(), &element, 1, &kOne, 1, own, value.out())) &&
                      !view(runtime.api, *value.get(), made) && made.type == type;
  return is_own ? own : number;
}

}  // namespace

std::optional<std::string> over(const Runtime& runtime, ElementType type, std::span<const std::int64_t> shape,
                                std::span<std::byte> memory, Owned<OrtValue>& value) {
  static std::byte nothing{};  // an address for tensors without elements
  void* data = memory.empty() ? &nothing : memory.data();
  return failure(runtime.api,
                 runtime.api.CreateTensorWithDataAsOrtValue(runtime.memory.get(), data, memory.size(), shape.data(),
                                                            shape.size(), number_of(runtime, type), value.out()));
}

std::optional<std::string> create_session(const Runtime& runtime, const std::string& model,
                                          Owned<OrtSession>& session) {
  return failure(runtime.api, runtime.api.CreateSessionFromArray(runtime.environment.get(), model.data(), model.size(),
                                                                 runtime.options.get(), session.out()));
}

Result<std::string> optimized_model(const Runtime& runtime, const std::string& model) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const int file = memfd_create("optimized", MFD_CLOEXEC);
  if (file < 0) return fail("", "no memory for the optimized model");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  Owned<OrtSessionOptions> options(runtime.api.ReleaseSessionOptions);
  Owned<OrtSession> session(runtime.api.ReleaseSession);
  OrtStatus* status = runtime.api.CloneSessionOptions(runtime.options.get(), options.out());
  if (status == nullptr) status = runtime.api.SetOptimizedModelFilePath(options.get(), path.c_str());
  if (status == nullptr) {
    status = runtime.api.CreateSessionFromArray(runtime.environment.get(), model.data(), model.size(), options.get(),
                                                session.out());
  }
  auto failed = failure(runtime.api, status);
  auto bytes = failed ? fail("", std::move(*failed)) : read_file(path, kMost);
  (void)close(file);
  return bytes;
}

std::optional<std::string> view(const OrtApi& api, OrtValue& value, OutputView& output) {
  Owned<OrtTensorTypeAndShapeInfo> info(api.ReleaseTensorTypeAndShapeInfo);
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::size_t rank = 0;
  void* data = nullptr;
  OrtStatus* status = api.GetTensorTypeAndShape(&value, info.out());
  if (status == nullptr) status = api.GetTensorElementType(info.get(), &type);
  if (status == nullptr) status = api.GetDimensionsCount(info.get(), &rank);
  output.shape.resize(rank);
  if (status == nullptr) status = api.GetDimensions(info.get(), output.shape.data(), rank);
  if (status == nullptr) status = api.GetTensorMutableData(&value, &data);
  if (auto failed = failure(api, status)) return failed;
  output.type = type_of_number(type);
  output.data = static_cast<const std::byte*>(data);
  if (!is_known(output.type)) return "its output has type " + std::to_string(type);
  return std::nullopt;
}

void copy(const OutputView& output, std::span<std::byte> memory) {
  if (!memory.empty()) std::memcpy(memory.data(), output.data, memory.size());
  const auto used = static_cast<unsigned>(bits_of(output.type) * elements_of(output.shape) % 8);
  if (used != 0) memory.back() &= static_cast<std::byte>((1U << used) - 1U);
}

}  // namespace qconform::libraries::ort
