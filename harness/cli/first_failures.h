// Tells the first failure of each backend as soon as it is judged, long before anything is explained.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "harness/cli/output.h"
#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"

namespace qconform::cli {

class FirstFailures {
 public:
  /// `out`: the folder of the report. All of them outlive it.
  FirstFailures(const std::string& out, const Policy& policy, ProgressLine& line)
      : out_(out), policy_(policy), line_(line) {}

  /// Says on stderr what the first failure of backend number `backend` is, and writes its case as first-N.json with a
  /// line that replays it. A relation that is broken has two cases, which its finding gets. Later failures of the
  /// backend are not told.
  void judged(std::size_t backend, const BackendInfo& info, const Case& test_case, const Verdict& verdict);

 private:
  const std::string& out_;
  const Policy& policy_;
  ProgressLine& line_;
  std::set<std::size_t> told_;
};

}  // namespace qconform::cli
