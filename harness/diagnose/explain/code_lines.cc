#include "harness/diagnose/explain/code_lines.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/base/stopwatch.h"
#include "harness/diagnose/explain/explain.h"
#include "harness/engine/execute.h"
#include "harness/engine/shrink/shrink.h"
#include "harness/engine/suspects.h"

namespace qconform::diagnose {
namespace {

constexpr double kSecondsInAll = 30;
constexpr double kSeconds = 2;  // of explaining, and of shrinking
constexpr std::uint64_t kShrinkingRuns = 400;

// Cases near the failing one tell lines apart, since some of them pass: shrinking and explaining make them.
std::optional<Suspects> suspects_of(const Finding& finding, Backend& backend, const Policy& policy) {
  CodeSpectra spectra(backend, policy);
  const shrink::Runner runner = spectra.watching(shrink::in_process(backend));
  const Case& met = finding.shrinking ? finding.shrinking->original : finding.example;
  const Outcome outcome = runner(met);
  (void)shrink::shrink(met, runner, policy, {kShrinkingRuns, kSeconds, {}});
  auto observation = Observation::of(met, outcome, policy);
  ExplainOptions options;
  options.seconds = kSeconds;
  options.learning_work = 0;
  if (observation != nullptr && observation->is_failure())
    (void)explain(std::move(observation), runner, policy, options);
  auto suspects = spectra.suspects();
  return suspects && !suspects->lines.empty() ? std::optional(std::move(*suspects)) : std::nullopt;
}

}  // namespace

void add_suspects(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy) {
  const auto start = std::chrono::steady_clock::now();
  for (Finding& finding : report.findings) {
    if (finding.waiver || finding.kind == VerdictKind::inconsistent || seconds_since(start) > kSecondsInAll) continue;
    const auto backend = std::find_if(backends.begin(), backends.end(),
                                      [&](const auto& one) { return one->info().name == finding.backend; });
    if (backend == backends.end() || (*backend)->code_coverage() == nullptr) continue;
    finding.suspects = suspects_of(finding, **backend, policy);
  }
}

}  // namespace qconform::diagnose
