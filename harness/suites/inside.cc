#include "harness/suites/inside.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "harness/model/draws/rng.h"
#include "harness/model/family.h"

namespace qconform {
namespace {

using sweep::Contract;
using sweep::Row;

// How far a row lies inside: 0 within, less for each class and combination that is not taken.
int nearness(const Row& row, const Contract& contract) {
  int nearness = 0;
  for (std::size_t p = 0; p < row.size(); ++p) nearness -= (contract.taken[p] >> row[p] & 1U) == 0 ? 1 : 0;
  for (const sweep::Combination& combination : contract.declined) nearness -= has(row, combination) ? 1 : 0;
  return nearness;
}

std::optional<std::size_t> plan_of(std::string_view op_type) {
  const auto& plans = sweep::plans();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto operators = plans[i].swept.operators;
    if (std::find(operators.begin(), operators.end(), op_type) != operators.end()) return i;
  }
  return std::nullopt;
}

}  // namespace

Inside::Rows::Rows(const sweep::Plan& of, const Contract& contract)
    : swept(of.swept), model(sweep::restricted(of.swept.model(), contract)), solver(model) {}

Inside::Inside(std::vector<Contract> contracts) : contracts_(std::move(contracts)) {
  for (std::size_t i = 0; i < contracts_.size(); ++i) {
    if (!contracts_[i].takes_anything()) continue;
    auto rows = std::make_unique<Rows>(sweep::plans()[i], contracts_[i]);
    if (rows->solver.complete(rows->solver.start())) rows_.push_back(std::move(rows));
  }
  for (const Family* family : families()) {
    for (const Operator& known : family->operators) {
      const auto plan = plan_of(known.name);
      if (known.draw == nullptr || !plan || !contracts_[*plan].takes_anything()) continue;
      if (auto swarm = fitted(*family, known)) drawn_.push_back({&known, *swarm});
    }
  }
}

const Inside::Drawn* Inside::of(const Operator& known) const {
  const auto found =
      std::find_if(drawn_.begin(), drawn_.end(), [&](const Drawn& drawn) { return drawn.known == &known; });
  return found == drawn_.end() ? nullptr : &*found;
}

Case Inside::draw_row(Rng& rng) const {
  const Rows& rows = *rows_[rng.below(static_cast<std::uint32_t>(rows_.size()))];
  const auto row = rows.solver.draw(rows.solver.start(), rng);
  return rows.swept.realise(*row, rng.next(), 0);
}

std::optional<int> Inside::nearness_of(const Case& test_case) const {
  if (classify(test_case).expectation() != Expectation::valid) return std::nullopt;
  const auto place = sweep::place_of(test_case);
  if (!place) return std::nullopt;
  return nearness(place->row, contracts_[place->plan]);
}

// The mean over some draws: of those that the model has no classes for as if ten classes were not taken.
double Inside::mean_nearness(const Operator& known, const Swarm& swarm) const {
  constexpr int kDraws = 40;
  int sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    Rng rng(0x57EE, static_cast<std::uint64_t>(i));
    sum += nearness_of(known.draw(rng, swarm)).value_or(-10);
  }
  return static_cast<double>(sum) / kDraws;
}

// Feature by feature, what brings the draws nearest; as usual unless another weight brings them nearer by more than
// chance. Nothing where the operator is not taken.
std::optional<Swarm> Inside::fitted(const Family& family, const Operator& known) const {
  constexpr double kClearly = 0.08;
  Swarm swarm;
  double best = mean_nearness(known, swarm);
  for (const auto& features : {family.selecting, family.features}) {
    for (const Feature feature : features) {
      Swarm chosen = swarm;
      for (const Swarm::Weight weight : {Swarm::Weight::none, Swarm::Weight::always}) {
        Swarm other = swarm;
        other.set(feature, weight);
        const double nearness = mean_nearness(known, other);
        if (nearness <= best + kClearly) continue;
        best = nearness;
        chosen = other;
      }
      swarm = chosen;
    }
  }
  return reaches(known, swarm) ? std::optional(swarm) : std::nullopt;
}

bool Inside::reaches(const Operator& known, const Swarm& swarm) const {
  constexpr std::uint64_t kDraws = 1000;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    Rng rng(0x4EAC, i);
    if (takes(known.draw(rng, swarm))) return true;
  }
  return false;
}

}  // namespace qconform
