// Failures, gathered so that one defect that many cases hit is told once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "harness/core/report.h"
#include "harness/engine/waivers.h"

namespace qconform {

/// Groups failures by backend, operator, signature and waiver, those of a model by its node too; keeps the
/// smallest case of each group.
class Findings {
 public:
  /// Returns the id of the finding that the failure counts to. `related`: the cases whose answers contradict this
  /// one's, where the verdict is that. `waiver`: the one that covers the failure, or null. Without a signature, that is
  /// the verdict's kind and rule.
  std::string add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                  const std::vector<Case>& related = {}, const Waiver* waiver = nullptr, std::string signature = {});
  /// In the order in which they were first met, numbered "F1", "F2", ...
  [[nodiscard]] std::vector<Finding> take();

 private:
  using Key = std::tuple<std::string, std::string, std::string, std::string>;
  std::map<Key, std::size_t> positions_;
  std::vector<Finding> findings_;
};

}  // namespace qconform
