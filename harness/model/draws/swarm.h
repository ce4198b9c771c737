// Swarm testing (Groce et al.: Swarm Testing, ISSTA 2012): each block of random cases has its own mix
// of features. Some defects only show where a feature is absent from the whole case, or where one
// dominates; cases that all have a little of everything seldom get there.
#pragma once

#include <array>
#include <cstdint>

#include "harness/model/draws/rng.h"

namespace qconform {

/// Something that a block of cases may have more or less often than usual: an operator, or a draw of a generator.
struct Feature {
  /// Its place among the weights of a block, below kFeatures and nobody else's (families() have a test for that). It
  /// decides on which random number the feature's weight depends: changed, all cases of all seeds change.
  std::uint8_t position;
};

inline constexpr std::size_t kFeatures = 32;
/// Features from this place on are as usual in each block: they are for generators that steer towards what a backend
/// takes.
inline constexpr std::size_t kFirstSelecting = 24;

/// Features of values and parameters, whatever the operator. Those of families are in their folders.
namespace feature {
inline constexpr Feature extreme_values{14};       ///< data at both ends of its type
inline constexpr Feature quiet_values{15};         ///< data that is mostly the zero point
inline constexpr Feature extreme_zero_points{16};  ///< at the ends of their type
inline constexpr Feature power_of_two_scales{17};

inline constexpr std::array kShared{extreme_values, quiet_values, extreme_zero_points, power_of_two_scales};
}  // namespace feature

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

  /// How much of a feature a case has. Blocks have none, as usual or common.
  enum class Weight : std::uint8_t { none, usual, common, always };
  void set(Feature feature, Weight weight) { weights_[feature.position] = weight; }
  /// These weights, and those of `other` where these are as usual.
  [[nodiscard]] Swarm over(const Swarm& other) const;

  /// Draws whether a case has `feature`, which usually happens `numerator` times in `denominator`,
  /// numerator > 0. Left out: never. Common: half of the other cases have it too.
  [[nodiscard]] bool draw(Rng& rng, Feature feature, std::uint32_t numerator, std::uint32_t denominator) const;

  [[nodiscard]] bool always_has(Feature feature) const { return weight(feature) == Weight::always; }

  /// A relative frequency scaled by the feature's weight: 0, as usual, or three times as high; always is 64 times.
  [[nodiscard]] std::uint32_t scaled(Feature feature, std::uint32_t usual) const;

 private:
  [[nodiscard]] Weight weight(Feature feature) const { return weights_[feature.position]; }

  std::array<Weight, kFeatures> weights_;
};

}  // namespace qconform
