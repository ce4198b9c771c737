// Checks whether the answers of a backend depend on its inputs alone: keeps the outputs of single runs and compares
// them.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/base/aligned_bytes.h"
#include "harness/core/backend.h"

namespace qconform {

/// Whether outputs of a case differ because the backend remembers earlier runs, and not by chance: four times
/// in turn, `happens_again` gets the same outputs once more, and two runs agree that are prepared anew in memory that
/// no case lay in before. The inputs of these are kept, up to 16 MiB in a process, so that no later case gets their
/// memory.
[[nodiscard]] bool remembers(Backend& backend, const Case& test_case, const std::function<bool()>& happens_again);

/// Keeps the output of a run. Bytes that the run leaves unwritten are kPoison.
class KeptOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(std::size_t output, ElementType type, std::span<const std::int64_t> shape) override {
    if (outputs_.size() <= output) outputs_.resize(output + 1);
    Tensor& tensor = outputs_[output] = {type, {shape.begin(), shape.end()}, {}};
    tensor.bytes.assign(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), kPoison);
    return tensor.bytes;
  }
  void refuse(Outcome /*refusal*/) override { refused_ = true; }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  /// The outputs; none where the run refused, or asked for no memory.
  [[nodiscard]] std::optional<std::vector<Tensor>> take() {
    return refused_ || outputs_.empty() ? std::nullopt : std::optional(std::move(outputs_));
  }

 private:
  static constexpr std::byte kPoison{0x66};

  std::vector<Tensor> outputs_;
  ScratchMemory scratch_;
  bool refused_ = false;
};

/// Runs `prepared` once and returns its outputs; none where the run refused, or asked for no memory.
[[nodiscard]] inline std::optional<std::vector<Tensor>> outputs_of(PreparedCase& prepared) {
  KeptOutput output;
  prepared.run(output);
  return output.take();
}

}  // namespace qconform
