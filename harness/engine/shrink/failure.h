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
  /// `of_one_node`: the mark of a rounding defect, an output that is off by one, stays. What a Q makes an off-by-one,
  /// the value in front of it shows as something else, so that graphs may trade one for the other.
  explicit Failure(const Verdict& verdict, bool of_one_node = true);
  /// Whether `verdict` may stand for the failure. Slipping from a coarse failure to an off-by-one is
  /// allowed, the reverse is not.
  [[nodiscard]] bool matches(const Verdict& verdict) const;
  /// Whether an output was computed whose values or shape are wrong.
  [[nodiscard]] bool is_of_values() const { return is_computed(kind_); }

 private:
  VerdictKind kind_;
  std::string rule_;
  std::string detail_;  // of crashes and stray writes
  bool off_by_one_;
};

}  // namespace qconform::shrink
