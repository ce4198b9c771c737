#include "harness/engine/shrink/findings.h"

#include <algorithm>
#include <utility>

namespace qconform::shrink {
namespace {

void shrink_finding(Finding& finding, Backend& backend, const Policy& policy, const Limits& limits) {
  Result shrunk = shrink(finding.example, in_process(backend), policy, limits, finding.kind);
  Shrinking record{std::string(name_of(shrunk.ending)), shrunk.runs, shrunk.steps, shrunk.seconds, {}, {}, {}};
  if (shrunk.is_shrunk()) {
    record.original = std::exchange(finding.example, std::move(shrunk.smallest));
    finding.verdict = std::move(shrunk.verdict);
  }
  finding.shrinking = std::move(record);
}

}  // namespace

void shrink_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                     const FindingLimits& limits, const std::function<void(Finding&, std::size_t)>& shrunk) {
  double left = limits.seconds;
  for (Finding& finding : report.findings) {
    const auto backend = std::find_if(backends.begin(), backends.end(),
                                      [&](const auto& candidate) { return candidate->info().name == finding.backend; });
    // A contradiction between several cases is not one case's failure.
    if (finding.kind == VerdictKind::inconsistent) continue;
    // What is known has its small case already.
    if (finding.waiver) continue;
    if (backend == backends.end() || left <= 0) continue;
    Limits each = limits.each;
    each.seconds = std::min(each.seconds, left);
    shrink_finding(finding, **backend, policy, each);
    left -= finding.shrinking->seconds;
    if (shrunk && finding.shrinking->steps > 0) shrunk(finding, static_cast<std::size_t>(backend - backends.begin()));
  }
}

}  // namespace qconform::shrink
