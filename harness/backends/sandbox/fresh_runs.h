// Whether what a backend answers depends on its inputs alone: outputs of single runs, kept and compared.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "harness/base/aligned_bytes.h"
#include "harness/core/backend.h"

namespace qconform {

/// Whether outputs of a case that differ show that the backend remembers earlier runs, and are no chance: four times
/// in turn, `happens_again` gets the same outputs once more, and two runs agree that are prepared anew in memory that
/// no case lay in before. The inputs of these are kept, up to 16 MiB in a process, so that no later case gets their
/// memory.
[[nodiscard]] bool remembers(Backend& backend, const Case& test_case, const std::function<bool()>& happens_again);

/// Keeps what a run gives. Bytes that the run leaves unwritten are kPoison.
class KeptOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    output_ = Tensor{type, {shape.begin(), shape.end()}, {}};
    output_->bytes.assign(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), kPoison);
    return output_->bytes;
  }
  void refuse(Outcome /*refusal*/) override { refused_ = true; }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take(bytes, alignment);
  }

  /// The output; none where the run refused, or asked for no memory.
  [[nodiscard]] std::optional<Tensor> take() { return refused_ ? std::nullopt : std::move(output_); }

 private:
  static constexpr std::byte kPoison{0x66};

  std::optional<Tensor> output_;
  ScratchMemory scratch_;
  bool refused_ = false;
};

/// What a run of `prepared` gives.
[[nodiscard]] inline std::optional<Tensor> output_of(PreparedCase& prepared) {
  KeptOutput output;
  prepared.run(output);
  return output.take();
}

}  // namespace qconform
