// As covering_array.cc, one class more at a time and over fewer parameters: a row is begun with four classes that are
// not covered together yet, and goes on with the class that covers the most further ones.
#include "harness/suites/sweep/strong_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "harness/suites/rng.h"
#include "harness/suites/sweep/constraint_solver.h"

namespace qconform::sweep {
namespace {

constexpr std::size_t kStrength = 4;
constexpr int kRowsTried = 2;

// Positions among the chosen parameters, ascending.
using Four = std::array<std::size_t, kStrength>;

struct Combination4 {
  Four position;
  std::array<std::uint8_t, kStrength> chosen;
};

template <typename Visit>
void for_each_four(std::size_t count, Visit visit) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      for (std::size_t k = j + 1; k < count; ++k) {
        for (std::size_t l = k + 1; l < count; ++l) visit(Four{i, j, k, l});
      }
    }
  }
}

// The chosen parameters of a model.
struct Chosen {
  const Model& model;
  std::span<const std::size_t> among;

  [[nodiscard]] std::size_t count() const { return among.size(); }
  [[nodiscard]] std::size_t classes(std::size_t position) const {
    return model.parameters[among[position]].classes.size();
  }
  [[nodiscard]] std::size_t combinations(const Four& four) const {
    std::size_t product = 1;
    for (const std::size_t position : four) product *= classes(position);
    return product;
  }
  // The number of a combination among those of its parameters, and back; the last one fastest.
  [[nodiscard]] std::size_t number_of(const Four& four, const Row& row) const {
    std::size_t number = 0;
    for (const std::size_t position : four) number = number * classes(position) + row[among[position]];
    return number;
  }
  [[nodiscard]] Combination4 numbered(const Four& four, std::size_t number) const {
    Combination4 combination{four, {}};
    for (std::size_t i = kStrength; i-- > 0; number /= classes(four[i])) {
      combination.chosen[i] = static_cast<std::uint8_t>(number % classes(four[i]));
    }
    return combination;
  }
};

// Which combinations are not covered yet: for three classes and a fourth parameter a word with a bit for each of its
// classes.
class OpenFours {
 public:
  explicit OpenFours(const Chosen& chosen) : chosen_(chosen) {
    for (std::size_t p = 0; p < chosen.count(); ++p) {
      offset_.push_back(classes_);
      classes_ += chosen.classes(p);
    }
    open_.resize(classes_ * classes_ * classes_ * chosen.count());
    for (std::size_t i = 0; i < open_.size(); ++i) {
      open_[i] = chosen.model.parameters[chosen.among[i % chosen.count()]].all();
    }
  }

  [[nodiscard]] std::size_t id(std::size_t position, std::uint8_t chosen) const { return offset_[position] + chosen; }

  /// The open classes of the parameter at `position` beside three classes, by id.
  [[nodiscard]] std::uint32_t beside(std::array<std::size_t, 3> ids, std::size_t position) const {
    std::sort(ids.begin(), ids.end());
    return open_[index_of(ids, position)];
  }

  [[nodiscard]] bool is_open(const Combination4& c) const {
    const std::array<std::size_t, 3> ids{id(c.position[0], c.chosen[0]), id(c.position[1], c.chosen[1]),
                                         id(c.position[2], c.chosen[2])};
    return (open_[index_of(ids, c.position[3])] >> c.chosen[3] & 1U) != 0;
  }

  void close(const Combination4& c) {
    for (std::size_t out = 0; out < kStrength; ++out) {
      std::array<std::size_t, 3> ids{};
      for (std::size_t i = 0, next = 0; i < kStrength; ++i) {
        if (i != out) ids[next++] = id(c.position[i], c.chosen[i]);
      }
      open_[index_of(ids, c.position[out])] &= ~(1U << c.chosen[out]);
    }
  }

  void close_all_of(const Row& row) {
    for_each_four(chosen_.count(), [&](const Four& four) {
      Combination4 combination{four, {}};
      for (std::size_t i = 0; i < kStrength; ++i) combination.chosen[i] = row[chosen_.among[four[i]]];
      close(combination);
    });
  }

 private:
  [[nodiscard]] std::size_t index_of(const std::array<std::size_t, 3>& ids, std::size_t position) const {
    return ((ids[0] * classes_ + ids[1]) * classes_ + ids[2]) * chosen_.count() + position;
  }

  const Chosen& chosen_;
  std::size_t classes_ = 0;
  std::vector<std::size_t> offset_;
  std::vector<std::uint32_t> open_;
};

class StrongGenerator {
 public:
  explicit StrongGenerator(const Chosen& chosen)
      : chosen_(chosen), solver_(chosen.model), open_(chosen), rng_(0x5EED4) {}

  std::vector<Row> rows() {
    std::vector<Four> fours;
    for_each_four(chosen_.count(), [&](const Four& four) { fours.push_back(four); });
    std::stable_sort(fours.begin(), fours.end(),
                     [&](const Four& a, const Four& b) { return chosen_.combinations(a) > chosen_.combinations(b); });
    std::vector<Row> rows;
    for (const Four& four : fours) {
      for (std::size_t i = 0; i < chosen_.combinations(four); ++i) cover(chosen_.numbered(four, i), rows);
    }
    return rows;
  }

 private:
  struct Candidate {
    Row row;
    std::size_t covers = 0;
  };

  void cover(const Combination4& combination, std::vector<Row>& rows) {
    if (!open_.is_open(combination)) return;
    PartialRow begun = solver_.start();
    std::optional<Candidate> best;
    if (begin(combination, begun)) {
      for (int i = 0; i < kRowsTried; ++i) {
        auto candidate = grow(combination, begun);
        if (candidate && (!best || candidate->covers > best->covers)) best = std::move(candidate);
      }
      // No greedy row came to its end: a search decides.
      if (!best) {
        if (auto row = solver_.draw(begun, rng_)) best = Candidate{std::move(*row), 1};
      }
    }
    if (!best) return open_.close(combination);
    open_.close_all_of(best->row);
    rows.push_back(std::move(best->row));
  }

  bool begin(const Combination4& combination, PartialRow& partial) const {
    for (std::size_t i = 0; i < kStrength; ++i) {
      if (!solver_.decide(partial, chosen_.among[combination.position[i]], combination.chosen[i])) return false;
    }
    return true;
  }

  std::optional<Candidate> grow(const Combination4& combination, PartialRow partial) {
    std::vector<std::size_t> decided;  // ids of classes
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < kStrength; ++i) {
      decided.push_back(open_.id(combination.position[i], combination.chosen[i]));
    }
    for (std::size_t position = 0; position < chosen_.count(); ++position) {
      if (!partial.is_decided(chosen_.among[position])) order.push_back(position);
    }
    rng_.shuffle(order);
    std::size_t covers = 1;
    for (const std::size_t position : order) {
      const auto chosen = choose(position, decided, partial, covers);
      if (!chosen) return std::nullopt;
      decided.push_back(open_.id(position, *chosen));
    }
    auto row = solver_.draw(partial, rng_);
    if (!row) return std::nullopt;
    return Candidate{std::move(*row), covers};
  }

  // Decides a parameter by the class that covers most beside what is decided.
  std::optional<std::uint8_t> choose(std::size_t position, const std::vector<std::size_t>& decided, PartialRow& partial,
                                     std::size_t& covers) {
    const std::size_t parameter = chosen_.among[position];
    const std::array<std::uint32_t, 32> gain = gains(position, decided, partial.possible[parameter]);
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
      partial.possible[parameter] &= ~(1U << *best);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::array<std::uint32_t, 32> gains(std::size_t position, const std::vector<std::size_t>& decided,
                                                    std::uint32_t possible) const {
    std::array<std::uint32_t, 32> gain{};
    for (std::size_t i = 2; i < decided.size(); ++i) {
      for (std::size_t j = 1; j < i; ++j) {
        for (std::size_t k = 0; k < j; ++k) {
          std::uint32_t fresh = open_.beside({decided[i], decided[j], decided[k]}, position) & possible;
          for (; fresh != 0; fresh &= fresh - 1) ++gain[static_cast<std::size_t>(std::countr_zero(fresh))];
        }
      }
    }
    return gain;
  }

  const Chosen& chosen_;
  ConstraintSolver solver_;
  OpenFours open_;
  Rng rng_;
};

std::vector<bool> seen_in(const Chosen& chosen, const Four& four, std::span<const Row> rows) {
  std::vector<bool> seen(chosen.combinations(four));
  for (const Row& row : rows) seen[chosen.number_of(four, row)] = true;
  return seen;
}

std::vector<Row> allowed_of(const Model& model, std::span<const Row> rows) {
  std::vector<Row> list;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(list), [&](const Row& row) { return model.allows(row); });
  return list;
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

std::vector<Row> strong_array(const Model& model, std::span<const std::size_t> among) {
  const Chosen chosen{model, among};
  return StrongGenerator(chosen).rows();
}

Proof prove_strong_coverage(const Model& model, std::span<const std::size_t> among, std::span<const Row> rows) {
  const Chosen chosen{model, among};
  const ConstraintSolver solver(model);
  const std::vector<Row> kept = allowed_of(model, rows);
  Proof proof;
  proof.coverage = {.model = model.name, .strength = kStrength, .parameters = among.size(), .cases = rows.size()};
  for (std::size_t position = 0; position < chosen.count(); ++position)
    proof.coverage.classes += chosen.classes(position);
  for_each_four(chosen.count(), [&](const Four& four) {
    const std::vector<bool> seen = seen_in(chosen, four, kept);
    for (std::size_t number = 0; number < seen.size(); ++number) {
      PartialRow partial = solver.start();
      const Combination4 combination = chosen.numbered(four, number);
      bool possible = true;
      for (std::size_t i = 0; i < kStrength && possible && !seen[number]; ++i) {
        possible = solver.decide(partial, among[four[i]], combination.chosen[i]);
      }
      const bool feasible = seen[number] || (possible && solver.complete(partial));
      ++(feasible ? proof.coverage.feasible : proof.coverage.infeasible);
      if (seen[number]) ++proof.coverage.covered;
    }
  });
  return proof;
}

std::uint64_t covered_strongly(const Model& model, std::span<const std::size_t> among, std::span<const Row> rows) {
  const Chosen chosen{model, among};
  const std::vector<Row> kept = allowed_of(model, rows);
  std::uint64_t covered = 0;
  for_each_four(chosen.count(), [&](const Four& four) {
    const std::vector<bool> seen = seen_in(chosen, four, kept);
    covered += static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
  });
  return covered;
}

}  // namespace qconform::sweep
