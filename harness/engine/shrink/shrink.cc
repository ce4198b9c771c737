#include "harness/engine/shrink/shrink.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/engine/cold_replay.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/engine/waivers.h"
#include "harness/model/family.h"
#include "harness/model/judge/judge.h"
#include "harness/model/node_changes.h"
#include "harness/model/reductions/reductions.h"

namespace qconform::shrink {
namespace {

constexpr std::array kOfAnyCase{
    Reduction{ReductionStage::indices, "no attributes", drop_attributes},
    Reduction{ReductionStage::indices, "fewer indices", cut_extents},
    Reduction{ReductionStage::indices, "smaller inputs", cut_single_axes},
    Reduction{ReductionStage::dimensions, "fewer dimensions", drop_dimensions},
    Reduction{ReductionStage::dimensions, "no optional inputs", drop_inputs},
    Reduction{ReductionStage::dimensions, "scalar parameters", scalar_parameters},
    Reduction{ReductionStage::attributes, "smaller attributes", smaller_integers},
    Reduction{ReductionStage::values, "zero points to 0", zero_zero_points},
    Reduction{ReductionStage::values, "values to zero", zero_values},
    Reduction{ReductionStage::values, "plain scales", plain_scales},
    Reduction{ReductionStage::values, "smaller values", small_values},
};

constexpr int kFirstTries = 3;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<std::int64_t> output_elements(const Classification& classification) {
  if (!classification.lowered) return std::nullopt;
  return elements_of(classification.lowered->output_shape());
}

// In runs that end well: a run that times out takes as long as it may, and one that ends its process, a new one.
std::uint64_t expense_of(const Outcome& outcome) {
  constexpr std::uint64_t kTimedOut = 100;
  constexpr std::uint64_t kEnded = 4;
  if (std::holds_alternative<outcome::TimedOut>(outcome)) return kTimedOut;
  const bool ended = std::holds_alternative<outcome::Crashed>(outcome) ||
                     std::holds_alternative<outcome::Exited>(outcome) ||
                     std::holds_alternative<outcome::OutOfMemory>(outcome);
  return ended ? kEnded : 1;
}

// A search for the smallest case: takes offers that fail as the first case did.
class ShrinkSearch final : public Subject {
 public:
  ShrinkSearch(const Case& failing, const Runner& runner, const Policy& policy, const Limits& limits,
               const HasCause& cause)
      : runner_(runner), policy_(policy), limits_(limits), cause_(cause), start_(now()) {
    begin(failing);
  }

  [[nodiscard]] const Case& current() const override { return current_; }
  [[nodiscard]] const std::vector<std::int64_t>& wrong_element() const override { return wrong_element_; }
  [[nodiscard]] bool exhausted() const override { return ending_.has_value(); }

  bool offer(Case candidate) override {
    if (exhausted() || is_out_of_budget() || candidate.nodes.empty()) return false;
    complete(candidate);
    if (!refused_.insert(digest_of(candidate)).second) return false;
    const Classification classification = classify(candidate);
    if (requirement_of(classification) != requirement_) return false;
    const Measure smaller = measure(candidate, shrink::output_elements(classification));
    if (!(smaller < measure_)) return false;
    JudgedAnswer answer = run(candidate);
    if (!shows_the_same(candidate, answer)) return false;
    current_ = std::move(candidate);
    measure_ = smaller;
    ++steps_;
    keep(std::move(answer));
    return true;
  }

  // Whether the case fails, with the kind of verdict that was expected.
  bool reproduce(std::optional<VerdictKind> expected) {
    for (int i = 0; i < kFirstTries; ++i) {
      JudgedAnswer answer = run_first();
      const VerdictKind kind = answer.verdict.kind;
      if (is_failure(kind) && (!expected || *expected == kind)) {
        failure_ = answer.failure();
        keeps_cause_ = cause_ && cause_(answer.assessed(current_), answer.outcome);
      }
      keep(std::move(answer));
      if (failure_) return true;
    }
    return false;
  }

  // Round after round of all reductions, until one round takes nothing.
  void exhaust() {
    for (std::uint64_t before = steps_ + 1; before != steps_ && !exhausted();) {
      before = steps_;
      for (std::size_t i = 0; i < reductions().size() && !exhausted(); ++i) {
        const std::uint64_t begun = steps_;
        if (reductions()[i].stage > limits_.last_stage) break;
        reductions()[i].apply(*this);
        taken_[i] += steps_ - begun;
      }
    }
  }

  [[nodiscard]] bool still_fails() {
    JudgedAnswer answer = run(current_);
    if (!shows_the_same(current_, answer)) return false;
    keep(std::move(answer));
    return true;
  }

  [[nodiscard]] Result result(Ending ending) const {
    Result result{current_, verdict_, ending, runs_, steps_, now() - start_, {}, met_};
    if (failure_) result.smallest.defect = defect_answer(current_, policy_, *outcome_, verdict_);
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] > 0) result.reduced.emplace_back(reductions()[i].name, taken_[i]);
    }
    return result;
  }

  [[nodiscard]] Ending ending() const { return ending_.value_or(Ending::minimal); }

 private:
  [[nodiscard]] double now() const { return limits_.clock ? limits_.clock() : steady_seconds(); }

  bool is_out_of_budget() {
    if (spent_ >= limits_.runs) ending_ = Ending::runs;
    if (now() - start_ >= limits_.seconds) ending_ = Ending::seconds;
    return ending_.has_value();
  }

  // Begins with `failing`.
  void begin(Case failing) {
    current_ = std::move(failing);
    forget_answers(current_);
    change_ = change_before(current_);
    const Classification classification = classify(current_);
    requirement_ = requirement_of(classification);
    measure_ = measure(current_, shrink::output_elements(classification));
    refused_.insert(digest_of(current_));
  }

  // The change that makes the only node before the case of the case itself; none where that is no such node.
  static NodeChange change_before(const Case& test_case) {
    if (test_case.before.size() != 1) return {};
    const std::uint64_t wanted = digest_of(test_case.before.front());
    for (NodeChange& change : node_changes(test_case)) {
      Case changed = computation_of(test_case);
      change(changed);
      if (digest_of(changed) == wanted) return std::move(change);
    }
    return {};
  }

  // The node before a smaller case becomes smaller with it, where it differs in one thing.
  void complete(Case& candidate) const {
    if (!change_) return;
    Case changed = computation_of(candidate);
    change_(changed);
    candidate.before = {std::move(changed)};
  }

  Outcome outcome_of(const Case& test_case) {
    ++runs_;
    Outcome outcome = runner_(test_case);
    spent_ += expense_of(outcome);
    return outcome;
  }

  // The backend's answer to a case, held against what is right.
  struct JudgedAnswer {
    Expected expected;
    Outcome outcome;
    Verdict verdict;

    [[nodiscard]] Failure failure() const { return failure_of(expected, outcome, verdict); }
    [[nodiscard]] const Expected& assessed(const Case& test_case) {
      assess(test_case, expected);
      return expected;
    }
  };

  [[nodiscard]] JudgedAnswer judged(const Case& test_case, Outcome outcome) const {
    Expected expected = expect(test_case, policy_);
    Verdict verdict = judge(expected, outcome);
    return {std::move(expected), std::move(outcome), std::move(verdict)};
  }

  // Runs the first case. If only the answer to another x is wrong, the search begins with the case of that x.
  JudgedAnswer run_first() {
    JudgedAnswer answer = judged(current_, outcome_of(current_));
    auto own = with_its_own_input(answer.expected, answer.outcome);
    if (!own) return answer;
    begin(std::move(own->test_case));
    return judged(current_, std::move(own->outcome));
  }

  JudgedAnswer run(const Case& test_case) {
    Outcome outcome = outcome_of(test_case);
    // Who reads the smallest case is to see the x that the values are wrong for.
    if (is_computed(failure_->kind)) outcome.on_other_input.reset();
    return judged(test_case, std::move(outcome));
  }

  // Whether a case fails as the first one did. What fails in another way is noted.
  bool shows_the_same(const Case& test_case, JudgedAnswer& answer) {
    if (!is_failure(answer.verdict.kind)) return false;
    const Failure failure = answer.failure();
    const bool is_alike = failure == *failure_;
    if (is_alike && (!keeps_cause_ || cause_(answer.assessed(test_case), answer.outcome))) return true;
    note_met(test_case, failure, is_alike);
    return false;
  }

  // Keeps one case of each failure that is another: of each that looks otherwise, and one that has another cause.
  void note_met(const Case& test_case, Failure failure, bool is_alike) {
    constexpr std::size_t kMost = 4;
    failure.sign = is_alike ? 2 : 0;
    if (met_.size() >= kMost || std::find(met_failures_.begin(), met_failures_.end(), failure) != met_failures_.end()) {
      return;
    }
    met_failures_.push_back(std::move(failure));
    met_.push_back(test_case);
  }

  void keep(JudgedAnswer answer) {
    wrong_element_ = answer.verdict.worst ? answer.verdict.worst->index : std::vector<std::int64_t>{};
    verdict_ = std::move(answer.verdict);
    outcome_ = std::move(answer.outcome);
  }

  const Runner& runner_;
  const Policy& policy_;
  const Limits& limits_;
  const HasCause& cause_;
  double start_;
  Case current_;
  NodeChange change_;
  Requirement requirement_;
  Measure measure_;
  std::optional<Failure> failure_;
  bool keeps_cause_ = false;  // the first case has the cause that cause_ asks for
  Verdict verdict_;
  std::optional<Outcome> outcome_;
  std::vector<std::int64_t> wrong_element_;
  std::vector<Failure> met_failures_;
  std::vector<Case> met_;
  std::set<std::uint64_t> refused_;  // digests of everything offered
  std::vector<std::uint64_t> taken_ = std::vector<std::uint64_t>(reductions().size());
  std::uint64_t runs_ = 0;
  std::uint64_t spent_ = 0;  // runs by their expense
  std::uint64_t steps_ = 0;
  std::optional<Ending> ending_;
};

// Takes nothing and writes everything down.
class Collector final : public Subject {
 public:
  Collector(const Case& test_case, std::size_t limit) : case_(test_case), limit_(limit) {
    const Classification classification = classify(case_);
    requirement_ = requirement_of(classification);
    measure_ = measure(case_, shrink::output_elements(classification));
    seen_.insert(digest_of(case_));
    // An element in the middle of the output, for want of a wrong one.
    if (classification.lowered && output_elements(classification) > 0) {
      for (const std::int64_t dimension : classification.lowered->output_shape()) element_.push_back(dimension / 2);
    }
  }

  [[nodiscard]] const Case& current() const override { return case_; }
  [[nodiscard]] const std::vector<std::int64_t>& wrong_element() const override { return element_; }
  [[nodiscard]] bool exhausted() const override { return found_.size() >= limit_; }

  bool offer(Case candidate) override {
    forget_answers(candidate);
    if (exhausted() || candidate.nodes.empty() || !seen_.insert(digest_of(candidate)).second) return false;
    const Classification classification = classify(candidate);
    if (requirement_of(classification) != requirement_) return false;
    if (measure(candidate, output_elements(classification)) < measure_) found_.push_back(std::move(candidate));
    return false;
  }

  [[nodiscard]] std::vector<Case> take() { return std::move(found_); }

 private:
  const Case& case_;
  std::size_t limit_;
  Requirement requirement_;
  Measure measure_;
  std::vector<std::int64_t> element_;
  std::set<std::uint64_t> seen_;
  std::vector<Case> found_;
};

// Gives the shrunk case an id and a note that name the original.
Case labelled(Case smallest, const Case& original) {
  smallest.id = original.id + ".shrunk";
  smallest.note = "shrunk from " + original.id + (original.note.empty() ? "" : ": " + original.note);
  return smallest;
}

Result unchanged(const Case& failing, Result result) {
  result.smallest = failing;
  result.met.clear();
  result.steps = 0;
  result.reduced.clear();
  return result;
}

}  // namespace

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::minimal: return "minimal";
    case Ending::runs: return "runs";
    case Ending::seconds: return "seconds";
    case Ending::does_not_fail: return "does-not-fail";
    case Ending::not_reproduced: break;
  }
  return "not-reproduced";
}

Runner in_process(Backend& backend) {
  return [&backend, output = std::make_shared<GuardedOutput>()](const Case& test_case) {
    return execute_for_judge(backend, test_case, *output);
  };
}

std::span<const Reduction> reductions() {
  static const std::vector<Reduction> all = [] {
    std::vector<Reduction> list;
    for (const Family* family : families()) {
      if (family->shrinking.reductions == nullptr) continue;
      list.insert(list.end(), family->shrinking.reductions().begin(), family->shrinking.reductions().end());
    }
    list.insert(list.end(), kOfAnyCase.begin(), kOfAnyCase.end());
    std::stable_sort(list.begin(), list.end(),
                     [](const Reduction& a, const Reduction& b) { return a.stage < b.stage; });
    return list;
  }();
  return all;
}

std::vector<Case> simpler(const Case& test_case, std::size_t limit) {
  Collector collector(test_case, limit);
  for (const Reduction& reduction : reductions()) reduction.apply(collector);
  return collector.take();
}

Result shrink(const Case& failing, const Runner& runner, const Policy& policy, const Limits& limits,
              std::optional<VerdictKind> expected, const HasCause& cause) {
  ShrinkSearch search(failing, runner, policy, limits, cause);
  if (!search.reproduce(expected)) {
    return unchanged(failing, search.result(expected ? Ending::not_reproduced : Ending::does_not_fail));
  }
  search.exhaust();
  if (!search.still_fails()) return unchanged(failing, search.result(Ending::not_reproduced));
  Result result = search.result(search.ending());
  if (result.is_shrunk()) {
    result.smallest = labelled(std::move(result.smallest), failing);
  } else {
    std::optional<DefectAnswer> defect = std::move(result.smallest.defect);
    result.smallest = failing;
    if (defect) result.smallest.defect = std::move(defect);
  }
  return result;
}

std::optional<FailingPart> failing_part(const Case& failing, const Runner& run, const Policy& policy) {
  constexpr std::uint64_t kRuns = 200;
  constexpr double kSeconds = 1;
  const Limits limits{.runs = kRuns, .seconds = kSeconds, .clock = {}, .last_stage = ReductionStage::element};
  Result found = shrink(failing, run, policy, limits);
  if (found.ending == Ending::does_not_fail) return std::nullopt;
  FailingPart part{std::move(found.smallest), {}};
  if (found.verdict.kind != VerdictKind::wrong) {
    part.how = ", " + std::string(name_of(found.verdict.kind));
    return part;
  }
  const Classification classification = classify(part.part);
  const bool is_rounded = classification.lowered && is_integer(classification.lowered->output_type());
  if (is_rounded && found.verdict.worst && found.verdict.worst->distance <= 1) part.how = ", by one";
  return part;
}

namespace {

// Shrinks findings of a report, those included that it adds.
class FindingShrinker {
 public:
  FindingShrinker(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                  const FindingLimits& limits)
      : report_(report), backends_(backends), policy_(policy), limits_(limits), left_(limits.seconds) {}

  void run(const std::function<void(Finding&, std::size_t)>& shrunk) {
    for (std::size_t i = 0; i < report_.findings.size() && !has_ended(); ++i) {
      const Finding& finding = report_.findings[i];
      const std::size_t backend = position_of(finding);
      // A contradiction between several cases is not one case's failure, and memory grows with any case. What is waived
      // has its small case already.
      if (finding.kind == VerdictKind::inconsistent || finding.kind == VerdictKind::grows_memory) continue;
      if (finding.waiver || backend == backends_.size()) continue;
      const std::vector<Case> met = shrink_finding(report_.findings[i], backend);
      if (shrunk) shrunk(report_.findings[i], backend);
      for (const Case& test_case : met) add_finding(test_case, backend, report_.findings[i].id);
    }
  }

 private:
  [[nodiscard]] bool has_ended() const { return left_ <= 0 || (limits_.stop && limits_.stop()); }

  [[nodiscard]] std::size_t position_of(const Finding& finding) const {
    const auto found = std::find_if(backends_.begin(), backends_.end(),
                                    [&](const auto& candidate) { return candidate->info().name == finding.backend; });
    return static_cast<std::size_t>(found - backends_.begin());
  }

  // Shrinks in a process that runs nothing else. Where what it comes to does not fail in a process of its own, each
  // case has one.
  [[nodiscard]] Result shrunk_apart(const Finding& finding, Backend& backend, const Limits& each,
                                    const HasCause& cause) const {
    Worker* worker = backend.worker();
    if (worker != nullptr) worker->begin_anew();
    Result result = shrink(finding.example, in_process(backend), policy_, each, finding.kind, cause);
    if (worker == nullptr || !result.is_shrunk() || fails_cold(*worker, result.smallest, policy_).value_or(true))
      return result;
    worker->note_that_it_remembers();
    return shrink(finding.example, in_process(backend), policy_, each, finding.kind, cause);
  }

  // Returns what it met.
  std::vector<Case> shrink_finding(Finding& finding, std::size_t backend) {
    Limits each = limits_.each;
    each.seconds = std::min(each.seconds, left_);
    HasCause cause;
    if (limits_.diagnoser != nullptr) {
      cause = [&](const Expected& expected, const Outcome& outcome) {
        return limits_.diagnoser->has_cause(backend, finding.op_type, finding.signature, expected, outcome);
      };
    }
    Result result = shrunk_apart(finding, *backends_[backend], each, cause);
    Shrinking record{std::string(name_of(result.ending)), result.runs, result.steps, result.seconds, {}, {}, {}};
    const bool is_shrunk = result.is_shrunk();
    Case original = std::exchange(finding.example, std::move(result.smallest));
    if (is_shrunk) {
      record.original = std::move(original);
      finding.verdict = std::move(result.verdict);
    }
    finding.shrinking = std::move(record);
    left_ -= result.seconds;
    return std::move(result.met);
  }

  // Adds a case that fails for a reason that no finding has.
  void add_finding(const Case& met, std::size_t backend, const std::string& met_by) {
    const Outcome outcome = execute(*backends_[backend], met, output_);
    Expected expected = expect(met, policy_);
    assess(met, expected);
    const BackendInfo& info = backends_[backend]->info();
    Finding finding;
    finding.verdict = judge(expected, outcome);
    if (!is_failure(finding.verdict.kind)) return;
    if (limits_.waivers != nullptr &&
        limits_.waivers->covering(info, met, outcome, finding.verdict, policy_) != nullptr) {
      return;
    }
    finding.signature = signature_met(backend, expected, outcome, finding.verdict);
    finding.backend = info.name;
    finding.op_type = met.subject();
    if (finding.signature.empty() || is_known(finding)) return;
    finding.id = "F" + std::to_string(report_.findings.size() + 1);
    finding.kind = finding.verdict.kind;
    finding.met_while_shrinking = met_by;
    finding.example = met;
    finding.example.id += ".met";
    finding.example.note = "met while shrinking " + met.id;
    finding.example.defect = defect_answer(met, policy_, outcome, finding.verdict);
    if (limits_.diagnoser != nullptr) {
      finding.diagnosis = limits_.diagnoser->diagnosis(backend, finding.op_type, finding.signature);
    }
    report_.findings.push_back(std::move(finding));
  }

  // Empty where nothing tells the failure from others.
  [[nodiscard]] std::string signature_met(std::size_t backend, const Expected& expected, const Outcome& outcome,
                                          const Verdict& verdict) {
    if (!is_computed(verdict.kind) || limits_.diagnoser == nullptr) return signature_of(verdict);
    return limits_.diagnoser->met(backend, expected, outcome);
  }

  [[nodiscard]] bool is_known(const Finding& finding) const {
    return std::any_of(report_.findings.begin(), report_.findings.end(), [&](const Finding& other) {
      return other.backend == finding.backend && other.op_type == finding.op_type &&
             other.signature == finding.signature;
    });
  }

  Report& report_;
  const std::vector<std::unique_ptr<Backend>>& backends_;
  const Policy& policy_;
  const FindingLimits& limits_;
  double left_;  // seconds
  GuardedOutput output_;
};

}  // namespace

void shrink_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                     const FindingLimits& limits, const std::function<void(Finding&, std::size_t)>& shrunk) {
  FindingShrinker(report, backends, policy, limits).run(shrunk);
  replay_findings(report, backends, policy);  // those that were met on the way
  join_findings(report);
}

}  // namespace qconform::shrink
