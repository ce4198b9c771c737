// A benchmark as JSON states it, which `qconform bench` writes and the gate and the page read, and as a table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/bench/result.h"
#include "harness/forms/archive/archive.h"
#include "harness/report/report.h"
#include "reports/render/terminal.h"

namespace qconform::report {

inline constexpr std::array<std::string_view, 2> kBenchLayouts{"nchw", "nhwc"};
inline constexpr std::array<std::string_view, 4> kBenchKinds{"dense", "grouped", "depthwise", "linear"};
inline constexpr std::array<std::string_view, 6> kBenchMeans{"all",     "dense",     "above 40 MMAC",
                                                             "grouped", "depthwise", "linear"};
inline constexpr std::array<std::string_view, 5> kBenchProfiles{"conformance", "correctly-rounded", "ort-f32",
                                                                "onnx-reference", "dml-doc"};
inline constexpr FieldRule kAmounts{.form = Form::amount};
inline constexpr FieldRule kProcessors{.minimum = 0};

struct BenchInterval {
  QC_DESCRIBED(.name = "interval",
               .doc =
                   "How many times as fast as another backend the first one is; low and high bound 95 of 100 bootstrap "
                   "resamples of the rounds.");
  QC_FIELD(double, value, {}, "value", .form = Form::amount);
  QC_FIELD(double, low, {}, "low", .form = Form::amount);
  QC_FIELD(double, high, {}, "high", .form = Form::amount);
};

struct BenchSeconds {
  QC_DESCRIBED();
  QC_FIELD(double, minimum, {}, "minimum", .doc = "Of all runs.", .form = Form::amount);
  QC_FIELD(double, median, {}, "median", .doc = "Of the rounds, as are the quartiles.", .form = Form::amount);
  QC_FIELD(double, lower_quartile, {}, "lower_quartile", .form = Form::amount);
  QC_FIELD(double, upper_quartile, {}, "upper_quartile", .form = Form::amount);
  QC_FIELD(std::vector<double>, rounds, {}, "rounds",
           .doc = "The median of each round's runs, in the same order for every backend of the layer.", .min_items = 1,
           .items = &kAmounts);
};

struct BenchTiming {
  QC_DESCRIBED(.name = "timing");
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(std::string, verdict, {}, "verdict",
           .doc = "Of the output of the last timed run; `pass` and `vacuous` are right.", .pattern = "^[a-z][a-z-]*$");
  QC_FIELD(std::string, detail, {}, "detail");
  QC_FIELD(std::string, layout, {}, "layout", .names = kBenchLayouts, .names_def = "layout");
  QC_FIELD(int, threads, {}, "threads", .minimum = 1);
  QC_FIELD(std::string, implementation, {}, "implementation",
           .doc = "The name of the code that computed, as the backend gives it.", .presence = Presence::omitted);
  QC_FIELD(std::uint64_t, runs, {}, "runs", .doc = "0 when nothing was timed; then there are no seconds.",
           .minimum = 0);
  QC_FIELD(std::optional<BenchSeconds>, seconds, {}, "seconds");
  QC_FIELD(std::optional<double>, gmacs, {}, "gmacs", .doc = "10^9 products a second at the median.",
           .form = Form::amount);
  QC_FIELD(std::optional<double>, bytes_per_second, {}, "bytes_per_second",
           .doc = "Of x and y, at the median; of linear layers.", .form = Form::amount);
  QC_FIELD(std::optional<double>, peak_share, {}, "peak_share",
           .doc = "Of the backend's peak instruction on as many cores as it has threads, or of memcpy's bandwidth.",
           .form = Form::amount);
};

struct BenchRatio {
  QC_DESCRIBED();
  QC_FIELD(std::string, against, {}, "against");
  QC_FIELD(bool, counts, {}, "counts", .doc = "Both computed the layer rightly: it enters the means.");
  QC_FIELD(BenchInterval, speed, {}, "speed");
};

struct BenchLayer {
  QC_DESCRIBED(.name = "layer");
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(std::string, set, {}, "set");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, kind, {}, "kind", .names = kBenchKinds);
  QC_FIELD(std::int64_t, macs, {}, "macs", .doc = "Products that the convolution sums, those with padding included.",
           .minimum = 0);
  QC_FIELD(std::int64_t, bytes, {}, "bytes", .doc = "Of x and y together.", .minimum = 0);
  QC_FIELD(std::int64_t, count, {}, "count", .doc = "How often the layer occurs in its network.", .minimum = 1);
  QC_FIELD(std::optional<double>, memcpy_bytes_per_second, {}, "memcpy_bytes_per_second",
           .doc = "Bytes read and written by memcpy, which took turns with the backends; of linear layers.",
           .form = Form::amount);
  QC_FIELD(std::vector<BenchTiming>, timings, {}, "timings", .min_items = 1);
  QC_FIELD(std::vector<BenchRatio>, ratios, {}, "ratios");
};

struct BenchPeak {
  QC_DESCRIBED();
  QC_FIELD(std::string, instruction, {}, "instruction");
  QC_FIELD(double, gmacs, {}, "gmacs", .form = Form::amount);
};

struct BenchBackend {
  QC_DESCRIBED();
  BackendInfo info;
  QC_LINE(describe_members(archive, self.info));
  QC_FIELD(std::string, peak, {}, "peak",
           .doc = "The instruction whose peak its speeds are held against; empty for none.");
};

struct BenchMean {
  QC_DESCRIBED();
  QC_FIELD(std::string, layers, {}, "layers", .names = kBenchMeans);
  QC_FIELD(std::string, against, {}, "against");
  QC_FIELD(std::uint64_t, counted, {}, "counted", .minimum = 0);
  QC_FIELD(std::uint64_t, left_out, {}, "left_out",
           .doc = "Layers that one of the two did not compute, or computed wrongly.", .minimum = 0);
  QC_FIELD(std::optional<BenchInterval>, speed, {}, "speed", .doc = "Absent when no layer counts.");
};

using SecondsByBackend = std::vector<std::pair<std::string, double>>;
void describe_seconds(Archive& archive, SecondsByBackend& seconds);

struct BenchNetwork {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "name");
  SecondsByBackend seconds;  ///< in the order of the backends
  QC_LINE(describe_seconds(archive, self.seconds));
};

struct BenchDocument {
  static constexpr std::string_view kFormat = "qconform-bench";
  /// Version of the JSON form; it grows when a reader could be misled.
  static constexpr std::uint64_t kVersion = 1;

  QC_DESCRIBED();
  QC_LINE(describe_format(archive, BenchDocument::kFormat, BenchDocument::kVersion));
  QC_FIELD(Environment, environment, {}, "environment");
  QC_FIELD(std::vector<std::string>, command, {}, "command", .doc = "The arguments that the program was given.");
  QC_FIELD(std::uint64_t, seed, {}, "seed", .minimum = 0);
  QC_FIELD(std::string, profile, {}, "profile", .doc = "Which right answers are admitted.", .names = kBenchProfiles);
  QC_FIELD(std::string, layout, {}, "layout", .doc = "Asked for; what each backend was given stands with its timing.",
           .names = kBenchLayouts, .names_def = "layout");
  QC_FIELD(int, threads, {}, "threads", .doc = "Asked for, as the layout is.", .minimum = 1);
  QC_FIELD(std::vector<std::uint64_t>, cpus, {}, "cpus", .doc = "Processors that the backends were pinned to.",
           .items = &kProcessors);
  QC_FIELD(double, seconds_per_layer, {}, "seconds_per_layer", .doc = "For each backend.", .form = Form::amount);
  QC_FIELD(std::vector<BenchPeak>, peaks, {}, "peaks",
           .doc = "Measured on one core: products of a multiply-add instruction, 10^9 a second.");
  QC_FIELD(std::vector<BenchBackend>, backends, {}, "backends", .doc = "The first is compared with each of the others.",
           .min_items = 1);
  QC_FIELD(std::vector<BenchLayer>, layers, {}, "layers");
  QC_FIELD(std::vector<BenchMean>, means, {}, "means",
           .doc = "Geometric means of the ratios that count, over kinds of layers.");
  QC_FIELD(std::vector<BenchNetwork>, networks, {}, "networks",
           .doc = "All layers of a network, each as often as it occurs.");
};

[[nodiscard]] BenchDocument document_of(const bench::BenchResult& result);
/// Errors name the JSON path.
[[nodiscard]] Result<BenchDocument> read_bench(std::string_view text);

[[nodiscard]] std::string to_json(const bench::BenchResult& result);

// A benchmark's result as tables.

/// The text above the table: versions, machine, layout, processors, peaks.
[[nodiscard]] std::string bench_headline(const bench::BenchResult& result);

/// For the terminal: for each layer a line for each backend, then means and totals. Where that does not fit into so
/// many `columns`, layers stand above their lines; 0: it need not.
[[nodiscard]] std::string bench_table(const bench::BenchResult& result, const Painter& paint, std::size_t columns);

/// Markdown: for each layer one row, with a speed for each backend and the ratios.
[[nodiscard]] std::string bench_markdown(const bench::BenchResult& result);

}  // namespace qconform::report
