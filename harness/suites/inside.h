// Draws cases that lie inside what a backend takes.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/draws/swarm.h"
#include "harness/model/family.h"
#include "harness/model/sweep/constraint_solver.h"
#include "harness/model/sweep/contract.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {

class Inside {
 public:
  /// An operator of which something is taken, and the features by which its cases come to lie there.
  struct Drawn {
    const Operator* known;
    Swarm swarm;
  };

  /// `contracts`: what is taken of each of sweep::plans(), in their order. Draws some hundreds of cases to see which
  /// features lead there.
  explicit Inside(std::vector<sweep::Contract> contracts);

  /// Operators whose draws get there; those that no draw gets to are missing, though their rows() may.
  [[nodiscard]] const std::vector<Drawn>& drawn() const { return drawn_; }
  /// Null where no draw of the operator gets there.
  [[nodiscard]] const Drawn* of(const Operator& known) const;
  [[nodiscard]] bool takes(const Case& test_case) const { return nearness_of(test_case) == 0; }

  /// Whether any row is taken.
  [[nodiscard]] bool takes_anything() const { return !rows_.empty(); }
  /// The case of a row that is taken, the model and the row at random; where takes_anything().
  [[nodiscard]] Case draw_row(Rng& rng) const;

  /// Tells the cases of one contract from those of another.
  [[nodiscard]] std::string digest() const { return sweep::digest_of(contracts_); }

 private:
  // Rows of one plan. On the heap, because the solver refers to the model.
  struct Rows {
    Rows(const sweep::Plan& of, const sweep::Contract& contract);
    const sweep::SweptModel& swept;
    sweep::Model model;
    sweep::ConstraintSolver solver;
  };

  [[nodiscard]] std::optional<int> nearness_of(const Case& test_case) const;
  [[nodiscard]] double mean_nearness(const Operator& known, const Swarm& swarm) const;
  [[nodiscard]] std::optional<Swarm> fitted(const Family& family, const Operator& known) const;
  [[nodiscard]] bool reaches(const Operator& known, const Swarm& swarm) const;

  std::vector<sweep::Contract> contracts_;
  std::vector<Drawn> drawn_;
  std::vector<std::unique_ptr<Rows>> rows_;
};

}  // namespace qconform
