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

/// Inputs that a source skipped, by reason: "Relu" 3 times, say.
using SkippedCounts = std::map<std::string, std::uint64_t>;

class CaseSource {
 public:
  CaseSource() = default;
  CaseSource(const CaseSource&) = delete;
  CaseSource& operator=(const CaseSource&) = delete;
  virtual ~CaseSource() = default;

  /// As on the command line: "random", "onnx:DIR".
  [[nodiscard]] virtual std::string name() const = 0;
  /// The next case, or nullopt at the end. After an error the source is at its end.
  [[nodiscard]] virtual Result<std::optional<Case>> next() = 0;
  /// Number of cases where it is known beforehand, for progress lines.
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// The inputs skipped so far, by reason.
  [[nodiscard]] virtual const SkippedCounts& skipped() const { return skipped_; }
  /// What the cases cover together, of a source that promises to cover something.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage() const { return {}; }
  /// The same of some of them: `chosen` has a place for each case given, in their order.
  [[nodiscard]] virtual std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& /*chosen*/) const {
    return {};
  }

 protected:
  SkippedCounts skipped_;
};

}  // namespace qconform
