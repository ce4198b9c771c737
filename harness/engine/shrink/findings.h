// Shrinks the cases of a report's findings.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/core/report.h"
#include "harness/engine/shrink/shrink.h"

namespace qconform::shrink {

struct FindingLimits {
  Limits each;
  double seconds = 60;  ///< for all findings together; those that come too late keep their case
};

/// Replaces the example of each finding by the smallest case that fails in the same way, and its
/// verdict by that case's; what it was stays in Finding::shrinking. The backend is the one of that
/// name; findings of others, and waived ones, are left alone. `shrunk` is called with each finding that got a smaller
/// case, and the number of its backend; may be empty.
void shrink_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                     const FindingLimits& limits = {}, const std::function<void(Finding&, std::size_t)>& shrunk = {});

}  // namespace qconform::shrink
