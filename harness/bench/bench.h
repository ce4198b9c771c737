// A benchmark: layers on backends, side by side, in turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench/participant.h"
#include "harness/bench/result.h"
#include "harness/core/profile.h"
#include "harness/model/draws/rng.h"

namespace qconform::bench {

/// A backend by its name; opened in a process of its own for every layer.
struct Contestant {
  std::string name;
  OpenBackend open;
};

struct RoundOptions {
  Place place;
  double seconds = 0.5;  ///< for each backend and layer
  Policy policy;
};

/// Times the layer on every contestant in rounds: each takes one turn in a round, in an order drawn anew. Who
/// computes the layer is judged by the reference. `infos` receives what each is.
[[nodiscard]] Result<LayerResult> run_layer(const Layer& layer, const std::vector<Contestant>& contestants,
                                            const RoundOptions& options, Rng& rng, std::vector<BackendInfo>& infos);

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
