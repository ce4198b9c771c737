// Holds the sets of a graph against its exact values: for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "reference/graph/sets.h"
#include "reference/oracle/graph.h"

namespace qconform::oracle {

struct SetCheck {
  std::int64_t elements = 0;   ///< elements of all values that steps compute
  std::int64_t undecided = 0;  ///< elements among these that the balls say nothing of
  std::int64_t outside = 0;    ///< exact values outside the set of some tier
  std::int64_t narrower = 0;   ///< sets that lack a value of the tier before theirs
  std::string first_outside;
};

/// Adds the elements of `program` to `check`.
inline void check_sets(const reference::graph::Program& program, SetCheck& check) {
  const std::vector<Balls> exact = exact_values(program);
  std::vector<reference::graph::Bounds> stricter;
  for (const reference::Tier tier : reference::graph::kGraphTiers) {
    const auto bounds = reference::graph::bounds_of(program, tier);
    for (std::size_t value = 0; value < stricter.size(); ++value) {
      const ElementType type = program.values[value].type;
      for (std::size_t i = 0; i < bounds[value].size(); ++i) {
        if (bounds[value].rounded(i, type).contains(stricter[value].rounded(i, type))) continue;
        ++check.narrower;
        if (!check.first_outside.empty()) continue;
        check.first_outside = "value " + std::to_string(value) + "[" + std::to_string(i) + "], tier " +
                              std::string(name_of(tier)) + " is narrower";
      }
    }
    stricter = bounds;
    for (const reference::graph::Step& step : program.steps) {
      const Balls& values = exact[step.result];
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool is_counted = tier == reference::Tier::exact;
        check.elements += is_counted ? 1 : 0;
        check.undecided += is_counted && !values[i] ? 1 : 0;
        const auto [lo, hi] = bounds[step.result].at(i);
        if (!values[i] || values[i]->meets(lo, hi)) continue;
        if (check.outside++ > 0) continue;
        check.first_outside = "value " + std::to_string(step.result) + "[" + std::to_string(i) + "], tier " +
                              std::string(name_of(tier)) + ": " + std::to_string(values[i]->nearest()) + " outside " +
                              std::to_string(lo) + ".." + std::to_string(hi);
      }
    }
  }
}

}  // namespace qconform::oracle
