#include "harness/suites/sweep/suite.h"

#include <fmt/format.h>

#include "harness/base/digest.h"
#include "harness/operators/family.h"
#include "harness/suites/rng.h"
#include "harness/suites/sweep/constraint_solver.h"
#include "harness/suites/sweep/covering_array.h"

namespace qconform::sweep {

const std::vector<Plan>& plans() {
  static const std::vector<Plan> all = [] {
    std::vector<Plan> list;
    for (const Family* family : families()) {
      if (family->swept_models == nullptr) continue;
      for (const SweptModel& swept : family->swept_models()) {
        auto rows = covering_array(swept.model());
        auto proof = prove_coverage(swept.model(), rows);
        list.push_back({swept, std::move(rows), std::move(proof)});
      }
    }
    return list;
  }();
  return all;
}

namespace {

// Tells the cases of one contract from those of another.
std::string name_of(const Contract& contract, const Model& model) {
  Digest digest;
  for (const std::string& line : lines_of(contract, model)) digest.add(line);
  return fmt::format("within-{:08x}", static_cast<std::uint32_t>(digest.value()));
}

}  // namespace

Plan plan_within(const Plan& plan, const Contract& contract) {
  const Model& whole = plan.swept.model();
  Plan result{plan.swept, {}, {}, name_of(contract, whole)};
  const Model inside = restricted(whole, contract);
  result.rows = covering_array(inside);
  result.proof = prove_coverage(inside, result.rows);
  return result;
}

void draw_rows(Plan& plan, const Contract& contract, std::size_t more, std::uint64_t seed) {
  const Model inside = restricted(plan.swept.model(), contract);
  const ConstraintSolver solver(inside);
  Rng rng(seed, 0x1415);
  for (std::size_t i = 0; i < more; ++i) {
    if (auto row = solver.draw(solver.start(), rng)) plan.rows.push_back(std::move(*row));
  }
  plan.proof.coverage.cases = plan.rows.size();
}

Case sweep_case(const Plan& plan, std::size_t index, std::uint64_t seed) {
  const Row& row = plan.rows[index];
  const Model& model = plan.swept.model();
  Case result = plan.swept.realise(row, seed, index);
  result.id = plan.name + "-" + result.node().op_type + "-" + std::to_string(seed) + "-" + std::to_string(index);
  result.expectation = Expectation::valid;
  result.provenance = {plan.name, seed, index};
  for (std::size_t p = 0; p < row.size(); ++p) {
    result.tags.push_back(model.parameters[p].name + "=" + model.parameters[p].classes[row[p]]);
  }
  return result;
}

Result<std::optional<Case>> SweepSuite::next() {
  while (plan_ < all().size() && index_ == all()[plan_].rows.size()) {
    ++plan_;
    index_ = 0;
  }
  if (plan_ == all().size()) return std::nullopt;
  return sweep_case(all()[plan_], index_++, seed_);
}

std::optional<std::uint64_t> SweepSuite::size() const {
  std::uint64_t cases = 0;
  for (const Plan& plan : all()) cases += plan.rows.size();
  return cases;
}

std::vector<CombinationCoverage> SweepSuite::coverage() const {
  std::vector<CombinationCoverage> list;
  for (const Plan& plan : all()) list.push_back(plan.proof.coverage);
  return list;
}

std::vector<CombinationCoverage> SweepSuite::coverage_of(const std::vector<bool>& chosen) const {
  std::vector<CombinationCoverage> list;
  std::size_t position = 0;
  for (const Plan& plan : all()) {
    std::vector<Row> rows;
    for (const Row& row : plan.rows) {
      if (position < chosen.size() && chosen[position++]) rows.push_back(row);
    }
    list.push_back(plan.proof.coverage);
    list.back().cases = rows.size();
    list.back().covered = covered_triples(plan.swept.model(), rows);
  }
  return list;
}

}  // namespace qconform::sweep
