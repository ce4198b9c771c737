#include "harness/engine/shrink/shrink.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "harness/engine/execute.h"
#include "harness/engine/shrink/failure.h"
#include "harness/engine/shrink/measure.h"
#include "harness/engine/shrink/reductions.h"
#include "harness/judge/judge.h"
#include "harness/operators/family.h"

namespace qconform::shrink {
namespace {

constexpr std::array kOfAnyCase{
    Reduction{Stage::indices, "no attributes", drop_attributes},
    Reduction{Stage::indices, "fewer indices", cut_extents},
    Reduction{Stage::indices, "smaller inputs", cut_single_axes},
    Reduction{Stage::dimensions, "fewer dimensions", drop_dimensions},
    Reduction{Stage::dimensions, "no optional inputs", drop_inputs},
    Reduction{Stage::dimensions, "scalar parameters", scalar_parameters},
    Reduction{Stage::attributes, "smaller attributes", smaller_integers},
    Reduction{Stage::values, "zero points to 0", zero_zero_points},
    Reduction{Stage::values, "values to zero", zero_values},
    Reduction{Stage::values, "plain scales", plain_scales},
    Reduction{Stage::values, "smaller values", small_values},
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
class Search final : public Subject {
 public:
  Search(const Case& failing, const Runner& runner, const Policy& policy, const Limits& limits)
      : runner_(runner), policy_(policy), limits_(limits), start_(now()) {
    begin(failing);
  }

  [[nodiscard]] const Case& current() const override { return current_; }
  [[nodiscard]] const std::vector<std::int64_t>& wrong_element() const override { return wrong_element_; }
  [[nodiscard]] bool exhausted() const override { return ending_.has_value(); }

  bool offer(Case candidate) override {
    if (exhausted() || is_out_of_budget()) return false;
    if (!refused_.insert(digest_of(candidate)).second) return false;
    const Classification classification = classify(candidate);
    if (lane_of(classification) != lane_) return false;
    const Measure smaller = measure(candidate, shrink::output_elements(classification));
    if (!(smaller < measure_)) return false;
    const Verdict verdict = run(candidate);
    if (!failure_->matches(verdict)) return false;
    current_ = std::move(candidate);
    measure_ = smaller;
    ++steps_;
    keep(verdict);
    return true;
  }

  // Whether the case fails, with the kind of verdict that was expected.
  bool reproduce(std::optional<VerdictKind> expected) {
    for (int i = 0; i < kFirstTries; ++i) {
      const Verdict verdict = run_first();
      keep(verdict);
      if (!is_failure(verdict.kind) || (expected && *expected != verdict.kind)) continue;
      failure_.emplace(verdict, current_.is_one_node());
      return true;
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

  [[nodiscard]] bool still_fails() { return failure_->matches(run(current_)); }

  [[nodiscard]] Result result(Ending ending) const {
    Result result{current_, verdict_, ending, runs_, steps_, now() - start_, {}};
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
    current_.recorded_outputs.clear();
    const Classification classification = classify(current_);
    lane_ = lane_of(classification);
    measure_ = measure(current_, shrink::output_elements(classification));
    refused_.insert(digest_of(current_));
  }

  Outcome outcome_of(const Case& test_case) {
    ++runs_;
    Outcome outcome = runner_(test_case);
    spent_ += expense_of(outcome);
    return outcome;
  }

  // Where only the answer to another x is wrong, the search begins with the case of that x.
  Verdict run_first() {
    const Outcome outcome = outcome_of(current_);
    const Expected expected = expect(current_, policy_);
    auto own = with_its_own_input(expected, outcome);
    if (!own) return judge(expected, outcome);
    begin(std::move(own->test_case));
    return judge(expect(current_, policy_), own->outcome);
  }

  Verdict run(const Case& test_case) {
    Outcome outcome = outcome_of(test_case);
    // Who reads the smallest case is to see the x that the values are wrong for.
    if (failure_->is_of_values()) outcome.on_other_input.reset();
    return judge(expect(test_case, policy_), outcome);
  }

  void keep(const Verdict& verdict) {
    verdict_ = verdict;
    wrong_element_ = verdict.worst ? verdict.worst->index : std::vector<std::int64_t>{};
  }

  const Runner& runner_;
  const Policy& policy_;
  const Limits& limits_;
  double start_;
  Case current_;
  Lane lane_;
  Measure measure_;
  std::optional<Failure> failure_;
  Verdict verdict_;
  std::vector<std::int64_t> wrong_element_;
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
    lane_ = lane_of(classification);
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
    candidate.recorded_outputs.clear();
    if (exhausted() || !seen_.insert(digest_of(candidate)).second) return false;
    const Classification classification = classify(candidate);
    if (lane_of(classification) != lane_) return false;
    if (measure(candidate, output_elements(classification)) < measure_) found_.push_back(std::move(candidate));
    return false;
  }

  [[nodiscard]] std::vector<Case> take() { return std::move(found_); }

 private:
  const Case& case_;
  std::size_t limit_;
  Lane lane_;
  Measure measure_;
  std::vector<std::int64_t> element_;
  std::set<std::uint64_t> seen_;
  std::vector<Case> found_;
};

// What the shrunk case says of itself.
Case labelled(Case smallest, const Case& original) {
  smallest.id = original.id + ".shrunk";
  smallest.note = "shrunk from " + original.id + (original.note.empty() ? "" : ": " + original.note);
  return smallest;
}

Result unchanged(const Case& failing, Result result) {
  result.smallest = failing;
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
    return execute_beside_siblings(backend, test_case, *output);
  };
}

std::span<const Reduction> reductions() {
  static const std::vector<Reduction> all = [] {
    std::vector<Reduction> list;
    for (const Family* family : families()) {
      if (family->reductions == nullptr) continue;
      list.insert(list.end(), family->reductions().begin(), family->reductions().end());
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
              std::optional<VerdictKind> expected) {
  Search search(failing, runner, policy, limits);
  if (!search.reproduce(expected)) {
    return unchanged(failing, search.result(expected ? Ending::not_reproduced : Ending::does_not_fail));
  }
  search.exhaust();
  if (!search.still_fails()) return unchanged(failing, search.result(Ending::not_reproduced));
  Result result = search.result(search.ending());
  result.smallest = result.is_shrunk() ? labelled(std::move(result.smallest), failing) : failing;
  return result;
}

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
