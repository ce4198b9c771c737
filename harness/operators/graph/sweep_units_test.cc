#include "harness/operators/graph/sweep_units.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/model/judge/judge.h"
#include "harness/model/sweep/constraint_solver.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/test_scale.h"

namespace qconform::unit {
namespace {

using sweep::Plan;
using sweep::Row;

std::string row_text(const sweep::Model& model, const Row& row) {
  std::string text;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const sweep::Parameter& parameter = model.parameters[p];
    const std::string found = row[p] < parameter.classes.size() ? parameter.classes[row[p]] : "?";
    text += parameter.name + "=" + found + " ";
  }
  return text;
}

// Whether the case is valid and read back with its classes.
void expect_realised(const sweep::SweptModel& swept, const Row& row, const Case& made) {
  const Classification classification = classify(made);
  const auto* remark = classification.deciding_remark();
  ASSERT_EQ(classification.expectation(), Expectation::valid) << (remark == nullptr ? "" : remark->text()) << "\n"
                                                              << row_text(swept.model(), row);
  const Row found = swept.classify(made);
  EXPECT_EQ(found, row) << row_text(swept.model(), row) << "\n" << row_text(swept.model(), found);
}

class SweptUnits : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Plan& plan() { return sweep::unit_plans()[GetParam()]; }
};

INSTANTIATE_TEST_SUITE_P(Models, SweptUnits, ::testing::Values(0, 1, 2));

TEST_P(SweptUnits, CoverEveryFeasibleTriple) {
  const CombinationCoverage& coverage = plan().proof.coverage;
  EXPECT_GT(coverage.feasible, 10000U);
  EXPECT_EQ(coverage.covered, coverage.feasible);
  for (std::size_t p = 0; p < plan().swept.model().parameters.size(); ++p) {
    const sweep::Parameter& parameter = plan().swept.model().parameters[p];
    std::set<std::uint8_t> met;
    for (const Row& row : plan().rows) met.insert(row[p]);
    const bool is_layout = p == kXLayout || p == kYLayout;  // some models have fewer of them
    EXPECT_TRUE(is_layout || met.size() == parameter.classes.size()) << parameter.name;
  }
}

TEST_P(SweptUnits, RowsAreValidCasesWithTheirClasses) {
  for (std::size_t i = 0; i < plan().rows.size() && !HasFatalFailure(); ++i) {
    expect_realised(plan().swept, plan().rows[i], sweep_case(plan(), i, 1));
  }
}

// Rows that the array does not have.
TEST_P(SweptUnits, AnyRowIsAValidCaseWithItsClasses) {
  const sweep::Model& model = plan().swept.model();
  const sweep::ConstraintSolver solver(model);
  Rng rng(17, GetParam());
  for (int i = 0; i < testing::scaled(300) && !HasFatalFailure(); ++i) {
    const auto row = solver.draw(solver.start(), rng);
    ASSERT_TRUE(row.has_value());
    expect_realised(plan().swept, *row, plan().swept.realise(*row, 2, static_cast<std::uint64_t>(i)));
  }
}

TEST_P(SweptUnits, ProveSomething) {
  std::size_t vacuous = 0;
  for (std::size_t i = 0; i < plan().rows.size(); ++i) {
    const Case made = sweep_case(plan(), i, 1);
    Expected expected = expect(made, {});
    assess(made, expected);
    vacuous += expected.vacuous_because.empty() ? 0 : 1;
  }
  EXPECT_LT(vacuous * 4, plan().rows.size()) << vacuous << " of " << plan().rows.size();
}

}  // namespace
}  // namespace qconform::unit
