// The sum of what blocks of a campaign found. Addition is associative and commutative but for seconds, so that
// the aggregate of many blocks does not depend on which machine ran which of them, and when.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/campaign/case_rows.h"
#include "harness/campaign/timeline.h"
#include "harness/report/report.h"

namespace qconform {
class Archive;
}

namespace qconform::campaign {

/// Describes which corner cases were reached, in a tenth of the room that a report takes for them.
void describe_compactly(Archive& archive, const char* key, CornerCaseCoverage& coverage);

/// A failing case: it can be drawn again from its index.
struct FailingCase {
  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, bytes, {}, "bytes");  ///< bytes of its inputs
  QC_FIELD(std::uint64_t, index, {}, "index");
  QC_FIELD(Verdict, verdict, {}, "verdict");

  [[nodiscard]] bool is_smaller_than(const FailingCase& other) const {
    return std::pair(bytes, index) < std::pair(other.bytes, other.index);
  }
};

struct Failures {
  static constexpr std::size_t kSampled = 128;

  QC_DESCRIBED();
  QC_FIELD(std::uint64_t, cases, {}, "cases");
  QC_FIELD(FailingCase, smallest, {}, "smallest");  ///< by bytes, then by index
  QC_FIELD(Sample, sample, {kSampled}, "sample");   ///< sample of those with values

  void add(const Failures& other);
};

struct CampaignAggregate {
  static constexpr std::size_t kSampled = 512;  ///< passing cases of each backend and operator

  using ByKey = std::map<FailureKey, Failures>;
  using ByOperator = std::map<std::pair<std::size_t, std::string>, Sample>;

  QC_DESCRIBED();
  QC_FIELD(SuiteResult, suite, {}, "suite");
  CornerCaseCoverage corner_cases;
  QC_LINE(describe_compactly(archive, "corner_cases", self.corner_cases));
  QC_FIELD(std::vector<BackendResult>, backends, {}, "backends");  ///< in the campaign's order; without info
  QC_FIELD(ByKey, failures, {}, "failures");                       ///< but for those that are kUndetermined
  QC_FIELD(ByOperator, passing, {}, "passing");                    ///< by backend and op_type
  QC_FIELD(CampaignTimeline, timeline, {}, "course", .presence = Presence::omitted);
  QC_FIELD(CaseRows, rows, {}, "rows");
  QC_FIELD(StageTimes, times, {}, "times");

  /// Both have the same backends, or one of them none at all.
  void add(const CampaignAggregate& other);
  /// Failing verdicts that no waiver covers.
  [[nodiscard]] std::uint64_t unwaived() const;
};

}  // namespace qconform::campaign
