// Element maps of failures: wrong outputs element by element, for the report.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/element_map.h"
#include "harness/core/profile.h"
#include "harness/core/report.h"

namespace qconform {

/// How much a map may hold. It leaves out first what lies farthest from the worst element.
struct ElementMapLimits {
  std::int64_t output = 4096;  ///< elements of the output
  std::int64_t input = 8192;   ///< elements of each input
};

/// What all maps of a report may cost; later findings have none.
struct ElementMapsLimits {
  ElementMapLimits example;                                  ///< of the shrunk case
  ElementMapLimits original{.output = 1024, .input = 4096};  ///< of the case as it was met
  ElementMapLimits further{.output = 4096, .input = 4096};   ///< of the case with the clearest pattern
  std::int64_t values = 400'000;                             ///< elements in all maps together
  double seconds = 20;
};

/// Runs the case on the backend; nullopt unless values are wrong.
[[nodiscard]] std::optional<ElementMap> element_map_of(const Case& test_case, Backend& backend, const Policy& policy,
                                                       const ElementMapLimits& limits = {});

/// Gives each finding of wrong values its maps, those that no waiver covers first. Call it when the
/// examples are final.
void add_element_maps(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                      const ElementMapsLimits& limits = {});

}  // namespace qconform
