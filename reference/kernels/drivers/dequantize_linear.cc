#include "reference/kernels/drivers/dequantize_linear.h"

#include <optional>
#include <vector>

#include "reference/kernels/drivers/strips.h"

namespace qconform::reference {
namespace {

std::optional<DequantizeInput> input_of(const DequantizeLinear& node) {
  if (node.y_type != Element::float32 || node.layout.is_blocked()) return std::nullopt;
  switch (node.x_type) {
    case Element::uint8: return DequantizeInput::uint8;
    case Element::int8: return DequantizeInput::int8;
    case Element::int32: return DequantizeInput::int32;
    default: return std::nullopt;
  }
}

class VectorizedDequantizeLinear final : public PreparedNode {
 public:
  VectorizedDequantizeLinear(const DequantizeLinear& node, DequantizeInput input, const DequantizeLeaves& leaves)
      : layout_(node.layout),
        x_size_(input == DequantizeInput::int32 ? sizeof(std::int32_t) : 1),
        strip_(leaves.strip[static_cast<std::size_t>(input)]) {
    // float32 holds the scales of every type.
    for (std::size_t c = 0; c < node.x_scale.size(); ++c) {
      channels_.push_back({.scale = static_cast<float>(node.x_scale[c]),
                           .zero_point = static_cast<std::int32_t>(node.x_zero_point[c])});
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    for_each_strip(layout_, x.data(), x_size_, y.data(), sizeof(float),
                   [this](const std::byte* from, std::int64_t count, std::size_t channel, std::byte* to) {
                     strip_(from, count, &channels_[channel], to);
                   });
  }

 private:
  QuantizationLayout layout_;
  std::size_t x_size_;
  DequantizeStrip strip_;
  std::vector<DequantizeChannel> channels_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_vectorized_dequantize_linear(const DequantizeLinear& node,
                                                                   const DequantizeLeaves& leaves) {
  const std::optional<DequantizeInput> input = input_of(node);
  if (!input) return nullptr;
  return std::make_unique<VectorizedDequantizeLinear>(node, *input, leaves);
}

}  // namespace qconform::reference
