#include "harness/engine/run_relations.h"

#include <chrono>

#include "harness/engine/findings.h"
#include "harness/engine/relation_check.h"

namespace qconform {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::uint64_t& counter_of(RelationResult& result, RelationOutcome outcome) {
  switch (outcome) {
    case RelationOutcome::held: return result.held;
    case RelationOutcome::broken: return result.broken;
    case RelationOutcome::latitude: return result.latitude;
    case RelationOutcome::refused: return result.refused;
    case RelationOutcome::failed: return result.failed;
    case RelationOutcome::not_applicable: break;
  }
  return result.not_applicable;
}

class RelationRunner {
 public:
  RelationRunner(std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report)
      : backends_(backends), options_(options), report_(report), hangs_(backends.size()) {
    if (report_.backends.empty()) {
      for (const auto& backend : backends_) report_.backends.push_back({.info = backend->info()});
    }
    for (BackendResult& result : report_.backends) {
      if (!result.relations.empty()) continue;
      for (const relations::Relation& relation : relations::relations()) {
        result.relations.push_back({.id = std::string(relation.id)});
      }
    }
  }

  Result<void> run(Suite& source) {
    SuiteResult suite;
    suite.name = "relations:" + source.name();
    while (!options_.ends(failures_)) {
      const auto start = Clock::now();
      QCONFORM_ASSIGN(auto next, source.next());
      report_.times.generate += seconds_since(start);
      if (!next) break;
      ++suite.cases;
      suite.digest += digest_of(*next);
      run_case(*next, suite);
      if (options_.progress) options_.progress({suite.name, suite.cases, source.size(), failures_});
    }
    for (const auto& [reason, count] : source.skipped()) suite.skipped[reason] += count;
    report_.suites.push_back(std::move(suite));
    return {};
  }

  [[nodiscard]] bool has_failed_enough() const { return options_.has_failed_enough(failures_); }

  void finish() {
    if (has_failed_enough()) report_.stopped = kFailedEnough;
    for (Finding& finding : findings_.take()) {
      finding.id = "F" + std::to_string(report_.findings.size() + 1);
      report_.findings.push_back(std::move(finding));
    }
  }

 private:
  void run_case(const Case& base, SuiteResult& suite) {
    const auto subject = relations::subject_of(base);
    if (!subject) {
      ++suite.skipped["no relation applies: out of contract, with latitude, or without elements"];
      return;
    }
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      if (!report_.backends[i].stopped.empty()) continue;
      const auto start = Clock::now();
      run_backend(*subject, i);
      const double seconds = seconds_since(start);
      report_.backends[i].seconds += seconds;
      report_.times.backend += seconds;
    }
  }

  void run_backend(const relations::Subject& subject, std::size_t number) {
    Backend& backend = *backends_[number];
    BackendResult& result = report_.backends[number];
    const FormedOutput base = run_for_output(backend, *subject.base, output_);
    if (!base.tensor) return without_base(subject, base.verdict, number);
    const std::span<const relations::Relation> all = relations::relations();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const RelationCheck check = check_relation(all[i], subject, *base.tensor, backend, output_, options_.policy);
      ++counter_of(result.relations[i], check.outcome);
      const bool has_failed = check.outcome == RelationOutcome::failed;
      if (has_failed || check.outcome == RelationOutcome::held) {
        note_timeouts(number, has_failed && check.verdict.kind == VerdictKind::timed_out);
      }
      if (check.outcome == RelationOutcome::broken) {
        fail(result, *subject.base, check.verdict, check.derived);
      } else if (has_failed) {
        // The derived case shows its failure alone.
        fail(result, check.derived.front(), check.verdict, {});
      }
    }
  }

  // The base case was refused, or failed: no relation can be checked on it.
  void without_base(const relations::Subject& subject, const Verdict& verdict, std::size_t number) {
    BackendResult& result = report_.backends[number];
    if (is_refusal(verdict.kind)) {
      for (RelationResult& relation : result.relations) ++relation.refused;
      return;
    }
    ++result.failed_bases;
    note_timeouts(number, verdict.kind == VerdictKind::timed_out);
    fail(result, *subject.base, verdict, {});
  }

  void note_timeouts(std::size_t number, bool timed_out) {
    if (!options_.drops_hanging_backends || !hangs_.is_too_much(number, timed_out)) return;
    report_.backends[number].stopped = kHangs;
  }

  void fail(const BackendResult& result, const Case& example, const Verdict& verdict,
            const std::vector<Case>& related) {
    ++failures_;
    findings_.add(result.info.name, example, verdict, related);
  }

  std::vector<std::unique_ptr<Backend>>& backends_;
  const SuiteRunOptions& options_;
  Report& report_;
  GuardedOutput output_;
  Findings findings_;
  std::uint64_t failures_ = 0;
  HangWatch hangs_;
};

}  // namespace

Result<void> run_relations(std::vector<std::unique_ptr<Suite>>& bases, std::vector<std::unique_ptr<Backend>>& backends,
                           const SuiteRunOptions& options, Report& report) {
  if (bases.empty()) return {};
  const auto start = Clock::now();
  RelationRunner runner(backends, options, report);
  for (const auto& source : bases) {
    if (!runner.has_failed_enough()) QCONFORM_TRY(runner.run(*source));
  }
  runner.finish();
  report.times.total += seconds_since(start);
  return {};
}

}  // namespace qconform
