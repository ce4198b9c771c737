// Swarm testing (Groce et al.: Swarm Testing, ISSTA 2012): each block of random cases has its own mix
// of features. Some defects only show where a feature is absent from the whole case, or where one
// dominates; cases that all have a little of everything seldom get there.
#pragma once

#include <array>
#include <cstdint>

#include "harness/suites/rng.h"

namespace qconform {

/// What a block of cases may have more or less of than usual.
enum class Feature : std::uint8_t {
  qlinear_conv,  ///< the operators: at least one is always left
  conv_integer,
  quantize_linear,
  dequantize_linear,
  batch,            ///< more than one image
  register_widths,  ///< channel counts around the widths of vector registers
  groups,           ///< grouped and depthwise convolutions
  strides,
  dilations,
  pads,
  auto_pad,
  large_images,
  per_channel,  ///< scales and zero points
  bias,
  extreme_values,       ///< data at both ends of its type
  quiet_values,         ///< data that is mostly the zero point
  extreme_zero_points,  ///< at the ends of their type
  power_of_two_scales,
};

inline constexpr std::size_t kFeatures = 18;

/// Consecutive cases of a seed that share their weights.
inline constexpr std::uint64_t kSwarmBlock = 64;

/// The weights of one block.
class Swarm {
 public:
  /// Every feature as usual.
  Swarm() { weights_.fill(Weight::usual); }
  /// The weights of the block that case `index` of `seed` belongs to: half of the features as usual,
  /// a quarter left out, a quarter made common.
  [[nodiscard]] static Swarm of_case(std::uint64_t seed, std::uint64_t index);

  /// Draws whether a case has `feature`, which usually happens `numerator` times in `denominator`,
  /// numerator > 0. Left out: never. Common: half of the other cases have it too.
  [[nodiscard]] bool draw(Rng& rng, Feature feature, std::uint32_t numerator, std::uint32_t denominator) const;

  /// A relative frequency scaled by the feature's weight: 0, as usual, or three times as high.
  [[nodiscard]] std::uint32_t scaled(Feature feature, std::uint32_t usual) const;

 private:
  enum class Weight : std::uint8_t { none, usual, common };
  [[nodiscard]] Weight weight(Feature feature) const { return weights_[static_cast<std::size_t>(feature)]; }

  std::array<Weight, kFeatures> weights_;
};

}  // namespace qconform
