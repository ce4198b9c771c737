// Kernels that take little: each is right, and what is learnt of it is what it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/select.h"
#include "harness/engine/contracts.h"
#include "harness/engine/run_suites.h"
#include "harness/suites/select.h"
#include "harness/suites/sweep/constraint_solver.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

using sweep::Contract;
using sweep::Model;
using sweep::PartialRow;
using sweep::Row;
using Classes = std::pair<const char*, const char*>;  // parameter and class

// What a kernel takes of the convolutions' model, written down from its source.
struct Narrow {
  const char* name;
  const char* taken;                                      // as with --only
  std::vector<std::pair<Classes, Classes>> not_together;  // taken, but not with each other
  bool is_fixed_point;                                    // rounds as the tier Q31 has it
};

void PrintTo(const Narrow& kernel, std::ostream* out) {
  *out << kernel.name;
}

const Narrow kKernels[] = {
    {"nhwc_int8",
     "operator=QLinearConv, x type=int8, w type=int8, y type=int8, spatial rank=2, w zero point=middle",
     {},
     true},
    {"uint8_float", "operator=QLinearConv, x type=uint8, w type=uint8, spatial rank=1|2", {}, false},
    {"conv1d",
     "w type=int8, spatial rank=1, w zero point=middle|omitted",
     {{{"x type", "int8"}, {"y type", "uint8"}}, {{"x type", "uint8"}, {"y type", "int8"}}},
     false}};

std::unique_ptr<Backend> open(const Narrow& kernel) {
  auto backend = backend::select(std::string("plugin:" QCONFORM_PLUGINS "/") + kernel.name + ".so",
                                 RoundingProfile::correctly_rounded);
  return backend ? std::move(*backend) : nullptr;
}

const sweep::Plan& convolutions() {
  return sweep::plans().front();
}

std::size_t parameter_named(const Model& model, const char* name) {
  const auto found = std::find_if(model.parameters.begin(), model.parameters.end(),
                                  [&](const auto& each) { return each.name == name; });
  return static_cast<std::size_t>(found - model.parameters.begin());
}

sweep::Term term_of(const Model& model, const Classes& words) {
  const std::size_t parameter = parameter_named(model, words.first);
  const auto& classes = model.parameters[parameter].classes;
  return {parameter, 1U << (std::find(classes.begin(), classes.end(), words.second) - classes.begin())};
}

Contract true_contract(const Narrow& kernel) {
  const Model& model = convolutions().swept.model();
  Contract contract = *sweep::parse_contract(kernel.taken, model);
  for (const auto& [one, other] : kernel.not_together) {
    contract.declined.push_back({term_of(model, one), term_of(model, other)});
  }
  return contract;
}

class NarrowKernel : public ::testing::TestWithParam<Narrow> {};

TEST_P(NarrowKernel, IsRight) {
  const Narrow& kernel = GetParam();
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(open(kernel));
  ASSERT_NE(backends[0], nullptr);
  sweep::Plan inside = convolutions();
  inside.rows.clear();
  sweep::draw_rows(inside, true_contract(kernel), 500, 1);
  std::vector<std::unique_ptr<Suite>> suites = std::move(*open_suite("corpus", {}));
  suites.push_back(
      std::make_unique<sweep::SweepSuite>("inside", std::vector<sweep::Plan>{std::move(inside)}, std::uint64_t{1}));
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
  const OperatorResult& result = report.backends[0].operators.at("QLinearConv");
  EXPECT_GT(result.attempted(), 200U);
  if (!kernel.is_fixed_point) {
    EXPECT_TRUE(report.conforms());
    return;
  }
  EXPECT_EQ(result.failing(), result.count(VerdictKind::wrong)) << "nothing but values";
  EXPECT_TRUE(result.tiers.common.contains(reference::Tier::fixed_point));
  EXPECT_EQ(result.tiers.none, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowKernel, ::testing::ValuesIn(kKernels),
                         [](const auto& test) { return std::string(test.param.name); });

// Classes of some parameters, and whether a case of them all exists.
std::optional<Row> row_with(const sweep::ConstraintSolver& solver,
                            const std::vector<std::pair<std::size_t, std::uint8_t>>& classes) {
  PartialRow partial = solver.start();
  for (const auto& [parameter, chosen] : classes) {
    if (!solver.decide(partial, parameter, chosen)) return std::nullopt;
  }
  return solver.complete(partial);
}

// The grid: every two classes of all parameters. Two contracts agree where each pair has a case inside both or neither.
void expect_same_pairs(const Model& model, const Contract& learnt, const Contract& truth, const char* name) {
  const Model inside_learnt = restricted(model, learnt);
  const Model inside_truth = restricted(model, truth);
  const sweep::ConstraintSolver one(inside_learnt);
  const sweep::ConstraintSolver other(inside_truth);
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    for (std::size_t q = p + 1; q < model.parameters.size(); ++q) {
      for (std::uint8_t a = 0; a < model.parameters[p].classes.size(); ++a) {
        for (std::uint8_t b = 0; b < model.parameters[q].classes.size(); ++b) {
          const bool is_learnt = row_with(one, {{p, a}, {q, b}}).has_value();
          EXPECT_EQ(is_learnt, row_with(other, {{p, a}, {q, b}}).has_value())
              << name << ": " << model.parameters[p].name << "=" << model.parameters[p].classes[a] << ", "
              << model.parameters[q].name << "=" << model.parameters[q].classes[b];
        }
      }
    }
  }
}

// The grid: every combination of the parameters by which backends choose what they take, each as a whole row.
void expect_same_choices(const Model& model, const Contract& learnt, const Contract& truth, const char* name) {
  std::vector<std::size_t> chosen;
  for (const char* parameter :
       {"operator", "x type", "w type", "y type", "spatial rank", "w zero point", "group", "w parameters"}) {
    chosen.push_back(parameter_named(model, parameter));
  }
  const sweep::ConstraintSolver solver(model);
  std::vector<std::pair<std::size_t, std::uint8_t>> classes;
  std::size_t rows = 0;
  const auto visit = [&](const auto& self) -> void {
    if (classes.size() < chosen.size()) {
      const std::size_t parameter = chosen[classes.size()];
      for (std::uint8_t c = 0; c < model.parameters[parameter].classes.size(); ++c) {
        classes.emplace_back(parameter, c);
        self(self);
        classes.pop_back();
      }
      return;
    }
    const auto row = row_with(solver, classes);
    if (!row) return;
    ++rows;
    EXPECT_EQ(learnt.takes(*row), truth.takes(*row)) << name << ", combination " << rows;
  };
  visit(visit);
  EXPECT_GT(rows, 1000U);
}

TEST(LearntContracts, AreWhatNarrowKernelsTake) {
  const Model& model = convolutions().swept.model();
  for (const Narrow& kernel : kKernels) {
    const auto backend = open(kernel);
    ASSERT_NE(backend, nullptr) << kernel.name;
    const Contracts learnt = learn_contracts(*backend, 1);
    const Contract truth = true_contract(kernel);
    expect_same_choices(model, learnt[0].contract, truth, kernel.name);
    expect_same_pairs(model, learnt[0].contract, truth, kernel.name);
    EXPECT_LE(learnt[0].probes, 2000U) << kernel.name;
    EXPECT_EQ(learnt[0].contradicted, 0U) << kernel.name;
    EXPECT_FALSE(learnt[1].contract.takes_anything()) << kernel.name;
    EXPECT_FALSE(learnt[2].contract.takes_anything()) << kernel.name;
  }
}

}  // namespace
}  // namespace qconform
