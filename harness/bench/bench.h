// A benchmark: layers on backends, side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/bench/rounds.h"

namespace qconform::bench {

/// Means and totals over what stands in `result.layers`; those there are replaced.
void summarize(BenchResult& result, const std::vector<LayerSource>& sources);

/// Layers done, of all, and the one that comes next.
struct BenchProgress {
  std::size_t done = 0;
  std::size_t of = 0;
  std::string next;
};

/// Times every layer and fills in `result`'s layers, backends, means and networks; its peaks are there already. Errors:
/// a backend that cannot be opened.
[[nodiscard]] Result<void> run_bench(const std::vector<LayerSource>& sources,
                                     const std::vector<Contestant>& contestants, const RoundOptions& options,
                                     const std::function<void(const BenchProgress&)>& progress, BenchResult& result);

}  // namespace qconform::bench
