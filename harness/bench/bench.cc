#include "harness/bench/bench.h"

#include <algorithm>
#include <array>

#include "harness/bench/peaks.h"

namespace qconform::bench {
namespace {

constexpr std::int64_t kLargeLayer = 40'000'000;

struct Selection {
  const char* name;
  bool (*takes)(const LayerResult&);
};

constexpr std::array kSelections{
    Selection{"all", [](const LayerResult&) { return true; }},
    Selection{"dense", [](const LayerResult& l) { return l.kind == LayerKind::dense; }},
    Selection{"above 40 MMAC", [](const LayerResult& l) { return l.macs > kLargeLayer; }},
    Selection{"grouped", [](const LayerResult& l) { return l.kind == LayerKind::grouped; }},
    Selection{"depthwise", [](const LayerResult& l) { return l.kind == LayerKind::depthwise; }},
    Selection{"linear", [](const LayerResult& l) { return l.kind == LayerKind::linear; }},
};

std::optional<Mean> mean_of(const BenchResult& result, const Selection& selection, std::size_t against, Rng& rng) {
  Mean mean{selection.name, against, {}, 0, 0};
  std::vector<PairedRounds> rounds;
  for (const LayerResult& layer : result.layers) {
    if (!selection.takes(layer)) continue;
    const Timing& ours = layer.timings.front();
    const Timing& others = layer.timings[against];
    if (ours.counts() && others.counts()) {
      rounds.push_back({ours.rounds, others.rounds});
    } else {
      ++mean.left_out;
    }
  }
  mean.counted = rounds.size();
  if (mean.counted + mean.left_out == 0) return std::nullopt;
  mean.speed = geometric_mean(rounds, rng);
  return mean;
}

NetworkTime time_of(const BenchResult& result, const std::string& set) {
  NetworkTime time{set, {}};
  for (std::size_t i = 0; i < result.backends.size(); ++i) {
    std::optional<double> total = 0.0;
    for (const LayerResult& layer : result.layers) {
      if (layer.set != set || !total) continue;
      const Timing& timing = layer.timings[i];
      total = timing.counts() ? std::optional(*total + timing.median * static_cast<double>(layer.count)) : std::nullopt;
    }
    time.seconds.push_back(total);
  }
  return time;
}

}  // namespace

std::optional<double> BenchResult::peak_share(const LayerResult& layer, std::size_t backend) const {
  const Timing& timing = layer.timings[backend];
  if (!timing.timed()) return std::nullopt;
  if (layer.memcpy_bandwidth) return layer.bandwidth(timing) / *layer.memcpy_bandwidth;
  if (layer.macs == 0) return std::nullopt;
  for (const Peak& peak : peaks) {
    if (peak.instruction == backends[backend].peak) return layer.gmacs(timing) / (peak.gmacs * timing.setting.threads);
  }
  return std::nullopt;
}

void summarize(BenchResult& result, const std::vector<LayerSource>& sources) {
  Rng rng(result.seed);
  result.means.clear();
  result.networks.clear();
  for (std::size_t against = 1; against < result.backends.size(); ++against) {
    for (const Selection& selection : kSelections) {
      if (auto mean = mean_of(result, selection, against, rng)) result.means.push_back(std::move(*mean));
    }
  }
  for (const LayerSource& source : sources) {
    if (source.is_network) result.networks.push_back(time_of(result, source.name));
  }
}

Result<void> run_bench(const std::vector<LayerSource>& sources, const std::vector<Contestant>& contestants,
                       const RoundOptions& options, const std::function<void(const BenchProgress&)>& progress,
                       BenchResult& result) {
  Rng rng(result.seed);
  BenchProgress done;
  for (const LayerSource& source : sources) done.of += source.layers.size();
  std::vector<BackendInfo> infos;
  for (const LayerSource& source : sources) {
    for (const Layer& layer : source.layers) {
      done.next = layer.name;
      if (progress) progress(done);
      QCONFORM_ASSIGN(auto timed, run_layer(layer, contestants, options, rng, infos));
      result.layers.push_back(std::move(timed));
      ++done.done;
    }
  }
  result.backends.clear();
  for (BackendInfo& info : infos) {
    std::string peak = peak_for(info.name, result.peaks);
    result.backends.push_back({std::move(info), std::move(peak)});
  }
  summarize(result, sources);
  return {};
}

}  // namespace qconform::bench
