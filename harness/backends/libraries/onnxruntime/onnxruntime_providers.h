// Execution providers of ONNX Runtime: what is newer in its C interface than the header that scripts/get-onnxruntime
// brings. A function is named by its place in the library's table, which no release changes: tables grow at their end.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace qconform::libraries::ort {

struct Runtime;

/// The release of the interface with plugin providers' libraries, and the one with providers that compile nodes.
inline constexpr std::uint32_t kLibrariesOfProviders = 22;
inline constexpr std::uint32_t kCompilingProviders = 23;

/// A device that a provider offers on the machine. These types are incomplete here.
struct Device;
struct HardwareDevice;
struct ValueInfo;
struct Node;
struct Graph;

/// One function of OrtApi.
template <typename Signature>
struct ApiEntry {
  std::size_t place;

  [[nodiscard]] Signature* of(const OrtApi& api) const {
    Signature* function = nullptr;
    std::memcpy(&function, reinterpret_cast<const std::byte*>(&api) + place * sizeof function, sizeof function);
    return function;
  }
};

// Since release 1.22.
inline constexpr ApiEntry<OrtStatus*(const ValueInfo*, const char** name)> kGetValueInfoName{289};
inline constexpr ApiEntry<OrtStatus*(const ValueInfo*, const OrtTypeInfo** type)> kGetValueInfoTypeInfo{290};
inline constexpr ApiEntry<OrtStatus*(OrtEnv*, const char* name, const char* path)> kRegisterExecutionProviderLibrary{
    301};
inline constexpr ApiEntry<OrtStatus*(const OrtEnv*, const Device* const** devices, std::size_t* count)> kGetEpDevices{
    303};
inline constexpr ApiEntry<OrtStatus*(OrtSessionOptions*, OrtEnv*, const Device* const* devices, std::size_t count,
                                     const char* const* keys, const char* const* values, std::size_t settings)>
    kSessionOptionsAppendExecutionProvider{304};
inline constexpr ApiEntry<std::int32_t(const HardwareDevice*)> kHardwareDeviceType{307};
inline constexpr ApiEntry<const char*(const Device*)> kDeviceProvider{312};
inline constexpr ApiEntry<const HardwareDevice*(const Device*)> kDeviceHardware{316};
inline constexpr ApiEntry<const void*()> kGetEpApi{317};
// Since release 1.23.
inline constexpr ApiEntry<OrtStatus*(const Graph*, std::size_t* count)> kGraphGetNumNodes{344};
inline constexpr ApiEntry<OrtStatus*(const Graph*, const Node** nodes, std::size_t count)> kGraphGetNodes{345};
inline constexpr ApiEntry<OrtStatus*(const Node*, const char** type)> kNodeGetOperatorType{350};
inline constexpr ApiEntry<OrtStatus*(const Node*, int* version)> kNodeGetSinceVersion{352};
inline constexpr ApiEntry<OrtStatus*(const Node*, std::size_t* count)> kNodeGetNumInputs{353};
inline constexpr ApiEntry<OrtStatus*(const Node*, const ValueInfo** inputs, std::size_t count)> kNodeGetInputs{354};

#if ORT_API_VERSION >= 23
// Built with a newer header, the places are checked.
#define QCONFORM_SAME_PLACE(entry, function) \
  static_assert((entry).place * sizeof(void*) == offsetof(OrtApi, function), "place in OrtApi")
QCONFORM_SAME_PLACE(kGetValueInfoName, GetValueInfoName);
QCONFORM_SAME_PLACE(kGetValueInfoTypeInfo, GetValueInfoTypeInfo);
QCONFORM_SAME_PLACE(kRegisterExecutionProviderLibrary, RegisterExecutionProviderLibrary);
QCONFORM_SAME_PLACE(kGetEpDevices, GetEpDevices);
QCONFORM_SAME_PLACE(kSessionOptionsAppendExecutionProvider, SessionOptionsAppendExecutionProvider_V2);
QCONFORM_SAME_PLACE(kHardwareDeviceType, HardwareDevice_Type);
QCONFORM_SAME_PLACE(kDeviceProvider, EpDevice_EpName);
QCONFORM_SAME_PLACE(kDeviceHardware, EpDevice_Device);
QCONFORM_SAME_PLACE(kGetEpApi, GetEpApi);
QCONFORM_SAME_PLACE(kGraphGetNumNodes, Graph_GetNumNodes);
QCONFORM_SAME_PLACE(kGraphGetNodes, Graph_GetNodes);
QCONFORM_SAME_PLACE(kNodeGetOperatorType, Node_GetOperatorType);
QCONFORM_SAME_PLACE(kNodeGetSinceVersion, Node_GetSinceVersion);
QCONFORM_SAME_PLACE(kNodeGetNumInputs, Node_GetNumInputs);
QCONFORM_SAME_PLACE(kNodeGetInputs, Node_GetInputs);
#undef QCONFORM_SAME_PLACE
#endif

/// A provider, as the user names it.
struct Provider {
  std::string name{};                   ///< as the library's devices call it
  std::string library{};                ///< its file; empty for a provider that the runtime has built in
  std::optional<std::string> device{};  ///< cpu, gpu or npu; nullopt: the first that it has
  std::vector<std::pair<std::string, std::string>> options{};  ///< its own
};

/// Registers the provider's library and lets the runtime's sessions run on the provider alone: a session with a node
/// that it does not take cannot be created. Errors, as text: a release before 1.22, no such file, a library that does
/// not load, a name or device that is not among those that are there, which the text lists.
[[nodiscard]] std::optional<std::string> use_provider(const OrtApiBase& base, const Runtime& runtime,
                                                      const Provider& provider);

}  // namespace qconform::libraries::ort
