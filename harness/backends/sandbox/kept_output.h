// The output of one run, in memory of its own.
#pragma once

#include <optional>
#include <utility>

#include "harness/core/backend.h"

namespace qconform {

/// Keeps the output of a run. Bytes that the run leaves unwritten are kPoison.
class KeptOutput final : public OutputSink {
 public:
  std::span<std::byte> allocate(ElementType type, std::span<const std::int64_t> shape) override {
    output_ = Tensor{type, {shape.begin(), shape.end()}, {}};
    output_->bytes.assign(static_cast<std::size_t>(bytes_for(type, elements_of(shape))), kPoison);
    return output_->bytes;
  }
  void refuse(Outcome /*refusal*/) override { refused_ = true; }

  /// The output; none where the run refused, or asked for no memory.
  [[nodiscard]] std::optional<Tensor> take() { return refused_ ? std::nullopt : std::move(output_); }

 private:
  static constexpr std::byte kPoison{0x66};

  std::optional<Tensor> output_;
  bool refused_ = false;
};

/// What a run of `prepared` gives.
[[nodiscard]] inline std::optional<Tensor> output_of(PreparedCase& prepared) {
  KeptOutput output;
  prepared.run(output);
  return output.take();
}

}  // namespace qconform
