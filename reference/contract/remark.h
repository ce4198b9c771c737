// A remark says where the description of an operator leaves the contract, or where the specification leaves the answer
// open.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qconform::reference {

/// One statement about one field. `rule` is a rule id of docs/numerics.md ("C8", "D7"); "limit" for
/// a size that qconform does not handle although the specification sets no bound.
struct Remark {
  std::string rule;
  std::string field;
  std::string message;

  /// "pads: expected 4 values (...), got 3 [rule C8]"
  [[nodiscard]] std::string text() const { return field + ": " + message + " [rule " + rule + "]"; }
};

/// Collects the remarks on one description. The first violation wins: later checks may rely on what
/// the earlier ones established, so checking stops there.
struct Contract {
  std::optional<Remark> violation;             ///< out of contract: a clear error is required
  std::vector<Remark> implementation_defined;  ///< the right value or a clean error are both right

  [[nodiscard]] bool holds() const { return !violation.has_value(); }

  /// Records a violation. Returns false, so that a check can end with `return contract.violate(...)`.
  bool violate(std::string rule, std::string field, std::string message) {
    if (!violation) violation = Remark{std::move(rule), std::move(field), std::move(message)};
    return false;
  }
  void allow(std::string rule, std::string field, std::string message) {
    implementation_defined.push_back(Remark{std::move(rule), std::move(field), std::move(message)});
  }
};

}  // namespace qconform::reference
