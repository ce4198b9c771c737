#include "reports/render/bench_document.h"

#include <nlohmann/json.hpp>

#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"

namespace qconform::report {
namespace {

using bench::BenchResult;
using bench::LayerResult;
using bench::Timing;

BenchInterval interval_of(const bench::Interval& interval) {
  return {interval.value, interval.low, interval.high};
}

// Speeds are left out where there is nothing that they would be the speed of.
BenchTiming timing_of(const BenchResult& result, const LayerResult& layer, std::size_t i) {
  const Timing& timing = layer.timings[i];
  BenchTiming document{.backend = result.backends[i].info.name,
                       .verdict = std::string(name_of(timing.verdict.kind)),
                       .detail = timing.verdict.detail,
                       .layout = std::string(name_of(timing.setting.layout)),
                       .threads = timing.setting.threads,
                       .runs = timing.runs};
  if (!timing.timed()) return document;
  document.seconds = {timing.minimum, timing.median, timing.lower_quartile, timing.upper_quartile, timing.rounds};
  if (layer.macs > 0) document.gmacs = layer.gmacs(timing);
  if (layer.kind == bench::LayerKind::linear) document.bytes_per_second = layer.bandwidth(timing);
  document.peak_share = result.peak_share(layer, i);
  return document;
}

BenchLayer layer_of(const BenchResult& result, const LayerResult& layer) {
  BenchLayer document{.name = layer.name,
                      .set = layer.set,
                      .op_type = layer.op_type,
                      .kind = std::string(name_of(layer.kind)),
                      .macs = layer.macs,
                      .bytes = layer.bytes,
                      .count = layer.count,
                      .memcpy_bytes_per_second = layer.memcpy_bandwidth};
  for (std::size_t i = 0; i < layer.timings.size(); ++i) document.timings.push_back(timing_of(result, layer, i));
  for (const bench::Ratio& ratio : layer.ratios) {
    document.ratios.push_back({result.backends[ratio.against].info.name, ratio.counts, interval_of(ratio.speed)});
  }
  return document;
}

BenchNetwork network_of(const BenchResult& result, const bench::NetworkTime& network) {
  BenchNetwork document{.name = network.name, .seconds = {}};
  for (std::size_t i = 0; i < network.seconds.size(); ++i) {
    if (network.seconds[i]) document.seconds.emplace_back(result.backends[i].info.name, *network.seconds[i]);
  }
  return document;
}

}  // namespace

void describe_seconds(Archive& archive, SecondsByBackend& seconds) {
  const FieldRule rule{.doc = "By backend; those that computed every layer rightly.", .items = &kAmounts};
  if (!archive.begin_member("seconds", rule, Presence::always, true)) return;
  std::vector<std::string> keys;
  for (const auto& [backend, value] : seconds) keys.push_back(backend);
  keys = archive.begin_map(std::move(keys), rule);
  seconds.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    archive.begin_entry(keys[i]);
    archive.value(seconds[i].second, kAmounts);
    archive.end_entry();
    if (archive.fills()) seconds[i].first = keys[i];
  }
  archive.end_map();
  archive.end_member();
}

BenchDocument document_of(const BenchResult& result) {
  BenchDocument document{.environment = result.environment,
                         .command = result.command,
                         .seed = result.seed,
                         .profile = result.profile,
                         .layout = std::string(name_of(result.wanted.layout)),
                         .threads = result.wanted.threads,
                         .cpus = {result.cpus.begin(), result.cpus.end()},
                         .seconds_per_layer = result.seconds_per_layer};
  for (const bench::Peak& peak : result.peaks) document.peaks.push_back({peak.instruction, peak.gmacs});
  for (const bench::BenchBackend& backend : result.backends) document.backends.push_back({backend.info, backend.peak});
  for (const LayerResult& layer : result.layers) document.layers.push_back(layer_of(result, layer));
  for (const bench::Mean& mean : result.means) {
    document.means.push_back({.layers = mean.layers,
                              .against = result.backends[mean.against].info.name,
                              .counted = mean.counted,
                              .left_out = mean.left_out});
    if (mean.counted > 0) document.means.back().speed = interval_of(mean.speed);
  }
  for (const bench::NetworkTime& network : result.networks) document.networks.push_back(network_of(result, network));
  return document;
}

std::string to_json(const BenchResult& result) {
  const Json json = write_document(description_of(document_of(result)));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<BenchDocument> read_bench(std::string_view text) {
  QCONFORM_ASSIGN(const auto json, parse_json(text));
  return read_document<BenchDocument>(json);
}

}  // namespace qconform::report
