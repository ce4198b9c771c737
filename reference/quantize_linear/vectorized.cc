#include "reference/quantize_linear/vectorized.h"

#include <vector>

#include "reference/linear_quantization/strips.h"

namespace qconform::reference {
namespace {

class VectorizedQuantizeLinear final : public PreparedNode {
 public:
  VectorizedQuantizeLinear(const QuantizeLinear& node, const QuantizeLeaves& leaves)
      : layout_(node.layout), strip_(leaves.strip[static_cast<std::size_t>(node.x_type)]) {
    const IntegerRange range = range_of(node.y_type);
    for (std::size_t c = 0; c < node.y_scale.size(); ++c) {
      const std::int32_t zero_point = node.y_zero_point[c];
      channels_.push_back({.scale = node.y_scale[c],
                           .zero_point = zero_point,
                           .lo = static_cast<float>(range.lo - zero_point),
                           .hi = static_cast<float>(range.hi - zero_point)});
    }
  }

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    for_each_strip(layout_, x.data(), sizeof(float), y.data(), 1,
                   [this](const std::byte* from, std::int64_t count, std::size_t channel, std::byte* to) {
                     strip_(from, count, &channels_[channel], to);
                   });
  }

 private:
  QuantizationLayout layout_;
  QuantizeStrip strip_;
  std::vector<QuantizeChannel> channels_;
};

}  // namespace

std::unique_ptr<PreparedNode> prepare_vectorized_quantize_linear(const QuantizeLinear& node,
                                                                 const QuantizeLeaves& leaves) {
  return std::make_unique<VectorizedQuantizeLinear>(node, leaves);
}

}  // namespace qconform::reference
