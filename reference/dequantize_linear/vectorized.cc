#include "reference/dequantize_linear/vectorized.h"

#include <vector>

#include "reference/linear_quantization/strips.h"

namespace qconform::reference {
namespace {

class VectorizedDequantizeLinear final : public PreparedNode {
 public:
  VectorizedDequantizeLinear(const DequantizeLinear& node, const DequantizeLeaves& leaves)
      : layout_(node.layout),
        x_size_(node.x_type == DequantizeInput::int32 ? sizeof(std::int32_t) : 1),
        strip_(leaves.strip[static_cast<std::size_t>(node.x_type)]) {
    for (std::size_t c = 0; c < node.x_scale.size(); ++c) {
      channels_.push_back({.scale = node.x_scale[c], .zero_point = node.x_zero_point[c]});
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
  return std::make_unique<VectorizedDequantizeLinear>(node, leaves);
}

}  // namespace qconform::reference
