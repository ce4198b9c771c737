#include "reports/render/bench_json.h"

#include "reports/render/environment_json.h"

namespace qconform::report {
namespace {

using Json = nlohmann::ordered_json;
using bench::BenchResult;
using bench::LayerResult;
using bench::Timing;

Json interval_json(const bench::Interval& interval) {
  return {{"value", interval.value}, {"low", interval.low}, {"high", interval.high}};
}

// Speeds are left out where there is nothing that they would be the speed of.
Json timing_json(const BenchResult& result, const LayerResult& layer, std::size_t i) {
  const Timing& timing = layer.timings[i];
  Json json{{"backend", result.backends[i].info.name}, {"verdict", std::string(name_of(timing.verdict.kind))},
            {"detail", timing.verdict.detail},         {"layout", std::string(name_of(timing.setting.layout))},
            {"threads", timing.setting.threads},       {"runs", timing.runs}};
  if (!timing.timed()) return json;
  json["seconds"] = {{"minimum", timing.minimum},
                     {"median", timing.median},
                     {"lower_quartile", timing.lower_quartile},
                     {"upper_quartile", timing.upper_quartile},
                     {"rounds", timing.rounds}};
  if (layer.macs > 0) json["gmacs"] = layer.gmacs(timing);
  if (layer.kind == bench::LayerKind::linear) json["bytes_per_second"] = layer.bandwidth(timing);
  if (const auto share = result.peak_share(layer, i)) json["peak_share"] = *share;
  return json;
}

Json layer_json(const BenchResult& result, const LayerResult& layer) {
  Json json{{"name", layer.name},        {"set", layer.set},
            {"operator", layer.op_type}, {"kind", std::string(name_of(layer.kind))},
            {"macs", layer.macs},        {"bytes", layer.bytes},
            {"count", layer.count}};
  if (layer.memcpy_bandwidth) json["memcpy_bytes_per_second"] = *layer.memcpy_bandwidth;
  json["timings"] = Json::array();
  for (std::size_t i = 0; i < layer.timings.size(); ++i) json["timings"].push_back(timing_json(result, layer, i));
  json["ratios"] = Json::array();
  for (const bench::Ratio& ratio : layer.ratios) {
    json["ratios"].push_back({{"against", result.backends[ratio.against].info.name},
                              {"counts", ratio.counts},
                              {"speed", interval_json(ratio.speed)}});
  }
  return json;
}

Json means_json(const BenchResult& result) {
  Json list = Json::array();
  for (const bench::Mean& mean : result.means) {
    Json json{{"layers", mean.layers},
              {"against", result.backends[mean.against].info.name},
              {"counted", mean.counted},
              {"left_out", mean.left_out}};
    if (mean.counted > 0) json["speed"] = interval_json(mean.speed);
    list.push_back(std::move(json));
  }
  return list;
}

Json networks_json(const BenchResult& result) {
  Json list = Json::array();
  for (const bench::NetworkTime& network : result.networks) {
    Json seconds = Json::object();
    for (std::size_t i = 0; i < network.seconds.size(); ++i) {
      if (network.seconds[i]) seconds[result.backends[i].info.name] = *network.seconds[i];
    }
    list.push_back({{"name", network.name}, {"seconds", std::move(seconds)}});
  }
  return list;
}

}  // namespace

std::string to_json(const BenchResult& result) {
  Json json{{"format", "qconform-bench"},
            {"version", kBenchJsonVersion},
            {"environment", environment_json(result.environment)},
            {"command", result.command},
            {"seed", result.seed},
            {"profile", result.profile},
            {"layout", std::string(name_of(result.wanted.layout))},
            {"threads", result.wanted.threads},
            {"cpus", result.cpus},
            {"seconds_per_layer", result.seconds_per_layer}};
  json["peaks"] = Json::array();
  for (const bench::Peak& peak : result.peaks) {
    json["peaks"].push_back({{"instruction", peak.instruction}, {"gmacs", peak.gmacs}});
  }
  json["backends"] = Json::array();
  for (const bench::BenchBackend& backend : result.backends) {
    json["backends"].push_back({{"name", backend.info.name},
                                {"version", backend.info.version},
                                {"kind", backend.info.kind},
                                {"peak", backend.peak}});
  }
  json["layers"] = Json::array();
  for (const LayerResult& layer : result.layers) json["layers"].push_back(layer_json(result, layer));
  json["means"] = means_json(result);
  json["networks"] = networks_json(result);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qconform::report
