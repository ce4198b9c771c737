#include "reports/gate/speeds.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/file.h"
#include "harness/core/verdict_named.h"
#include "harness/json/json_fields.h"
#include "reports/render/bench_document.h"

namespace qconform::gate {
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
