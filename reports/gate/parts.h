// The parts of a comparison, one function for each concern. Internal to the gate.
#pragma once

#include <string>
#include <utility>

#include "harness/engine/waivers.h"
#include "harness/report/report.h"
#include "reports/gate/change.h"
#include "reports/gate/share.h"

namespace qconform::gate {

/// Compares two reports and notes their differences.
class ReportParts {
 public:
  ReportParts(const Report& before, const Report& now, const Waivers* waivers);

  /// Compares suites, the cases that they gave, and what they cover.
  void compare_suites();
  /// Compares the corner cases that were reached, by operator.
  void compare_corner_cases();
  /// Compares what backends did, by operator and relation.
  void compare_backends();
  void compare_findings();

  [[nodiscard]] std::vector<Change> take() { return std::move(changes_); }
  /// The causes of either report, the new ones first.
  [[nodiscard]] std::vector<ComparedCause> causes() const;
  /// Both reports are of the same suites with the same digests.
  [[nodiscard]] bool same_cases() const { return same_cases_; }

 private:
  void compare_backend(const BackendResult& before, const BackendResult& now);
  void compare_operator(const BackendResult& backend, const std::string& op_type, const OperatorResult& before,
                        const OperatorResult& now);
  void compare_tiers(const BackendResult& backend, const std::string& op_type, const TierCounts& before,
                     const TierCounts& now);
  void compare_relations(const BackendResult& before, const BackendResult& now);

  /// Effect of fewer cases of an operator, or of a corner case: a mere note with another seed, which draws them
  /// otherwise.
  [[nodiscard]] Effect less() const { return before_.seed == now_.seed ? Effect::worse : Effect::note; }

  struct Group;
  void compare_group(const Group& before, const Group& now);
  void add_new(const Finding& finding);
  void add_gone(const Group& before);
  void compare_wrong_elements();
  /// Notes what a waiver says of the finding; false where none speaks of it.
  bool is_waived(const Finding& finding);

  void add(Change change) { changes_.push_back(std::move(change)); }
  /// Adds a change of a backend; one for the worse becomes a mere note where the backend does not decide.
  void add(const BackendResult& backend, Change change);
  /// Makes a change of a finding, with backend, operator, signature, region and id filled in.
  [[nodiscard]] Change about(const Finding& finding, Effect effect, std::string what, std::string text) const;

  const Report& before_;
  const Report& now_;
  const Waivers* waivers_;
  bool same_cases_;
  std::vector<Change> changes_;
};

[[nodiscard]] const BackendResult* backend_named(const Report& report, const std::string& name);

}  // namespace qconform::gate
