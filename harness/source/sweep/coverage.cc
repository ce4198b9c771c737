#include "harness/source/sweep/coverage.h"

#include <array>

#include "harness/source/sweep/constraint_solver.h"

namespace qconform::sweep {
namespace {

using Classes = std::array<std::pair<std::size_t, std::uint8_t>, 3>;

class Prover {
 public:
  Prover(const Model& model, std::span<const Row> rows) : model_(model), solver_(model) {
    for (const Row& row : rows) {
      if (model.allows(row)) rows_.push_back(&row);
    }
    proof_.coverage = {
        .model = model.name, .parameters = model.parameters.size(), .classes = model.classes(), .cases = rows.size()};
    proof_.excluded_by.resize(model.constraints.size());
  }

  Proof prove() {
    const std::size_t count = model_.parameters.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        for (std::size_t k = j + 1; k < count; ++k) prove_group(i, j, k);
      }
    }
    return proof_;
  }

 private:
  void prove_group(std::size_t i, std::size_t j, std::size_t k) {
    const std::size_t rows_j = model_.parameters[j].classes.size();
    const std::size_t rows_k = model_.parameters[k].classes.size();
    std::vector<bool> seen(model_.parameters[i].classes.size() * rows_j * rows_k);
    for (const Row* row : rows_) seen[((*row)[i] * rows_j + (*row)[j]) * rows_k + (*row)[k]] = true;
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

}  // namespace qconform::sweep
