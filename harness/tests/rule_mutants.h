// Every rule broken on purpose, and which vectors of the corpus notice.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/judge/judge.h"

namespace qconform::testing {

/// A vector, and what the rules as they are say about it.
struct Vector {
  Case test_case;
  Expected expected;
  std::unique_ptr<diagnose::ModelledCase> modelled;  ///< null where there is nothing to model
};

/// One way to break one rule.
struct RuleMutant {
  std::string rule;  ///< rule of docs/numerics.md, or a tier
  std::string name;
  /// Whether the vector contradicts the broken rule: what it records, or the expectation that it states.
  std::function<bool(const Vector&)> notices;
};

[[nodiscard]] std::vector<RuleMutant> rule_mutants();

}  // namespace qconform::testing
