// A benchmark: layers on backends, side by side, in turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench/participant.h"
#include "harness/bench/result.h"
#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/model/draws/draws.h"

namespace qconform::bench {

/// A backend by its name; opened in a process of its own for every layer.
struct Contestant {
  std::string name;
  OpenBackend open;
  std::vector<std::string> program = {};  ///< serves it in place of `open`, as Participant::start says; empty: none
};

struct RoundOptions {
  RunConditions conditions;
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

// Measures the machine's peaks, which kernels are held against: products of 8-bit values added up, and memory copied.

/// The peak of every kernel set's instruction that this CPU has, on one of `cpus`: the fastest of several short loops.
/// Takes some tens of milliseconds for each.
[[nodiscard]] std::vector<Peak> measure_peaks(const std::vector<int>& cpus);

/// The instruction among `peaks` that a backend's speed is held against: that of its instruction set where its
/// name says which ("avx512vnni", "onednn@avx2_vnni"), else the fastest. Empty without peaks.
[[nodiscard]] std::string peak_for(const std::string& backend, const std::vector<Peak>& peaks);

/// Its run copies as many bytes as the larger of x and y has. It computes nothing, so there is nothing of it
/// to be judged.
[[nodiscard]] std::unique_ptr<Backend> memcpy_backend();

/// Bytes that one run copies for the case.
[[nodiscard]] std::int64_t memcpy_bytes(const Case& test_case);

}  // namespace qconform::bench
