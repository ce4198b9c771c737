#include "harness/bench/bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "harness/model/judge/judge.h"

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

namespace {

constexpr int kMostRounds = 25;
constexpr int kFewestRounds = 5;

using Participants = std::vector<std::unique_ptr<Participant>>;

Result<Participants> start_all(const Layer& layer, const std::vector<Contestant>& contestants,
                               const RunConditions& conditions) {
  Participants participants;
  for (const Contestant& contestant : contestants) {
    QCONFORM_ASSIGN(auto started, contestant.program.empty()
                                      ? Participant::start(contestant.open, layer.test_case, conditions)
                                      : Participant::start(contestant.program, layer.test_case, conditions));
    participants.push_back(std::move(started));
  }
  return participants;
}

// Records the turns of every participant, round for round.
class TurnRecord {
 public:
  explicit TurnRecord(std::size_t participants) : turns_(participants) {}

  void add(std::size_t who, const std::optional<Turn>& turn) {
    if (turn) turns_[who].push_back(*turn);
  }

  // Writes nothing for a participant that did not stay to the end: its rounds cannot be paired with the others'.
  void write(std::size_t who, std::size_t rounds, Timing& timing) const {
    const std::vector<Turn>& turns = turns_[who];
    if (turns.size() != rounds || rounds == 0) return;
    timing.minimum = turns.front().minimum;
    for (const Turn& turn : turns) {
      timing.runs += turn.runs;
      timing.minimum = std::min(timing.minimum, turn.minimum);
      timing.rounds.push_back(turn.median);
    }
    timing.median = median(timing.rounds);
    timing.lower_quartile = quantile(timing.rounds, 0.25);
    timing.upper_quartile = quantile(timing.rounds, 0.75);
  }

 private:
  std::vector<std::vector<Turn>> turns_;
};

// As many rounds as the time allows to the slowest, whose turn takes two runs at least.
int rounds_for(Participants& participants, double seconds) {
  double slowest = 0;
  for (const auto& participant : participants) {
    if (const auto turn = participant->take_turn(0)) slowest = std::max(slowest, turn->median);
  }
  if (slowest <= 0) return 0;
  return static_cast<int>(std::clamp(seconds / (2 * slowest), double{kFewestRounds}, double{kMostRounds}));
}

std::size_t play(Participants& participants, double seconds, Rng& rng, TurnRecord& record) {
  const int rounds = rounds_for(participants, seconds);
  std::vector<std::size_t> order(participants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < rounds; ++round) {
    rng.shuffle(order);
    for (const std::size_t who : order) record.add(who, participants[who]->take_turn(seconds / rounds));
  }
  return static_cast<std::size_t>(rounds);
}

void compare_with_first(LayerResult& result, Rng& rng) {
  const Timing& first = result.timings.front();
  for (std::size_t i = 1; i < result.timings.size(); ++i) {
    const Timing& other = result.timings[i];
    if (!first.timed() || !other.timed()) continue;
    result.ratios.push_back({i, speed_ratio(first.rounds, other.rounds, rng), first.counts() && other.counts()});
  }
}

// memcpy takes turns with the backends where moving bytes is what bounds them.
std::vector<Contestant> with_memcpy(std::vector<Contestant> contestants, const Layer& layer) {
  if (layer.kind != LayerKind::linear) return contestants;
  contestants.push_back({"memcpy", []() -> Result<std::unique_ptr<Backend>> { return memcpy_backend(); }});
  return contestants;
}

}  // namespace

Result<LayerResult> run_layer(const Layer& layer, const std::vector<Contestant>& contestants,
                              const RoundOptions& options, Rng& rng, std::vector<BackendInfo>& infos) {
  const Expected expected = expect(layer.test_case, options.policy);
  QCONFORM_ASSIGN(auto participants, start_all(layer, with_memcpy(contestants, layer), options.conditions));
  TurnRecord record(participants.size());
  const std::size_t rounds = play(participants, options.seconds, rng, record);

  LayerResult result{
      layer.name, layer.set, layer.test_case.node().op_type, layer.kind, layer.macs, layer.bytes, layer.count, {},
      {},         {}};
  infos.clear();
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    Participant& participant = *participants[i];
    Timing timing;
    record.write(i, rounds, timing);
    timing.setting = participant.setting();
    timing.implementation = participant.implementation();
    timing.verdict = judge(expected, participant.outcome());
    result.timings.push_back(std::move(timing));
    infos.push_back(participant.info());
  }
  if (participants.size() > contestants.size()) {
    Timing copying;
    record.write(contestants.size(), rounds, copying);
    if (copying.timed()) {
      result.memcpy_bandwidth = 2 * static_cast<double>(memcpy_bytes(layer.test_case)) / copying.median;
    }
  }
  compare_with_first(result, rng);
  return result;
}

}  // namespace qconform::bench
