#include "harness/libraries/libraries.h"

#include "harness/libraries/adapters.h"

namespace qconform::libraries {
namespace {

// A library that was not found when qconform was built; `reason` says what was missing.
template <const char* const& reason>
backend::LibraryState not_built() {
  return {{}, reason};
}

[[maybe_unused]] Result<std::unique_ptr<Backend>> nothing_to_open(std::string_view, std::string name) {
  return fail("--backend", name + " is not part of this build");
}

template <const char* const& reason>
backend::Library absent(std::string_view name, std::string_view description) {
  return {name, description, {}, not_built<reason>, nothing_to_open};
}

#ifdef QCONFORM_ONNXRUNTIME_ABSENT
constexpr const char* kOnnxRuntimeAbsent = QCONFORM_ONNXRUNTIME_ABSENT;
backend::Library onnxruntime_entry() {
  return absent<kOnnxRuntimeAbsent>("onnxruntime", "ONNX Runtime");
}
ModelRuntime models_entry() {
  return {"ONNX Runtime", kOnnxRuntimeAbsent, nullptr};
}
#else
backend::Library onnxruntime_entry() {
  return onnxruntime();
}
ModelRuntime models_entry() {
  return onnxruntime_models();
}
#endif

#ifdef QCONFORM_ONEDNN_ABSENT
constexpr const char* kOneDnnAbsent = QCONFORM_ONEDNN_ABSENT;
backend::Library onednn_entry() {
  return absent<kOneDnnAbsent>("onednn", "oneDNN");
}
#else
backend::Library onednn_entry() {
  return onednn();
}
#endif

#ifdef QCONFORM_XNNPACK_ABSENT
constexpr const char* kXnnpackAbsent = QCONFORM_XNNPACK_ABSENT;
backend::Library xnnpack_entry() {
  return absent<kXnnpackAbsent>("xnnpack", "XNNPACK");
}
#else
backend::Library xnnpack_entry() {
  return xnnpack();
}
#endif

#ifdef QCONFORM_OPENCV_ABSENT
constexpr const char* kOpenCvAbsent = QCONFORM_OPENCV_ABSENT;
backend::Library opencv_entry() {
  return absent<kOpenCvAbsent>("opencv", "OpenCV DNN");
}
#else
backend::Library opencv_entry() {
  return opencv();
}
#endif

}  // namespace

ModelRuntime model_runtime() {
  return models_entry();
}

std::span<const backend::Library> libraries() {
  static const std::vector<backend::Library> all = {onnxruntime_entry(), onednn_entry(), xnnpack_entry(),
                                                    opencv_entry()};
  return all;
}

}  // namespace qconform::libraries
