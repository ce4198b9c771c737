#include "harness/core/layout.h"

#include <cstring>

namespace qconform {
namespace {

// Matrices of rows x columns elements, one behind the other.
struct Matrices {
  std::size_t count = 1;
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::size_t element_bytes = 1;

  [[nodiscard]] Matrices transposed() const { return {count, columns, rows, element_bytes}; }
};

Matrices channel_matrices(const Tensor& tensor) {
  Matrices m;
  m.element_bytes = static_cast<std::size_t>(bits_of(tensor.type)) / 8;
  if (tensor.shape.size() < 3) {
    m.columns = static_cast<std::size_t>(tensor.elements());
    return m;
  }
  m.count = static_cast<std::size_t>(tensor.shape[0]);
  m.rows = static_cast<std::size_t>(tensor.shape[1]);
  for (std::size_t i = 2; i < tensor.shape.size(); ++i) m.columns *= static_cast<std::size_t>(tensor.shape[i]);
  return m;
}

void transpose(std::span<const std::byte> from, std::span<std::byte> to, const Matrices& m) {
  for (std::size_t matrix = 0; matrix < m.count; ++matrix) {
    const std::size_t base = matrix * m.rows * m.columns;
    for (std::size_t row = 0; row < m.rows; ++row) {
      for (std::size_t column = 0; column < m.columns; ++column) {
        std::memcpy(to.data() + (base + column * m.rows + row) * m.element_bytes,
                    from.data() + (base + row * m.columns + column) * m.element_bytes, m.element_bytes);
      }
    }
  }
}

}  // namespace

std::string_view name_of(Layout layout) {
  return layout == Layout::channels_first ? "nchw" : "nhwc";
}

std::optional<Layout> layout_named(std::string_view name) {
  for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
    if (name == name_of(layout)) return layout;
  }
  return std::nullopt;
}

void to_channels_last(const Tensor& from, std::span<std::byte> to) {
  transpose(from.bytes, to, channel_matrices(from));
}

void to_channels_first(std::span<const std::byte> from, Tensor& to) {
  to.bytes.resize(from.size());
  transpose(from, to.bytes, channel_matrices(to).transposed());
}

}  // namespace qconform
