// What a shrunk case must share with the original case to count as the same failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/verdict.h"
#include "harness/operators/operator.h"

namespace qconform::shrink {

/// What the semantics say of a case, as far as shrinking must keep it.
struct Lane {
  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< "C8 pads" of the violation, or the rules of the latitudes
  bool value_is_open = false;
  bool operator==(const Lane&) const = default;
};

[[nodiscard]] Lane lane_of(const Classification& classification);

/// How a backend failed, as far as shrinking must keep it.
class Failure {
 public:
  explicit Failure(const Verdict& verdict);
  /// Whether `verdict` may stand for the failure. Slipping from a coarse failure to an off-by-one is
  /// allowed, the reverse is not.
  [[nodiscard]] bool matches(const Verdict& verdict) const;

 private:
  VerdictKind kind_;
  std::string rule_;
  std::string detail_;  // of crashes and stray writes
  bool off_by_one_;
};

}  // namespace qconform::shrink
