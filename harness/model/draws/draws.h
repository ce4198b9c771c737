// The draws of every generator: features by weight, values, and scales that make ties.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/base/rng.h"
#include "harness/core/tensor.h"

namespace qconform {

// Swarm testing (Groce et al.: Swarm Testing, ISSTA 2012): each block of random cases has its own mix
// of features. Some defects only show where a feature is absent from the whole case, or where one
// dominates; cases that all have a little of everything seldom get there.

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
  /// Makes most cases small, as where their number counts: in suites of many cases.
  void keep_small() { keeps_small_ = true; }
  [[nodiscard]] bool keeps_small() const { return keeps_small_; }
  /// These weights, and those of `other` where these are as usual. Keeps cases small where one of the two does.
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
  bool keeps_small_ = false;
};

// Random tensors and parameters that the generators share.

/// A stream of its own that depends on where `rng` is, and leaves it there: for what generators learnt later, so that
/// cases that it does not concern stay as they are. `purpose` tells streams from one place apart.
[[nodiscard]] Rng aside(Rng rng, std::uint64_t purpose);

/// mantissa * 2^exponent with a 24-bit mantissa drawn uniformly in [2^23, 2^24); all finite, normal.
[[nodiscard]] float random_float(Rng& rng, int exponent);

/// A scale as quantized models have them: mostly between 2^-12 and 2^2, one in eight a power of two.
[[nodiscard]] float random_scale(Rng& rng, const Swarm& swarm = Swarm());

/// A zero point of an 8-bit type: zero, the middle, either end, or any value.
[[nodiscard]] std::int64_t random_zero_point(Rng& rng, ElementType type, const Swarm& swarm = Swarm());

/// 8-bit data, every byte as often.
[[nodiscard]] Tensor uniform_bytes(ElementType type, std::vector<std::int64_t> shape, Rng& rng);

/// 8-bit data: uniform, mostly the type's ends, or mostly the value `quiet` (a zero point).
[[nodiscard]] Tensor random_data8(Rng& rng, ElementType type, std::vector<std::int64_t> shape, std::int64_t quiet,
                                  const Swarm& swarm = Swarm());

/// Uniform bits in every element of a known type; those of the last byte that belong to none are 0.
[[nodiscard]] Tensor random_bits(Rng& rng, ElementType type, std::vector<std::int64_t> shape);

/// A tensor of an 8-bit type from values in its range.
[[nodiscard]] Tensor tensor8(ElementType type, std::vector<std::int64_t> shape,
                             const std::vector<std::int64_t>& values);

// Output scales that put a sum, before it is rounded, on half an odd integer, or as near to it as a
// float32 lets them, or a multiplier just below a power of two: where roundings and their rules show. In exact
// arithmetic, the same on every machine.

/// RN32(|sum| * x_scale * w_scale / h) for h = half_steps / 2: with this y_scale the value before
/// rounding is h, or as near to it as a float32 can bring it. The largest float32 stands for what is
/// larger, and 0 for what is too small. Scales are finite and positive, |sum| < 2^47, half_steps > 0.
[[nodiscard]] float tie_scale(std::int64_t sum, float x_scale, float w_scale, std::int64_t half_steps);

/// The y_scale under which x_scale * w_scale / y_scale lies below 2^exponent by at most 2^-32 of it. Nothing where no
/// float32 does that: one of some hundred pairs of scales has one. Scales are finite, positive and normal, and so is
/// the result.
[[nodiscard]] std::optional<float> carry_scale(float x_scale, float w_scale, int exponent);

/// The float32 `steps` units in the last place away; the result must be finite and positive.
[[nodiscard]] float neighbour(float value, std::int64_t steps);

/// Whether y_scale lies within two units in the last place of a tie_scale() with odd half_steps below
/// 2048. No sum of 0 does.
[[nodiscard]] bool is_near_tie(std::int64_t sum, float x_scale, float w_scale, float y_scale);

}  // namespace qconform
