// The result of a benchmark: the one model that every form (JSON, tables) is rendered from. Times are in seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/verdict.h"
#include "harness/model/draws/draws.h"
#include "harness/model/layers.h"
#include "harness/report/report.h"

namespace qconform::bench {

// Statistics of repeated measurements, and how far they can be trusted.

/// Value below which the share `q` of the samples lies, interpolated linearly; q in [0, 1]. 0 of no samples.
[[nodiscard]] double quantile(std::vector<double> samples, double q);
[[nodiscard]] double median(std::vector<double> samples);

/// An estimate with the interval that 95 of 100 bootstrap resamples gave.
struct SpeedInterval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// How many times as fast as `others` `ours` is: the median over rounds of others[i] / ours[i]. Seconds, a
/// value for each round, in the same order: what disturbs the machine for longer than a round disturbs both.
/// Both have the same number of rounds, at least one.
[[nodiscard]] SpeedInterval speed_ratio(std::span<const double> ours, std::span<const double> others, Rng& rng);

struct PairedRounds {
  std::span<const double> ours;
  std::span<const double> others;
};
/// The geometric mean of several layers' ratios: rounds are resampled in each layer, layers are not.
[[nodiscard]] SpeedInterval geometric_mean(std::span<const PairedRounds> layers, Rng& rng);

/// How many times as fast as before `ours` became, held against the same others: the quotient of two medians of
/// ratios, each resampled by itself. The geometric mean over layers; `before` and `now` have the same layers in the
/// same order. The interval holds all but `outside` of the resamples, half of it on either side.
[[nodiscard]] SpeedInterval change_of_speed(std::span<const PairedRounds> before, std::span<const PairedRounds> now,
                                            double outside, Rng& rng);

// The result, from one timing to all layers.

/// The measured peak of the processor with one instruction.
struct Peak {
  std::string instruction;  ///< "vpdpbusd zmm"
  double gmacs = 0;         ///< 10^9 products of 8-bit values added to 32-bit sums, a second, on one core
};

struct MeasuredBackend {
  BackendInfo info;
  std::string peak;  ///< the instruction that its times are held against; empty where none was measured
};

/// One backend on one layer.
struct Timing {
  Verdict verdict;                  ///< verdict on the last output that was timed
  RunSetting setting;               ///< the part of the wanted setting that was granted
  std::string implementation = {};  ///< the name of the code that computed, where the backend gives one
  std::uint64_t runs = 0;
  double minimum = 0;  ///< minimum of all runs
  double median = 0;   ///< median of the rounds' medians, as are the quartiles
  double lower_quartile = 0;
  double upper_quartile = 0;
  std::vector<double> rounds;  ///< each round's median; empty where nothing was timed

  [[nodiscard]] bool timed() const { return !rounds.empty(); }
  /// Timed, and every value right: only such times are compared.
  [[nodiscard]] bool counts() const { return timed() && !is_failure(verdict.kind); }
};

/// How many times as fast as another backend the first one is.
struct SpeedRatio {
  std::size_t against = 0;  ///< position among the backends
  SpeedInterval speed;
  bool counts = false;  ///< both compute the layer rightly; otherwise it enters no mean
};

struct LayerResult {
  std::string name;
  std::string set;
  std::string op_type;
  LayerKind kind = LayerKind::dense;
  std::int64_t macs = 0;
  std::int64_t bytes = 0;
  std::int64_t count = 1;
  std::vector<Timing> timings;             ///< in the order of the backends
  std::vector<SpeedRatio> ratios;          ///< ratios of backends that were timed
  std::optional<double> memcpy_bandwidth;  ///< bytes read and written, a second; of linear layers

  /// 10^9 products a second at the median.
  [[nodiscard]] double gmacs(const Timing& timing) const { return static_cast<double>(macs) / timing.median * 1e-9; }
  /// Bytes of x and y a second at the median.
  [[nodiscard]] double bandwidth(const Timing& timing) const { return static_cast<double>(bytes) / timing.median; }
};

/// The geometric mean of ratios over some of the layers.
struct Mean {
  std::string layers;  ///< "all", "dense", "depthwise", "above 40 MMAC", "linear", "grouped"
  std::size_t against = 0;
  SpeedInterval speed;
  std::size_t counted = 0;
  std::size_t left_out = 0;  ///< layers that one of the two did not compute, or computed wrongly
};

/// All layers of a network, each as often as it occurs.
struct NetworkTime {
  std::string name;
  std::vector<std::optional<double>> seconds;  ///< seconds of each backend; absent where a layer was not timed
};

struct BenchResult {
  Environment environment;
  std::vector<std::string> command;
  std::uint64_t seed = 0;
  std::string profile;
  RunSetting wanted;
  std::vector<int> cpus;         ///< processors that the backends were pinned to
  double seconds_per_layer = 0;  ///< for each backend
  std::vector<Peak> peaks;
  std::vector<MeasuredBackend> backends;  ///< the first is compared with the others
  std::vector<LayerResult> layers;
  std::vector<Mean> means;
  std::vector<NetworkTime> networks;

  /// Speed of a backend on a layer as a share of the peak that it is held against (of as many cores as it has
  /// threads), or of memcpy's bandwidth; nullopt where there is no such measure.
  [[nodiscard]] std::optional<double> peak_share(const LayerResult& layer, std::size_t backend) const;
};

}  // namespace qconform::bench
