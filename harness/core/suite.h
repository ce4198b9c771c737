// A stream of cases.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/combination_coverage.h"
#include "harness/core/error.h"

namespace qconform {

/// Inputs that a suite skipped, by reason: "Relu" 3 times, say.
using SkippedCounts = std::map<std::string, std::uint64_t>;

class Suite {
 public:
  Suite() = default;
  Suite(const Suite&) = delete;
  Suite& operator=(const Suite&) = delete;
  virtual ~Suite() = default;

  /// As on the command line: "random", "onnx:DIR".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The next case, or nullopt at the end. After an error the suite is at its end.
  [[nodiscard]] virtual Result<std::optional<Case>> next() = 0;
  /// Number of cases where it is known beforehand, for progress lines.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// The inputs skipped so far, by reason.
  [[nodiscard]] virtual const SkippedCounts& skipped() const { return skipped_; }
  /// What the cases cover together, for suites that promise to cover something.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage() const { return {}; }
  /// The same for some of the cases: `chosen` says for each case, in their order, whether it counts.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& /*chosen*/) const {
    return {};
  }

 protected:
  SkippedCounts skipped_;
};

}  // namespace qconform
