#include "harness/engine/run_suites.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "harness/base/stopwatch.h"
#include "harness/engine/cold_replay.h"
#include "harness/engine/execute.h"
#include "harness/engine/failure_recorder.h"
#include "harness/engine/findings.h"
#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

// Cases wait for their workers; their inputs take no more than this, beside one case's.
constexpr std::size_t kPendingBytes = std::size_t{64} << 20;
// Bytes that a worker's process comes to hold, from which on it is asked whether that grows without end.
constexpr std::int64_t kMuchMemory = std::int64_t{32} << 20;

// The types of data and weights, and of the output: "uint8 int8 uint8".
std::string type_mix(const Case& test_case, const Expected& expected) {
  const Operator* known = operator_of(test_case);
  std::string mix;
  for (std::size_t i = 0; i < known->inputs.size(); ++i) {
    if (known->inputs[i].role != InputRole::parameter) mix += name_of(test_case.inputs[i]->type) + " ";
  }
  return mix + name_of(expected.output->type);
}

// Why a case says nothing of the nodes in it, in one line; empty where its output was judged.
std::string why_not_judged(VerdictKind kind, const std::string& detail) {
  const auto because = [&](std::string what) { return detail.empty() ? what : std::move(what) + ": " + detail; };
  switch (kind) {
    case VerdictKind::vacuous: return because("proves nothing");
    case VerdictKind::unsupported: return because("declined");
    case VerdictKind::crashed:
    case VerdictKind::timed_out:
    case VerdictKind::exited:
    case VerdictKind::threw:
    case VerdictKind::out_of_memory:
    case VerdictKind::refused:
    case VerdictKind::refused_here:
    case VerdictKind::broken_interface:
    case VerdictKind::not_judged:
    case VerdictKind::not_asked: return because(std::string(name_of(kind)));
    default: return {};
  }
}

// Nothing stands for a backend that was not asked.
bool is_without_answer(const std::optional<Outcome>& outcome) {
  return !outcome || (is_refusal(*outcome) && !outcome->elsewhere);
}

// Cases that were begun and not judged yet: workers compute while this process judges the cases before.
class CasesInFlight {
 public:
  CasesInFlight(std::vector<std::unique_ptr<Backend>>& backends, const Report& report)
      : backends_(backends), report_(report), started_(backends.size()) {
    for (const auto& backend : backends_) {
      any_valid_only_ = any_valid_only_ || backend->info().valid_only;
      if (const Worker* worker = backend->worker()) depth_ = std::max(depth_, worker->depth());
    }
  }

  [[nodiscard]] bool empty() const { return cases_.empty(); }
  [[nodiscard]] bool is_full() const { return cases_.size() >= depth_ || bytes_ > kPendingBytes; }
  [[nodiscard]] const Case& oldest() const { return cases_.front().test_case; }

  void begin(Case test_case) {
    Pending& pending = cases_.emplace_back();
    pending.test_case = std::move(test_case);
    pending.is_invalid = any_valid_only_ && classified(pending).expectation() == Expectation::invalid;
    pending.bytes = input_bytes(pending.test_case);
    bytes_ += pending.bytes;
    start_workers();
  }

  // Each worker gets of the cases in flight as many as it takes.
  void start_workers() {
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      Worker* worker = backends_[i]->worker();
      if (worker == nullptr) continue;
      for (; started_[i] < std::min(worker->depth(), cases_.size()); ++started_[i]) {
        const Pending& next = cases_[started_[i]];
        if (is_asked(i, next)) worker->start(next.test_case);
      }
    }
  }

  // Returns the backend's outcome of the oldest case; nothing where the backend is not asked.
  std::optional<Outcome> outcome_of_oldest(std::size_t number) {
    Worker* worker = backends_[number]->worker();
    if (worker != nullptr) --started_[number];
    if (!is_asked(number, cases_.front())) return std::nullopt;
    Outcome outcome = worker == nullptr ? execute(*backends_[number], oldest(), output_, &classified(cases_.front()))
                                        : worker->finish();
    if (!oldest().before.empty()) outcome = execute_after_others(*backends_[number], oldest());
    ask_siblings(*backends_[number], oldest(), output_, outcome);
    return outcome;
  }

  // Returns the classification of the oldest case, which is not asked for again.
  Classification take_classification() { return std::move(classified(cases_.front())); }

  void drop_oldest() {
    bytes_ -= cases_.front().bytes;
    cases_.pop_front();
  }

  // Gives up the cases that a worker has begun, of those in flight from `first` on.
  void abandon(std::size_t number, std::size_t first) {
    Worker* worker = backends_[number]->worker();
    if (worker == nullptr) return;
    std::size_t count = 0;
    for (std::size_t i = 0; i < started_[number]; ++i) count += is_asked(number, cases_[first + i]) ? 1 : 0;
    worker->abandon(count);
  }

  void abandon_all() {
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      abandon(i, 0);
      started_[i] = 0;
    }
    cases_.clear();
    bytes_ = 0;
  }

 private:
  struct Pending {
    Case test_case;
    std::size_t bytes = 0;                         ///< bytes of its inputs
    bool is_invalid = false;                       ///< known where a backend is not to be sent such cases
    std::optional<Classification> classification;  ///< once somebody asked for it
  };

  // The case does not move while it is pending: a classification refers to it.
  static Classification& classified(Pending& pending) {
    if (!pending.classification) pending.classification = classify(pending.test_case);
    return *pending.classification;
  }

  [[nodiscard]] bool is_asked(std::size_t backend, const Pending& pending) const {
    if (!report_.backends[backend].stopped.empty()) return false;
    return !pending.is_invalid || !backends_[backend]->info().valid_only;
  }

  std::vector<std::unique_ptr<Backend>>& backends_;
  const Report& report_;
  std::deque<Pending> cases_;
  std::size_t bytes_ = 0;
  bool any_valid_only_ = false;
  std::size_t depth_ = 1;             ///< how many cases may be in flight
  std::vector<std::size_t> started_;  ///< by backend: how many cases in flight its worker has
  GuardedOutput output_;
};

// Counts the corner cases of what was computed: by each backend and operator, and by any backend.
class CornerCaseCounter {
 public:
  explicit CornerCaseCounter(std::size_t backends) : computed_(backends) {}

  void add(const Case& test_case, const Expected& expected, std::span<const CaseResult::OfBackend> results,
           Report& report) {
    if (!expected.output) return;
    bool any_computed = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!is_computed(results[i].verdict)) continue;
      any_computed = true;
      auto& [op_type, computed] = *computed_[i].try_emplace(test_case.subject()).first;
      for (std::size_t h = 0; h < kCornerCases; ++h) computed[h] += expected.corner_cases.all()[h] > 0 ? 1 : 0;
      OperatorResult& result = report.backends[i].operators[test_case.subject()];
      result.exact_ties += expected.ties.exact;
      result.near_ties += expected.ties.near;
    }
    if (any_computed)
      report.corner_cases.add(test_case.subject(), type_mix(test_case, expected), expected.corner_cases);
  }

  void report_counts(Report& report) const {
    for (std::size_t i = 0; i < computed_.size(); ++i) {
      for (const auto& [op_type, computed] : computed_[i]) {
        Counts& counts = report.backends[i].operators[op_type].corner_cases;
        for (std::size_t h = 0; h < kCornerCases; ++h) {
          if (computed[h] > 0) counts[std::string(info_of(static_cast<CornerCase>(h)).id)] += computed[h];
        }
      }
    }
  }

 private:
  /// By backend and operator: cases that it computed, by corner case.
  std::vector<std::map<std::string, std::array<std::uint64_t, kCornerCases>>> computed_;
};

void count_case(const Case& test_case, const Expected& expected, SuiteResult& suite) {
  suite.digest += digest_of(test_case);
  ++suite.cases;
  ++suite.expectations[expected.classification.is_judged() ? std::string(name_of(expected.classification.expectation()))
                                                           : std::string(SuiteResult::kNotJudged)];
  if (expected.output) suite.elements += static_cast<std::uint64_t>(expected.output->elements());
  suite.exact_ties += expected.ties.exact;
  suite.near_ties += expected.ties.near;
  if (expected.recorded_output_disputed) {
    suite.disputed.push_back(test_case.id + ": its recorded output is not what the rules give");
  }
  if (expected.defect_disputed) {
    suite.disputed.push_back(test_case.id + ": the rules admit what its defect gave");
  }
  if (expected.expectation_disputed) {
    const auto* remark = expected.classification.deciding_remark();
    suite.disputed.push_back(test_case.id + ": stated " + std::string(name_of(test_case.expectation)) + ", found " +
                             std::string(name_of(expected.classification.expectation())) +
                             (remark == nullptr ? "" : ": " + remark->text()));
  }
}

void count_verdict(const Case& test_case, const Verdict& verdict, BackendResult& result) {
  OperatorResult& counts = result.operators[test_case.subject()];
  ++counts.verdicts[static_cast<std::size_t>(verdict.kind)];
  counts.elements += verdict.elements;
  counts.wrong_elements += verdict.wrong_elements;
  counts.tiers.add(verdict.tiers);
  counts.errors.add(verdict.errors);
  if (verdict.worst) result.note_worst(test_case.id, *verdict.worst);
  if (verdict.kind == VerdictKind::vacuous) ++counts.vacuous_reasons[verdict.detail];
  if (verdict.kind == VerdictKind::unsupported) ++counts.unsupported_reasons[verdict.detail];
  if (verdict.kind == VerdictKind::not_judged) ++counts.not_judged_reasons[verdict.detail];
}

}  // namespace

class SuiteRunner {
 public:
  SuiteRunner(std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report)
      : backends_(backends),
        options_(options),
        report_(report),
        in_flight_(backends, report),
        hangs_(backends.size()),
        growths_(backends.size()),
        computed_(backends.size()),
        corner_cases_(backends.size()),
        failures_(backends, options, report),
        replays_(backends.size(), ColdReplays(options.replays)) {
    if (options.results) table_.emplace(*options.results);
    for (const auto& backend : backends_) report_.backends.push_back({.info = backend->info()});
  }

  Result<void> run(Suite& source, int turn) {
    failures_.set_turn(turn);
    suite_ = {};
    suite_.name = source.name();
    computed_in_suite_.assign(backends_.size(), {});
    is_model_ = source.node_coverage().has_value();
    why_not_judged_.assign(backends_.size(), {});
    Result<void> result;
    while (!options_.ends(failures_.failures())) {
      auto next = source.next();
      if (!next) result = tl::unexpected(next.error());
      if (!next || !*next) break;
      stopwatch_.lap(report_.times.generate);
      in_flight_.begin(std::move(**next));
      stopwatch_.lap(report_.times.backend);
      while (in_flight_.is_full() && !has_failed_enough()) finish_case(source.size());
    }
    while (!in_flight_.empty() && !has_failed_enough()) finish_case(source.size());
    in_flight_.abandon_all();
    if (!result) return result;
    report_suite(source);
    return {};
  }

  [[nodiscard]] bool has_failed_enough() const { return options_.has_failed_enough(failures_.failures()); }
  [[nodiscard]] bool has_ended() const { return options_.ends(failures_.failures()); }

  void finish() {
    options_.say_why_stopped(failures_.failures(), report_);
    if (report_.stopped.empty()) look_for_growth();
    corner_cases_.report_counts(report_);
    if (options_.diagnoser != nullptr) {
      stopwatch_.lap(report_.times.judge);
      for (const auto& ids : failures_.settle()) {
        if (table_ && !ids.empty()) table_->rename_findings(ids);
      }
      stopwatch_.lap(report_.times.diagnose);
    }
    failures_.report_findings();
    if (table_) report_.results = table_->take();
    report_.times.total = seconds_since(start_);
  }

 private:
  void report_suite(Suite& source) {
    suite_.skipped = source.skipped();
    suite_.coverage =
        has_failed_enough() ? source.coverage_of(std::vector<bool>(suite_.cases, true)) : source.coverage();
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      const auto coverage = source.coverage_of(computed_in_suite_[i]);
      auto& all = report_.backends[i].coverage;
      all.insert(all.end(), coverage.begin(), coverage.end());
      if (is_model_) report_.backends[i].nodes.push_back(*source.node_coverage(&why_not_judged_[i]));
    }
    suite_.nodes = source.node_coverage();
    report_.suites.push_back(std::move(suite_));
  }

  // Judges the oldest case.
  void finish_case(std::optional<std::uint64_t> of) {
    const Case& test_case = in_flight_.oldest();
    outcomes_.clear();
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      stopwatch_.lap(report_.times.judge);
      outcomes_.push_back(in_flight_.outcome_of_oldest(i));
      if (outcomes_.back()) report_.backends[i].seconds += note_backend_time();
    }
    const Expected expected = expected_of(test_case);
    count_case(test_case, expected, suite_);
    stopwatch_.lap(report_.times.statistics);
    std::vector<CaseResult::OfBackend> results;
    results.reserve(backends_.size());
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      results.push_back(judge_backend(i, test_case, expected, std::move(outcomes_[i])));
      computed_in_suite_[i].push_back(expected.output.has_value() && is_computed(results[i].verdict));
    }
    corner_cases_.add(test_case, expected, results, report_);
    if (options_.judged) options_.judged(test_case, expected, results);
    if (table_) table_->add(suite_.name, test_case, std::move(results));
    in_flight_.drop_oldest();
    stopwatch_.lap(report_.times.judge);
    in_flight_.start_workers();
    stopwatch_.lap(report_.times.backend);
    if (options_.progress) options_.progress({suite_.name, suite_.cases, of, failures_.failures()});
  }

  // Returns what is expected of a case. If every backend refuses it, the reference does not run: only the right to
  // refuse is judged.
  Expected expected_of(const Case& test_case) {
    Classification classification = in_flight_.take_classification();
    const bool all_refuse = std::all_of(outcomes_.begin(), outcomes_.end(), is_without_answer);
    const bool has_answers = !test_case.recorded_outputs.empty() || test_case.defect.has_value();
    Expected expected = all_refuse && !has_answers ? expect_form(test_case, options_.policy, std::move(classification))
                                                   : expect(test_case, options_.policy, std::move(classification));
    stopwatch_.lap(report_.times.reference);
    assess(test_case, expected);
    return expected;
  }

  CaseResult::OfBackend judge_backend(std::size_t number, const Case& test_case, const Expected& expected,
                                      std::optional<Outcome> answer) {
    BackendResult& result = report_.backends[number];
    if (!answer) {
      if (is_model_) why_not_judged_[number].push_back(why_not_judged(VerdictKind::not_asked, result.stopped));
      ++result.operators[test_case.subject()].verdicts[static_cast<std::size_t>(VerdictKind::not_asked)];
      return {.verdict = VerdictKind::not_asked, .tier = {}, .wrong_elements = 0};
    }
    Outcome outcome = std::move(*answer);
    result.note_lost(test_case.id, outcome.lost);
    note_timeouts(number, outcome);
    Worker* worker = backends_[number]->worker();
    Verdict verdict = judge(expected, outcome);
    std::unique_ptr<FailedCase> failed;
    bool is_determined = true;
    if (worker != nullptr && is_failure(verdict.kind)) {
      stopwatch_.lap(report_.times.judge);
      failed = replayed(number, *worker, test_case, outcome, is_determined);
      result.note_lost(test_case.id, outcome.lost);
      result.seconds += note_backend_time();
      verdict = judge(failed ? failed->expected : expected, outcome);
    }
    count_verdict(test_case, verdict, result);
    if (worker != nullptr && verdict.kind == VerdictKind::pass)
      computed_[number].try_emplace(test_case.subject(), test_case);
    if (is_model_) why_not_judged_[number].push_back(why_not_judged(verdict.kind, verdict.detail));
    if (verdict.kind == VerdictKind::wrong) {
      Counts& pinned_by = result.operators[test_case.subject()].pinned_by;
      for (const Profile profile : profiles_that_pin(expected, outcome)) ++pinned_by[std::string(name_of(profile))];
    }
    stopwatch_.lap(report_.times.judge);
    std::string finding =
        failures_.record(number, failed ? failed->test_case : test_case, failed ? failed->expected : expected,
                         std::move(outcome), verdict, is_determined);
    stopwatch_.lap(report_.times.diagnose);
    const bool has_tier = verdict.tiers.elements() > 0;
    return {.verdict = verdict.kind,
            .tier = has_tier ? verdict.tiers.common.strictest() : std::nullopt,
            .wrong_elements = verdict.wrong_elements,
            .finding = std::move(finding),
            .reason = has_reason(verdict.kind) ? std::move(verdict.detail) : ""};
  }

  // A case with the nodes before it after which it fails.
  struct FailedCase {
    Case test_case;
    Expected expected;
  };

  // Runs a failing case once more, alone in a new process or more closely in this one, and sets its outcome there.
  // Returns the case with the nodes after which it fails, where it does not fail alone.
  std::unique_ptr<FailedCase> replayed(std::size_t number, Worker& worker, const Case& test_case, Outcome& outcome,
                                       bool& is_determined) {
    const bool ran_out = std::holds_alternative<outcome::OutOfMemory>(outcome);
    auto replay = replays_[number].replay(worker, test_case, outcome, options_.policy);
    is_determined = replay.has_value() || !replays_[number].remembers();
    // What fails for want of memory, and not alone, is a failure of the nodes that keep it.
    const bool may_lack_memory = !replay || !replay->fails_alone;
    if (may_lack_memory && (ran_out || worker.memory_held() >= kMuchMemory) && grows(number, worker)) {
      is_determined = false;
      return nullptr;
    }
    if (!replay) {
      const auto* produced = std::get_if<outcome::Produced>(&outcome);
      if (produced != nullptr && !replays_[number].remembers()) outcome = examined(worker, test_case, *produced);
      return nullptr;
    }
    outcome = std::move(replay->outcome);
    if (replay->test_case.before.empty()) {
      ask_new_process(worker, test_case, outcome);
      return nullptr;
    }
    auto failed = std::make_unique<FailedCase>();
    failed->test_case = std::move(replay->test_case);
    failed->expected = expect(failed->test_case, options_.policy);
    assess(failed->test_case, failed->expected);
    return failed;
  }

  // A backend whose process came to hold much more memory than at first may keep what belongs to nodes that are gone.
  void look_for_growth() {
    for (std::size_t i = 0; i < backends_.size(); ++i) {
      Worker* worker = backends_[i]->worker();
      if (worker != nullptr && worker->memory_held() >= kMuchMemory) (void)grows(i, *worker);
    }
  }

  // Whether memory grows with cases that the backend computed right: the first of an operator shows it, and counts as
  // failed then. Looks once.
  bool grows(std::size_t number, Worker& worker) {
    Growth& growth = growths_[number];
    if (std::exchange(growth.is_known, true)) return growth.is_found;
    for (const auto& [subject, test_case] : computed_[number]) {
      auto outcome = grown_memory(worker, test_case);
      if (!outcome) continue;
      growth.is_found = true;
      const Expected expected = expect(test_case, options_.policy);
      const Verdict verdict = judge(expected, *outcome);
      auto& verdicts = report_.backends[number].operators[subject].verdicts;
      --verdicts[static_cast<std::size_t>(VerdictKind::pass)];
      ++verdicts[static_cast<std::size_t>(verdict.kind)];
      (void)failures_.record(number, test_case, expected, std::move(*outcome), verdict);
    }
    return growth.is_found;
  }

  // Runs a failing case more closely: it may be unwritten memory, answer differently each time, or remember inputs.
  static Outcome examined(Worker& worker, const Case& test_case, const outcome::Produced& first) {
    Outcome outcome = worker.examine(test_case);
    const auto* again = std::get_if<outcome::Produced>(&outcome);
    if (again != nullptr && again->outputs != first.outputs)
      return outcome::Nondeterministic{"another output when it was run again"};
    ask_new_process(worker, test_case, outcome);
    return outcome;
  }

  double note_backend_time() {
    double seconds = 0;
    stopwatch_.lap(seconds);
    report_.times.backend += seconds;
    return seconds;
  }

  // A backend that hangs on every case it computes would take days.
  void note_timeouts(std::size_t number, const Outcome& outcome) {
    if (!options_.drops_hanging_backends || is_without_answer(outcome)) return;
    if (!hangs_.is_too_much(number, std::holds_alternative<outcome::TimedOut>(outcome))) return;
    in_flight_.abandon(number, 1);
    report_.backends[number].stopped = kHangs;
  }

  std::vector<std::unique_ptr<Backend>>& backends_;
  const SuiteRunOptions& options_;
  Report& report_;
  SuiteResult suite_;
  CasesInFlight in_flight_;
  HangWatch hangs_;
  struct Growth {
    bool is_known = false;
    bool is_found = false;
  };
  std::vector<Growth> growths_;                           ///< by backend
  std::vector<std::map<std::string, Case>> computed_;     ///< by backend and operator: the first case computed right
  std::vector<std::optional<Outcome>> outcomes_;          ///< outcomes of the case that is being judged, by backend
  bool is_model_ = false;                                 ///< the suite is one of a whole model
  std::vector<std::vector<std::string>> why_not_judged_;  ///< by backend and case; for such a suite alone
  std::vector<std::vector<bool>> computed_in_suite_;      ///< by backend, and case in its order
  Stopwatch stopwatch_;
  CornerCaseCounter corner_cases_;
  FailureRecorder failures_;
  std::vector<ColdReplays> replays_;  ///< by backend
  std::optional<CaseTable> table_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void SuiteRunOptions::say_why_stopped(std::uint64_t failures, Report& report) const {
  if (has_failed_enough(failures)) {
    report.stopped = kFailedEnough;
  } else if (stop && stop()) {
    report.stopped = kInterrupted;
    for (BackendResult& backend : report.backends) {
      if (backend.stopped.empty()) backend.stopped = kInterrupted;
    }
  }
}

SuiteRun::SuiteRun(std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report)
    : runner_(std::make_unique<SuiteRunner>(backends, options, report)) {}
SuiteRun::~SuiteRun() = default;

Result<void> SuiteRun::run(Suite& suite, int turn) {
  if (runner_->has_failed_enough()) return {};
  return runner_->run(suite, turn);
}

bool SuiteRun::has_ended() const {
  return runner_->has_ended();
}

void SuiteRun::finish() {
  runner_->finish();
}

Result<void> run_suites(std::vector<std::unique_ptr<Suite>>& suites, std::vector<std::unique_ptr<Backend>>& backends,
                        const SuiteRunOptions& options, Report& report) {
  SuiteRun run(backends, options, report);
  for (const auto& suite : suites) QCONFORM_TRY(run.run(*suite));
  run.finish();
  return {};
}

}  // namespace qconform
