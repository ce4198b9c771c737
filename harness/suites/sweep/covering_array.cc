// Greedy, one row at a time: a row is begun with a triple that is not covered yet and goes on with the
// class, parameter after parameter, that covers the most further triples. The best of a few such rows
// is taken. When the first triple cannot be completed by any row, it is infeasible.
#include "harness/suites/sweep/covering_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "harness/suites/rng.h"
#include "harness/suites/sweep/constraint_solver.h"

namespace qconform::sweep {
namespace {

// Rows tried for each row taken: more make the array a little smaller and the search slower.
constexpr int kTries = 4;

struct Triple {
  std::array<std::size_t, 3> parameter;
  std::array<std::uint8_t, 3> chosen;
};

// Which triples are not covered yet. For two classes and a third parameter, one word has a bit for
// each class of the third: counting what a class would cover reads one word for each pair.
class OpenTriples {
 public:
  explicit OpenTriples(const Model& model) : parameters_(model.parameters.size()), classes_(model.classes()) {
    std::size_t first = 0;
    for (const Parameter& parameter : model.parameters) {
      offset_.push_back(first);
      first += parameter.classes.size();
    }
    open_.resize(classes_ * classes_ * parameters_);
    for (std::size_t pair = 0; pair < classes_ * classes_; ++pair) {
      for (std::size_t p = 0; p < parameters_; ++p) {
        open_[pair * parameters_ + p] =
            static_cast<std::uint32_t>((std::uint64_t{1} << model.parameters[p].classes.size()) - 1);
      }
    }
  }

  [[nodiscard]] std::size_t id(std::size_t parameter, std::uint8_t chosen) const { return offset_[parameter] + chosen; }

  /// The open classes of `parameter` beside two classes, by id.
  [[nodiscard]] std::uint32_t beside(std::size_t first, std::size_t second, std::size_t parameter) const {
    return open_[(std::min(first, second) * classes_ + std::max(first, second)) * parameters_ + parameter];
  }

  [[nodiscard]] bool is_open(const Triple& triple) const {
    const auto& [p, c] = triple;
    return (beside(id(p[0], c[0]), id(p[1], c[1]), p[2]) >> c[2] & 1U) != 0;
  }

  void close(const Triple& triple) {
    const auto& [p, c] = triple;
    close(id(p[0], c[0]), id(p[1], c[1]), p[2], c[2]);
    close(id(p[0], c[0]), id(p[2], c[2]), p[1], c[1]);
    close(id(p[1], c[1]), id(p[2], c[2]), p[0], c[0]);
  }

  void close_all_of(const Row& row) {
    for (std::size_t i = 0; i + 2 < parameters_; ++i) {
      for (std::size_t j = i + 1; j + 1 < parameters_; ++j) {
        for (std::size_t k = j + 1; k < parameters_; ++k) close({{i, j, k}, {row[i], row[j], row[k]}});
      }
    }
  }

 private:
  void close(std::size_t smaller, std::size_t larger, std::size_t parameter, std::uint8_t chosen) {
    open_[(smaller * classes_ + larger) * parameters_ + parameter] &= ~(1U << chosen);
  }

  std::size_t parameters_;
  std::size_t classes_;
  std::vector<std::size_t> offset_;
  std::vector<std::uint32_t> open_;  // by smaller id, larger id, parameter
};

// Every three parameters, those with the most combinations first: they decide how many rows there are.
std::vector<std::array<std::size_t, 3>> groups_of(const Model& model) {
  const auto size = [&](std::size_t p) { return model.parameters[p].classes.size(); };
  std::vector<std::array<std::size_t, 3>> groups;
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    for (std::size_t j = i + 1; j < model.parameters.size(); ++j) {
      for (std::size_t k = j + 1; k < model.parameters.size(); ++k) groups.push_back({i, j, k});
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
    return size(a[0]) * size(a[1]) * size(a[2]) > size(b[0]) * size(b[1]) * size(b[2]);
  });
  return groups;
}

class Generator {
 public:
  explicit Generator(const Model& model) : model_(model), solver_(model), open_(model), rng_(0x5EED) {}

  std::vector<Row> rows() {
    std::vector<Row> rows;
    for (const auto& group : groups_of(model_)) {
      const auto classes = [&](std::size_t i) { return model_.parameters[group[i]].classes.size(); };
      for (std::uint8_t a = 0; a < classes(0); ++a) {
        for (std::uint8_t b = 0; b < classes(1); ++b) {
          for (std::uint8_t c = 0; c < classes(2); ++c) cover({group, {a, b, c}}, rows);
        }
      }
    }
    return rows;
  }

 private:
  struct Candidate {
    Row row;
    std::size_t covers = 0;
  };

  void cover(const Triple& triple, std::vector<Row>& rows) {
    if (!open_.is_open(triple)) return;
    PartialRow begun = solver_.start();
    std::optional<Candidate> best;
    if (begin(triple, begun)) {
      for (int i = 0; i < kTries; ++i) {
        auto candidate = grow(triple, begun);
        if (candidate && (!best || candidate->covers > best->covers)) best = std::move(candidate);
      }
      // No greedy row came to its end: a search decides.
      if (!best) {
        if (auto row = solver_.complete(begun)) best = Candidate{std::move(*row), 1};
      }
    }
    if (!best) return open_.close(triple);
    open_.close_all_of(best->row);
    rows.push_back(std::move(best->row));
  }

  bool begin(const Triple& triple, PartialRow& partial) const {
    for (std::size_t i = 0; i < 3; ++i) {
      if (!solver_.decide(partial, triple.parameter[i], triple.chosen[i])) return false;
    }
    return true;
  }

  std::optional<Candidate> grow(const Triple& triple, PartialRow partial) {
    std::vector<std::size_t> decided;  // ids of classes
    std::vector<std::size_t> order;
    for (std::size_t p = 0; p < model_.parameters.size(); ++p) {
      if (!partial.is_decided(p)) order.push_back(p);
    }
    for (std::size_t i = 0; i < 3; ++i) decided.push_back(open_.id(triple.parameter[i], triple.chosen[i]));
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[rng_.below(static_cast<std::uint32_t>(i))]);
    std::size_t covers = 1;
    for (const std::size_t parameter : order) {
      const auto chosen = choose(parameter, decided, partial, covers);
      if (!chosen) return std::nullopt;
      decided.push_back(open_.id(parameter, *chosen));
    }
    return Candidate{std::move(partial.row), covers};
  }

  // Decides `parameter` by the class that covers most beside what is decided, the first of those in a
  // cyclic order that begins anywhere.
  std::optional<std::uint8_t> choose(std::size_t parameter, const std::vector<std::size_t>& decided,
                                     PartialRow& partial, std::size_t& covers) {
    std::array<std::uint32_t, 32> gain{};
    for (std::size_t i = 1; i < decided.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        std::uint32_t fresh = open_.beside(decided[i], decided[j], parameter) & partial.possible[parameter];
        for (; fresh != 0; fresh &= fresh - 1) ++gain[static_cast<std::size_t>(std::countr_zero(fresh))];
      }
    }
    const auto classes = static_cast<std::uint32_t>(model_.parameters[parameter].classes.size());
    const auto first = static_cast<std::uint32_t>(rng_.below(classes));
    while (partial.possible[parameter] != 0) {
      std::optional<std::uint8_t> best;
      for (std::uint32_t i = 0; i < classes; ++i) {
        const auto c = static_cast<std::uint8_t>((first + i) % classes);
        if ((partial.possible[parameter] >> c & 1U) != 0 && (!best || gain[c] > gain[*best])) best = c;
      }
      PartialRow decided_row = partial;
      if (solver_.decide(decided_row, parameter, *best)) {
        partial = std::move(decided_row);
        covers += gain[*best];
        return best;
      }
      partial.possible[parameter] &= ~(1U << *best);
    }
    return std::nullopt;
  }

  const Model& model_;
  ConstraintSolver solver_;
  OpenTriples open_;
  Rng rng_;
};

}  // namespace

std::vector<Row> covering_array(const Model& model) {
  return Generator(model).rows();
}

namespace {

using Classes = std::array<std::pair<std::size_t, std::uint8_t>, 3>;

std::vector<const Row*> allowed(const Model& model, std::span<const Row> rows) {
  std::vector<const Row*> list;
  for (const Row& row : rows) {
    if (model.allows(row)) list.push_back(&row);
  }
  return list;
}

// Triples of classes of three parameters, by which of them some row has.
std::vector<bool> seen_in(const Model& model, const std::vector<const Row*>& rows, std::size_t i, std::size_t j,
                          std::size_t k) {
  const std::size_t classes_j = model.parameters[j].classes.size();
  const std::size_t classes_k = model.parameters[k].classes.size();
  std::vector<bool> seen(model.parameters[i].classes.size() * classes_j * classes_k);
  for (const Row* row : rows) seen[((*row)[i] * classes_j + (*row)[j]) * classes_k + (*row)[k]] = true;
  return seen;
}

template <typename Visit>
void for_each_three(std::size_t count, Visit visit) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      for (std::size_t k = j + 1; k < count; ++k) visit(i, j, k);
    }
  }
}

class Prover {
 public:
  Prover(const Model& model, std::span<const Row> rows) : model_(model), solver_(model), rows_(allowed(model, rows)) {
    proof_.coverage = {
        .model = model.name, .parameters = model.parameters.size(), .classes = model.classes(), .cases = rows.size()};
    proof_.excluded_by.resize(model.constraints.size());
  }

  Proof prove() {
    for_each_three(model_.parameters.size(),
                   [&](std::size_t i, std::size_t j, std::size_t k) { prove_group(i, j, k); });
    return proof_;
  }

 private:
  void prove_group(std::size_t i, std::size_t j, std::size_t k) {
    const std::size_t rows_j = model_.parameters[j].classes.size();
    const std::size_t rows_k = model_.parameters[k].classes.size();
    const std::vector<bool> seen = seen_in(model_, rows_, i, j, k);
    for (std::size_t triple = 0; triple < seen.size(); ++triple) {
      if (seen[triple]) {
        ++proof_.coverage.feasible;
        ++proof_.coverage.covered;
      } else {
        decide({{{i, static_cast<std::uint8_t>(triple / rows_k / rows_j)},
                 {j, static_cast<std::uint8_t>(triple / rows_k % rows_j)},
                 {k, static_cast<std::uint8_t>(triple % rows_k)}}});
      }
    }
  }

  void decide(const Classes& triple) {
    PartialRow partial = solver_.start();
    bool possible = true;
    for (const auto& [parameter, chosen] : triple) possible = possible && solver_.decide(partial, parameter, chosen);
    if (possible && solver_.complete(partial)) {
      ++proof_.coverage.feasible;
      return;
    }
    ++proof_.coverage.infeasible;
    for (std::size_t c = 0; c < model_.constraints.size(); ++c) {
      if (!solver_.excludes(c, triple)) continue;
      ++proof_.excluded_by[c];
      return;
    }
    ++proof_.excluded_by_several;
  }

  const Model& model_;
  ConstraintSolver solver_;
  std::vector<const Row*> rows_;
  Proof proof_;
};

}  // namespace

Proof prove_coverage(const Model& model, std::span<const Row> rows) {
  return Prover(model, rows).prove();
}

std::uint64_t covered_triples(const Model& model, std::span<const Row> rows) {
  const std::vector<const Row*> kept = allowed(model, rows);
  std::uint64_t covered = 0;
  for_each_three(model.parameters.size(), [&](std::size_t i, std::size_t j, std::size_t k) {
    const std::vector<bool> seen = seen_in(model, kept, i, j, k);
    covered += static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), true));
  });
  return covered;
}

}  // namespace qconform::sweep
