// The properties that a shrunk case must share with the original case to count as the same failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/outcome.h"
#include "harness/core/verdict.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"

namespace qconform::shrink {

/// The semantics of a case, as far as shrinking must keep them.
struct Lane {
  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< "C8 pads" of the violation, or the rules of the latitudes
  bool value_is_open = false;
  bool operator==(const Lane&) const = default;
};

[[nodiscard]] Lane lane_of(const Classification& classification);

/// How far the most distant wrong element is from the right value.
enum class Distance : std::uint8_t {
  none,          ///< no value is wrong
  incomparable,  ///< one of the two is NaN or infinite
  one,           ///< an integer is off by 1; a float by 1 %, or by one step of its type
  more,          ///< by more
};

/// How a backend failed, as far as shrinking must keep it.
struct Failure {
  VerdictKind kind = VerdictKind::pass;
  std::string rule;
  std::string place;  ///< for a crash, signal and function; for a stray access, tensor and side; else empty
  Distance distance = Distance::none;
  int sign = 0;  ///< sign of the error of the most distant element: -1 too low, 1 too high

  bool operator==(const Failure&) const = default;
};

/// `verdict` is that on `outcome`, and fails.
[[nodiscard]] Failure failure_of(const Expected& expected, const Outcome& outcome, const Verdict& verdict);

}  // namespace qconform::shrink
