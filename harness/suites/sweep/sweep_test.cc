#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/bytes.h"
#include "harness/engine/execute.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/model/sweep/model.h"
#include "harness/operators/convolution/description.h"
#include "harness/suites/drawn.h"
#include "harness/suites/sweep/covering_array.h"
#include "harness/suites/sweep/suite.h"
#include "harness/tests/test_scale.h"

namespace qconform::sweep {
namespace {

// A small model with tabulated constraints, any of which may be too strict.
Model random_model(Rng& rng) {
  Model model{"small", {}, {}};
  const std::size_t count = 3 + rng.below(4);
  for (std::size_t p = 0; p < count; ++p) {
    model.parameters.push_back({"p" + std::to_string(p), std::vector<std::string>(1 + rng.below(4), "class")});
  }
  // As many classes as an operator of units has, and as many as there may be.
  if (rng.chance(1, 6)) model.parameters[0].classes.resize(rng.chance(1, 2) ? 33 : kMaxClasses, "class");
  const std::size_t constraints = rng.below(5);
  for (std::size_t c = 0; c < constraints; ++c) {
    std::vector<std::size_t> scope;
    for (std::size_t p = 0; p < count; ++p) {
      if (rng.chance(2, 5)) scope.push_back(p);
    }
    if (scope.empty()) scope.push_back(0);
    const std::uint64_t salt = rng.next();
    model.constraints.push_back({"salted", scope, [scope, salt](const Row& row) {
                                   std::uint64_t tuple = 0;
                                   for (const std::size_t p : scope) tuple = tuple * 4 + row[p];
                                   return Rng(salt, tuple).chance(2, 3);
                                 }});
  }
  return model;
}

bool advance(const Model& model, Row& row) {
  for (std::size_t p = 0; p < row.size(); ++p) {
    if (++row[p] < model.parameters[p].classes.size()) return true;
    row[p] = 0;
  }
  return false;
}

using Triples = std::set<std::vector<std::size_t>>;

void add_triples(const Row& row, Triples& triples) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    for (std::size_t j = i + 1; j < row.size(); ++j) {
      for (std::size_t k = j + 1; k < row.size(); ++k) triples.insert({i, j, k, row[i], row[j], row[k]});
    }
  }
}

// Returns the triples of every row that the model allows.
Triples feasible_by_brute_force(const Model& model) {
  Triples triples;
  Row row(model.parameters.size(), 0);
  do {
    if (model.allows(row)) add_triples(row, triples);
  } while (advance(model, row));
  return triples;
}

TEST(CoveringArray, CoversWhatBruteForceFindsFeasible) {
  const int models = testing::scaled(400);
  for (int i = 0; i < models; ++i) {
    Rng rng(11, static_cast<std::uint64_t>(i));
    const Model model = random_model(rng);
    const Triples feasible = feasible_by_brute_force(model);
    const auto rows = covering_array(model);
    Triples covered;
    for (const Row& row : rows) {
      ASSERT_TRUE(model.allows(row)) << "model " << i;
      add_triples(row, covered);
    }
    ASSERT_EQ(covered, feasible) << "model " << i;
    const CombinationCoverage proof = prove_coverage(model, rows).coverage;
    EXPECT_EQ(proof.covered, feasible.size()) << "model " << i;
    EXPECT_EQ(proof.feasible, feasible.size()) << "model " << i;
  }
}

std::vector<std::size_t> all_positions(const Model& model) {
  std::vector<std::size_t> positions(model.parameters.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return positions;
}

void add_fours(const Row& row, Triples& fours) {
  for (std::size_t l = 3; l < row.size(); ++l) {
    Triples triples;
    add_triples(Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(l)), triples);
    for (std::vector<std::size_t> four : triples) {
      four.insert(four.end(), {l, row[l]});
      fours.insert(std::move(four));
    }
  }
}

TEST(CoveringArrayOfFour, CoversWhatBruteForceFindsFeasible) {
  const int models = testing::scaled(150);
  for (int i = 0; i < models; ++i) {
    Rng rng(17, static_cast<std::uint64_t>(i));
    const Model model = random_model(rng);
    if (model.parameters.size() < 4) continue;
    Triples feasible;
    Row row(model.parameters.size(), 0);
    do {
      if (model.allows(row)) add_fours(row, feasible);
    } while (advance(model, row));
    const Combinations fours{4, all_positions(model)};
    auto rows = covering_array(model, fours);
    Triples covered;
    for (const Row& each : rows) {
      ASSERT_TRUE(model.allows(each)) << "model " << i;
      add_fours(each, covered);
    }
    ASSERT_EQ(covered, feasible) << "model " << i;
    const CombinationCoverage proof = prove_coverage(model, fours, rows).coverage;
    EXPECT_EQ(proof.covered, feasible.size()) << "model " << i;
    EXPECT_EQ(proof.feasible, feasible.size()) << "model " << i;
    if (rows.empty()) continue;
    rows.pop_back();
    EXPECT_EQ(prove_coverage(model, fours, rows).coverage.feasible, feasible.size());
    EXPECT_LE(coverage_of(model, fours, rows).covered, feasible.size());
  }
}

TEST(CoverageProof, FindsUncoveredTriples) {
  int noticed = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    Rng rng(12, i);
    const Model model = random_model(rng);
    auto rows = covering_array(model);
    if (rows.empty()) continue;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(rng.below(static_cast<std::uint32_t>(rows.size()))));
    Triples covered;
    for (const Row& row : rows) add_triples(row, covered);
    const CombinationCoverage proof = prove_coverage(model, rows).coverage;
    EXPECT_EQ(proof.covered, covered.size());
    EXPECT_EQ(proof.feasible, feasible_by_brute_force(model).size());
    noticed += proof.covered < proof.feasible ? 1 : 0;
  }
  EXPECT_GT(noticed, 25);
}

// The number of the first constraint that holds of no row with these classes; none: how many constraints there are.
std::size_t first_excluding(const Model& model, const std::vector<std::size_t>& triple) {
  for (std::size_t c = 0; c < model.constraints.size(); ++c) {
    bool allowed = false;
    Row row(model.parameters.size(), 0);
    do {
      const bool has = row[triple[0]] == triple[3] && row[triple[1]] == triple[4] && row[triple[2]] == triple[5];
      allowed = allowed || (has && model.constraints[c].holds(row));
    } while (!allowed && advance(model, row));
    if (!allowed) return c;
  }
  return model.constraints.size();
}

TEST(CoverageProof, NamesTheFirstConstraintThatExcludesATripleAlone) {
  std::uint64_t infeasible = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    Rng rng(13, i);
    const Model model = random_model(rng);
    const Triples feasible = feasible_by_brute_force(model);
    Triples triples;
    Row row(model.parameters.size(), 0);
    do add_triples(row, triples);
    while (advance(model, row));
    std::vector<std::uint64_t> excluded(model.constraints.size() + 1);
    for (const auto& triple : triples) {
      if (!feasible.contains(triple)) ++excluded[first_excluding(model, triple)];
    }
    const Proof proof = prove_coverage(model, covering_array(model));
    EXPECT_EQ(proof.excluded_by_several, excluded.back()) << "model " << i;
    excluded.pop_back();
    EXPECT_EQ(proof.excluded_by, excluded) << "model " << i;
    infeasible += proof.coverage.infeasible;
  }
  EXPECT_GT(infeasible, 500U);
}

TEST(CoverageProof, DoesNotCountRowsThatBreakAConstraint) {
  const Model model{"one",
                    {{"a", {"0", "1"}}, {"b", {"0", "1"}}, {"c", {"0"}}},
                    {{"a is b", {0, 1}, [](const Row& r) { return r[0] == r[1]; }}}};
  const std::vector<Row> rows{{0, 0, 0}, {0, 1, 0}};
  const Proof proof = prove_coverage(model, rows);
  EXPECT_EQ(proof.coverage.covered, 1U);
  EXPECT_EQ(proof.coverage.feasible, 2U);
  EXPECT_EQ(proof.coverage.infeasible, 2U);
  EXPECT_EQ(proof.excluded_by, std::vector<std::uint64_t>{2});
}

TEST(ConstraintSolver, FindsARowExactlyWhereThereIsOne) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    Rng rng(13, i);
    const Model model = random_model(rng);
    const ConstraintSolver solver(model);
    bool any = false;
    Row row(model.parameters.size(), 0);
    do any = any || model.allows(row);
    while (advance(model, row));
    const auto found = solver.complete(solver.start());
    ASSERT_EQ(found.has_value(), any);
    if (found) {
      EXPECT_TRUE(model.allows(*found));
    }
  }
}

TEST(Sweep, CoversEveryFeasibleTriple) {
  ASSERT_EQ(plans().size(), 3U);
  for (const Plan& plan : plans()) {
    const CombinationCoverage& coverage = plan.proof.coverage;
    EXPECT_EQ(coverage.covered, coverage.feasible) << coverage.model;
    EXPECT_GT(coverage.feasible, 30000U) << coverage.model;
  }
}

// A parameter's class that is in no case is a mistake in the model.
TEST(Sweep, HasEveryClass) {
  for (const Plan& plan : plans()) {
    const Model& model = plan.swept.model();
    for (std::size_t p = 0; p < model.parameters.size(); ++p) {
      std::set<int> seen;
      for (const Row& row : plan.rows) seen.insert(row[p]);
      EXPECT_EQ(seen.size(), model.parameters[p].classes.size()) << model.name << ": " << model.parameters[p].name;
    }
  }
}

// A constraint reads what it says it reads.
TEST(Sweep, ConstraintsReadTheirScopeAlone) {
  for (const Plan& plan : plans()) {
    const Model& model = plan.swept.model();
    Rng rng(14);
    for (const Constraint& constraint : model.constraints) {
      for (int i = 0; i < 300; ++i) {
        Row row(model.parameters.size(), 0);
        for (std::size_t p = 0; p < row.size(); ++p) {
          row[p] = static_cast<std::uint8_t>(rng.below(static_cast<std::uint32_t>(model.parameters[p].classes.size())));
        }
        Row other(row.size(), 0);
        for (const std::size_t p : constraint.scope) other[p] = row[p];
        EXPECT_EQ(constraint.holds(row), constraint.holds(other)) << constraint.text;
      }
    }
  }
}

std::string described(const Model& model, const Row& row) {
  std::string text;
  for (std::size_t p = 0; p < row.size(); ++p) {
    const auto& classes = model.parameters[p].classes;
    text += model.parameters[p].name + "=" + (row[p] < classes.size() ? classes[row[p]] : "?") + "; ";
  }
  return text;
}

TEST(Sweep, CasesAreValidAndHaveTheClassesTheyClaim) {
  for (const Plan& plan : plans()) {
    const auto step = static_cast<std::size_t>(std::max(1, 100 / testing::scaled(100)));
    for (std::size_t i = 0; i < plan.rows.size(); i += step) {
      const Case test_case = sweep_case(plan, i, 1);
      const Classification result = classify(test_case);
      const auto* remark = result.deciding_remark();
      ASSERT_EQ(result.expectation(), Expectation::valid)
          << test_case.id << ": " << (remark == nullptr ? "" : remark->text());
      const Row found = plan.swept.classify(test_case, ask_all);
      EXPECT_EQ(found, plan.rows[i]) << test_case.id << "\n  " << described(plan.swept.model(), plan.rows[i]) << "\n  "
                                     << described(plan.swept.model(), found);
    }
  }
}

// A random case may have no row of the model, but never one out of range; empty tensors have none.
TEST(Sweep, AnyRandomCaseHasAPlaceOrNone) {
  int placed = 0;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const Case test_case = random_case(4, index);
    const auto place = place_of(test_case, classify(test_case));
    if (!place) continue;
    ++placed;
    const Model& model = plans()[place->plan].swept.model();
    for (std::size_t p = 0; p < place->row.size(); ++p) {
      ASSERT_LT(place->row[p], model.parameters[p].classes.size()) << model.parameters[p].name << " " << test_case.id;
    }
  }
  EXPECT_GT(placed, 1500);
}

SweepContract random_contract(Rng& rng, const Model& model) {
  SweepContract contract = whole_contract(model);
  Combination combination;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) {
    const ClassSet some = rng.next();
    if (rng.chance(1, 12)) contract.taken[p] &= some;
    if (rng.chance(1, 6)) combination.push_back({p, model.parameters[p].all() & some});
  }
  contract.declined.push_back(std::move(combination));
  return contract;
}

// Contracts decide alike on the classes that they tell apart and on all classes: looking at the data may be left out.
TEST(Sweep, ContractsDecideAlikeOnWhatTheyAsk) {
  int inside = 0;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const Case test_case = random_case(4, index);
    Rng rng(17, index);
    std::vector<SweepContract> contracts;
    for (const Plan& plan : plans()) contracts.push_back(random_contract(rng, plan.swept.model()));
    const Classification classification = classify(test_case);
    const auto whole = place_of(test_case, classification);
    const auto asked = place_of(test_case, classification, std::span(&contracts, 1));
    ASSERT_EQ(asked.has_value(), whole.has_value()) << test_case.id;
    if (!whole) continue;
    ASSERT_EQ(asked->plan, whole->plan) << test_case.id;
    const SweepContract& contract = contracts[whole->plan];
    ASSERT_EQ(contract.takes(asked->row), contract.takes(whole->row)) << test_case.id;
    inside += contract.takes(whole->row) ? 1 : 0;
  }
  EXPECT_GT(inside, 300);
}

// Every row that the model allows can be made a case, however far it is from the array's own.
TEST(Sweep, AnyAllowedRowIsRealised) {
  for (const Plan& plan : plans()) {
    const Model& model = plan.swept.model();
    const ConstraintSolver solver(model);
    const int rows = testing::scaled(300);
    for (int i = 0; i < rows; ++i) {
      Rng rng(15, static_cast<std::uint64_t>(i));
      PartialRow partial = solver.start();
      for (int decided = 0; decided < 6; ++decided) {
        const auto p = static_cast<std::size_t>(rng.below(static_cast<std::uint32_t>(model.parameters.size())));
        const auto classes = static_cast<std::uint32_t>(model.parameters[p].classes.size());
        PartialRow next = partial;
        if (partial.is_decided(p) || !solver.decide(next, p, static_cast<std::uint8_t>(rng.below(classes)))) continue;
        if (solver.complete(next)) partial = next;
      }
      const auto row = solver.complete(partial);
      ASSERT_TRUE(row.has_value());
      const Case test_case = plan.swept.realise(*row, 16, static_cast<std::uint64_t>(i));
      ASSERT_EQ(classify(test_case).expectation(), Expectation::valid) << described(model, *row);
      EXPECT_EQ(plan.swept.classify(test_case, ask_all), *row) << described(model, *row);
    }
  }
}

// Written down once. A change here means that sweep cases of old reports have changed: it belongs into
// the change log.
constexpr std::uint64_t kDigestOfRows = 7091350588020199673U;
constexpr std::uint64_t kDigestOfSeed1 = 6648710745380069314U;

TEST(Sweep, HasTheSameRowsOnEveryMachineAndCompiler) {
  Digest digest;
  for (const Plan& plan : plans()) {
    for (const Row& row : plan.rows) digest.add(std::as_bytes(std::span(row)));
  }
  EXPECT_EQ(digest.value(), kDigestOfRows);
}

TEST(Sweep, HasTheSameCasesOnEveryMachineAndCompiler) {
  std::uint64_t digest = 0;
  for (const Plan& plan : plans()) {
    for (std::size_t i = 0; i < plan.rows.size(); i += 10) digest += digest_of(sweep_case(plan, i, 1));
  }
  EXPECT_EQ(digest, kDigestOfSeed1);
}

// Every kernel set of this CPU on the suite; fewer cases under sanitizers and emulators.
TEST(SweepSuite, EveryKernelOfThisCpuPasses) {
  const auto step = static_cast<std::size_t>(std::max(1, 100 / testing::scaled(100)));
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : backend::available_kernels()) {
    auto opened = backend::select(name, reference::RoundingProfile::correctly_rounded);
    ASSERT_TRUE(opened.has_value());
    backends.push_back(std::move(*opened));
  }
  GuardedOutput output;
  std::size_t cases = 0;
  std::size_t vacuous = 0;
  for (const Plan& plan : plans()) {
    for (std::size_t i = 0; i < plan.rows.size(); i += step) {
      const Case test_case = sweep_case(plan, i, 2);
      Expected expected = expect(test_case, Policy{});
      assess(test_case, expected);
      ++cases;
      vacuous += expected.vacuous_because.empty() ? 0 : 1;
      for (const auto& kernels : backends) {
        const Verdict verdict = judge(expected, execute(*kernels, test_case, output));
        EXPECT_FALSE(is_failure(verdict.kind)) << kernels->info().name << " " << test_case.id << ": " << verdict.detail;
      }
    }
  }
  EXPECT_LE(vacuous * 100, cases) << "cases that prove nothing";
}

TEST(SweepSuite, ReturnsEveryRowOnceAndSaysWhatItCovers) {
  SweepSuite source("sweep", plans, 3);
  EXPECT_EQ(source.coverage().size(), plans().size());
  const std::vector<bool> none;
  std::vector<bool> all(*source.size(), true);
  EXPECT_EQ(source.coverage_of(all), source.coverage());
  std::vector<bool> one(all.size(), false);
  one.front() = true;
  const std::uint64_t parameters = plans().front().swept.model().parameters.size();
  EXPECT_EQ(source.coverage_of(none).front().covered, 0U);
  EXPECT_EQ(source.coverage_of(one).front().covered, parameters * (parameters - 1) * (parameters - 2) / 6)
      << "a row has one class of each parameter";
  EXPECT_EQ(source.coverage_of(one).front().cases, 1U);
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const auto next = source.next();
    ASSERT_TRUE(next.has_value() && next->has_value());
    EXPECT_EQ(**next, sweep_case(plans()[0], static_cast<std::size_t>(i), 3));
    EXPECT_NE(digest_of(**next), digest_of(sweep_case(plans()[0], static_cast<std::size_t>(i), 4)));
    ids.insert((*next)->id);
  }
  EXPECT_EQ(ids.size(), 20U);
}

std::vector<Case> all_of(Suite& suite) {
  std::vector<Case> cases;
  while (auto test_case = *suite.next()) cases.push_back(std::move(*test_case));
  return cases;
}

std::size_t number_of_sizes() {
  std::size_t count = 0;
  for (const Plan& plan : plans()) count += plan.swept.sized.sizes;
  return count;
}

TEST(Sizes, HaveValidCasesOfEachWithItsExtent) {
  const auto suite = sizes_suite("sizes", {}, 1);
  std::set<std::string> sizes;
  for (const Case& test_case : all_of(*suite)) {
    EXPECT_EQ(expect(test_case, Policy{}).classification.expectation(), Expectation::valid) << test_case.id;
    const std::string& op_type = test_case.node().op_type;
    sizes.insert((op_type.find("Conv") == std::string::npos ? op_type : "") + test_case.tags.at(0));
    if (test_case.tags[0] == "size=input channels 257") {
      EXPECT_EQ(test_case.inputs[0]->shape[1], 257);
    }
    if (test_case.tags[0] == "size=batch 9") {
      EXPECT_EQ(test_case.inputs[0]->shape[0], 9);
    }
    if (test_case.tags[0] == "size=line 8193") {
      EXPECT_EQ(test_case.inputs[0]->shape.size(), 3U);
      EXPECT_GE(test_case.inputs[0]->shape[2], 8193);
    }
    if (test_case.tags[0] == "size=weights 262145") {
      const Tensor& w = *test_case.inputs[test_case.node().op_type == "ConvInteger" ? 1 : 3];
      EXPECT_GE(w.elements(), 262145);
    }
    if (test_case.tags[0] == "size=tiles 65") {
      EXPECT_GT(test_case.inputs[0]->shape.back(), 60);
      EXPECT_EQ(test_case.inputs[0]->shape.size(), 4U);
    }
    if (test_case.tags[0] == "size=groups 33") {
      EXPECT_EQ(test_case.inputs[0]->shape[1], 66);
    }
    if (test_case.tags[0] == "size=elements 65537") {
      EXPECT_GE(test_case.inputs[0]->elements(), 65537);
    }
    if (test_case.tags[0] == "size=channels 300") {
      EXPECT_EQ(test_case.inputs[1]->elements(), 300);
    }
    if (test_case.tags[0].starts_with("size=axis of 6")) {
      EXPECT_EQ(test_case.inputs[0]->shape.size(), 6U);
      EXPECT_FALSE(test_case.inputs[1]->is_scalar());
    }
  }
  EXPECT_GT(sizes.size(), 300U);
  EXPECT_EQ(sizes.size(), number_of_sizes());
}

TEST(Sizes, StayInsideAContract) {
  const Plan& plan = plans().front();
  std::vector<SweepContract> contracts;
  for (const Plan& each : plans()) contracts.push_back(whole_contract(each.swept.model()));
  contracts = narrow_ones(std::move(contracts));
  contracts[0] = *parse_contract("operator=QLinearConv, x type=int8, w zero point=middle, dilation=1, spatial rank=2",
                                 plan.swept.model());
  const auto suite = sizes_suite("sizes", contracts, 1);
  const std::vector<Case> cases = all_of(*suite);
  EXPECT_GT(cases.size(), 500U);
  for (const Case& test_case : cases) {
    EXPECT_EQ(test_case.inputs[0]->type, ElementType::int8) << test_case.id;
    EXPECT_EQ(test_case.inputs[0]->shape.size(), 4U) << test_case.id;
    EXPECT_FALSE(test_case.tags.at(0).starts_with("size=dilation") && test_case.tags[0] != "size=dilation 1");
  }
}

TEST(Sizes, OfElementWiseOperatorsStayInsideAContract) {
  std::vector<SweepContract> contracts;
  for (const Plan& each : plans()) contracts.push_back(whole_contract(each.swept.model()));
  contracts = narrow_ones(std::move(contracts));
  contracts[1] =
      *parse_contract("rank=2|3, x type=float16, y type=uint8, layout=per axis|partial last block, axis=last",
                      plans()[1].swept.model());
  std::set<std::string> sizes;
  for (const Case& test_case : all_of(*sizes_suite("sizes", contracts, 1))) {
    EXPECT_EQ(test_case.inputs[0]->type, ElementType::float16) << test_case.id;
    EXPECT_EQ(test_case.inputs[1]->is_scalar(), false) << test_case.id;
    EXPECT_LE(test_case.inputs[0]->shape.size(), 3U) << test_case.id;
    sizes.insert(test_case.tags[0]);
  }
  EXPECT_TRUE(sizes.count("size=channels 4097") == 1 && sizes.count("size=block 128") == 1 &&
              sizes.count("size=elements 65537") == 1);
}

// Algorithms for one kernel alone keep more from node to node than others do.
TEST(Neighbours, HaveSequencesOfWinogradsKernelsWhosePadsMove) {
  int moved = 0;
  for (const Case& test_case : all_of(*neighbours_suite("neighbours", {}, 1))) {
    const auto c = read_convolution(test_case);
    if (!c || test_case.tags.at(0) != "change=pads") continue;
    const auto sizes = geometry_of(*c);
    moved += std::all_of(sizes->axes.begin(), sizes->axes.end(), [](const reference::SpatialAxis& axis) {
      return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
    });
  }
  EXPECT_GE(moved, 4);
}

// What a cache answers that knows nothing of the change: the output of the node before.
TEST(Neighbours, ShowEachChange) {
  std::set<std::string> shown;
  Expected before;
  for (const Case& test_case : all_of(*neighbours_suite("neighbours", {}, 1))) {
    Expected expected = expect(test_case, Policy{});
    ASSERT_EQ(expected.classification.expectation(), Expectation::valid) << test_case.id;
    const bool is_change = test_case.tags.at(0).starts_with("change=");
    if (is_change && is_failure(judge(expected, outcome::Produced(*before.output)).kind)) {
      const std::string& op_type = test_case.node().op_type;
      shown.insert((op_type.find("Conv") == std::string::npos ? op_type : "") + test_case.tags[0]);
    }
    before = std::move(expected);
  }
  std::size_t changes = 0;
  for (const Plan& plan : plans()) changes += plan.swept.neighbours.changes.size();
  EXPECT_EQ(shown.size(), changes) << ::testing::PrintToString(shown);
}

TEST(Neighbours, StayInsideAContract) {
  std::vector<SweepContract> contracts;
  for (const Plan& each : plans()) contracts.push_back(whole_contract(each.swept.model()));
  contracts = narrow_ones(std::move(contracts));
  contracts[0] = *parse_contract("operator=QLinearConv, x type=int8, w zero point=middle", plans()[0].swept.model());
  const std::vector<Case> cases = all_of(*neighbours_suite("neighbours", contracts, 1));
  EXPECT_GT(cases.size(), 80U);
  for (const Case& test_case : cases) {
    EXPECT_EQ(test_case.inputs[0]->type, ElementType::int8) << test_case.id;
    EXPECT_NE(test_case.tags.at(0), "change=w zero point") << test_case.id;
  }
}

TEST(Sizes, EveryKernelOfThisCpuPasses) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : backend::available_kernels()) {
    auto opened = backend::select(name, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(opened) << opened.error().text();
    backends.push_back(std::move(*opened));
  }
  GuardedOutput output;
  const auto suite = sizes_suite("sizes", {}, 2);
  for (const Case& test_case : all_of(*suite)) {
    const Expected expected = expect(test_case, Policy{});
    for (const auto& backend : backends) {
      const Verdict verdict = judge(expected, execute(*backend, test_case, output));
      EXPECT_FALSE(is_failure(verdict.kind)) << backend->info().name << " " << test_case.id << ": " << verdict.detail;
    }
  }
}

}  // namespace
}  // namespace qconform::sweep
