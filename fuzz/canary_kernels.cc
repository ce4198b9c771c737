// Kernels for the canary: the reference, and a kernel set that rounds exact ties away from zero where
// the rule says to the even neighbour (rule C19). Nothing else is wrong with it, so that random data
// does not find it: a fuzzer has to.
#include <array>
#include <cstdlib>

#include "reference/kernels/kernels.h"
#include "reference/numerics/floats.h"
#include "reference/numerics/integers.h"

namespace qconform::reference {
namespace {

bool always() {
  return true;
}

std::byte rounded_half_away(std::int64_t sum, const Requantization& p) {
  const std::int32_t wrapped = wrap_to_int32(sum);
  if (tie_distance(wrapped, p.x_scale, p.w_scale, p.y_scale) != TieDistance::exact) {
    return store8(requantize(RoundingProfile::correctly_rounded, wrapped, p));
  }
  // Twice a tie is an odd integer.
  const std::int64_t twice = round_scaled_exactly(2 * std::int64_t{wrapped}, p.x_scale, p.w_scale, p.y_scale);
  const std::int64_t rounded = (twice + (twice > 0 ? 1 : -1)) / 2;
  return store8(static_cast<std::int32_t>(saturate(rounded + p.y_zero_point, p.y_range)));
}

class HalfAway final : public PreparedNode {
 public:
  HalfAway(const QLinearConv& node, std::span<const std::byte> w) : node_(node), w_(w) {}

  void run(std::span<const std::byte> x, std::span<std::byte> y) const override {
    std::vector<std::int64_t> sums(y.size());
    fast_sums(node_.operands, x, w_, sums);
    const ConvolutionGeometry& g = node_.operands.geometry;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto channel = static_cast<std::int64_t>(i) / g.output_positions() % g.output_channels;
      y[i] = rounded_half_away(sums[i], node_.requantization(static_cast<std::size_t>(channel)));
    }
  }

 private:
  QLinearConv node_;
  std::span<const std::byte> w_;
};

std::unique_ptr<PreparedNode> half_away(const QLinearConv& node, RoundingProfile profile,
                                        std::span<const std::byte> w) {
  if (profile != RoundingProfile::correctly_rounded) return prepare_scalar_qlinear_conv(node, profile, w);
  return std::make_unique<HalfAway>(node, w);
}

}  // namespace

std::span<const KernelSet> kernel_sets() {
  static const std::array kSets{
      KernelSet{"scalar", "the reference", always, prepare_scalar_qlinear_conv, prepare_scalar_conv_integer,
                prepare_scalar_quantize_linear, prepare_scalar_dequantize_linear},
      KernelSet{"half-away", "ties away from zero", always, half_away, prepare_scalar_conv_integer,
                prepare_scalar_quantize_linear, prepare_scalar_dequantize_linear}};
  return kSets;
}

}  // namespace qconform::reference
