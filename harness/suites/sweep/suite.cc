#include "harness/suites/sweep/suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/digest.h"
#include "harness/model/draws/rng.h"
#include "harness/model/family.h"
#include "harness/model/sweep/constraint_solver.h"
#include "harness/suites/sweep/array_cache.h"

namespace qconform::sweep {

namespace {

using Models = std::span<const SweptModel> (*Family::*)();

std::vector<Plan> solved_plans(Models models, const std::string& name) {
  std::vector<Plan> list;
  for (const Family* family : families()) {
    if (family->*models == nullptr) continue;
    for (const SweptModel& swept : (family->*models)()) {
      SolvedArray solved = solved_array(swept.model());
      list.push_back({swept, std::move(solved.rows), std::move(solved.proof), name});
    }
  }
  return list;
}

}  // namespace

const std::vector<Plan>& plans() {
  static const std::vector<Plan> all = solved_plans(&Family::swept_models, "sweep");
  return all;
}

const std::vector<Plan>& unit_plans() {
  static const std::vector<Plan> all = solved_plans(&Family::swept_units, "qdq");
  return all;
}

namespace {

// Tells the cases of one contract from those of another.
std::string name_of(std::string_view kind, const Contract& contract, const Model& model) {
  Digest digest;
  for (const std::string& line : lines_of(contract, model)) digest.add(line);
  return fmt::format("{}-{:08x}", kind, static_cast<std::uint32_t>(digest.value()));
}

}  // namespace

std::optional<Place> place_of(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < plans().size(); ++i) {
    const SweptModel& swept = plans()[i].swept;
    if (std::find(swept.operators.begin(), swept.operators.end(), known->name) == swept.operators.end()) continue;
    if (auto row = row_of(swept, test_case)) return Place{i, std::move(*row)};
  }
  return std::nullopt;
}

std::string digest_of(const std::vector<Contract>& contracts) {
  Digest digest;
  for (const Contract& contract : contracts) {
    digest.add(std::uint64_t{contract.taken.size()});
    for (const std::uint32_t classes : contract.taken) digest.add(std::uint64_t{classes});
    for (const Combination& combination : contract.declined) {
      digest.add(std::uint64_t{combination.size()});
      for (const Term& term : combination) {
        digest.add(std::uint64_t{term.parameter});
        digest.add(std::uint64_t{term.classes});
      }
    }
  }
  return fmt::format("{:08x}", static_cast<std::uint32_t>(digest.value()));
}

std::vector<Contract> narrow_ones(std::vector<Contract> contracts) {
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    std::vector<std::uint32_t>& taken = contracts[i].taken;
    if (is_whole(contracts[i], plans()[i].swept.model())) taken.assign(taken.size(), 0);
  }
  return contracts;
}

Plan plan_within(const Plan& plan, const Contract& contract) {
  const Model& whole = plan.swept.model();
  SolvedArray solved = solved_array(restricted(whole, contract));
  return {plan.swept, std::move(solved.rows), std::move(solved.proof), name_of("within", contract, whole)};
}

std::optional<Plan> plan_thoroughly(const Plan& plan, const Contract& contract) {
  constexpr std::size_t kStrength = 4;
  const Model& whole = plan.swept.model();
  if (!contract.takes_anything() || shape_parameters(whole).size() < kStrength) return std::nullopt;
  SolvedArray solved = solved_array(restricted(whole, contract), kStrength);
  return Plan{plan.swept, std::move(solved.rows), std::move(solved.proof), name_of("thorough", contract, whole)};
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
  const std::string& of = result.is_one_node() ? result.node().op_type : model.name;
  result.id = plan.name + "-" + of + "-" + std::to_string(seed) + "-" + std::to_string(index);
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
    const Model& model = plan.swept.model();
    list.push_back(plan.proof.coverage);
    list.back().cases = rows.size();
    list.back().covered = sweep::coverage_of(model, combinations_of(model, plan.proof.coverage.strength), rows).covered;
  }
  return list;
}

}  // namespace qconform::sweep
