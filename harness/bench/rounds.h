// One layer on several backends, in turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/bench/participant.h"
#include "harness/bench/result.h"
#include "harness/core/profile.h"
#include "harness/suites/rng.h"

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

}  // namespace qconform::bench
