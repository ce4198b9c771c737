// Random tensors and parameters that the generators share.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/tensor.h"
#include "harness/model/draws/rng.h"
#include "harness/model/draws/swarm.h"

namespace qconform {

/// A stream of its own that depends on where `rng` is, and leaves it there: for what generators learnt later, so that
/// cases that it does not concern stay as they are. `purpose` tells streams from one place apart.
[[nodiscard]] Rng aside(Rng rng, std::uint64_t purpose);

/// mantissa * 2^exponent with a 24-bit mantissa drawn uniformly in [2^23, 2^24); all finite, normal.
[[nodiscard]] float random_float(Rng& rng, int exponent);

/// A scale as quantized models have them: mostly between 2^-12 and 2^2, one in eight a power of two.
[[nodiscard]] float random_scale(Rng& rng, const Swarm& swarm = Swarm());

/// A zero point of an 8-bit type: zero, the middle, either end, or any value.
[[nodiscard]] std::int64_t random_zero_point(Rng& rng, ElementType type, const Swarm& swarm = Swarm());

/// 8-bit data: uniform, mostly the type's ends, or mostly the value `quiet` (a zero point).
[[nodiscard]] Tensor random_data8(Rng& rng, ElementType type, std::vector<std::int64_t> shape, std::int64_t quiet,
                                  const Swarm& swarm = Swarm());

/// Uniform bits in every element of a known type; those of the last byte that belong to none are 0.
[[nodiscard]] Tensor random_bits(Rng& rng, ElementType type, std::vector<std::int64_t> shape);

/// A tensor of an 8-bit type from values in its range.
[[nodiscard]] Tensor tensor8(ElementType type, std::vector<std::int64_t> shape,
                             const std::vector<std::int64_t>& values);

}  // namespace qconform
