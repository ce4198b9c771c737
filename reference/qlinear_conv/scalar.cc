#include "reference/numerics/round.h"
#include "reference/qlinear_conv/qlinear_conv.h"

namespace qconform::reference {

void qlinear_conv(const QLinearConv& node, RoundingProfile profile, std::span<const std::byte> x,
                  std::span<const std::byte> w, std::span<std::byte> y) {
  std::vector<std::int64_t> sums(y.size());
  accumulate(node.operands, x, w, sums);
  requantize_sums(node, profile, sums, y);
}

void requantize_sums(const QLinearConv& node, RoundingProfile profile, std::span<const std::int64_t> sums,
                     std::span<std::byte> y) {
  const ConvolutionGeometry& geometry = node.operands.geometry;
  const auto positions = static_cast<std::size_t>(geometry.output_positions());
  const auto channels = static_cast<std::size_t>(geometry.output_channels);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t channel = i / positions % channels;
    y[i] = store8(requantize(profile, wrap_to_int32(sums[i]), node.requantization(channel)));
  }
}

}  // namespace qconform::reference
