// Pictures of failures: wrong outputs element by element, for the report.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/picture.h"
#include "harness/core/profile.h"
#include "harness/core/report.h"

namespace qconform {

/// How much a picture may hold. What lies farthest from the worst element is left out first.
struct PictureLimits {
  std::int64_t output = 4096;  ///< elements of the output
  std::int64_t input = 8192;   ///< elements of each input
};

/// What a report's pictures may cost together; findings that come too late have none.
struct PicturesLimits {
  PictureLimits example;                                  ///< of the shrunk case
  PictureLimits original{.output = 1024, .input = 4096};  ///< of the case as it was met
  PictureLimits further{.output = 4096, .input = 4096};   ///< of the case with the clearest pattern
  std::int64_t values = 400'000;                          ///< elements in all pictures together
  double seconds = 20;
};

/// Runs the case on the backend; nullopt unless values are wrong.
[[nodiscard]] std::optional<Picture> picture_of(const Case& test_case, Backend& backend, const Policy& policy,
                                                const PictureLimits& limits = {});

/// Gives each finding of wrong values its pictures, those that no waiver covers first. Call it when the
/// examples are final.
void add_pictures(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                  const PicturesLimits& limits = {});

}  // namespace qconform
