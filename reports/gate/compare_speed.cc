#include "reports/gate/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/file.h"
#include "harness/bench/result.h"
#include "harness/core/verdict.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/bench_document.h"

namespace qconform::gate {
namespace {

using bench::PairedRounds;
using bench::SpeedInterval;

// Layers of both measurements, with the rounds of the backend and of one other.
struct ComparedPeer {
  std::string name;
  std::vector<PairedRounds> before;
  std::vector<PairedRounds> now;
};

struct SpeedShift {
  bool slower = true;  // relative to every peer
  bool faster = true;
  std::string text;

  void hold(const ComparedPeer& peer, const SpeedInterval& speed, double threshold) {
    slower = slower && speed.high < 1 - threshold;
    faster = faster && speed.low > 1 + threshold;
    text += fmt::format("{}{:.3f} times as fast relative to {} ({:.3f} to {:.3f})", text.empty() ? "" : ", ",
                        speed.value, peer.name, speed.low, speed.high);
  }
};

bool are_paired(const LayerTime& ours, const LayerTime& peer) {
  return ours.rounds.size() >= kLeastRounds && peer.rounds.size() == ours.rounds.size();
}

class SpeedComparison {
 public:
  SpeedComparison(const Speeds& before, const Speeds& now, double slower)
      : before_(before), now_(now), slower_(slower), ours_(now.backends.front().name) {}

  Result<std::vector<Change>> run() {
    QCONFORM_TRY(check());
    for (const SpeedLayer& layer : before_.layers) QCONFORM_TRY(compare(layer));
    compare_means();
    return std::move(changes_);
  }

 private:
  [[nodiscard]] Result<void> check();
  [[nodiscard]] Result<void> compare(const SpeedLayer& layer);
  void compare_means();
  void add(Effect effect, std::string what, const std::string& layer, std::string text) {
    Change change;
    change.effect = effect;
    change.what = std::move(what);
    change.backend = ours_;
    change.signature = layer;
    change.text = std::move(text);
    changes_.push_back(std::move(change));
  }
  void add(const SpeedShift& shift, const std::string& layer) {
    if (shift.slower) add(Effect::worse, "slower", layer, shift.text);
    if (shift.faster) add(Effect::better, "faster", layer, shift.text);
  }

  const Speeds& before_;
  const Speeds& now_;
  double slower_;
  std::string ours_;
  std::vector<ComparedPeer> peers_;
  std::vector<Change> changes_;
  Rng rng_{1};
};

Result<void> SpeedComparison::check() {
  if (before_.cpu != now_.cpu) {
    return fail("--bench", fmt::format("measured on \"{}\", the baseline on \"{}\": speeds of different CPUs are not "
                                       "compared",
                                       now_.cpu, before_.cpu));
  }
  if (before_.setting != now_.setting) {
    return fail("--bench",
                fmt::format("measured with {}, the baseline with {}: speeds of different settings are not compared",
                            now_.setting, before_.setting));
  }
  if (before_.backends.front().name != ours_) {
    return fail("--bench",
                fmt::format("measures the backend {}, the baseline {}: speeds of different backends are not compared",
                            ours_, before_.backends.front().name));
  }
  for (std::size_t i = 1; i < now_.backends.size(); ++i) {
    const SpeedBackend& peer = now_.backends[i];
    const bool is_common =
        std::any_of(before_.backends.begin() + 1, before_.backends.end(),
                    [&](const SpeedBackend& b) { return b.name == peer.name && b.version == peer.version; });
    if (is_common) peers_.push_back({peer.name, {}, {}});
  }
  if (!peers_.empty()) return {};
  return fail("--bench", fmt::format("no other backend stands in both measurements at the same version: speeds are "
                                     "compared relative to one (qconform bench --backend {} --against OTHER)",
                                     ours_));
}

Result<void> SpeedComparison::compare(const SpeedLayer& layer) {
  const LayerTime* old = layer.of(ours_);
  if (old == nullptr || !old->is_right) return {};
  const auto same =
      std::find_if(now_.layers.begin(), now_.layers.end(), [&](const SpeedLayer& l) { return l.name == layer.name; });
  const LayerTime* ours = same == now_.layers.end() ? nullptr : same->of(ours_);
  if (ours == nullptr || !ours->is_right) {
    add(Effect::worse, "not-timed", layer.name,
        ours == nullptr ? "not measured any more" : "not timed, or computed wrongly: " + ours->verdict);
    return {};
  }
  if (ours->setting != old->setting) {
    add(Effect::note, "other-setting", layer.name, fmt::format("with {}, before {}", ours->setting, old->setting));
  }
  SpeedShift shift;
  std::size_t compared = 0;
  for (ComparedPeer& peer : peers_) {
    const LayerTime* old_peer = layer.of(peer.name);
    const LayerTime* new_peer = same->of(peer.name);
    if (old_peer == nullptr || new_peer == nullptr || !old_peer->is_right || !new_peer->is_right) continue;
    if (!are_paired(*old, *old_peer) || !are_paired(*ours, *new_peer)) {
      return fail("--bench",
                  fmt::format("layer {}: {} and {} rounds of {}; at least {} are needed, and as many of {}", layer.name,
                              old->rounds.size(), ours->rounds.size(), ours_, kLeastRounds, peer.name));
    }
    peer.before.push_back({old->rounds, old_peer->rounds});
    peer.now.push_back({ours->rounds, new_peer->rounds});
    shift.hold(peer, bench::change_of_speed({&peer.before.back(), 1}, {&peer.now.back(), 1}, kOutside, rng_), slower_);
    ++compared;
  }
  if (compared > 0) {
    add(shift, layer.name);
  } else {
    add(Effect::note, "not-compared", layer.name, "no other backend computed it rightly in both measurements");
  }
  return {};
}

void SpeedComparison::compare_means() {
  SpeedShift shift;
  std::size_t layers = 0;
  for (const ComparedPeer& peer : peers_) {
    if (peer.before.empty()) continue;
    layers = std::max(layers, peer.before.size());
    shift.hold(peer, bench::change_of_speed(peer.before, peer.now, kOutside, rng_), slower_);
  }
  if (layers == 0) {
    add(Effect::worse, "not-timed", "all layers", "no layer was timed and computed rightly in both measurements");
  } else if (layers > 1) {
    add(shift, fmt::format("mean of {} layers", layers));
  }
}

}  // namespace

Result<std::vector<Change>> compare_speed(const Speeds& before, const Speeds& now, double slower) {
  return SpeedComparison(before, now, slower).run();
}

namespace {

std::string setting_of(const std::string& layout, int threads) {
  return fmt::format("{}, {} thread{}", layout, threads, threads == 1 ? "" : "s");
}

Result<LayerTime> time_of(const report::BenchTiming& timing, const std::string& where) {
  LayerTime time{timing.backend, timing.verdict, setting_of(timing.layout, timing.threads), false, {}};
  if (!timing.seconds) return time;
  time.rounds = timing.seconds->rounds;
  const auto kind = verdict_named(time.verdict);
  time.is_right = !time.rounds.empty() && kind && !is_failure(*kind);
  if (std::all_of(time.rounds.begin(), time.rounds.end(), [](double seconds) { return seconds > 0; })) return time;
  return fail(json_path(where, "seconds.rounds"), "expected seconds above 0");
}

Result<SpeedLayer> layer_of(const report::BenchLayer& layer, const std::string& where) {
  SpeedLayer result{layer.set + "/" + layer.name, {}};
  for (std::size_t i = 0; i < layer.timings.size(); ++i) {
    QCONFORM_ASSIGN(result.times.emplace_back(), time_of(layer.timings[i], json_path(json_path(where, "timings"), i)));
  }
  return result;
}

}  // namespace

const LayerTime* SpeedLayer::of(const std::string& backend) const {
  const auto found =
      std::find_if(times.begin(), times.end(), [&](const LayerTime& time) { return time.backend == backend; });
  return found == times.end() ? nullptr : &*found;
}

Result<Speeds> read_speeds(std::string_view text) {
  QCONFORM_ASSIGN(const auto document, report::read_bench(text));
  if (document.backends.empty()) return fail("backends", "expected at least one");
  Speeds result{document.environment.cpu, setting_of(document.layout, document.threads), {}, {}};
  for (const report::BenchBackend& backend : document.backends) {
    result.backends.push_back({backend.info.name, backend.info.version});
  }
  for (std::size_t i = 0; i < document.layers.size(); ++i) {
    QCONFORM_ASSIGN(result.layers.emplace_back(), layer_of(document.layers[i], json_path("layers", i)));
  }
  return result;
}

Result<Speeds> load_speeds(const std::filesystem::path& file) {
  QCONFORM_ASSIGN(const auto text, read_file(file, limits::kJsonFileBytes));
  return in_context(file.string(), read_speeds(text));
}

}  // namespace qconform::gate
