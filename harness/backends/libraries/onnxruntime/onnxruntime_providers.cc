#include "harness/backends/libraries/onnxruntime/onnxruntime_providers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "harness/backends/libraries/onnxruntime/onnxruntime_api.h"

namespace qconform::libraries::ort {
namespace {

// The names of devices, in the order of the interface's numbers.
constexpr std::array<std::string_view, 3> kDeviceNames{"cpu", "gpu", "npu"};

// Without it, what the provider declines would be computed, and judged, by the runtime's own kernels.
constexpr const char* kNoFallback = "session.disable_cpu_ep_fallback";

constexpr std::string_view kRuntimeItself = "CPUExecutionProvider";

std::string_view kind_of(const OrtApi& api, const Device& device) {
  const auto number = static_cast<std::size_t>(kHardwareDeviceType.of(api)(kDeviceHardware.of(api)(&device)));
  return number < kDeviceNames.size() ? kDeviceNames[number] : "other";
}

std::optional<std::string> register_library(const OrtApi& api, OrtEnv& environment, const Provider& provider) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(provider.library, error);
  if (error || !std::filesystem::is_regular_file(path, error)) {
    return fmt::format("there is no library \"{}\" of a provider", provider.library);
  }
  const auto register_it = kRegisterExecutionProviderLibrary.of(api);
  if (auto failed = failure(api, register_it(&environment, provider.name.c_str(), path.c_str()))) {
    return fmt::format("the provider's library \"{}\" does not load: {}", provider.library, *failed);
  }
  return std::nullopt;
}

// The provider's device, or null; `there` gets what is there.
const Device* find_device(const OrtApi& api, std::span<const Device* const> devices, const Provider& provider,
                          std::vector<std::string>& there) {
  for (const Device* device : devices) {
    const std::string_view name = kDeviceProvider.of(api)(device);
    const std::string_view kind = kind_of(api, *device);
    if (name == provider.name && kind == provider.device.value_or(std::string(kind))) return device;
    there.push_back(fmt::format("{} ({})", name, kind));
  }
  return nullptr;
}

std::optional<std::string> append(const OrtApi& api, const Runtime& runtime, const Provider& provider,
                                  const Device* device) {
  std::vector<const char*> keys;
  std::vector<const char*> values;
  for (const auto& [key, value] : provider.options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  const auto append_it = kSessionOptionsAppendExecutionProvider.of(api);
  OrtEnv* environment = runtime.environment.get();
  return failure(api,
                 append_it(runtime.options.get(), environment, &device, 1, keys.data(), values.data(), keys.size()));
}

}  // namespace

std::optional<std::string> use_provider(const OrtApiBase& base, const Runtime& runtime, const Provider& provider) {
  const OrtApi* api = base.GetApi(kLibrariesOfProviders);
  if (api == nullptr) {
    return fmt::format("release {} takes no libraries of providers; those from 1.{} on do", base.GetVersionString(),
                       kLibrariesOfProviders);
  }
  if (provider.name == kRuntimeItself) {
    return fmt::format("{} is what onnxruntime without ep=NAME runs on", provider.name);
  }
  if (provider.device && std::count(kDeviceNames.begin(), kDeviceNames.end(), *provider.device) == 0) {
    return fmt::format("no device \"{}\"; expected {}", *provider.device, fmt::join(kDeviceNames, ", "));
  }
  if (!provider.library.empty()) {
    if (auto failed = register_library(*api, *runtime.environment.get(), provider)) return failed;
  }
  const Device* const* devices = nullptr;
  std::size_t count = 0;
  if (auto failed = failure(*api, kGetEpDevices.of(*api)(runtime.environment.get(), &devices, &count))) return failed;
  std::vector<std::string> there;
  const Device* device = find_device(*api, {devices, count}, provider, there);
  if (device == nullptr) {
    return fmt::format("no provider \"{}\"{}; there {} {}", provider.name,
                       provider.device ? " for " + *provider.device : "", there.size() == 1 ? "is" : "are",
                       there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")));
  }
  if (auto failed = append(*api, runtime, provider, device)) return failed;
  return failure(*api, api->AddSessionConfigEntry(runtime.options.get(), kNoFallback, "1"));
}

}  // namespace qconform::libraries::ort
