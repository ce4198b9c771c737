// Statistics of repeated measurements, and how far they can be trusted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/draws/rng.h"

namespace qconform::bench {

/// Value below which the share `q` of the samples lies, interpolated linearly; q in [0, 1]. 0 of no samples.
[[nodiscard]] double quantile(std::vector<double> samples, double q);
[[nodiscard]] double median(std::vector<double> samples);

/// An estimate with the interval that 95 of 100 bootstrap resamples gave.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How many times as fast as `others` `ours` is: the median over rounds of others[i] / ours[i]. Seconds, a
/// value for each round, in the same order: what disturbs the machine for longer than a round disturbs both.
/// Both have the same number of rounds, at least one.
[[nodiscard]] Interval speed_ratio(std::span<const double> ours, std::span<const double> others, Rng& rng);

struct PairedRounds {
  std::span<const double> ours;
  std::span<const double> others;
};
/// The geometric mean of several layers' ratios: rounds are resampled in each layer, layers are not.
[[nodiscard]] Interval geometric_mean(std::span<const PairedRounds> layers, Rng& rng);

/// How many times as fast as before `ours` became, held against the same others: the quotient of two medians of
/// ratios, each resampled by itself. The geometric mean over layers; `before` and `now` have the same layers in the
/// same order. The interval holds all but `outside` of the resamples, half of it on either side.
[[nodiscard]] Interval change_of_speed(std::span<const PairedRounds> before, std::span<const PairedRounds> now,
                                       double outside, Rng& rng);

}  // namespace qconform::bench
