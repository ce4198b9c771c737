#include "harness/engine/cold_replay.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <map>
#include <span>
#include <vector>

#include "harness/backends/sandbox/guarded_run.h"
#include "harness/base/stopwatch.h"
#include "harness/engine/execute.h"
#include "harness/engine/findings.h"
#include "harness/model/judge/judge.h"
#include "harness/model/node_changes.h"

namespace qconform {
namespace {

// Processes that a search for the nodes before a failure may take.
constexpr int kMostRuns = 120;
// A failure after other nodes that is not chance comes back each time, and never alone.
constexpr int kRepetitions = 3;

// The outcome after other nodes, as part of that of a process of its own.
AfterOthers after_others(const Outcome& outcome, const Expected& expected) {
  if (const auto* produced = std::get_if<outcome::Produced>(&outcome)) return {produced->outputs, {}};
  const Verdict verdict = judge(expected, outcome);
  return {{}, std::string(name_of(verdict.kind)) + (verdict.detail.empty() ? "" : ": " + verdict.detail)};
}

// Whether the case may have ended so by chance.
bool may_be_chance(const Outcome& outcome) {
  return std::holds_alternative<outcome::Nondeterministic>(outcome) ||
         std::holds_alternative<outcome::ThreadDependent>(outcome) ||
         std::holds_alternative<outcome::TimedOut>(outcome);
}

std::optional<Outcome> run_alone(Worker& worker, const Case& test_case, RunMode mode) {
  const Case* const only[] = {&test_case};
  return worker.run_apart(only, mode);
}

// Looks for the fewest nodes after which a case fails that is right alone.
class SequenceSearch {
 public:
  SequenceSearch(Worker& worker, const Case& test_case, const Policy& policy, KnownSequences& known)
      : worker_(worker), case_(test_case), expected_(expect(test_case, policy)), known_(known) {}

  // Empty where none was found that bring the failure back each time.
  std::vector<Case> find() {
    if (auto before = first_that_fails(known_.changed(case_)); !before.empty()) return before;
    const bool may_search = known_.may_search();
    std::vector<Case> found;
    if (may_search) found = changed_node();
    if (found.empty()) found = first_that_fails(known_.others());
    if (found.empty() && may_search) found = needed_of(worker_.run_before(case_));
    return found.empty() || is_confirmed(found) ? found : std::vector<Case>();
  }

  // The outcome after the nodes found last.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

 private:
  std::vector<Case> first_that_fails(const std::vector<std::vector<Case>>& lists) {
    for (const std::vector<Case>& before : lists) {
      if (fails_after(pointers(before))) return before;
    }
    return {};
  }

  // The same node with one thing changed.
  std::vector<Case> changed_node() {
    for (const NodeChange& change : node_changes(case_)) {
      Case other = computation_of(case_);
      change(other);
      const std::vector<Case> before{std::move(other)};
      if (digest_of(before[0]) != digest_of(case_) && fails_after(pointers(before))) return before;
    }
    return {};
  }

  // Those of the cases that the worker had run, once or closely.
  std::vector<Case> needed_of(std::vector<Case> history) {
    if (history.empty()) return {};
    if (!fails_after(pointers(history))) {
      history = with_neighbours(history);
      if (!fails_after(pointers(history))) return {};
    }
    std::vector<Case> found;
    for (const Case* one : fewest_of(pointers(history))) found.push_back(*one);
    if (found.size() == 1) bring_nearer(found);
    return found;
  }

  // Looks for less of the node that is to blame: the case itself with one thing of that node, else that node with what
  // the case has, thing by thing, as long as the failure comes back. What differs then is what matters.
  void bring_nearer(std::vector<Case>& found) {
    const Case blamed = found.front();
    if (blamed.nodes.size() != case_.nodes.size() || blamed.input_names != case_.input_names) return;
    const std::size_t inputs = std::max(blamed.inputs.size(), case_.inputs.size());
    const auto fails = [&](Case other) {
      std::vector<Case> before{std::move(other)};
      const bool is_other = digest_of(before.front()) != digest_of(case_);
      if (!is_other || !fails_after(pointers(before))) return false;
      found = std::move(before);
      return true;
    };
    for (std::size_t i = 0; i <= inputs; ++i) {
      if (fails(with_part_of(case_, blamed, i))) return;
    }
    for (std::size_t i = 0; i <= inputs; ++i) (void)fails(with_part_of(found.front(), case_, i));
  }

  // The first with an input of the other; with its attributes where the number is no input's of either.
  static Case with_part_of(const Case& one, const Case& other, std::size_t number) {
    Case result = computation_of(one);
    const std::size_t inputs = std::max(one.inputs.size(), other.inputs.size());
    if (number >= inputs) {
      result.nodes = other.nodes;
      return result;
    }
    result.inputs.resize(inputs);
    result.inputs[number] = number < other.inputs.size() ? other.inputs[number] : std::nullopt;
    while (!result.inputs.empty() && !result.inputs.back()) result.inputs.pop_back();
    return result;
  }

  bool is_confirmed(const std::vector<Case>& before) {
    for (int i = 0; i < kRepetitions; ++i) {
      const auto alone = run_alone(worker_, case_, RunMode::once);
      if (!alone || is_failure(judge(expected_, *alone).kind)) return false;
      runs_ = 0;
      if (!fails_after(pointers(before))) return false;
    }
    return true;
  }

  // A worker that looks closely at a case runs its node with other values too.
  static std::vector<Case> with_neighbours(const std::vector<Case>& cases) {
    std::vector<Case> all;
    for (const Case& one : cases) {
      all.push_back(one);
      make_neighbour(one, all.emplace_back());
    }
    return all;
  }

  static std::vector<const Case*> pointers(const std::vector<Case>& cases) {
    std::vector<const Case*> all;
    for (const Case& one : cases) all.push_back(&one);
    return all;
  }

  bool fails_after(std::vector<const Case*> cases) {
    if (++runs_ > kMostRuns) return false;
    cases.push_back(&case_);
    auto outcome = worker_.run_apart(cases, RunMode::once);
    if (!outcome || is_refusal(*outcome) || !is_failure(judge(expected_, *outcome).kind)) return false;
    outcome_ = std::move(*outcome);
    return true;
  }

  // Leaves out the earlier ones, then halves, quarters and single ones of what is left.
  std::vector<const Case*> fewest_of(std::vector<const Case*> cases) {
    std::size_t kept = 1;
    while (kept < cases.size() && !fails_after({cases.end() - static_cast<std::ptrdiff_t>(kept), cases.end()}))
      kept *= 2;
    if (kept < cases.size()) cases.erase(cases.begin(), cases.end() - static_cast<std::ptrdiff_t>(kept));
    for (std::size_t size = (cases.size() + 1) / 2; cases.size() > 1 && size > 0; size /= 2) {
      for (std::size_t begin = 0; begin < cases.size() && cases.size() > 1;) {
        std::vector<const Case*> fewer = cases;
        const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(begin);
        fewer.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, fewer.size() - begin)));
        if (!fewer.empty() && fails_after(fewer)) {
          cases = std::move(fewer);
        } else {
          begin += size;
        }
      }
    }
    return cases;
  }

  Worker& worker_;
  const Case& case_;
  Expected expected_;
  KnownSequences& known_;
  Outcome outcome_;
  int runs_ = 0;
};

// Runs the case after the nodes before it, in a process of their own, and adds what comes of it.
void add_after_others(Worker& worker, const Case& test_case, Outcome& alone) {
  std::vector<const Case*> all;
  for (const Case& one : test_case.before) all.push_back(&one);
  all.push_back(&test_case);
  const auto together = worker.run_apart(all, RunMode::once);
  if (together && !is_refusal(*together)) alone.after_others = after_others(*together, expect(test_case, {}));
}

}  // namespace

void KnownSequences::add(const Case& test_case) {
  if (test_case.before.empty()) return;
  const std::string difference = difference_text(test_case.before.back(), test_case);
  if (test_case.before.size() == 1 && !difference.empty()) {
    if (std::find(differences_.begin(), differences_.end(), difference) == differences_.end())
      differences_.push_back(difference);
  } else if (others_.size() < kMost) {
    others_.push_back(test_case.before);
  }
}

std::vector<std::vector<Case>> KnownSequences::changed(const Case& test_case) const {
  std::vector<std::vector<Case>> all;
  for (const NodeChange& change : node_changes(test_case)) {
    Case changed = computation_of(test_case);
    change(changed);
    const std::string difference = difference_text(changed, test_case);
    if (std::find(differences_.begin(), differences_.end(), difference) != differences_.end())
      all.push_back({std::move(changed)});
  }
  return all;
}

std::optional<Outcome> grown_memory(Worker& worker, const Case& test_case) {
  auto outcome = run_alone(worker, test_case, RunMode::repeatedly);
  if (outcome && !std::holds_alternative<outcome::GrewMemory>(*outcome)) outcome.reset();
  return outcome;
}

std::optional<ColdReplay> replay_cold(Worker& worker, const Case& test_case, const Outcome& failed,
                                      const Policy& policy, KnownSequences& known) {
  const Expected expected = expect(test_case, policy);
  auto alone = run_alone(worker, test_case, RunMode::closely);
  if (!alone) return std::nullopt;
  // A refusal is known to be wrong by another setting's answer, which was asked for before.
  if (is_refusal(failed) && is_refusal(*alone)) alone->elsewhere = failed.elsewhere;
  if (is_failure(judge(expected, *alone).kind)) return ColdReplay{test_case, std::move(*alone), true};
  if (std::holds_alternative<outcome::OutOfMemory>(failed)) {
    if (auto growth = grown_memory(worker, test_case)) return ColdReplay{test_case, std::move(*growth), true};
  }
  SequenceSearch search(worker, test_case, policy, known);
  ColdReplay replay{test_case, std::move(*alone), false};
  replay.test_case.before = search.find();
  const bool is_found = !replay.test_case.before.empty();
  known.add(replay.test_case);
  if (!is_found && may_be_chance(failed)) return std::nullopt;
  replay.outcome.after_others = after_others(is_found ? search.outcome() : failed, expected);
  return replay;
}

std::optional<bool> fails_cold(Worker& worker, const Case& test_case, const Policy& policy) {
  const Expected expected = expect(test_case, policy);
  const bool grows = test_case.defect && test_case.defect->verdict == VerdictKind::grows_memory;
  auto outcome = run_alone(worker, test_case, grows ? RunMode::repeatedly : RunMode::closely);
  if (!outcome) return std::nullopt;
  if (!test_case.before.empty()) add_after_others(worker, test_case, *outcome);
  return is_failure(judge(expected, *outcome).kind);
}

namespace {

void replay_finding(Finding& finding, Worker& worker, const Policy& policy, KnownSequences& known) {
  const std::optional<bool> fails = fails_cold(worker, finding.example, policy);
  if (!fails) return;
  if (*fails) {
    finding.replayed = finding.example.before.empty() ? "alone" : "after others";
    return;
  }
  // A crash may be one that a target of the fuzzing engine saw, and what differs by chance may not differ again.
  if (!is_computed(finding.kind)) return;
  worker.note_that_it_remembers();
  auto replay = replay_cold(worker, finding.example, outcome::Nondeterministic{}, policy, known);
  if (replay && replay->fails_alone) return;
  if (replay) {
    finding.example = std::move(replay->test_case);
    finding.verdict = judge(expect(finding.example, policy), replay->outcome);
  } else {
    finding.verdict.kind = VerdictKind::depends_on_earlier_node;
    finding.verdict.detail = "right alone in a process, but not among other nodes: " + finding.verdict.detail;
  }
  finding.kind = finding.verdict.kind;
  finding.signature = signature_of(finding.verdict);
  finding.diagnosis.reset();
  finding.representative.reset();
  finding.replayed = "after others";
}

}  // namespace

void replay_findings(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy) {
  std::map<std::string, KnownSequences> known;
  for (const Finding& finding : report.findings) known[finding.backend].add(finding.example);
  for (Finding& finding : report.findings) {
    if (finding.waiver || !finding.replayed.empty() || finding.kind == VerdictKind::inconsistent ||
        finding.kind == VerdictKind::timed_out)
      continue;
    for (const auto& backend : backends) {
      Worker* worker = backend->worker();
      if (worker != nullptr && worker->starts_fast() && backend->info().name == finding.backend)
        replay_finding(finding, *worker, policy, known[finding.backend]);
    }
  }
}

Outcome execute_after_others(Backend& backend, const Case& test_case) {
  GuardedOutput output;
  const Case only = computation_of(test_case);
  Worker* worker = backend.worker();
  auto alone = worker == nullptr ? std::nullopt : run_alone(*worker, only, RunMode::closely);
  if (!alone) {
    for (const Case& one : test_case.before) (void)execute(backend, one, output);
    return execute(backend, only, output);
  }
  add_after_others(*worker, test_case, *alone);
  return std::move(*alone);
}

std::optional<ColdReplay> ColdReplays::replay(Worker& worker, const Case& test_case, const Outcome& failed,
                                              const Policy& policy) {
  const std::uint64_t number = failures_++;
  const bool is_due = remembers_ || number < limits_.first || std::has_single_bit(number);
  // Another time-out would take as long as the first: a run that hangs is told at once.
  const bool may_be = worker.starts_fast() && !std::holds_alternative<outcome::TimedOut>(failed);
  const double most = limits_.seconds + limits_.share * seconds_since(begin_);
  if (!is_due || !may_be || seconds_ >= most || !test_case.before.empty()) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  auto replay = replay_cold(worker, test_case, failed, policy, known_);
  seconds_ += seconds_since(start);
  if (replay && !replay->fails_alone && !remembers_) {
    remembers_ = true;
    worker.note_that_it_remembers();
  }
  return replay;
}

}  // namespace qconform
