// A benchmark's result as tables.
#pragma once

#include <string>

#include "harness/bench/result.h"

namespace qconform::report {

/// What stands above the table: versions, machine, layout, processors, peaks.
[[nodiscard]] std::string bench_headline(const bench::BenchResult& result);

/// For the terminal: for each layer a line for each backend, then means and totals. `colour` adds ANSI
/// colours.
[[nodiscard]] std::string bench_table(const bench::BenchResult& result, bool colour);

/// Markdown: for each layer one row, with a speed for each backend and the ratios.
[[nodiscard]] std::string bench_markdown(const bench::BenchResult& result);

}  // namespace qconform::report
