#include "harness/bench/result.h"

#include <algorithm>
#include <cmath>

namespace qconform::bench {
namespace {

constexpr int kResamples = 1000;
constexpr int kRareResamples = 10000;  // for intervals that hold all but few of them
constexpr double kTail = 0.025;

std::vector<double> ratios_of(const PairedRounds& rounds) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds.ours.size(); ++i) ratios.push_back(rounds.others[i] / rounds.ours[i]);
  return ratios;
}

double resampled_median(const std::vector<double>& samples, Rng& rng) {
  std::vector<double> drawn(samples.size());
  for (double& value : drawn) value = samples[rng.below(static_cast<std::uint32_t>(samples.size()))];
  return median(std::move(drawn));
}

SpeedInterval around(double value, const std::vector<double>& resamples) {
  return {value, quantile(resamples, kTail), quantile(resamples, 1 - kTail)};
}

std::vector<std::vector<double>> all_ratios(std::span<const PairedRounds> layers) {
  std::vector<std::vector<double>> ratios;
  for (const PairedRounds& layer : layers) ratios.push_back(ratios_of(layer));
  return ratios;
}

}  // namespace

double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double position = q * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (position - static_cast<double>(below)) * (samples[above] - samples[below]);
}

double median(std::vector<double> samples) {
  return quantile(std::move(samples), 0.5);
}

SpeedInterval speed_ratio(std::span<const double> ours, std::span<const double> others, Rng& rng) {
  const PairedRounds layer{ours, others};
  return geometric_mean({&layer, 1}, rng);
}

SpeedInterval geometric_mean(std::span<const PairedRounds> layers, Rng& rng) {
  if (layers.empty()) return {};
  std::vector<std::vector<double>> ratios;
  double logarithm = 0;
  for (const PairedRounds& layer : layers) {
    ratios.push_back(ratios_of(layer));
    logarithm += std::log(median(ratios.back()));
  }
  const auto count = static_cast<double>(layers.size());
  std::vector<double> resamples(kResamples);
  for (double& resample : resamples) {
    double sum = 0;
    for (const std::vector<double>& layer : ratios) sum += std::log(resampled_median(layer, rng));
    resample = std::exp(sum / count);
  }
  return around(std::exp(logarithm / count), resamples);
}

SpeedInterval change_of_speed(std::span<const PairedRounds> before, std::span<const PairedRounds> now, double outside,
                              Rng& rng) {
  if (before.empty()) return {};
  const auto old_ratios = all_ratios(before);
  const auto new_ratios = all_ratios(now);
  const auto count = static_cast<double>(before.size());
  const auto mean = [&](auto&& median_of) {
    double sum = 0;
    for (std::size_t i = 0; i < old_ratios.size(); ++i) {
      sum += std::log(median_of(new_ratios[i])) - std::log(median_of(old_ratios[i]));
    }
    return std::exp(sum / count);
  };
  std::vector<double> resamples(kRareResamples);
  for (double& resample : resamples) {
    resample = mean([&](const std::vector<double>& samples) { return resampled_median(samples, rng); });
  }
  return {mean([](const std::vector<double>& samples) { return median(samples); }), quantile(resamples, outside / 2),
          quantile(resamples, 1 - outside / 2)};
}

}  // namespace qconform::bench
