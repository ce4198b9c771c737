// The outputs of one run, in memory of their own.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "harness/core/backend.h"

namespace qconform {

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

  /// The outputs; none where the run refused, or asked for no memory.
  [[nodiscard]] std::optional<std::vector<Tensor>> take() {
    return refused_ || outputs_.empty() ? std::nullopt : std::optional(std::move(outputs_));
  }

 private:
  static constexpr std::byte kPoison{0x66};

  std::vector<Tensor> outputs_;
  bool refused_ = false;
};

/// What a run of `prepared` gives.
[[nodiscard]] inline std::optional<std::vector<Tensor>> outputs_of(PreparedCase& prepared) {
  KeptOutput output;
  prepared.run(output);
  return output.take();
}

}  // namespace qconform
