// How a campaign judges its cases, and explains them in its report.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/engine/waivers.h"

namespace qconform::campaign {

struct JudgeOptions {
  Policy policy;
  const Waivers* waivers = nullptr;  ///< null: nothing may fail
  bool explain = true;               ///< determine symptoms, sample cases, and look for the defects behind failures
};

/// A case of the campaign by Provenance::index: one that failed.
using CaseAt = std::function<Case(std::uint64_t)>;

}  // namespace qconform::campaign
