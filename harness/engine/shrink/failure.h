// The properties that a shrunk case must share with the original case to count as the same failure, and the measure
// that shrinking makes smaller.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/outcome.h"
#include "harness/core/verdict.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"

namespace qconform::shrink {

/// The semantics of a case, as far as shrinking must keep them.
struct Requirement {
  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< "C8 pads" of the violation, or the rules that make it implementation-defined
  bool value_is_open = false;
  bool operator==(const Requirement&) const = default;
};

[[nodiscard]] Requirement requirement_of(const Classification& classification);

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

// How large a case is: what shrinking makes smaller with every step, so that it ends.

/// Compared from the first number to the last: what matters most to a reader comes first.
struct Measure {
  std::uint64_t nodes = 0;         ///< nodes of the graph
  std::uint64_t elements = 0;      ///< elements of inputs with their padding and of the output, where that is known
  std::uint64_t structure = 0;     ///< inputs, dimensions, attributes and what they say
  std::uint64_t zero_points = 0;   ///< zero points that are not 0
  std::uint64_t scales = 0;        ///< complexity of the scales
  std::uint64_t contributing = 0;  ///< values, weights and biases that contribute to a sum
  std::uint64_t magnitude = 0;     ///< distance of all values from those that contribute nothing
  auto operator<=>(const Measure&) const = default;
};

[[nodiscard]] Measure measure(const Case& test_case, const std::optional<std::int64_t>& output_elements);

}  // namespace qconform::shrink
