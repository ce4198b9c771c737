// Records the failures of a run: each joins a finding, after a diagnoser has said what is wrong, at once or when
// everything has been judged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/engine/run_suites.h"
#include "harness/model/judge/judge.h"

namespace qconform {

/// Groups failures into findings, with what the diagnoser says of them. All arguments outlive it.
class FailureRecorder {
 public:
  FailureRecorder(const std::vector<std::unique_ptr<Backend>>& backends, const SuiteRunOptions& options, Report& report)
      : backends_(backends), options_(options), report_(report) {}

  /// When the cases from now on are explained, of those that wait.
  void set_turn(int turn) { turn_ = turn; }

  /// How many cases failed, those aside that a waiver covers, or may cover once they have names.
  [[nodiscard]] std::uint64_t failures() const { return failures_; }

  /// Adds a failure to the findings, or tells the diagnoser of a case that passed; both may have to wait. Returns the
  /// finding's id, or of one that waits the id by which settle() knows it. `is_determined`: false of a failure of which
  /// is not known whether it is this case's own; no finding counts it.
  std::string record(std::size_t backend, const Case& test_case, const Expected& expected, Outcome outcome,
                     const Verdict& verdict, bool is_determined = true) {
    if (!is_failure(verdict.kind)) {
      pass(backend, test_case, expected, verdict);
      return {};
    }
    const Waiver* waiver = waiver_of(backend, test_case, outcome, verdict);
    if (waiver == nullptr) {
      if (options_.pins != nullptr) options_.pins->add(info_of(backend), test_case, outcome, verdict);
      note_news(backend, test_case, verdict);
    } else {
      ++report_.backends[backend].operators[test_case.subject()].waived[static_cast<std::size_t>(verdict.kind)];
    }
    if (!is_determined && waiver == nullptr) return {};
    if (!can_wait()) return add(backend, expected, outcome, verdict, waiver);
    passing_.try_emplace({backend, test_case.subject()}, 0);
    return wait({backend, test_case, std::move(outcome), verdict, waiver, {}, {}});
  }

  /// Explains what waits. Returns the ids that findings have now, by those that were given.
  std::vector<std::map<std::string, std::string>> settle() {
    record_waiting();
    return {std::move(ids_), findings_.settle([&](const Finding& finding) {
              return options_.diagnoser->settled(position_of(finding), finding.op_type, finding.signature);
            })};
  }

  void report_findings() {
    report_.findings = findings_.take();
    count_undetermined(report_);
    if (options_.diagnoser == nullptr) return;
    for (Finding& finding : report_.findings) {
      finding.diagnosis = options_.diagnoser->diagnosis(position_of(finding), finding.op_type, finding.signature);
      if (finding.diagnosis) finding.diagnosis->examined = finding.cases;
    }
  }

 private:
  // A case whose failure waits to be explained, or one that passed and is evidence beside it.
  struct WaitingCase {
    std::size_t backend = 0;
    Case test_case;
    Outcome outcome;  // of a failure
    Verdict verdict;
    const Waiver* waiver = nullptr;
    std::string id;  // of a failure
    int turn = 0;
  };
  // Cases of a backend's operator that pass after the first one that fails, and wait with it: a diagnoser holds causes
  // against so many.
  static constexpr std::size_t kPassingThatWait = 256;
  // A case takes at least so many bytes beside its tensors' elements: many small cases may wait.
  static constexpr std::size_t kCaseBytes = std::size_t{4} << 10;

  [[nodiscard]] const BackendInfo& info_of(std::size_t backend) const { return report_.backends[backend].info; }

  [[nodiscard]] const Waiver* waiver_of(std::size_t backend, const Case& test_case, const Outcome& outcome,
                                        const Verdict& verdict) const {
    if (options_.waivers == nullptr) return nullptr;
    return options_.waivers->covering(info_of(backend), test_case, outcome, verdict, options_.policy);
  }

  void note_news(std::size_t backend, const Case& test_case, const Verdict& verdict) {
    if (options_.waivers != nullptr && options_.waivers->may_cover(info_of(backend), test_case, verdict)) return;
    ++failures_;
    if (options_.news) options_.news(backend, test_case, verdict);
  }

  [[nodiscard]] bool can_wait() const { return options_.explains_last && options_.diagnoser != nullptr; }
  // Whether the run ended before its time: then nothing is explained any more.
  [[nodiscard]] bool has_ended() const { return options_.explains_last && options_.ends(failures_); }

  void pass(std::size_t backend, const Case& test_case, const Expected& expected, const Verdict& verdict) {
    if (options_.diagnoser == nullptr) return;
    if (verdict.kind != VerdictKind::pass && verdict.kind != VerdictKind::vacuous) return;
    const auto waiting = passing_.empty() ? passing_.end() : passing_.find({backend, test_case.subject()});
    if (waiting == passing_.end() || waiting->second == kPassingThatWait) {
      return options_.diagnoser->passed(backend, test_case, expected);
    }
    ++waiting->second;
    (void)wait({backend, test_case, {}, verdict, nullptr, {}, {}});
  }

  std::string wait(WaitingCase waiting) {
    std::string id = waiting.id = "W" + std::to_string(++waited_);
    waiting.turn = turn_;
    waiting_bytes_ += kCaseBytes + input_bytes(waiting.test_case);
    if (const auto* produced = std::get_if<outcome::Produced>(&waiting.outcome)) {
      for (const Tensor& output : produced->outputs) waiting_bytes_ += output.bytes.size();
    }
    waiting_.push_back(std::move(waiting));
    if (waiting_bytes_ > kWaitingBytes) record_waiting();
    return id;
  }

  void record_waiting() {
    auto waiting = std::exchange(waiting_, {});
    // One backend after the other: experiments keep processes of the backend open that is explained.
    std::stable_sort(waiting.begin(), waiting.end(), [](const WaitingCase& a, const WaitingCase& b) {
      return std::tie(a.backend, a.turn) < std::tie(b.backend, b.turn);
    });
    for (const WaitingCase& one : waiting) {
      Expected expected = expect(one.test_case, options_.policy);
      assess(one.test_case, expected);
      if (is_failure(one.verdict.kind)) {
        ids_[one.id] = add(one.backend, expected, one.outcome, one.verdict, one.waiver);
      } else if (!has_ended()) {
        options_.diagnoser->passed(one.backend, one.test_case, expected);
      }
    }
    waiting_bytes_ = 0;
  }

  // Returns the position of the finding's backend.
  [[nodiscard]] std::size_t position_of(const Finding& finding) const {
    const auto backend = std::find_if(backends_.begin(), backends_.end(),
                                      [&](const auto& candidate) { return candidate->info().name == finding.backend; });
    return static_cast<std::size_t>(backend - backends_.begin());
  }

  std::string add(std::size_t backend, const Expected& expected, const Outcome& outcome, const Verdict& verdict,
                  const Waiver* waiver) {
    const Case& test_case = *expected.test_case;
    if (waiver != nullptr) {
      return findings_.add(info_of(backend).name, test_case, verdict, {}, waiver, {},
                           defect_answer(test_case, options_.policy, outcome, verdict));
    }
    if (const auto own = with_its_own_input(expected, outcome)) {
      Expected own_expected = expect(own->test_case, options_.policy);
      assess(own->test_case, own_expected);
      return add_finding(backend, own_expected, own->outcome, judge(own_expected, own->outcome));
    }
    return add_finding(backend, expected, outcome, verdict);
  }

  std::string add_finding(std::size_t backend, const Expected& expected, const Outcome& outcome,
                          const Verdict& verdict) {
    const Case& test_case = *expected.test_case;
    std::string signature;
    if (options_.diagnoser != nullptr && !has_ended()) {
      signature = options_.diagnoser->failed(backend, test_case, expected, outcome, verdict);
    }
    if (signature == kUndetermined) return {};
    return findings_.add(info_of(backend).name, test_case, verdict, {}, nullptr, std::move(signature),
                         defect_answer(test_case, options_.policy, outcome, verdict));
  }

  const std::vector<std::unique_ptr<Backend>>& backends_;
  const SuiteRunOptions& options_;
  Report& report_;
  Findings findings_;
  std::uint64_t failures_ = 0;
  int turn_ = 0;
  std::vector<WaitingCase> waiting_;  // in the order of the cases
  std::size_t waiting_bytes_ = 0;
  std::uint64_t waited_ = 0;
  std::map<std::pair<std::size_t, std::string>, std::size_t> passing_;  // by backend and operator with a failure
  std::map<std::string, std::string> ids_;                              // findings of those that waited, by their ids
};

}  // namespace qconform
