#include "harness/diagnose/explain/learning.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "harness/forms/defects/defect_files.h"

namespace qconform::diagnose {
namespace {

constexpr std::size_t kMostRows = 448;         // rows that expressions are told apart by, in all
constexpr std::size_t kRowsOfFirst = 64;       // rows of the failing case that is tried first
constexpr std::size_t kRowsOfKnown = 12;       // rows of each next one of kKnownCases cases; later cases have one
constexpr std::size_t kRowsOfRefuting = 32;    // further rows of each case that refuted a candidate
constexpr std::size_t kKnownCases = 8;         // first cases: expressions with equal values on their rows fit alike
constexpr std::size_t kUnobserved = 200;       // cases that give rows before the backend runs them
constexpr std::size_t kMostCandidates = 48;    // candidates that cases then tell apart
constexpr std::size_t kFurther = 1;            // sizes beyond that of the smallest candidate that are tried, too
constexpr std::size_t kMostGenerated = 3000;   // cases drawn to tell candidates apart
constexpr std::size_t kMostForOne = 900;       // cases drawn to hold a single candidate against the backend
constexpr std::size_t kFewestGenerated = 400;  // cases drawn at least: it may be wrong elsewhere than the failures show
constexpr std::uint64_t kEnoughAgreed = 40;    // cases that suffice for a single candidate to agree on
constexpr std::uint64_t kFewestAgreed = 8;     // agreeing cases without which no candidate is taken
constexpr std::uint64_t kBlindTurn = 8;        // one case in so many is run although all agree on it
constexpr std::size_t kFewestFailing = 3;
constexpr std::uint64_t kOfAnExpression = 1000;  // products that an expression counts for when it is tried
constexpr int kRounds = 3;

// The rows of a slot, each once, and which of them a case has.
class RowObserver final : public ContextObserver {
 public:
  explicit RowObserver(const ExpressionSlot& slot) : slot_(slot) {}

  void begin_case(std::size_t most) {
    most_ = std::min(most, kMostRows - std::min(kMostRows, rows_.size()));
    of_case_.clear();
    is_whole_ = true;
    taken_call_.reset();
  }
  // One row alone, of this call or, where there are fewer, of an earlier one.
  void begin_case_at(std::size_t call) {
    begin_case(1);
    taken_call_ = call;
    calls_ = 0;
  }
  void end_case() {
    if (taken_call_ && taken_) add(std::move(*taken_));
    taken_.reset();
  }
  void see(const StageContext& context) override {
    if (most_ == 0) {
      is_whole_ = false;
    } else if (!taken_call_) {
      add(read(context));
    } else if (calls_++ <= *taken_call_ && (std::has_single_bit(calls_) || calls_ == *taken_call_)) {
      taken_ = read(context);
    }
  }
  [[nodiscard]] std::vector<ExpressionInputs> take() { return std::move(rows_); }
  [[nodiscard]] bool is_empty() const { return rows_.empty(); }
  /// Nothing where some were not looked at.
  [[nodiscard]] std::optional<std::vector<std::size_t>> rows_of_case() const {
    if (!is_whole_) return std::nullopt;
    return std::vector(of_case_.begin(), of_case_.end());
  }

 private:
  [[nodiscard]] ExpressionInputs read(const StageContext& context) const {
    ExpressionInputs row{{}, context.range};
    for (const Variable& variable : slot_.variables) row.variables.push_back(variable.read(context, variable.which));
    return row;
  }

  void add(ExpressionInputs row) {
    std::vector<std::int64_t> key = row.variables;
    key.push_back(row.range.lo);
    const auto known = seen_.find(key);
    if (known == seen_.end() && most_ == 0) return;
    const auto [at, is_new] = seen_.try_emplace(std::move(key), rows_.size());
    of_case_.insert(at->second);
    if (!is_new) return;
    rows_.push_back(std::move(row));
    --most_;
  }

  const ExpressionSlot& slot_;
  std::vector<ExpressionInputs> rows_;
  std::optional<std::size_t> taken_call_;
  std::optional<ExpressionInputs> taken_;
  std::size_t calls_ = 0;
  std::map<std::vector<std::int64_t>, std::size_t> seen_;
  std::set<std::size_t> of_case_;
  std::size_t most_ = 0;
  bool is_whole_ = true;
};

// Remembers which expressions fit one case, by their values there: equal values give the same answer.
struct KnownCase {
  std::vector<std::size_t> rows;
  std::unordered_map<std::uint64_t, bool> fits;  ///< by the values in these rows
};

// One slot's expressions, and what is known of them.
struct SearchedSlot {
  Enumeration enumeration;
  std::vector<std::optional<KnownCase>> cases;  ///< by the first observations; absent where not all rows are known
};

struct DefectCandidate {
  const Defect* defect;
  std::size_t size;
};

// Returns the position of the arithmetic under which the reference has most of what is right.
std::size_t fittest_arithmetic(const CandidateTest& test, const Evidence& evidence) {
  std::size_t fittest = 0;
  const auto all = test.known_arithmetics();
  std::size_t most = 0;
  for (std::size_t a = 0; a < all.size(); ++a) {
    std::size_t reproduced = 0;
    for (const auto& observation : evidence) {
      if (!observation->is_failure()) reproduced += test.outcome_of(all[a].models, *observation).is_exact() ? 1 : 0;
    }
    if (a > 0 && reproduced <= most) continue;
    most = reproduced;
    fittest = a;
  }
  return fittest;
}

class ModelLearner {
 public:
  ModelLearner(const Operator& op, const Evidence& evidence, Probes& probes, const CandidateTest& test,
               const std::function<const Observation*(Case)>& observe, const LearningOptions& options)
      : op_(op),
        evidence_(evidence),
        probes_(probes),
        test_(test),
        observe_(observe),
        options_(options),
        last_work_(test.work() + options.work) {}

  Learning run() {
    Learning result;
    arithmetic_ = fittest_arithmetic(test_, evidence_);
    for (std::size_t i = 0; i < kUnobserved; ++i) unobserved_.push_back(probes_.next());
    for (int round = 0; round < kRounds && is_work_left(); ++round) {
      order_evidence();
      if (failing_ < kFewestFailing) break;
      search();
      if (candidates_.empty()) break;
      separate();
      if (!candidates_.empty()) break;
    }
    if (agreed_ < kFewestAgreed) candidates_.clear();
    for (const DefectCandidate& candidate : candidates_) result.candidates.push_back({{candidate.defect}, arithmetic_});
    result.is_certain = is_complete_ && candidates_.size() == 1;
    result.tried = tried_;
    result.agreed = agreed_;
    return result;
  }

 private:
  [[nodiscard]] bool is_work_left() const { return test_.work() + further_work_ < last_work_; }

  [[nodiscard]] const Stages& original() const {
    return test_.known_arithmetics()[arithmetic_].models.common.original();
  }

  void order_evidence() {
    ordered_ = in_testing_order(evidence_);
    std::erase_if(ordered_, [&](const Observation* observation) {
      return observation->is_failure() && options_.is_explained && options_.is_explained(*observation);
    });
    testing_ = ordered_;
    failing_ = static_cast<std::size_t>(std::count_if(
        ordered_.begin(), ordered_.end(), [](const Observation* observation) { return observation->is_failure(); }));
  }

  // The first of the observations that contradicts the expression, or the end.
  template <typename Observations>
  [[nodiscard]] auto contradiction(const Expression& expression, const Observations& observations) const {
    Stages stages = original();
    expression.slot().set(stages, expression);
    const NodeModels model{DefectModel(std::move(stages))};
    return std::find_if(std::begin(observations), std::end(observations), [&](const Observation* observation) {
      return !test_.outcome_of(model, *observation).is_exact();
    });
  }

  [[nodiscard]] bool fits(const Expression& expression, const Observation& observation) const {
    const Observation* const one[] = {&observation};
    return contradiction(expression, one) == std::end(one);
  }

  // Whether the expression fits all observations. The one that refutes it is tried first on the next, which it is
  // likely to refute too.
  [[nodiscard]] bool fits_all(const Expression& expression) {
    const auto found = contradiction(expression, testing_);
    if (found == testing_.end()) return true;
    std::rotate(testing_.begin(), testing_.begin() + (found - testing_.begin()),
                testing_.begin() + (found - testing_.begin()) + 1);
    return false;
  }

  // With what the expressions of the slot see, in the failing case that is tried first and then elsewhere; nothing
  // where that case does not ask it.
  [[nodiscard]] std::unique_ptr<SearchedSlot> searched(const ExpressionSlot& slot) {
    if (slot.allowed == Operators::none) return std::make_unique<SearchedSlot>(SearchedSlot{Enumeration(slot, {}), {}});
    RowObserver observer(slot);
    Expression reference = *Expression::parse(slot, slot.reference);
    reference.observe(observer);
    Stages stages = original();
    slot.set(stages, reference);
    const auto watch = [&](const ModelledCase& modelled) {
      static_cast<void>(modelled.run(stages));
      observer.end_case();
      further_work_ += modelled.expense();
    };
    std::vector<std::optional<KnownCase>> cases;
    for (std::size_t i = 0; i < std::min(kKnownCases, ordered_.size()); ++i) {
      observer.begin_case(i == 0 ? kRowsOfFirst : kRowsOfKnown);
      watch(ordered_[i]->modelled());
      if (observer.is_empty()) return nullptr;
      auto rows = observer.rows_of_case();
      cases.push_back(rows ? std::optional(KnownCase{std::move(*rows), {}}) : std::nullopt);
    }
    for (const Observation* observation : ordered_) {
      if (!refuting_.contains(observation)) continue;
      observer.begin_case(kRowsOfRefuting);
      watch(observation->modelled());
    }
    constexpr std::size_t kCalls = 61;  // a prime: the call is another one from case to case
    for (std::size_t i = 0; i < unobserved_.size(); ++i) {
      observer.begin_case_at(i * 7 % kCalls);
      if (const auto modelled = ModelledCase::prepare(unobserved_[i])) watch(*modelled);
    }
    for (std::size_t i = kKnownCases; i < ordered_.size(); ++i) {
      observer.begin_case_at(i * 7 % kCalls);
      watch(ordered_[i]->modelled());
    }
    return std::make_unique<SearchedSlot>(SearchedSlot{Enumeration(slot, observer.take()), std::move(cases)});
  }

  // Most expressions are refuted by the first cases, and most of those by the values of another one there.
  [[nodiscard]] bool fits(const Expression& expression, std::span<const std::int64_t> values,
                          std::vector<std::optional<KnownCase>>& cases) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!cases[i]) continue;
      std::vector<std::int64_t> there;
      for (const std::size_t row : cases[i]->rows) there.push_back(values[row]);
      const auto [at, is_new] = cases[i]->fits.try_emplace(fingerprint_of(there), false);
      if (is_new) at->second = fits(expression, *ordered_[i]);
      if (!at->second) return false;
    }
    return fits_all(expression);
  }

  void search() {
    candidates_.clear();
    is_complete_ = true;
    std::vector<std::unique_ptr<SearchedSlot>> slots;
    for (const ExpressionSlot* slot : slots_of(op_.name)) {
      if (auto one = searched(*slot)) slots.push_back(std::move(one));
    }
    // Those with few expressions go further with what may be spent.
    std::stable_sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) {
      return a->enumeration.slot().allowed < b->enumeration.slot().allowed;
    });
    std::size_t last = Enumeration::kLargest;
    for (std::size_t size = 1; size <= last && is_work_left(); ++size) {
      for (const auto& slot : slots) try_size(*slot, size);
      if (candidates_.empty()) continue;
      last = std::min(last, candidates_.front().size + kFurther);
      const bool is_whole = std::all_of(slots.begin(), slots.end(), [&](const auto& slot) {
        return slot->enumeration.complete_up_to() >= candidates_.front().size;
      });
      is_complete_ = is_complete_ && is_whole && (is_work_left() || size > candidates_.front().size);
    }
  }

  void try_size(SearchedSlot& slot, std::size_t size) {
    const std::uint64_t of_a_join = slot.enumeration.rows();
    const std::uint64_t before = slot.enumeration.joins();
    const std::uint64_t left = is_work_left() ? last_work_ - test_.work() - further_work_ : 0;
    slot.enumeration.next_size(
        [&](const Expression& expression, std::span<const std::int64_t> values) {
          ++tried_;
          further_work_ += kOfAnExpression;
          is_complete_ = is_complete_ && candidates_.size() < kMostCandidates;
          if (!is_work_left() || candidates_.size() >= kMostCandidates) return false;
          if (fits(expression, values, slot.cases)) candidates_.push_back({&model_of(op_.name, expression), size});
          return true;
        },
        left / of_a_join);
    further_work_ += (slot.enumeration.joins() - before) * of_a_join;
  }

  // Whether the candidates, or they and the reference, give different answers.
  struct AnswerDifferences {
    bool candidates_differ = false;
    bool differ_from_right = false;
  };
  [[nodiscard]] AnswerDifferences answers_to(const Case& test_case) {
    AnswerDifferences answers;
    const auto modelled = ModelledCase::prepare(test_case);
    if (modelled == nullptr) return answers;
    const auto right = modelled->run(DefectModel(original()));
    std::optional<std::optional<Tensor>> first;
    for (const DefectCandidate& candidate : candidates_) {
      const auto answer = test_.model_of({{candidate.defect}, arithmetic_}).run(*modelled);
      further_work_ += modelled->expense();
      answers.differ_from_right = answers.differ_from_right || answer != right;
      answers.candidates_differ = answers.candidates_differ || (first && *first != answer);
      if (!first) first = answer;
    }
    return answers;
  }

  [[nodiscard]] std::size_t most_generated() const { return candidates_.size() > 1 ? kMostGenerated : kMostForOne; }

  void separate() {
    const std::vector<CornerCase> common = common_corner_cases(op_, std::span(ordered_).first(failing_));
    agreed_ = 0;
    // The cases that gave rows come first: in some of them the candidates see something that tells them apart.
    const std::size_t first = unobserved_.size();
    for (std::size_t i = 0; i < first + most_generated() && !candidates_.empty() && is_work_left(); ++i) {
      const bool is_enough = agreed_ >= kEnoughAgreed;
      if (candidates_.size() == 1 && is_enough && i >= first + kFewestGenerated) return;
      probes_.target(i % 2 == 0 ? common : probes_.concerned());
      Case next = i < first ? unobserved_[i] : probes_.next();
      const AnswerDifferences answers = answers_to(next);
      // Once enough agree, mostly those that aim for something else than the failures have in common.
      const bool is_elsewhere = candidates_.size() == 1 && i % 2 == 1;
      const bool is_wanted = answers.candidates_differ || (answers.differ_from_right && (!is_enough || is_elsewhere));
      if (!is_wanted && i % kBlindTurn != 0) continue;
      const Observation* observation = observe_(std::move(next));
      if (observation == nullptr) continue;
      if (observation->is_failure() && options_.is_explained && options_.is_explained(*observation)) continue;
      const std::size_t refuted = std::erase_if(candidates_, [&](const DefectCandidate& candidate) {
        return !fits(*candidate.defect->expression, *observation);
      });
      if (refuted > 0) refuting_.insert(observation);
      agreed_ += answers.differ_from_right ? 1 : 0;
    }
  }

  const Operator& op_;
  const Evidence& evidence_;
  Probes& probes_;
  const CandidateTest& test_;
  const std::function<const Observation*(Case)>& observe_;
  const LearningOptions& options_;
  std::uint64_t last_work_;
  std::uint64_t further_work_ = 0;
  std::size_t arithmetic_ = 0;
  std::vector<Case> unobserved_;
  std::vector<const Observation*> ordered_;  // the evidence, failing cases first
  std::vector<const Observation*> testing_;  // these observations; one that refuted something moves to the front
  std::size_t failing_ = 0;
  std::vector<DefectCandidate> candidates_;
  std::set<const Observation*> refuting_;  // observations that refuted a candidate
  bool is_complete_ = true;
  std::uint64_t tried_ = 0;
  std::uint64_t agreed_ = 0;
};

}  // namespace

Learning learn(const Operator& op, const Evidence& evidence, Probes& probes, const CandidateTest& test,
               const std::function<const Observation*(Case)>& observe, const LearningOptions& options) {
  return ModelLearner(op, evidence, probes, test, observe, options).run();
}

}  // namespace qconform::diagnose
