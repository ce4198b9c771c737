// Starts from one row that is taken, changes one parameter at a time, and goes on from every row that is taken by a
// class that was not before. What is declined inside the classes is then narrowed to the classes that matter, by
// halving the difference between a declined row and a taken one (delta debugging), until rows drawn at random are all
// taken.
#include "harness/suites/sweep/suite.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {
namespace {

constexpr std::size_t kRowsToFirst = 60;  ///< rows of many combinations asked before a model counts as declined
constexpr int kTriesOfClass = 8;          ///< rows with a class that was declined beside the classes known so far
constexpr int kContexts = 5;              ///< taken rows that a declined one is compared with
constexpr int kTriesOfCombination = 32;   ///< rows with a combination before it counts as declined
constexpr int kTriesOfWidening = 4;       ///< rows with another class in place of one of a declined combination
constexpr int kFurtherDraws = 2;          ///< draws of a declined row inside the contract: its values may be at fault

// One class of one parameter.
struct ClassChoice {
  std::size_t parameter;
  std::uint8_t chosen;
  auto operator<=>(const ClassChoice&) const = default;
};
using ClassChoices = std::vector<ClassChoice>;

std::size_t distance(const Row& a, const Row& b) {
  std::size_t different = 0;
  for (std::size_t p = 0; p < a.size(); ++p) different += a[p] != b[p] ? 1 : 0;
  return different;
}

// Makes rows of a model out of others.
class RowMaker {
 public:
  explicit RowMaker(const Model& model) : solver_(model) {}

  [[nodiscard]] const ConstraintSolver& solver() const { return solver_; }

  // The row nearest to `base` that has the terms; nothing where none has.
  [[nodiscard]] std::optional<Row> with(const Row& base, std::span<const ClassChoice> terms) const {
    PartialRow partial = solver_.start();
    for (const ClassChoice& term : terms) {
      if (partial.is_decided(term.parameter)) continue;
      if (!solver_.decide(partial, term.parameter, term.chosen)) return std::nullopt;
    }
    if (!solver_.complete(partial)) return std::nullopt;
    return solver_.complete(towards(base, std::move(partial), 0));
  }

  // With the classes of `base` beside those that are decided, but for the parameters of `open`. `partial` has rows, and
  // so has the result: where what is decided first leaves nothing for the rest, each class is taken only if some row
  // has it beside those before.
  [[nodiscard]] PartialRow towards(const Row& base, PartialRow partial, std::uint32_t open) const {
    const auto decided = [&](bool looks_ahead) {
      PartialRow result = partial;
      for (std::size_t p = 0; p < base.size(); ++p) {
        if (result.is_decided(p) || (open >> p & 1U) != 0) continue;
        PartialRow deeper = result;
        if (!solver_.decide(deeper, p, base[p]) || (looks_ahead && !solver_.complete(deeper))) continue;
        result = std::move(deeper);
      }
      return result;
    };
    PartialRow near = decided(false);
    return solver_.complete(near) ? near : decided(true);
  }

 private:
  ConstraintSolver solver_;
};

// The rows that the backend was asked for, and what is known by them.
class AskedRows {
 public:
  AskedRows(const Model& model, const Probe& probe, const LearningLimits& limits) : probe_(probe), limits_(limits) {
    learnt_.contract.taken.assign(model.parameters.size(), 0);
  }

  [[nodiscard]] LearntContract& learnt() { return learnt_; }
  [[nodiscard]] const LearntContract& learnt() const { return learnt_; }
  [[nodiscard]] const std::vector<Row>& taken() const { return taken_; }
  /// Taken rows that had a new class: others are looked for beside them.
  [[nodiscard]] const std::vector<Row>& bases() const { return bases_; }

  [[nodiscard]] bool has_budget() const { return learnt_.probes < limits_.probes; }
  [[nodiscard]] bool knows(const ClassChoice& term) const {
    return (learnt_.contract.taken[term.parameter] >> term.chosen & 1U) != 0;
  }

  // A row that has been asked for is not asked for again.
  bool is_taken(const Row& row) {
    const auto known = answers_.find(row);
    if (known != answers_.end()) return known->second;
    const ProbeAnswer answer = probe_(row, learnt_.probes++);
    if (answer.taken) note(row);
    if (!answer.taken && taken_.empty()) note_refusal(row, answer.reason);
    return answers_[row] = answer.taken;
  }

  bool is_taken_with_other_values(const Row& row) {
    for (int i = 0; i < kFurtherDraws && has_budget(); ++i) {
      if (probe_(row, learnt_.probes++).taken) return true;
    }
    return false;
  }

  // As is_taken_with_other_values(), and what is taken counts.
  bool retry(const Row& row) {
    const bool taken = is_taken_with_other_values(row);
    if (taken) note(row);
    return taken;
  }

  // Rows with one reason, as long as no row is taken.
  struct Refusals {
    std::uint64_t count = 0;
    Row first;
  };
  // By reason, without its numbers.
  [[nodiscard]] const std::map<std::string, Refusals>& refusals() const { return refusals_; }

  [[nodiscard]] std::optional<Row> nearest_taken(const Row& row) const {
    const auto nearest = std::min_element(
        taken_.begin(), taken_.end(), [&](const Row& a, const Row& b) { return distance(a, row) < distance(b, row); });
    return nearest == taken_.end() ? std::nullopt : std::optional(*nearest);
  }

 private:
  void note_refusal(const Row& row, std::string reason) {
    std::erase_if(reason, [](char c) { return c >= '0' && c <= '9'; });
    Refusals& same = refusals_[reason];
    if (same.count++ == 0) same.first = row;
  }

  // A taken row with a new class is where others are looked for.
  void note(const Row& row) {
    bool is_new = false;
    for (std::size_t p = 0; p < row.size(); ++p) {
      is_new = is_new || !knows({p, row[p]});
      learnt_.contract.taken[p] |= set_of(row[p]);
    }
    taken_.push_back(row);
    if (is_new) bases_.push_back(row);
  }

  const Probe& probe_;
  const LearningLimits& limits_;
  LearntContract learnt_;
  std::vector<Row> taken_;
  std::vector<Row> bases_;
  std::map<Row, bool> answers_;
  std::map<std::string, Refusals> refusals_;
};

class ContractLearner {
 public:
  ContractLearner(const Model& model, const Probe& probe, const LearningLimits& limits)
      : model_(model), limits_(limits), rows_(model), asked_(model, probe, limits), rng_(0xC0417AC7) {}

  LearntContract learn(std::span<const Row> rows) {
    find_first(rows);
    vary_bases();
    try_declined_classes();
    confirm();
    drop_implied();
    return std::move(asked_.learnt());
  }

 private:
  // Rows that have every combination of the parameters by which backends choose, as plain as they can be otherwise:
  // what is taken lies in islands of those, int8 throughout and uint8 throughout, say. Where all are declined, rows
  // that meet many combinations of all parameters.
  void find_first(std::span<const Row> rows) {
    Row plain;
    ClassChoices core;
    for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
      plain.push_back(model_.parameters[p].plain);
      if (model_.parameters[p].role == ParameterRole::core) core.push_back({p, 0});
    }
    std::vector<Row> first;
    do {
      if (auto row = rows_.with(plain, core)) first.push_back(std::move(*row));
    } while (advance(core));
    rng_.shuffle(first);
    for (const Row& row : first) {
      if (asked_.has_budget()) (void)asked_.is_taken(row);
    }
    std::vector<Row> many(rows.begin(), rows.end());
    rng_.shuffle(many);
    for (std::size_t i = 0; i < many.size() && i < kRowsToFirst && asked_.taken().empty() && asked_.has_budget(); ++i) {
      (void)asked_.is_taken(many[i]);
    }
    climb();
  }

  // Kernels check one thing after the other, and name the first that does not fit: the rows that come farthest are
  // those with the rarest reason. One class at a time changes in them, until a reason comes up that is new, or a row is
  // taken. One reason for all rows names an operator that the backend does not have.
  void climb() {
    std::set<std::string> climbed;
    while (asked_.taken().empty() && asked_.has_budget() && asked_.refusals().size() > 1) {
      const auto* rarest = static_cast<const std::pair<const std::string, AskedRows::Refusals>*>(nullptr);
      for (const auto& refusal : asked_.refusals()) {
        if (climbed.contains(refusal.first)) continue;
        if (rarest == nullptr || refusal.second.count < rarest->second.count) rarest = &refusal;
      }
      if (rarest == nullptr) return;
      climbed.insert(rarest->first);
      try_around(Row(rarest->second.first));
    }
  }

  // A reason may be one of values, too: a row is drawn again before another.
  void try_around(const Row& base) {
    if (asked_.retry(base)) return;
    for_each_class([&](const ClassChoice& term) {
      if (!asked_.taken().empty() || !asked_.has_budget()) return;
      if (const auto row = rows_.with(base, {&term, 1})) (void)(asked_.is_taken(*row));
    });
  }

  bool advance(ClassChoices& core) const {
    for (ClassChoice& term : core) {
      if (++term.chosen < model_.parameters[term.parameter].classes.size()) return true;
      term.chosen = 0;
    }
    return false;
  }

  template <typename Visit>
  void for_each_class(Visit visit) const {
    for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
      for (std::size_t c = 0; c < model_.parameters[p].classes.size(); ++c)
        visit(ClassChoice{p, static_cast<std::uint8_t>(c)});
    }
  }

  void vary_bases() {
    while (varied_ < asked_.bases().size() && asked_.has_budget()) vary(Row(asked_.bases()[varied_++]));
  }

  void vary(const Row& base) {
    for_each_class([&](const ClassChoice& term) {
      if (asked_.knows(term) || !asked_.has_budget()) return;
      if (const auto row = rows_.with(base, {&term, 1})) (void)asked_.is_taken(*row);
    });
  }

  // Tries declined classes together, since one may go with others alone (uint8 weights with an uint8 zero point, say):
  // the parameters of which some class was declined vary together, the others stay as they are in a row that is taken.
  void try_declined_classes() {
    for (bool found = true; found && !asked_.bases().empty();) {
      found = false;
      ClassChoices unknown;
      for_each_class([&](const ClassChoice& term) {
        if (!asked_.knows(term)) unknown.push_back(term);
      });
      for (const ClassChoice& term : unknown) {
        for (int i = 0; i < kTriesOfClass && !asked_.knows(term) && asked_.has_budget(); ++i) {
          if (const auto row = among_declined(term, unknown)) (void)asked_.is_taken(*row);
        }
        found = found || asked_.knows(term);
        vary_bases();
      }
    }
  }

  std::optional<Row> among_declined(const ClassChoice& term, const ClassChoices& unknown) {
    const Row& base = asked_.bases()[rng_.below(static_cast<std::uint32_t>(asked_.bases().size()))];
    std::uint32_t open = 0;
    for (const ClassChoice& other : unknown) open |= 1U << other.parameter;
    PartialRow partial = rows_.solver().start();
    if (!rows_.solver().decide(partial, term.parameter, term.chosen) || !rows_.solver().complete(partial))
      return std::nullopt;
    return rows_.solver().draw(rows_.towards(base, std::move(partial), open), rng_);
  }

  void confirm() {
    if (!asked_.learnt().contract.takes_anything()) return;
    std::optional<Model> inside;
    std::optional<ConstraintSolver> solver;
    while (asked_.has_budget() && asked_.learnt().confirmed < limits_.confirmations) {
      if (!solver) {
        inside = restricted(model_, asked_.learnt().contract);
        solver.emplace(*inside);
      }
      const auto row = solver->draw(solver->start(), rng_);
      if (!row) return;
      const bool is_declined = !asked_.is_taken(*row) && !asked_.is_taken_with_other_values(*row);
      if (is_declined && locate(*row, *solver)) {
        asked_.learnt().confirmed = asked_.learnt().contradicted = 0;
        solver.reset();
        continue;
      }
      ++asked_.learnt().confirmed;
      asked_.learnt().contradicted += is_declined ? 1 : 0;
    }
  }

  // Drops combinations that the others imply. One that was found first is often a part of a later one: it goes where no
  // row has it that the others leave.
  void drop_implied() {
    std::vector<Combination>& declined = asked_.learnt().contract.declined;
    for (std::size_t i = 0; i < declined.size();) {
      SweepContract others = asked_.learnt().contract;
      others.declined.erase(others.declined.begin() + static_cast<std::ptrdiff_t>(i));
      const Model model = restricted(model_, others);
      const ConstraintSolver solver(model);
      PartialRow begun = solver.start();
      for (const Term& term : declined[i]) begun.possible[term.parameter] &= term.classes;
      if (solver.complete(begun)) {
        ++i;
      } else {
        declined.erase(declined.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  // Learns the combination for which `row` is declined. False where no small one was found. `solver` is of the rows
  // inside the contract. In every context that is taken although it has the combination found so far, more matters.
  bool locate(const Row& row, const ConstraintSolver& solver) {
    ClassChoices suspects;
    std::optional<Row> context = asked_.nearest_taken(row);
    for (int i = 0; context && i < kContexts && asked_.has_budget(); ++i) {
      for (const ClassChoice& term : difference(row, *context, suspects)) suspects.push_back(term);
      std::sort(suspects.begin(), suspects.end());
      context = taken_with(suspects, solver);
    }
    // More would be no rule that a person recognizes, and hardly one that the backend has.
    constexpr std::size_t kMost = 4;
    if (context || suspects.size() < 2 || suspects.size() > kMost) return false;
    asked_.learnt().contract.declined.push_back(widened(suspects, solver));
    return true;
  }

  // With the classes beside those of the combination that make no difference: "M other than 1", and not a rule for each
  // M.
  Combination widened(const ClassChoices& suspects, const ConstraintSolver& solver) {
    Combination combination;
    for (const ClassChoice& choice : suspects) combination.push_back({choice.parameter, set_of(choice.chosen)});
    for (Term& term : combination) {
      ClassSet others = asked_.learnt().contract.taken[term.parameter] & ~term.classes;
      for (; others != 0; others &= others - 1) {
        const ClassSet before = term.classes;
        term.classes = others & ~(others - 1);  // one class alone, beside all that the other terms have by now
        if (is_declined_everywhere(combination, solver))
          term.classes |= before;
        else
          term.classes = before;
      }
    }
    // A term that every class has says nothing.
    const auto says_nothing = [&](const Term& term) {
      return term.classes == asked_.learnt().contract.taken[term.parameter];
    };
    if (std::count_if(combination.begin(), combination.end(), says_nothing) + 2 <= std::ssize(combination)) {
      std::erase_if(combination, says_nothing);
    }
    return combination;
  }

  bool is_declined_everywhere(const Combination& combination, const ConstraintSolver& solver) {
    if (std::any_of(asked_.taken().begin(), asked_.taken().end(),
                    [&](const Row& row) { return has(row, combination); }))
      return false;
    PartialRow begun = solver.start();
    for (const Term& term : combination) begun.possible[term.parameter] &= term.classes;
    for (int i = 0; i < kTriesOfWidening; ++i) {
      const auto row = asked_.has_budget() ? solver.draw(begun, rng_) : std::nullopt;
      if (!row || asked_.is_taken(*row)) return false;
    }
    return true;
  }

  // A row that is taken and has the combination: one that was met, or one of some that are drawn.
  std::optional<Row> taken_with(const ClassChoices& combination, const ConstraintSolver& solver) {
    const auto has_all = [&](const Row& row) {
      return std::all_of(combination.begin(), combination.end(),
                         [&](const ClassChoice& term) { return row[term.parameter] == term.chosen; });
    };
    const auto met = std::find_if(asked_.taken().begin(), asked_.taken().end(), has_all);
    if (met != asked_.taken().end()) return *met;
    PartialRow begun = solver.start();
    for (const ClassChoice& term : combination) {
      if (!solver.decide(begun, term.parameter, term.chosen)) return std::nullopt;
    }
    for (int i = 0; i < kTriesOfCombination && asked_.has_budget(); ++i) {
      const auto row = solver.draw(begun, rng_);
      if (row && asked_.is_taken(*row)) return row;
    }
    return std::nullopt;
  }

  // The fewest of the classes in which `row` differs from `context` that make it declined there, beside `kept`.
  ClassChoices difference(const Row& row, const Row& context, const ClassChoices& kept) {
    ClassChoices terms;
    for (std::size_t p = 0; p < row.size(); ++p) {
      const ClassChoice term{p, row[p]};
      if (row[p] != context[p] && std::find(kept.begin(), kept.end(), term) == kept.end()) terms.push_back(term);
    }
    for (std::size_t chunk = (terms.size() + 1) / 2; chunk > 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
      for (std::size_t begin = 0; begin < terms.size() && asked_.has_budget();) {
        ClassChoices fewer(kept);
        for (std::size_t i = 0; i < terms.size(); ++i) {
          if (i < begin || i >= begin + chunk) fewer.push_back(terms[i]);
        }
        const auto smaller = rows_.with(context, fewer);
        if (!smaller || !asked_.learnt().contract.takes(*smaller) || asked_.is_taken(*smaller)) {
          begin += chunk;
        } else {
          terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(begin),
                      terms.begin() + static_cast<std::ptrdiff_t>(std::min(begin + chunk, terms.size())));
        }
      }
    }
    return terms;
  }

  const Model& model_;
  LearningLimits limits_;
  RowMaker rows_;
  AskedRows asked_;
  Rng rng_;
  std::size_t varied_ = 0;  ///< how many bases were varied
};

}  // namespace

LearntContract learn_contract(const Model& model, std::span<const Row> rows, const Probe& probe,
                              const LearningLimits& limits) {
  return ContractLearner(model, probe, limits).learn(rows);
}

}  // namespace qconform::sweep
