// Greedy, one row at a time: a row is begun with a combination that is not covered yet and goes on with the class,
// parameter after parameter, that covers the most further ones. The best of a few such rows is taken. When the first
// combination cannot be completed by any row, it is infeasible.
#include "harness/suites/sweep/covering_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/model/draws/draws.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {
namespace {

/// Calls visit(positions) for every `n` of `count` positions, each ascending, in lexicographic order.
template <std::size_t n, typename Visit>
void for_each_subset(std::size_t count, Visit visit) {
  std::array<std::size_t, n> positions{};
  const auto from = [&]<std::size_t depth>(const auto& self, std::integral_constant<std::size_t, depth>,
                                           std::size_t first) -> void {
    for (std::size_t position = first; position + n - depth <= count; ++position) {
      positions[depth] = position;
      if constexpr (depth + 1 == n) {
        visit(std::as_const(positions));
      } else {
        self(self, std::integral_constant<std::size_t, depth + 1>(), position + 1);
      }
    }
  };
  from(from, std::integral_constant<std::size_t, 0>(), 0);
}

// Positions among the parameters of a Combinations.
template <std::size_t strength>
using Positions = std::array<std::size_t, strength>;

template <std::size_t strength>
struct ClassTuple {
  Positions<strength> position;
  std::array<std::uint8_t, strength> chosen;
};

// The parameters that are combined.
struct Chosen {
  const Model& model;
  std::span<const std::size_t> among;

  [[nodiscard]] std::size_t count() const { return among.size(); }
  [[nodiscard]] std::size_t classes(std::size_t position) const {
    return model.parameters[among[position]].classes.size();
  }
  template <std::size_t n>
  [[nodiscard]] std::size_t combinations(const Positions<n>& positions) const {
    std::size_t product = 1;
    for (const std::size_t position : positions) product *= classes(position);
    return product;
  }
  // The number of a combination among those of its parameters, and back; the last one fastest.
  template <std::size_t n>
  [[nodiscard]] std::size_t number_of(const Positions<n>& positions, const Row& row) const {
    std::size_t number = 0;
    for (const std::size_t position : positions) number = number * classes(position) + row[among[position]];
    return number;
  }
  template <std::size_t n>
  [[nodiscard]] ClassTuple<n> numbered(const Positions<n>& positions, std::size_t number) const {
    ClassTuple<n> combination{positions, {}};
    for (std::size_t i = n; i-- > 0; number /= classes(positions[i])) {
      combination.chosen[i] = static_cast<std::uint8_t>(number % classes(positions[i]));
    }
    return combination;
  }
};

// The combinations that are not covered yet. For all but one of their classes and the parameter of that one, a word has
// a bit for each of its classes: counting what a class would cover reads one word for each choice of the others.
template <std::size_t strength>
class Open {
 public:
  using Ids = std::array<std::size_t, strength - 1>;

  explicit Open(const Chosen& chosen) : chosen_(chosen) {
    for (std::size_t position = 0; position < chosen.count(); ++position) {
      offset_.push_back(classes_);
      classes_ += chosen.classes(position);
    }
    std::size_t words = chosen.count();
    for (std::size_t i = 0; i + 1 < strength; ++i) words *= classes_;
    open_.resize(words);
    for (std::size_t i = 0; i < words; ++i) {
      open_[i] = chosen.model.parameters[chosen.among[i % chosen.count()]].all();
    }
  }

  [[nodiscard]] std::size_t id(std::size_t position, std::uint8_t chosen) const { return offset_[position] + chosen; }

  /// The open classes of the parameter at `position` beside the classes `ids`, which ascend.
  [[nodiscard]] ClassSet beside(const Ids& ids, std::size_t position) const { return open_[index_of(ids, position)]; }

  [[nodiscard]] bool is_open(const ClassTuple<strength>& c) const {
    return (open_[index_of(ids_without(c, strength - 1), c.position.back())] >> c.chosen.back() & 1U) != 0;
  }

  void close(const ClassTuple<strength>& c) {
    for (std::size_t out = 0; out < strength; ++out) {
      open_[index_of(ids_without(c, out), c.position[out])] &= ~set_of(c.chosen[out]);
    }
  }

  void close_all_of(const Row& row) {
    for_each_subset<strength>(chosen_.count(), [&](const Positions<strength>& positions) {
      ClassTuple<strength> combination{positions, {}};
      for (std::size_t i = 0; i < strength; ++i) combination.chosen[i] = row[chosen_.among[positions[i]]];
      close(combination);
    });
  }

 private:
  // Ascending, as positions are.
  [[nodiscard]] Ids ids_without(const ClassTuple<strength>& c, std::size_t out) const {
    Ids ids{};
    for (std::size_t i = 0, next = 0; i < strength; ++i) {
      if (i != out) ids[next++] = id(c.position[i], c.chosen[i]);
    }
    return ids;
  }
  [[nodiscard]] std::size_t index_of(const Ids& ids, std::size_t position) const {
    std::size_t index = 0;
    for (const std::size_t one : ids) index = index * classes_ + one;
    return index * chosen_.count() + position;
  }

  const Chosen& chosen_;
  std::size_t classes_ = 0;
  std::vector<std::size_t> offset_;
  std::vector<ClassSet> open_;  // by ids, then by position
};

template <std::size_t strength>
class Generator {
 public:
  explicit Generator(const Chosen& chosen) : chosen_(chosen), solver_(chosen.model), open_(chosen), rng_(kSeed) {}

  // Those with the most combinations first: they decide how many rows there are.
  std::vector<Row> rows() {
    std::vector<Positions<strength>> groups;
    for_each_subset<strength>(chosen_.count(), [&](const auto& positions) { groups.push_back(positions); });
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const auto& a, const auto& b) { return chosen_.combinations(a) > chosen_.combinations(b); });
    std::vector<Row> rows;
    for (const auto& group : groups) {
      for (std::size_t i = 0; i < chosen_.combinations(group); ++i) cover(chosen_.numbered(group, i), rows);
    }
    return rows;
  }

 private:
  static constexpr std::uint64_t kSeed = strength == 3 ? 0x5EED : 0x5EED4;
  // Rows tried for each row taken: more make the array a little smaller and the search slower.
  static constexpr int kTries = strength == 3 ? 4 : 2;

  struct CandidateRow {
    Row row;
    std::size_t covers = 0;
  };

  void cover(const ClassTuple<strength>& combination, std::vector<Row>& rows) {
    if (!open_.is_open(combination)) return;
    PartialRow begun = solver_.start();
    std::optional<CandidateRow> best;
    if (begin(combination, begun)) {
      for (int i = 0; i < kTries; ++i) {
        auto candidate = grow(combination, begun);
        if (candidate && (!best || candidate->covers > best->covers)) best = std::move(candidate);
      }
      // No greedy row came to its end: a search decides.
      if (!best) {
        if (auto row = drawn(begun)) best = CandidateRow{std::move(*row), 1};
      }
    }
    if (!best) return open_.close(combination);
    open_.close_all_of(best->row);
    rows.push_back(std::move(best->row));
  }

  bool begin(const ClassTuple<strength>& combination, PartialRow& partial) const {
    for (std::size_t i = 0; i < strength; ++i) {
      if (!solver_.decide(partial, chosen_.among[combination.position[i]], combination.chosen[i])) return false;
    }
    return true;
  }

  // Completes a row. If every parameter is combined, nothing is left to chance.
  std::optional<Row> drawn(const PartialRow& partial) {
    return chosen_.count() == chosen_.model.parameters.size() ? solver_.complete(partial) : solver_.draw(partial, rng_);
  }

  std::optional<CandidateRow> grow(const ClassTuple<strength>& combination, PartialRow partial) {
    std::vector<std::size_t> decided;  // ids of classes, ascending
    std::vector<std::size_t> order;
    for (std::size_t position = 0; position < chosen_.count(); ++position) {
      if (!partial.is_decided(chosen_.among[position])) order.push_back(position);
    }
    for (std::size_t i = 0; i < strength; ++i) {
      decided.push_back(open_.id(combination.position[i], combination.chosen[i]));
    }
    rng_.shuffle(order);
    std::size_t covers = 1;
    for (const std::size_t position : order) {
      const auto chosen = choose(position, decided, partial, covers);
      if (!chosen) return std::nullopt;
      const std::size_t id = open_.id(position, *chosen);
      decided.insert(std::upper_bound(decided.begin(), decided.end(), id), id);
    }
    auto row = drawn(partial);
    if (!row) return std::nullopt;
    return CandidateRow{std::move(*row), covers};
  }

  // Decides a parameter by the class that covers most beside what is decided, the first of those in a cyclic order that
  // begins anywhere.
  std::optional<std::uint8_t> choose(std::size_t position, const std::vector<std::size_t>& decided, PartialRow& partial,
                                     std::size_t& covers) {
    const std::size_t parameter = chosen_.among[position];
    const std::array<std::uint32_t, kMaxClasses> gain = gains(position, decided, partial.possible[parameter]);
    const auto classes = static_cast<std::uint32_t>(chosen_.classes(position));
    const auto first = static_cast<std::uint32_t>(rng_.below(classes));
    while (partial.possible[parameter] != 0) {
      std::optional<std::uint8_t> best;
      for (std::uint32_t i = 0; i < classes; ++i) {
        const auto c = static_cast<std::uint8_t>((first + i) % classes);
        if ((partial.possible[parameter] >> c & 1U) != 0 && (!best || gain[c] > gain[*best])) best = c;
      }
      PartialRow deeper = partial;
      if (solver_.decide(deeper, parameter, *best)) {
        partial = std::move(deeper);
        covers += gain[*best];
        return best;
      }
      partial.possible[parameter] &= ~set_of(*best);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::array<std::uint32_t, kMaxClasses> gains(std::size_t position,
                                                             const std::vector<std::size_t>& decided,
                                                             ClassSet possible) const {
    std::array<std::uint32_t, kMaxClasses> gain{};
    for_each_subset<strength - 1>(decided.size(), [&](const Positions<strength - 1>& others) {
      typename Open<strength>::Ids ids{};
      for (std::size_t i = 0; i < others.size(); ++i) ids[i] = decided[others[i]];
      ClassSet fresh = open_.beside(ids, position) & possible;
      for (; fresh != 0; fresh &= fresh - 1) ++gain[static_cast<std::size_t>(std::countr_zero(fresh))];
    });
    return gain;
  }

  const Chosen& chosen_;
  ConstraintSolver solver_;
  Open<strength> open_;
  Rng rng_;
};

// Calls visit(positions, seen) for all parameters that are combined; seen: by number, which combinations of their
// classes some row has that the model allows.
template <std::size_t strength, typename Visit>
void for_each_group(const Chosen& chosen, std::span<const Row> rows, Visit visit) {
  std::vector<const Row*> allowed;
  for (const Row& row : rows) {
    if (chosen.model.allows(row)) allowed.push_back(&row);
  }
  for_each_subset<strength>(chosen.count(), [&](const Positions<strength>& positions) {
    std::vector<bool> seen(chosen.combinations(positions));
    for (const Row* row : allowed) seen[chosen.number_of(positions, *row)] = true;
    visit(positions, seen);
  });
}

template <std::size_t strength>
class Prover {
 public:
  Prover(const Chosen& chosen, CombinationCoverage coverage) : chosen_(chosen), solver_(chosen.model) {
    proof_.coverage = std::move(coverage);
    proof_.excluded_by.resize(chosen.model.constraints.size());
  }

  Proof prove(std::span<const Row> rows) {
    for_each_group<strength>(chosen_, rows, [&](const Positions<strength>& positions, const std::vector<bool>& seen) {
      for (std::size_t number = 0; number < seen.size(); ++number) {
        if (seen[number]) {
          ++proof_.coverage.feasible;
          ++proof_.coverage.covered;
        } else {
          decide(chosen_.numbered(positions, number));
        }
      }
    });
    return proof_;
  }

 private:
  void decide(const ClassTuple<strength>& combination) {
    std::array<std::pair<std::size_t, std::uint8_t>, strength> classes;
    PartialRow partial = solver_.start();
    bool possible = true;
    for (std::size_t i = 0; i < strength; ++i) {
      classes[i] = {chosen_.among[combination.position[i]], combination.chosen[i]};
      possible = possible && solver_.decide(partial, classes[i].first, classes[i].second);
    }
    if (possible && solver_.complete(partial)) {
      ++proof_.coverage.feasible;
      return;
    }
    ++proof_.coverage.infeasible;
    for (std::size_t c = 0; c < chosen_.model.constraints.size(); ++c) {
      if (!solver_.excludes(c, classes)) continue;
      ++proof_.excluded_by[c];
      return;
    }
    ++proof_.excluded_by_several;
  }

  const Chosen& chosen_;
  ConstraintSolver solver_;
  Proof proof_;
};

CombinationCoverage begun(const Chosen& chosen, std::size_t strength, std::size_t cases) {
  CombinationCoverage coverage{
      .model = chosen.model.name, .strength = strength, .parameters = chosen.count(), .cases = cases};
  for (std::size_t position = 0; position < chosen.count(); ++position) coverage.classes += chosen.classes(position);
  return coverage;
}

// Calls work with the strength as a constant.
template <typename Work>
auto with_strength(std::size_t strength, Work work) {
  return strength == 4 ? work(std::integral_constant<std::size_t, 4>())
                       : work(std::integral_constant<std::size_t, 3>());
}

}  // namespace

std::vector<std::size_t> shape_parameters(const Model& model) {
  std::vector<std::size_t> positions;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const ParameterRole role = model.parameters[p].role;
    if (role == ParameterRole::geometry || role == ParameterRole::extent) positions.push_back(p);
  }
  return positions;
}

Combinations combinations_of(const Model& model, std::size_t strength) {
  if (strength == 4) return {strength, shape_parameters(model)};
  std::vector<std::size_t> all(model.parameters.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return {strength, std::move(all)};
}

std::vector<Row> covering_array(const Model& model, const Combinations& combinations) {
  const Chosen chosen{model, combinations.among};
  return with_strength(combinations.strength, [&](auto strength) { return Generator<strength()>(chosen).rows(); });
}

std::vector<Row> covering_array(const Model& model) {
  return covering_array(model, combinations_of(model));
}

CombinationCoverage coverage_of(const Model& model, const Combinations& combinations, std::span<const Row> rows) {
  const Chosen chosen{model, combinations.among};
  CombinationCoverage coverage = begun(chosen, combinations.strength, rows.size());
  with_strength(combinations.strength, [&](auto strength) {
    for_each_group<strength()>(chosen, rows, [&](const auto& /*positions*/, const std::vector<bool>& seen) {
      coverage.covered += static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
    });
  });
  return coverage;
}

Proof prove_coverage(const Model& model, const Combinations& combinations, std::span<const Row> rows) {
  const Chosen chosen{model, combinations.among};
  CombinationCoverage coverage = begun(chosen, combinations.strength, rows.size());
  return with_strength(combinations.strength,
                       [&](auto strength) { return Prover<strength()>(chosen, std::move(coverage)).prove(rows); });
}

Proof prove_coverage(const Model& model, std::span<const Row> rows) {
  return prove_coverage(model, combinations_of(model), rows);
}

}  // namespace qconform::sweep
