// Where a backend finds the bytes of a case's inputs.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "harness/base/aligned_bytes.h"
#include "harness/core/case.h"

namespace qconform {

/// Asked while a case is prepared, from one thread; what it gave stays until the case is done with. In a worker
/// it lies between guards (harness/backends/sandbox), and only what was asked for: a backend should ask for all that
/// the implementation reads.
class InputMemory {
 public:
  using Fill = std::function<void(std::span<std::byte>)>;

  InputMemory() = default;
  InputMemory(const InputMemory&) = delete;
  InputMemory& operator=(const InputMemory&) = delete;
  virtual ~InputMemory() = default;

  /// The bytes of input `position`, which the case has, aligned to its elements at least.
  [[nodiscard]] virtual std::span<std::byte> bytes(std::size_t position) = 0;

  /// Input `position` in a form that the implementation takes instead (another layout, say): `size` bytes,
  /// which `fill` writes. `room`: how many bytes behind them the implementation is documented to read, at most 64.
  [[nodiscard]] virtual std::span<std::byte> converted(std::size_t position, std::size_t size, std::size_t room,
                                                       const Fill& fill) = 0;
};

/// The case's own tensors, and ordinary memory.
class PlainInputs final : public InputMemory {
 public:
  explicit PlainInputs(const Case& test_case) : case_(test_case) {}

  /// Interfaces take a pointer to changeable memory for inputs too.
  [[nodiscard]] std::span<std::byte> bytes(std::size_t position) override {
    const auto& bytes = case_.inputs[position]->bytes;
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] std::span<std::byte> converted(std::size_t /*position*/, std::size_t size, std::size_t /*room*/,
                                               const Fill& fill) override {
    const std::span<std::byte> memory = converted_.emplace_back(size).bytes();
    fill(memory);
    return memory;
  }

 private:
  const Case& case_;
  std::vector<AlignedBytes> converted_;
};

}  // namespace qconform
