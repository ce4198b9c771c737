#include "harness/suites/sweep/coverage.h"

#include <algorithm>
#include <array>

#include "harness/suites/sweep/constraint_solver.h"

namespace qconform::sweep {
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
