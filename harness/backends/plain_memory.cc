#include "harness/backends/plain_memory.h"

#include <cstring>
#include <memory>
#include <utility>

#include "harness/core/backend.h"

namespace qconform {
namespace {

class CaseOnOwnTensors final : public PreparedCase {
 public:
  CaseOnOwnTensors(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PreparedCase> prepared)
      : inputs_(std::move(inputs)), prepared_(std::move(prepared)) {}
  void run(OutputSink& sink) override { prepared_->run(sink); }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PreparedCase> prepared_;
};

}  // namespace

Preparation prepare_on_own_tensors(Backend& backend, const Case& test_case) {
  auto inputs = std::make_unique<PlainInputs>(test_case);
  Preparation preparation = backend.prepare_at(test_case, *inputs);
  auto* prepared = std::get_if<std::unique_ptr<PreparedCase>>(&preparation);
  if (prepared == nullptr) return preparation;
  return std::make_unique<CaseOnOwnTensors>(std::move(inputs), std::move(*prepared));
}

namespace {

// Matrices of rows x columns elements, one behind the other.
struct Matrices {
  std::size_t count = 1;
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::size_t element_bytes = 1;

  [[nodiscard]] Matrices transposed() const { return {count, columns, rows, element_bytes}; }
};

Matrices channel_matrices(ElementType type, std::span<const std::int64_t> shape) {
  Matrices m;
  m.element_bytes = static_cast<std::size_t>(bits_of(type)) / 8;
  if (shape.size() < 3) {
    m.columns = static_cast<std::size_t>(elements_of(shape));
    return m;
  }
  m.count = static_cast<std::size_t>(shape[0]);
  m.rows = static_cast<std::size_t>(shape[1]);
  for (const std::int64_t size : shape.subspan(2)) m.columns *= static_cast<std::size_t>(size);
  return m;
}

// The size is a template argument, so that a copy is an instruction and no call.
template <std::size_t kBytes>
void transpose_matrices(const std::byte* from, std::byte* to, const Matrices& m) {
  for (std::size_t matrix = 0; matrix < m.count; ++matrix) {
    for (std::size_t column = 0; column < m.columns; ++column) {
      const std::byte* element = from + column * kBytes;
      for (std::size_t row = 0; row < m.rows; ++row, element += m.columns * kBytes, to += kBytes) {
        std::memcpy(to, element, kBytes);
      }
    }
    from += m.rows * m.columns * kBytes;
  }
}

void transpose(std::span<const std::byte> from, std::span<std::byte> to, const Matrices& m) {
  if (from.empty()) return;
  if (m.rows == 1 || m.columns == 1) {
    std::memcpy(to.data(), from.data(), from.size());
    return;
  }
  switch (m.element_bytes) {
    case 1: return transpose_matrices<1>(from.data(), to.data(), m);
    case 2: return transpose_matrices<2>(from.data(), to.data(), m);
    case 4: return transpose_matrices<4>(from.data(), to.data(), m);
    default: return transpose_matrices<8>(from.data(), to.data(), m);
  }
}

}  // namespace

void to_channels_last(const Tensor& from, std::span<std::byte> to) {
  transpose(from.bytes, to, channel_matrices(from.type, from.shape));
}

void to_channels_first(std::span<const std::byte> from, ElementType type, std::span<const std::int64_t> shape,
                       std::span<std::byte> to) {
  transpose(from, to, channel_matrices(type, shape).transposed());
}

void to_channels_first(std::span<const std::byte> from, Tensor& to) {
  to.bytes.resize(from.size());
  to_channels_first(from, to.type, to.shape, to.bytes);
}

}  // namespace qconform
