// Finds where exactly a backend is wrong, and from which sizes on, for failures that no model explains: it runs cases
// like the failing one, with other sizes and other values.
//
// docs/explain.md ("Where, and from which sizes on") describes what is claimed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/defects/diagnosed_case.h"

namespace qconform::diagnose {

/// A place or a rule on values that holds all wrong elements.
struct WrongPlace {
  std::string place;                  ///< "channel % 16 >= 12", "y = -128, zero points 0"; empty where none was found
  std::uint64_t wrong_there = 0;      ///< elements of that place that were wrong in some run
  std::uint64_t right_there = 0;      ///< those that were right in every run
  std::uint64_t right_elsewhere = 0;  ///< elements outside, which were right in every run
};

struct Whereabouts : WrongPlace {
  /// Sizes at which the case starts or ends to fail while all else stays: "M >= 257 (256 passes)".
  std::vector<std::string> thresholds;
  std::string behaves;  ///< what every wrong element holds: "bias.index = channel - 1"; may be empty

  [[nodiscard]] bool is_empty() const { return thresholds.empty() && place.empty() && behaves.empty(); }
};

/// Bounds what is asked.
struct LocatingLimits {
  std::uint64_t runs = 4000;
  std::uint64_t work = std::uint64_t{1} << 28;  ///< of the reference, in products
  double seconds = 3;                           ///< that the backend takes, wall-clock time
};

/// Asks about a failing case, a small one. Deterministic, but for the limit on time. Empty where the failure shows too
/// seldom with other values, or nothing was found that held on every case that was tried. `further`: failures of the
/// same cause, which tell what wrong elements hold.
[[nodiscard]] Whereabouts locate(const Case& failing, const Runner& run, const Policy& policy,
                                 const std::vector<const Observation*>& further = {},
                                 const LocatingLimits& limits = {});

}  // namespace qconform::diagnose
