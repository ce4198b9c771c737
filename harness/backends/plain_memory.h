// The tensors of a case as ordinary memory holds them: for backends that take their inputs from any memory, or want
// channels last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/base/bytes.h"
#include "harness/core/backend.h"

namespace qconform {

/// The case's own tensors, and ordinary memory.
class PlainInputs final : public InputMemory {
 public:
  explicit PlainInputs(const Case& test_case) : case_(test_case) {}

  /// Interfaces take a pointer to changeable memory for inputs too.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t position) override {
    const auto& bytes = case_.inputs[position]->bytes;
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t /*room*/,
                                               const Fill& fill) override {
    const std::span<std::byte> memory = converted_.emplace_back(size).bytes();
    fill(*case_.inputs[position], memory);
    return memory;
  }

 private:
  const Case& case_;
  std::vector<AlignedBytes> converted_;
};

/// prepare() of a backend that has prepare_at(): on the case's own tensors and ordinary memory.
[[nodiscard]] Preparation prepare_on_own_tensors(Backend& backend, const Case& test_case);

/// Copies a tensor whose channels come first, of shape [N, C, spatial...], into memory of the same size
/// where they come last. Elements have whole bytes; a tensor of fewer than 3 dimensions is copied as it is.
void to_channels_last(const Tensor& from, std::span<std::byte> to);

/// The inverse: `type` and `shape` are those of the tensor with channels first, which `to` gets the bytes of.
void to_channels_first(std::span<const std::byte> from, ElementType type, std::span<const std::int64_t> shape,
                       std::span<std::byte> to);
/// Turns a tensor to channels first: `to.type` and `to.shape` state it, and its bytes are replaced.
void to_channels_first(std::span<const std::byte> from, Tensor& to);

}  // namespace qconform
