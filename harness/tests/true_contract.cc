#include "harness/tests/true_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

#include "harness/engine/contracts.h"
#include "harness/model/sweep/model.h"
#include "harness/suites/sweep/suite.h"

namespace qconform::testing {
namespace {

using sweep::ConstraintSolver;
using sweep::Model;
using sweep::Row;
using sweep::SweepContract;

// Position of the model in sweep::plans().
std::size_t plan_of(const TrueContract& truth) {
  const auto& plans = sweep::plans();
  const auto found = std::find_if(plans.begin(), plans.end(),
                                  [&](const auto& plan) { return plan.swept.model().name == truth.model; });
  return static_cast<std::size_t>(found - plans.begin());
}

const Model& model_of(const TrueContract& truth) {
  return sweep::plans()[plan_of(truth)].swept.model();
}

std::size_t parameter_named(const Model& model, const char* name) {
  const auto& parameters = model.parameters;
  const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto& p) { return p.name == name; });
  return static_cast<std::size_t>(found - parameters.begin());
}

sweep::Term term_of(const Model& model, const Classes& words) {
  const std::size_t parameter = parameter_named(model, words.parameter);
  const auto contract = sweep::parse_contract(std::string(words.parameter) + "=" + words.classes, model);
  const sweep::ClassSet classes = contract->taken[parameter];
  return {parameter, words.others ? model.parameters[parameter].all() & ~classes : classes};
}

// Classes of some parameters, and a row that has them all, where there is one.
std::optional<Row> row_with(const ConstraintSolver& solver,
                            const std::vector<std::pair<std::size_t, std::uint8_t>>& classes) {
  sweep::PartialRow partial = solver.start();
  for (const auto& [parameter, chosen] : classes) {
    if (!solver.decide(partial, parameter, chosen)) return std::nullopt;
  }
  return solver.complete(partial);
}

void expect_same_pairs(const Model& model, const SweepContract& learnt, const SweepContract& truth) {
  const Model inside_learnt = restricted(model, learnt);
  const Model inside_truth = restricted(model, truth);
  const ConstraintSolver one(inside_learnt);
  const ConstraintSolver other(inside_truth);
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    for (std::size_t q = p + 1; q < model.parameters.size(); ++q) {
      for (std::uint8_t a = 0; a < model.parameters[p].classes.size(); ++a) {
        for (std::uint8_t b = 0; b < model.parameters[q].classes.size(); ++b) {
          const bool is_learnt = row_with(one, {{p, a}, {q, b}}).has_value();
          EXPECT_EQ(is_learnt, row_with(other, {{p, a}, {q, b}}).has_value())
              << model.parameters[p].name << "=" << model.parameters[p].classes[a] << ", " << model.parameters[q].name
              << "=" << model.parameters[q].classes[b];
        }
      }
    }
  }
}

std::vector<const char*> chosen_by(const Model& model) {
  if (model.name == "convolutions") {
    return {"operator", "x type", "w type", "y type", "spatial rank", "w zero point", "group", "w parameters"};
  }
  return {"layout", "zero point", "scales", "x type", "y type", "scale type"};
}

void expect_same_choices(const Model& model, const SweepContract& learnt, const SweepContract& truth) {
  std::vector<std::pair<std::size_t, std::uint8_t>> classes;
  for (const char* parameter : chosen_by(model)) {
    classes.emplace_back(parameter_named(model, parameter), std::uint8_t{0});
  }
  const auto advance = [&] {
    return std::any_of(classes.begin(), classes.end(), [&](auto& choice) {
      choice.second = static_cast<std::uint8_t>((choice.second + 1U) % model.parameters[choice.first].classes.size());
      return choice.second != 0;
    });
  };
  const ConstraintSolver solver(model);
  std::size_t rows = 0;
  do {
    const auto row = row_with(solver, classes);
    if (!row) continue;
    ++rows;
    EXPECT_EQ(learnt.takes(*row), truth.takes(*row)) << "combination " << rows;
  } while (advance());
  EXPECT_GT(rows, 1000U);
}

}  // namespace

void PrintTo(const TrueContract& truth, std::ostream* out) {
  *out << truth.name << ", " << truth.model;
}

SweepContract contract_of(const TrueContract& truth) {
  const Model& model = model_of(truth);
  SweepContract contract =
      *truth.taken == '\0' ? sweep::whole_contract(model) : *sweep::parse_contract(truth.taken, model);
  for (const std::vector<Classes>& together : truth.not_together) {
    sweep::Combination& declined = contract.declined.emplace_back();
    for (const Classes& words : together) declined.push_back(term_of(model, words));
    std::sort(declined.begin(), declined.end());
  }
  return contract;
}

void expect_learnt(Backend& backend, const TrueContract& truth) {
  SCOPED_TRACE(std::string(truth.name) + ", " + truth.model);
  const sweep::LearntContract learnt = learn_contracts(backend, 1)[plan_of(truth)];
  const SweepContract contract = contract_of(truth);
  expect_same_choices(model_of(truth), learnt.contract, contract);
  expect_same_pairs(model_of(truth), learnt.contract, contract);
  EXPECT_LE(learnt.probes, sweep::LearningLimits{}.probes);
  EXPECT_EQ(learnt.confirmed, sweep::LearningLimits{}.confirmations);
  EXPECT_EQ(learnt.contradicted, 0U);
}

}  // namespace qconform::testing
