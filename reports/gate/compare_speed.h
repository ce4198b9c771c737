// Whether a backend became slower, beyond what its measurements vary by.
#pragma once

#include "harness/core/error.h"
#include "reports/gate/change.h"
#include "reports/gate/speeds.h"

namespace qconform::gate {

/// Rounds that a layer needs on each side: of fewer, resampling says nothing.
inline constexpr std::size_t kLeastRounds = 5;
/// A change counts when all but this share of the bootstrap's resamples lie beyond the threshold. With hundreds of
/// layers, 1 in 20 would be met by chance every time.
inline constexpr double kOutside = 0.001;

/// Compares the first backend of both: on each layer, its speed relative to every other backend that both
/// measured at the same version, so that what slows the machine down slows both. It became slower on a layer where
/// relative to each of them the speed fell by more than `slower` (0.05 stands for 5 %), and so did all but kOutside
/// of the resamples; so for the mean over all layers. A layer that is not measured any more, or not computed
/// rightly, is worse too. Other CPUs, other settings and nothing to compare with are errors.
[[nodiscard]] Result<std::vector<Change>> compare_speed(const Speeds& before, const Speeds& now, double slower);

}  // namespace qconform::gate
