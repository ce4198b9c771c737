#include "reports/render/bench_document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"
#include "reports/render/terminal.h"

namespace qconform::report {

namespace {

using bench::BenchResult;
using bench::LayerResult;
using bench::Timing;

BenchInterval interval_of(const bench::SpeedInterval& interval) {
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
                       .implementation = timing.implementation,
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
  for (const bench::SpeedRatio& ratio : layer.ratios) {
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
  for (const bench::MeasuredBackend& backend : result.backends)
    document.backends.push_back({backend.info, backend.peak});
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

namespace {

using bench::SpeedInterval;

// "143 us", three digits or so.
std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.1 ? 2 : 0);
}

// A layer's speed, in products or in bytes a second.
std::string speed_text(const LayerResult& layer, const Timing& timing) {
  return layer.macs > 0 ? fmt::format("{:.1f}", layer.gmacs(timing))
                        : fmt::format("{:.1f} GB/s", layer.bandwidth(timing) * 1e-9);
}

std::string work_text(const LayerResult& layer) {
  return layer.macs > 0 ? fmt::format("{:.1f}", static_cast<double>(layer.macs) * 1e-6)
                        : fmt::format("{:.0f} MB", static_cast<double>(layer.bytes) * 1e-6);
}

std::string percent_text(const BenchResult& result, const LayerResult& layer, std::size_t backend) {
  const auto share = result.peak_share(layer, backend);
  return share ? fmt::format("{:.0f}%", *share * 100) : "";
}

std::string ratio_text(const SpeedInterval& speed) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", speed.value, speed.low, speed.high);
}

// "wrong: 3 of 12 elements wrong"
std::string verdict_text(const Verdict& verdict) {
  return std::string(name_of(verdict.kind)) + (verdict.detail.empty() ? "" : ": " + shown(verdict.detail));
}

const bench::SpeedRatio* ratio_against(const LayerResult& layer, std::size_t backend) {
  const auto found = std::find_if(layer.ratios.begin(), layer.ratios.end(),
                                  [&](const bench::SpeedRatio& ratio) { return ratio.against == backend; });
  return found == layer.ratios.end() ? nullptr : &*found;
}

// Names the settings that are not as asked for: a backend may take channels first only, or one thread.
std::string granted_text(const BenchResult& result, const Timing& timing) {
  std::string text;
  if (timing.setting.layout != result.wanted.layout) text += fmt::format(" {}", name_of(timing.setting.layout));
  if (timing.setting.threads != result.wanted.threads)
    text += fmt::format(" {}", plural(static_cast<std::uint64_t>(timing.setting.threads), "thread"));
  return text;
}

class BenchTable {
 public:
  BenchTable(const BenchResult& result, const Painter& paint, std::size_t columns) : result_(result), paint_(paint) {
    for (const LayerResult& layer : result.layers) layer_width_ = std::max(layer_width_, layer.name.size());
    for (const auto& backend : result.backends) name_width_ = std::max(name_width_, backend.info.name.size() + 5);
    constexpr std::size_t kOthers = 68;  // the other columns with the spaces between them
    stacks_ = columns != 0 && layer_width_ + name_width_ + kOthers > columns;
  }

  [[nodiscard]] std::string text() const {
    std::string text = stacks_ ? "  " : fmt::format("{:<{}} {:>9}  ", "layer", layer_width_, "MMAC");
    text += fmt::format(
        "{:<{}} {:>9} {:>9} {:>10} {:>5}  {}\n", "backend", name_width_, "minimum", "median", "GMAC/s", "peak",
        stacks_ ? "first / it" : shown(result_.backends.front().info.name) + " is so many times as fast");
    for (const LayerResult& layer : result_.layers) {
      for (std::size_t i = 0; i < layer.timings.size(); ++i) text += line(layer, i);
    }
    return text + means() + networks();
  }

 private:
  [[nodiscard]] std::string line(const LayerResult& layer, std::size_t i) const {
    const Timing& timing = layer.timings[i];
    std::string text = stacks_ ? (i == 0 ? stacked_head(layer) : "") + "  "
                               : fmt::format("{:<{}} {:>9}  ", i == 0 ? shown(layer.name) : "", layer_width_,
                                             i == 0 ? work_text(layer) : "");
    text += fmt::format("{:<{}}", shown(result_.backends[i].info.name) + granted_text(result_, timing), name_width_);
    if (!timing.timed()) return text + " " + verdict_text(timing.verdict) + "\n";
    text += fmt::format(" {:>9} {:>9} {:>10} {:>5}", time_text(timing.minimum), time_text(timing.median),
                        speed_text(layer, timing), percent_text(result_, layer, i));
    const bench::SpeedRatio* const ratio = ratio_against(layer, i);
    if (ratio != nullptr) text += "  " + ratio_text(ratio->speed);
    if (!timing.implementation.empty()) text += "  " + shown(timing.implementation);
    if (is_failure(timing.verdict.kind)) text += "  " + paint_.bad(verdict_text(timing.verdict));
    return text + "\n";
  }

  // On a narrow terminal a line of its own.
  [[nodiscard]] static std::string stacked_head(const LayerResult& layer) {
    const std::string work = work_text(layer);
    return fmt::format("{}   {}{}\n", shown(layer.name), work, layer.macs > 0 ? " MMAC" : "");
  }

  [[nodiscard]] std::string means() const {
    std::string text;
    for (const bench::Mean& mean : result_.means) {
      const std::string left_out =
          mean.left_out == 0 ? "" : fmt::format(", {} left out: not computed, or wrong", mean.left_out);
      text += fmt::format("geometric mean, {:<14} {}  against {} ({}{})\n", mean.layers + ":",
                          mean.counted == 0 ? "none" : ratio_text(mean.speed),
                          shown(result_.backends[mean.against].info.name), plural(mean.counted, "layer"), left_out);
    }
    return text;
  }

  [[nodiscard]] std::string networks() const {
    std::string text;
    for (const bench::NetworkTime& network : result_.networks) {
      text += fmt::format("all of {}:", shown(network.name));
      for (std::size_t i = 0; i < network.seconds.size(); ++i) {
        text += fmt::format("{} {} {}", i == 0 ? "" : ",", shown(result_.backends[i].info.name),
                            network.seconds[i] ? time_text(*network.seconds[i]) : "not timed in full");
      }
      text += "\n";
    }
    return text;
  }

  const BenchResult& result_;
  Painter paint_;
  bool stacks_ = false;  ///< layers stand above their rows
  std::size_t layer_width_ = 5;
  std::size_t name_width_ = 7;
};

// In a cell of Markdown's table, which a bar ends.
std::string cell_name(std::string_view name) {
  std::string text;
  for (const char c : shown(name)) text += c == '|' ? std::string("\\|") : std::string(1, c);
  return text;
}

std::string markdown_cell(const BenchResult& result, const LayerResult& layer, std::size_t i) {
  const Timing& timing = layer.timings[i];
  if (!timing.timed()) return std::string(name_of(timing.verdict.kind));
  const std::string share = percent_text(result, layer, i);
  const std::string code = timing.implementation.empty() ? "" : " " + cell_name(timing.implementation);
  return speed_text(layer, timing) + (share.empty() ? "" : " (" + share + ")") + granted_text(result, timing) + code +
         (is_failure(timing.verdict.kind) ? " **" + std::string(name_of(timing.verdict.kind)) + "**" : "");
}

std::string markdown_ratio(const LayerResult& layer, std::size_t i) {
  const bench::SpeedRatio* ratio = ratio_against(layer, i);
  return ratio == nullptr ? "" : (ratio->counts ? ratio_text(ratio->speed) : "(" + ratio_text(ratio->speed) + ")");
}

}  // namespace

std::string bench_headline(const BenchResult& result) {
  std::vector<std::string> peaks;
  for (const bench::Peak& peak : result.peaks) peaks.push_back(fmt::format("{} {:.0f}", peak.instruction, peak.gmacs));
  std::string text =
      fmt::format("qconform {}   seed {}   {}   {}   {} on cpu {}   {} s for each layer and backend\n",
                  result.environment.version, result.seed, result.environment.cpu, name_of(result.wanted.layout),
                  plural(static_cast<std::uint64_t>(result.wanted.threads), "thread"), fmt::join(result.cpus, ", "),
                  result.seconds_per_layer);
  if (!peaks.empty()) text += fmt::format("instruction peaks, GMAC/s: {}\n", fmt::join(peaks, ", "));
  return text;
}

std::string bench_table(const BenchResult& result, const Painter& paint, std::size_t columns) {
  std::string versions;
  for (const bench::MeasuredBackend& backend : result.backends) {
    versions +=
        fmt::format("{} {} ({}){}\n", shown(backend.info.name), shown(backend.info.version), shown(backend.info.kind),
                    backend.peak.empty() ? "" : ", compared with the peak of " + backend.peak);
  }
  return versions + BenchTable(result, paint, columns).text();
}

std::string bench_markdown(const BenchResult& result) {
  std::string text = bench_headline(result) + "\n| layer | MMAC |";
  std::string rule = "|---|---|";
  for (const auto& backend : result.backends) {
    text += fmt::format(" {} |", cell_name(backend.info.name));
    rule += "---|";
  }
  for (std::size_t i = 1; i < result.backends.size(); ++i) {
    text += fmt::format(" against {} |", cell_name(result.backends[i].info.name));
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const LayerResult& layer : result.layers) {
    text += fmt::format("| {} | {} |", cell_name(layer.name), work_text(layer));
    for (std::size_t i = 0; i < layer.timings.size(); ++i)
      text += fmt::format(" {} |", markdown_cell(result, layer, i));
    for (std::size_t i = 1; i < layer.timings.size(); ++i) text += fmt::format(" {} |", markdown_ratio(layer, i));
    text += "\n";
  }
  text += "\n| geometric mean over | against | times as fast | layers | left out |\n|---|---|---|---|---|\n";
  for (const bench::Mean& mean : result.means) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", cell_name(mean.layers),
                        cell_name(result.backends[mean.against].info.name),
                        mean.counted == 0 ? "" : ratio_text(mean.speed), mean.counted, mean.left_out);
  }
  return text;
}

}  // namespace qconform::report
