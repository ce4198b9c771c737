// Gathers failures into findings, so that one defect that many cases hit is reported once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/waivers.h"
#include "harness/report/report.h"

namespace qconform {

/// The signature of a failure whose cause is not known: the verdict's kind with its rule, or with the place of a crash.
[[nodiscard]] std::string signature_of(const Verdict& verdict);

/// Groups failures by backend, operator, signature and waiver, those of a model by its node too; keeps the
/// smallest case of each group.
class Findings {
 public:
  /// Returns the id of the finding that the failure counts to. `related`: the cases whose answers contradict this
  /// one's, where the verdict is that. `waiver`: the one that covers the failure, or null. Without a signature, that is
  /// signature_of(verdict). `answer`: what the example is to record of the failure.
  std::string add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                  const std::vector<Case>& related = {}, const Waiver* waiver = nullptr, std::string signature = {},
                  const std::optional<DefectAnswer>& answer = {});
  /// Gives each finding that no waiver covers its final signature. Merges findings that then have the same one into the
  /// first of them, and drops those that are kUndetermined. Returns the new ids by the old ones; empty of the dropped.
  [[nodiscard]] std::map<std::string, std::string> settle(
      const std::function<std::string(const Finding&)>& signature_of);
  /// In the order of their first cases, numbered "F1", "F2", ...
  [[nodiscard]] std::vector<Finding> take();

 private:
  struct Key {
    std::string backend;
    std::string subject;  ///< the operator; of a model, with the node
    std::string signature;
    std::string waiver;  ///< empty without one

    auto operator<=>(const Key&) const = default;
  };
  /// The position in the list, of a finding that may be new.
  std::size_t position_of(const Key& key) { return positions_.try_emplace(key, positions_.size()).first->second; }

  std::map<Key, std::size_t> positions_;
  std::vector<Finding> findings_;
};

/// Joins findings of one backend and operator that turned out to be one, which no waiver covers: with one signature, or
/// with one smallest case where no defect is known of either. Numbers all findings anew, in the single results too.
void join_findings(Report& report);
/// Writes down by backend and operator how many failing cases are in none of the findings.
void count_undetermined(Report& report);

}  // namespace qconform
