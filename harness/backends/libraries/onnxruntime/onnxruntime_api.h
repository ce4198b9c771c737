// ONNX Runtime's C interface, loaded at run time: what its adapter and the runs of whole models share.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/tensor.h"

namespace qconform::libraries::ort {

struct Loaded {
  const OrtApi* api = nullptr;  ///< null where there is none
  std::string version{};
  std::string absent{};              ///< why, and what to do
  const OrtApiBase* base = nullptr;  ///< gives tables of later releases
};

/// The library that the program was built with, or that of ONNXRUNTIME_ROOT, loaded at the first call.
[[nodiscard]] const Loaded& loaded();

/// The release in a root (libraries.h), never unloaded. `absent` tells what is wrong with the root.
[[nodiscard]] Loaded load_release(const std::filesystem::path& root);

/// The library in a file, or in a folder: that of an archive of ONNX Runtime, or of Python's packages. Never unloaded.
/// `absent` tells where it was looked for.
[[nodiscard]] Loaded load_named(const std::filesystem::path& place);

/// Objects of the library, released by the table's functions.
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

/// nullopt for success, otherwise the message.
[[nodiscard]] std::optional<std::string> failure(const OrtApi& api, OrtStatus* status);

/// An entry of the sessions' configuration: 1 where subnormal numbers become 0.
inline constexpr const char* kFlushSubnormals = "session.set_denormal_as_zero";

/// The environment, options and memory description that sessions share: one thread, nothing printed, subnormal numbers
/// kept, and no bfloat16 in products of float32.
struct Runtime {
  explicit Runtime(const OrtApi& table);
  [[nodiscard]] std::optional<std::string> start(GraphOptimizationLevel level);
  /// An entry of the sessions' configuration, "session.intra_op.allow_spinning" say, once started. The library takes
  /// keys that it does not know, and does nothing with them.
  [[nodiscard]] std::optional<std::string> set(const std::string& key, const std::string& value);

  const OrtApi& api;
  Owned<OrtEnv> environment;
  Owned<OrtSessionOptions> options;
  Owned<OrtMemoryInfo> memory;
};

/// Makes `value` a tensor over memory that outlives it.
[[nodiscard]] std::optional<std::string> over(const Runtime& runtime, ElementType type,
                                              std::span<const std::int64_t> shape, std::span<std::byte> memory,
                                              Owned<OrtValue>& value);

/// `model` is a serialized ModelProto.
[[nodiscard]] std::optional<std::string> create_session(const Runtime& runtime, const std::string& model,
                                                        Owned<OrtSession>& session);

/// The model as the library computes it with these options: optimized, and saved. Leaves no file behind.
[[nodiscard]] Result<std::string> optimized_model(const Runtime& runtime, const std::string& model);

/// Type, shape and bytes of an output, as the library states them; `data` lives as long as the value that view() got.
struct OutputView {
  ElementType type = ElementType::undefined;
  std::vector<std::int64_t> shape{};
  const std::byte* data = nullptr;
};
[[nodiscard]] std::optional<std::string> view(const OrtApi& api, OrtValue& value, OutputView& output);

/// Copies the output's bytes, with zeros for the bits of a packed tensor's last byte that no element has.
void copy(const OutputView& output, std::span<std::byte> memory);

}  // namespace qconform::libraries::ort
