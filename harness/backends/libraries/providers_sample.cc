// A plugin execution provider of ONNX Runtime for tests: it takes QuantizeLinear from float32 to uint8 with one scale
// and zero point. Its option defect plants one: "half-away" rounds ties away from zero, "crash" ends the process.
//
// Interface: onnxruntime_ep_c_api.h of release 1.23, stated here because Debian's header is older.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/libraries/onnxruntime/onnxruntime_providers.h"

namespace {

using namespace qconform::libraries::ort;

constexpr const char* kName = "Sample";
constexpr std::uint32_t kInterface = kCompilingProviders;

struct GraphSupport;
struct Options;

// Functions that a provider fills in and the library calls. Members that are null are optional.
struct NodeCompute {
  std::uint32_t version = kInterface;
  OrtStatus* (*create_state)(NodeCompute*, void* context, void** state) = nullptr;
  OrtStatus* (*compute)(NodeCompute*, void* state, OrtKernelContext*) = nullptr;
  void (*release_state)(NodeCompute*, void* state) = nullptr;
};

struct Ep {
  std::uint32_t version = kInterface;
  const char* (*name)(const Ep*) = nullptr;
  OrtStatus* (*capability)(Ep*, const Graph*, GraphSupport*) = nullptr;
  OrtStatus* (*compile)(Ep*, const Graph**, const Node** fused, std::size_t count, NodeCompute**,
                        Node** contexts) = nullptr;
  void (*release_computes)(Ep*, NodeCompute**, std::size_t count) = nullptr;
  std::array<void*, 8> others{};
};

struct EpFactory {
  std::uint32_t version = kInterface;
  const char* (*name)(const EpFactory*) = nullptr;
  const char* (*vendor)(const EpFactory*) = nullptr;
  OrtStatus* (*devices)(EpFactory*, const HardwareDevice* const*, std::size_t, Device**, std::size_t room,
                        std::size_t* used) = nullptr;
  OrtStatus* (*create)(EpFactory*, const HardwareDevice* const*, const void* const* metadata, std::size_t,
                       const OrtSessionOptions*, const void* logger, Ep**) = nullptr;
  void (*release)(EpFactory*, Ep*) = nullptr;
  std::uint32_t (*vendor_id)(const EpFactory*) = nullptr;
  const char* (*version_text)(const EpFactory*) = nullptr;
  void* compatibility = nullptr;
  OrtStatus* (*create_allocator)(EpFactory*, const OrtMemoryInfo*, const void*, OrtAllocator**) = nullptr;
  void (*release_allocator)(EpFactory*, OrtAllocator*) = nullptr;
  OrtStatus* (*create_transfer)(EpFactory*, void**) = nullptr;
  bool (*has_streams)(const EpFactory*) = nullptr;
  void* create_stream = nullptr;
  std::array<void*, 8> others{};
};

// The beginning of OrtEpApi.
struct EpApi {
  OrtStatus* (*create_device)(EpFactory*, const HardwareDevice*, const void* metadata, const void* options, Device**);
  void (*release_device)(Device*);
  OrtStatus* (*fuse)(GraphSupport*, const Node* const*, std::size_t count, const void* options);
};

enum class ProviderDefect { none, half_away, crash };

struct SampleCompute : NodeCompute {
  const OrtApi* api = nullptr;
  ProviderDefect defect = ProviderDefect::none;
  std::array<std::size_t, 3> inputs{};  // positions of x, its scale and zero point in the fused node's inputs
};

struct SampleEp : Ep {
  const OrtApi* api = nullptr;
  ProviderDefect defect = ProviderDefect::none;
};

struct SampleFactory : EpFactory {
  const OrtApi* api = nullptr;
};

#define SAMPLE_TRY(status) \
  if (OrtStatus* failed = (status)) return failed

std::uint8_t quantized(float x, float scale, std::uint8_t zero, ProviderDefect defect) {
  const float quotient = x / scale;
  const float rounded = defect == ProviderDefect::half_away ? std::round(quotient) : std::nearbyint(quotient);
  if (std::isnan(rounded)) return 0;
  return static_cast<std::uint8_t>(std::clamp(static_cast<double>(rounded) + zero, 0.0, 255.0));
}

struct Input {
  const OrtValue* value = nullptr;
  std::vector<std::int64_t> shape{};
  std::size_t elements = 0;
  void* data = nullptr;
};

OrtStatus* read_input(const OrtApi& api, OrtKernelContext* context, std::size_t position, Input& input) {
  SAMPLE_TRY(api.KernelContext_GetInput(context, position, &input.value));
  OrtTensorTypeAndShapeInfo* info = nullptr;
  SAMPLE_TRY(api.GetTensorTypeAndShape(input.value, &info));
  const std::unique_ptr<OrtTensorTypeAndShapeInfo, decltype(api.ReleaseTensorTypeAndShapeInfo)> owned(
      info, api.ReleaseTensorTypeAndShapeInfo);
  std::size_t rank = 0;
  SAMPLE_TRY(api.GetDimensionsCount(info, &rank));
  input.shape.resize(rank);
  SAMPLE_TRY(api.GetDimensions(info, input.shape.data(), rank));
  SAMPLE_TRY(api.GetTensorShapeElementCount(info, &input.elements));
  return api.GetTensorMutableData(const_cast<OrtValue*>(input.value), &input.data);
}

OrtStatus* compute(NodeCompute* self, void* /*state*/, OrtKernelContext* context) {
  const auto& node = *static_cast<SampleCompute*>(self);
  const OrtApi& api = *node.api;
  Input x;
  Input scale;
  Input zero;
  SAMPLE_TRY(read_input(api, context, node.inputs[0], x));
  SAMPLE_TRY(read_input(api, context, node.inputs[1], scale));
  SAMPLE_TRY(read_input(api, context, node.inputs[2], zero));
  if (scale.elements != 1 || zero.shape != scale.shape) {
    return api.CreateStatus(ORT_NOT_IMPLEMENTED, "takes one scale, and a zero point of its shape");
  }
  if (node.defect == ProviderDefect::crash) std::abort();
  OrtValue* output = nullptr;
  SAMPLE_TRY(api.KernelContext_GetOutput(context, 0, x.shape.data(), x.shape.size(), &output));
  void* y = nullptr;
  SAMPLE_TRY(api.GetTensorMutableData(output, &y));
  for (std::size_t i = 0; i < x.elements; ++i) {
    static_cast<std::uint8_t*>(y)[i] = quantized(static_cast<float*>(x.data)[i], *static_cast<float*>(scale.data),
                                                 *static_cast<std::uint8_t*>(zero.data), node.defect);
  }
  return nullptr;
}

OrtStatus* inputs_of(const OrtApi& api, const Node* node, std::vector<const ValueInfo*>& inputs) {
  std::size_t count = 0;
  SAMPLE_TRY(kNodeGetNumInputs.of(api)(node, &count));
  inputs.resize(count);
  return kNodeGetInputs.of(api)(node, inputs.data(), count);
}

OrtStatus* has_type(const OrtApi& api, const ValueInfo* value, ONNXTensorElementDataType wanted, bool& result) {
  result = false;
  if (value == nullptr) return nullptr;
  const OrtTypeInfo* type = nullptr;
  SAMPLE_TRY(kGetValueInfoTypeInfo.of(api)(value, &type));
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  SAMPLE_TRY(api.CastTypeInfoToTensorInfo(type, &tensor));
  if (tensor == nullptr) return nullptr;
  ONNXTensorElementDataType there = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  SAMPLE_TRY(api.GetTensorElementType(tensor, &there));
  result = there == wanted;
  return nullptr;
}

OrtStatus* takes(const OrtApi& api, const Node* node, bool& result) {
  constexpr int kNewest = 21;  // later versions have the attribute precision
  result = false;
  const char* type = nullptr;
  int version = 0;
  SAMPLE_TRY(kNodeGetOperatorType.of(api)(node, &type));
  SAMPLE_TRY(kNodeGetSinceVersion.of(api)(node, &version));
  std::vector<const ValueInfo*> inputs;
  SAMPLE_TRY(inputs_of(api, node, inputs));
  if (std::string_view(type) != "QuantizeLinear" || version > kNewest || inputs.size() != 3) return nullptr;
  bool x = false;
  bool scale = false;
  bool zero = false;
  SAMPLE_TRY(has_type(api, inputs[0], ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, x));
  SAMPLE_TRY(has_type(api, inputs[1], ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, scale));
  SAMPLE_TRY(has_type(api, inputs[2], ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, zero));
  result = x && scale && zero;
  return nullptr;
}

OrtStatus* nodes_of(const OrtApi& api, const Graph* graph, std::vector<const Node*>& nodes) {
  std::size_t count = 0;
  SAMPLE_TRY(kGraphGetNumNodes.of(api)(graph, &count));
  nodes.resize(count);
  return kGraphGetNodes.of(api)(graph, nodes.data(), count);
}

OrtStatus* capability(Ep* self, const Graph* graph, GraphSupport* support) {
  const OrtApi& api = *static_cast<SampleEp*>(self)->api;
  const auto* provider_api = static_cast<const EpApi*>(kGetEpApi.of(api)());
  std::vector<const Node*> nodes;
  SAMPLE_TRY(nodes_of(api, graph, nodes));
  for (const Node* node : nodes) {
    bool taken = false;
    SAMPLE_TRY(takes(api, node, taken));
    if (taken) SAMPLE_TRY(provider_api->fuse(support, &node, 1, nullptr));
  }
  return nullptr;
}

OrtStatus* names_of_inputs(const OrtApi& api, const Node* node, std::vector<std::string>& names) {
  std::vector<const ValueInfo*> inputs;
  SAMPLE_TRY(inputs_of(api, node, inputs));
  for (const ValueInfo* input : inputs) {
    const char* name = nullptr;
    SAMPLE_TRY(kGetValueInfoName.of(api)(input, &name));
    names.emplace_back(name);
  }
  return nullptr;
}

OrtStatus* compile_one(const SampleEp& ep, const Graph* graph, const Node* fused, NodeCompute** result) {
  const OrtApi& api = *ep.api;
  auto made = std::make_unique<SampleCompute>();
  made->api = &api;
  made->defect = ep.defect;
  made->create_state = [](NodeCompute*, void*, void** state) -> OrtStatus* {
    *state = nullptr;
    return nullptr;
  };
  made->compute = compute;
  made->release_state = [](NodeCompute*, void*) {};
  std::vector<const Node*> nodes;
  std::vector<std::string> wanted;
  std::vector<std::string> given;
  SAMPLE_TRY(nodes_of(api, graph, nodes));
  SAMPLE_TRY(names_of_inputs(api, nodes.front(), wanted));
  SAMPLE_TRY(names_of_inputs(api, fused, given));
  for (std::size_t i = 0; i < made->inputs.size(); ++i) {
    made->inputs[i] = static_cast<std::size_t>(std::find(given.begin(), given.end(), wanted[i]) - given.begin());
  }
  *result = made.release();
  return nullptr;
}

OrtStatus* compile(Ep* self, const Graph** graphs, const Node** fused, std::size_t count, NodeCompute** computes,
                   Node** /*contexts*/) {
  for (std::size_t i = 0; i < count; ++i) {
    SAMPLE_TRY(compile_one(*static_cast<SampleEp*>(self), graphs[i], fused[i], &computes[i]));
  }
  return nullptr;
}

void release_computes(Ep* /*self*/, NodeCompute** computes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) delete static_cast<SampleCompute*>(computes[i]);
}

// The library keeps an option of a session's provider as ep.NAME.OPTION, its name in lower case.
ProviderDefect stated_defect(const OrtApi& api, const OrtSessionOptions* options) {
  std::array<char, 32> text{};
  std::size_t size = text.size();
  if (OrtStatus* failed = api.GetSessionConfigEntry(options, "ep.sample.defect", text.data(), &size)) {
    api.ReleaseStatus(failed);
    return ProviderDefect::none;
  }
  const std::string_view value = text.data();
  return value == "half-away" ? ProviderDefect::half_away
         : value == "crash"   ? ProviderDefect::crash
                              : ProviderDefect::none;
}

OrtStatus* create(EpFactory* self, const HardwareDevice* const*, const void* const*, std::size_t,
                  const OrtSessionOptions* options, const void*, Ep** result) {
  auto ep = std::make_unique<SampleEp>();
  ep->api = static_cast<SampleFactory*>(self)->api;
  ep->defect = stated_defect(*ep->api, options);
  ep->name = [](const Ep*) { return kName; };
  ep->capability = capability;
  ep->compile = compile;
  ep->release_computes = release_computes;
  *result = ep.release();
  return nullptr;
}

OrtStatus* devices(EpFactory* self, const HardwareDevice* const* hardware, std::size_t count, Device** result,
                   std::size_t room, std::size_t* used) {
  const OrtApi& api = *static_cast<SampleFactory*>(self)->api;
  const auto* provider_api = static_cast<const EpApi*>(kGetEpApi.of(api)());
  *used = 0;
  for (std::size_t i = 0; i < count && *used < room; ++i) {
    if (kHardwareDeviceType.of(api)(hardware[i]) != 0) continue;  // no CPU
    SAMPLE_TRY(provider_api->create_device(self, hardware[i], nullptr, nullptr, &result[*used]));
    ++*used;
  }
  return nullptr;
}

}  // namespace

extern "C" OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const void* /*logger*/,
                                        EpFactory** factories, std::size_t room, std::size_t* used) {
  const OrtApi* api = base->GetApi(kInterface);
  if (api == nullptr) return base->GetApi(1)->CreateStatus(ORT_FAIL, "needs release 1.23");
  if (room == 0) return api->CreateStatus(ORT_INVALID_ARGUMENT, "no room for a factory");
  auto factory = std::make_unique<SampleFactory>();
  factory->api = api;
  factory->name = [](const EpFactory*) { return kName; };
  factory->vendor = [](const EpFactory*) { return "qconform"; };
  factory->devices = devices;
  factory->create = create;
  factory->release = [](EpFactory*, Ep* ep) { delete static_cast<SampleEp*>(ep); };
  factory->vendor_id = [](const EpFactory*) { return std::uint32_t{0}; };
  factory->version_text = [](const EpFactory*) { return "1.0.0"; };
  factory->create_allocator = [](EpFactory*, const OrtMemoryInfo*, const void*,
                                 OrtAllocator** allocator) -> OrtStatus* {
    *allocator = nullptr;
    return nullptr;
  };
  factory->release_allocator = [](EpFactory*, OrtAllocator*) {};
  factory->create_transfer = [](EpFactory*, void** transfer) -> OrtStatus* {
    *transfer = nullptr;
    return nullptr;
  };
  factory->has_streams = [](const EpFactory*) { return false; };
  factories[0] = factory.release();
  *used = 1;
  return nullptr;
}

extern "C" OrtStatus* ReleaseEpFactory(EpFactory* factory) {
  delete static_cast<SampleFactory*>(factory);
  return nullptr;
}
