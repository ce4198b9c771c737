// Graphs that backends made of those of a run before they computed them: how many units they fused, and into what.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/report/report.h"

namespace qconform::cli {

/// The first graphs of a run, as many as are asked about.
class GraphSample {
 public:
  static constexpr std::size_t kMostCases = 500;
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  /// Cases of one node are left aside.
  void add(const Case& test_case);
  [[nodiscard]] const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;
  std::size_t bytes_ = 0;
};

/// Asks each backend, in a process that opens it again, and fills BackendResult::fusion, and Finding::rewritten of
/// findings on graphs. With `is_expected`, the run was meant for fusion. A backend that does not answer has none.
void add_rewritings(const GraphSample& sample, bool is_expected, const Policy& policy, Report& report);

}  // namespace qconform::cli
