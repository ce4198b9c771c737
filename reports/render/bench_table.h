// A benchmark's result as tables.
#pragma once

#include <string>

#include "harness/bench/result.h"
#include "reports/render/run_tables.h"

namespace qconform::report {

/// The text above the table: versions, machine, layout, processors, peaks.
[[nodiscard]] std::string bench_headline(const bench::BenchResult& result);

/// For the terminal: for each layer a line for each backend, then means and totals. Where that does not fit into so
/// many `columns`, layers stand above their lines; 0: it need not.
[[nodiscard]] std::string bench_table(const bench::BenchResult& result, const Painter& paint, std::size_t columns);

/// Markdown: for each layer one row, with a speed for each backend and the ratios.
[[nodiscard]] std::string bench_markdown(const bench::BenchResult& result);

}  // namespace qconform::report
