#include "reference/kernels/drivers/quantize_linear.h"

#include <optional>
#include <vector>

#include "reference/kernels/drivers/strips.h"
#include "reference/quantize_linear/output.h"

namespace qconform::reference {
namespace {

// Leaves divide in float32 and give 8 bits.
std::optional<QuantizeInput> input_of(const QuantizeLinear& node) {
  const bool is_8_bit = node.y_type == Element::uint8 || node.y_type == Element::int8;
  if (!is_8_bit || node.layout.is_blocked() || !divides_in_float32(node)) return std::nullopt;
  return node.x_type == Element::int32 ? QuantizeInput::int32 : QuantizeInput::float32;
}

class VectorizedQuantizeLinear final : public PreparedNode {
 public:
  VectorizedQuantizeLinear(const QuantizeLinear& node, QuantizeInput input, const QuantizeLeaves& leaves)
      : layout_(node.layout), strip_(leaves.strip[static_cast<std::size_t>(input)]) {
    const IntegerRange range = range_of(node.y_type);
    for (std::size_t c = 0; c < node.y_scale.size(); ++c) {
      const std::int32_t zero_point = node.y_zero_point[c];
      channels_.push_back({.scale = static_cast<float>(node.y_scale[c]),
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
  const std::optional<QuantizeInput> input = input_of(node);
  if (!input) return nullptr;
  return std::make_unique<VectorizedQuantizeLinear>(node, *input, leaves);
}

}  // namespace qconform::reference
