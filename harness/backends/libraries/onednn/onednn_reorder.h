// oneDNN's reorder as QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <dnnl.hpp>
#include <span>
#include <vector>

#include "harness/backends/libraries/onednn/onednn_quantization.h"

namespace qconform::libraries::dnn {

class PackedReorder {
 public:
  /// `engine`, `stream` and the memory of `x` outlive it. Throws dnnl::error for what the library does not take.
  PackedReorder(const dnnl::engine& engine, dnnl::stream& stream, const Linear& node, Quantization quantization,
                std::span<std::byte> x, std::vector<std::int64_t> shape);

  void write_to(std::span<std::byte> y);
  /// Throws dnnl::error.
  void run();

  [[nodiscard]] const std::vector<std::int64_t>& y_shape() const { return shape_; }
  [[nodiscard]] ElementType y_type() const { return y_type_; }

 private:
  dnnl::stream& stream_;
  Quantization quantization_;
  ElementType y_type_;
  std::vector<std::int64_t> shape_;
  dnnl::memory x_, y_;
  dnnl::reorder reorder_;
};

}  // namespace qconform::libraries::dnn
