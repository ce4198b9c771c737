#include "harness/engine/contracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/engine/execute.h"
#include "harness/suites/sweep/contract.h"
#include "harness/suites/sweep/sizes.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

bool is_refusal(const Outcome& outcome) {
  return std::holds_alternative<outcome::Unsupported>(outcome) || std::holds_alternative<outcome::Rejected>(outcome);
}

const std::string& name_of(const sweep::Plan& plan) {
  return plan.swept.model().name;
}

}  // namespace

Contracts learn_contracts(Backend& backend, std::uint64_t seed) {
  Contracts contracts;
  GuardedOutput output;
  for (const sweep::Plan& plan : sweep::plans()) {
    const auto probe = [&](const sweep::Row& row, std::uint64_t index) {
      return !is_refusal(execute(backend, plan.swept.realise(row, seed, index), output));
    };
    contracts.push_back(sweep::learn_contract(plan.swept.model(), plan.rows, probe));
  }
  return contracts;
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

std::vector<BackendContract> described(const Contracts& contracts) {
  std::vector<BackendContract> list;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const sweep::Plan& plan = sweep::plans()[i];
    const sweep::LearntContract& learnt = contracts[i];
    BackendContract one{name_of(plan),      learnt.contract.takes_anything(), {}, learnt.probes, learnt.confirmed,
                        learnt.contradicted};
    if (one.takes_anything) one.rules = sweep::lines_of(learnt.contract, plan.swept.model());
    list.push_back(std::move(one));
  }
  return list;
}

std::unique_ptr<Suite> suite_within(const Contracts& contracts, std::string name, std::uint64_t seed) {
  std::vector<std::size_t> narrow;
  for (std::size_t i = 0; i < contracts.size(); ++i) {
    const sweep::Contract& contract = contracts[i].contract;
    if (contract.takes_anything() && !sweep::is_whole(contract, sweep::plans()[i].swept.model())) narrow.push_back(i);
  }
  if (narrow.empty()) return nullptr;
  std::vector<sweep::Plan> plans;
  std::size_t cases = 0;
  for (const std::size_t i : narrow) {
    plans.push_back(sweep::plan_within(sweep::plans()[i], contracts[i].contract));
    plans.back().proof.coverage.model += " within " + name;
    cases += plans.back().rows.size();
  }
  const std::size_t missing = kCasesWithin - std::min(cases, kCasesWithin);
  for (std::size_t k = 0; k < narrow.size(); ++k) {
    sweep::draw_rows(plans[k], contracts[narrow[k]].contract, (missing + narrow.size() - 1) / narrow.size(), seed);
  }
  return std::make_unique<sweep::SweepSuite>("within " + name, std::move(plans), seed);
}

std::unique_ptr<Suite> sizes_within(const Contracts& contracts, const std::string& name, std::uint64_t seed) {
  std::vector<sweep::Contract> plain;
  for (const sweep::LearntContract& learnt : contracts) plain.push_back(learnt.contract);
  const bool takes_any = std::any_of(plain.begin(), plain.end(),
                                     [](const sweep::Contract& contract) { return contract.takes_anything(); });
  return takes_any ? sweep::sizes_suite("sizes within " + name, plain, seed) : nullptr;
}

}  // namespace qconform
