#include "harness/engine/contracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/engine/execute.h"
#include "harness/model/operator.h"
#include "harness/model/sweep/model.h"
#include "harness/suites/fuzz_within.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

const std::string& name_of(const sweep::Plan& plan) {
  return plan.swept.model().name;
}

}  // namespace

std::vector<sweep::SweepContract> plain(const Contracts& contracts) {
  std::vector<sweep::SweepContract> list;
  for (const sweep::LearntContract& learnt : contracts) list.push_back(learnt.contract);
  return list;
}

bool takes(const Contracts& contracts, const Case& test_case) {
  const Classification classification = classify(test_case);
  if (classification.expectation() != Expectation::valid) return false;
  const auto place = sweep::place_of(test_case, classification);
  if (!place) return false;
  const sweep::SweepContract& contract = contracts[place->plan].contract;
  return contract.takes_anything() && contract.takes(place->row);
}

namespace {

Contracts learn_contracts_of(const std::vector<sweep::Plan>& plans, Backend& backend, std::uint64_t seed,
                             const ContractProgress& progress, const sweep::LearningLimits& limits) {
  Contracts contracts;
  GuardedOutput output;
  for (const sweep::Plan& plan : plans) {
    const auto probe = [&, asked = std::uint64_t{0}](const sweep::Row& row,
                                                     std::uint64_t index) mutable -> sweep::ProbeAnswer {
      if (progress) progress(plan.swept.model().name, asked++);
      const Case test_case = plan.swept.realise(row, seed, index);
      Worker* const worker = backend.worker();
      const Outcome outcome = worker != nullptr ? worker->ask(test_case) : execute(backend, test_case, output);
      return {!is_refusal(outcome), reason_of(outcome)};
    };
    contracts.push_back(sweep::learn_contract(plan.swept.model(), plan.rows, probe, limits));
  }
  return contracts;
}

}  // namespace

Contracts learn_contracts(Backend& backend, std::uint64_t seed, const ContractProgress& progress) {
  return learn_contracts_of(sweep::plans(), backend, seed, progress, {});
}

Contracts learn_unit_contracts(Backend& backend, std::uint64_t seed, const ContractProgress& progress) {
  // The models of units have twice as many parameters as those of nodes.
  constexpr sweep::LearningLimits kOfUnits{.probes = 6000, .confirmations = 120};
  return learn_contracts_of(sweep::unit_plans(), backend, seed, progress, kOfUnits);
}

Result<Contracts> stated_contracts(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string model = text.substr(0, colon);
  Contracts contracts;
  bool found = false;
  std::string names;
  for (const sweep::Plan& plan : sweep::plans()) {
    const sweep::Model& its_model = plan.swept.model();
    sweep::LearntContract stated;
    stated.contract.taken.assign(its_model.parameters.size(), 0);
    if (colon != std::string::npos && its_model.name == model) {
      QCONFORM_ASSIGN(stated.contract, sweep::parse_contract(text.substr(colon + 1), its_model));
      found = true;
    }
    names += (names.empty() ? "" : ", ") + its_model.name;
    contracts.push_back(std::move(stated));
  }
  if (found) return contracts;
  return fail("--only",
              fmt::format("\"{}\": expected MODEL: PARAMETER=CLASS[|CLASS]..., ...; models are {}", text, names));
}

std::vector<BackendContract> described(const Contracts& contracts, const std::vector<sweep::Plan>& plans) {
  std::vector<BackendContract> list;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const sweep::Plan& plan = plans[i];
    const sweep::LearntContract& learnt = contracts[i];
    BackendContract one{name_of(plan),
                        learnt.contract.takes_anything(),
                        {},
                        learnt.probes,
                        learnt.confirmed,
                        learnt.contradicted,
                        0,
                        0,
                        {}};
    if (one.takes_anything) one.rules = sweep::lines_of(learnt.contract, plan.swept.model());
    list.push_back(std::move(one));
  }
  return list;
}

namespace {

// Plans within the contracts at the positions `narrow`.
std::vector<sweep::Plan> plans_within(const std::vector<sweep::SweepContract>& contracts,
                                      const std::vector<std::size_t>& narrow, const std::string& name,
                                      std::uint64_t seed) {
  std::vector<sweep::Plan> plans;
  std::size_t cases = 0;
  for (const std::size_t i : narrow) {
    plans.push_back(sweep::plan_within(sweep::plans()[i], contracts[i]));
    plans.back().proof.coverage.model += " within " + name;
    cases += plans.back().rows.size();
  }
  const std::size_t missing = kCasesWithin - std::min(cases, kCasesWithin);
  for (std::size_t k = 0; k < narrow.size(); ++k) {
    sweep::draw_rows(plans[k], contracts[narrow[k]], (missing + narrow.size() - 1) / narrow.size(), seed);
  }
  return plans;
}

}  // namespace

std::unique_ptr<Suite> suite_within(const Contracts& contracts, std::string name, std::uint64_t seed) {
  std::vector<std::size_t> narrow;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const sweep::SweepContract& contract = contracts[i].contract;
    if (contract.takes_anything() && !sweep::is_whole(contract, sweep::plans()[i].swept.model())) narrow.push_back(i);
  }
  if (narrow.empty()) return nullptr;
  auto make = [contracts = plain(contracts), narrow, name, seed] {
    return plans_within(contracts, narrow, name, seed);
  };
  return std::make_unique<sweep::SweepSuite>("within " + name, std::move(make), seed);
}

std::unique_ptr<Suite> thorough_within(const Contracts& contracts, std::string name, std::uint64_t seed) {
  std::vector<sweep::Plan> plans;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    auto plan = sweep::plan_thoroughly(sweep::plans()[i], contracts[i].contract);
    if (!plan) continue;
    plan->proof.coverage.model += " in " + name;
    plans.push_back(std::move(*plan));
  }
  if (plans.empty()) return nullptr;
  return std::make_unique<sweep::SweepSuite>(
      std::move(name), [plans = std::move(plans)] { return plans; }, seed);
}

Contracts whole_contracts() {
  Contracts contracts;
  for (const sweep::Plan& plan : sweep::plans()) {
    contracts.push_back({sweep::whole_contract(plan.swept.model()), 0, 0, 0});
  }
  return contracts;
}

namespace {

bool take_anything(const std::vector<sweep::SweepContract>& contracts) {
  return std::any_of(contracts.begin(), contracts.end(),
                     [](const auto& contract) { return contract.takes_anything(); });
}

}  // namespace

std::unique_ptr<Suite> sizes_within(const Contracts& contracts, const std::string& name, std::uint64_t seed,
                                    bool only_narrow) {
  std::vector<sweep::SweepContract> chosen = only_narrow ? sweep::narrow_ones(plain(contracts)) : plain(contracts);
  bool has_sizes = false;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    has_sizes = has_sizes || (chosen[i].takes_anything() && sweep::plans()[i].swept.sized.sizes > 0);
  }
  return has_sizes ? sweep::sizes_suite("sizes within " + name, chosen, seed) : nullptr;
}

std::unique_ptr<Suite> neighbours_within(const Contracts& contracts, const std::string& name, std::uint64_t seed) {
  const std::vector<sweep::SweepContract> narrow = sweep::narrow_ones(plain(contracts));
  if (!take_anything(narrow)) return nullptr;
  return sweep::neighbours_suite("neighbours within " + name, narrow, seed);
}

std::vector<std::unique_ptr<Suite>> drawn_within(const Contracts& contracts, const std::string& name,
                                                 std::uint64_t seed) {
  const std::vector<sweep::SweepContract> narrow = sweep::narrow_ones(plain(contracts));
  std::vector<std::unique_ptr<Suite>> suites;
  if (!take_anything(narrow)) return suites;
  suites.push_back(directed_within("directed within " + name, narrow, seed));
  suites.push_back(random_within("random within " + name, narrow, seed));
  suites.push_back(corpus_within("corpus within " + name, narrow));
  return suites;
}

std::unique_ptr<Suite> drawn_units_within(const Contracts& units, const std::string& name, std::uint64_t seed) {
  std::size_t rows = 0;
  std::size_t inside = 0;
  bool takes_any = false;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const sweep::SweepContract& contract = units[i].contract;
    const std::vector<sweep::Row>& all = sweep::unit_plans()[i].rows;
    rows += all.size();
    if (!contract.takes_anything()) continue;
    takes_any = true;
    inside += static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const sweep::Row& row) { return contract.takes(row); }));
  }
  if (!takes_any || inside > rows / 2) return nullptr;
  return units_within("qdq within " + name, plain(units), seed);
}

void ContractCheck::add(std::size_t backend, const Contracts& contracts) {
  backends_.push_back({backend, std::vector<ContractCounts>(contracts.size())});
  contracts_.push_back(plain(contracts));
}

void ContractCheck::judged(const Case& test_case, const Classification& classification,
                           const std::vector<CaseResult::OfBackend>& results) {
  if (backends_.empty() || test_case.expectation != Expectation::valid) return;
  const auto place = sweep::place_of(test_case, classification, contracts_);
  if (!place) return;
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    const VerdictKind verdict = results[backends_[i].backend].verdict;
    if (verdict == VerdictKind::not_asked) continue;
    const bool declined = verdict == VerdictKind::unsupported || verdict == VerdictKind::refused;
    const sweep::SweepContract& contract = contracts_[i][place->plan];
    const bool inside = contract.takes_anything() && contract.takes(place->row);
    if (inside != declined) continue;
    ContractCounts& counts = backends_[i].counts[place->plan];
    ++(inside ? counts.declined_inside : counts.taken_outside);
    if (counts.first.empty()) counts.first = test_case.id;
  }
}

void ContractCheck::write(std::size_t backend, std::vector<BackendContract>& contracts) const {
  const auto found =
      std::find_if(backends_.begin(), backends_.end(), [&](const auto& of) { return of.backend == backend; });
  if (found == backends_.end()) return;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const ContractCounts& counts = found->counts[i];
    contracts[i].declined_inside = counts.declined_inside;
    contracts[i].taken_outside = counts.taken_outside;
    contracts[i].contradiction = counts.first;
  }
}

std::string contradiction_text(const std::string& backend, const std::vector<BackendContract>& contracts) {
  std::string text;
  for (const BackendContract& contract : contracts) {
    if (contract.contradiction.empty()) continue;
    text +=
        fmt::format("{} {}: {} valid cases inside the contract were declined, {} outside were taken; the first is {}",
                    text.empty() ? backend + ":" : ";", contract.model, contract.declined_inside,
                    contract.taken_outside, contract.contradiction);
  }
  return text;
}

}  // namespace qconform
