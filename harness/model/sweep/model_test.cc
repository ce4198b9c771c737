#include "harness/model/sweep/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "harness/model/family.h"
#include "harness/suites/sweep/covering_array.h"
#include "harness/suites/sweep/suite.h"

namespace qconform::sweep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// x and w types that must agree, a size, and a mode that excludes the largest size.
const Model& small_model() {
  static const Model model{
      "small",
      {{"x", {"u8", "s8"}},
       {"w", {"u8", "s8"}},
       {"size", {"1", "2", "3", "4"}},
       {"mode", {"off", "on"}},
       {"pad", {"none", "some"}}},
      {{"mode on has no size 4", {2, 3}, [](const Row& row) { return row[3] == 0 || row[2] != 3; }}}};
  return model;
}

std::vector<Row> all_rows(const Model& model) {
  std::vector<Row> rows;
  Row row(model.parameters.size(), 0);
  while (true) {
    if (model.allows(row)) rows.push_back(row);
    std::size_t p = 0;
    while (p < row.size() && ++row[p] == model.parameters[p].classes.size()) row[p++] = 0;
    if (p == row.size()) return rows;
  }
}

TEST(Contract, OfAUserIsReadByNames) {
  const auto contract = parse_contract("x=s8, size=1|3", small_model());
  ASSERT_TRUE(contract) << contract.error().text();
  EXPECT_THAT(contract->taken, ElementsAre(2U, 3U, 5U, 3U, 3U));
  EXPECT_THAT(lines_of(*contract, small_model()), ElementsAre("x: s8; not u8", "size: 1, 3; not 2, 4"));
  EXPECT_TRUE(contract->takes({1, 0, 2, 0, 0}));
  EXPECT_FALSE(contract->takes({0, 0, 2, 0, 0}));
}

TEST(Contract, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(parse_contract("siz=1", small_model()).error().text(),
              HasSubstr("--only: no parameter \"siz\"; is it size?; there are x, w, size, mode, pad"));
  EXPECT_THAT(parse_contract("size=9", small_model()).error().text(), HasSubstr("no class of size \"9\""));
  EXPECT_THAT(parse_contract("size", small_model()).error().text(), HasSubstr("\"size\": expected PARAMETER=CLASS"));
  EXPECT_THAT(parse_contract("x=u8,x=s8", small_model()).error().text(), HasSubstr("\"x\" is stated twice"));
}

TEST(Contract, RestrictsTheRowsOfAModel) {
  SweepContract contract = whole_contract(small_model());
  EXPECT_TRUE(is_whole(contract, small_model()));
  contract.taken[2] = 0b1010;
  contract.declined = {{{0, 0b01}, {1, 0b10}}};
  const Model inside = restricted(small_model(), contract);
  for (const Row& row : all_rows(small_model())) EXPECT_EQ(inside.allows(row), contract.takes(row));
  const auto rows = covering_array(inside);
  const Proof proof = prove_coverage(inside, rows);
  EXPECT_EQ(proof.coverage.covered, proof.coverage.feasible);
  for (const Row& row : rows) EXPECT_TRUE(contract.takes(row));
}

// Learns the contract of `truth` by asking, then compares every row of a grid.
void expect_learnt(const Model& model, const std::vector<Row>& rows, const std::function<bool(const Row&)>& truth,
                   const std::vector<Row>& grid) {
  const LearntContract learnt = learn_contract(model, rows, [&](const Row& row, std::uint64_t) { return truth(row); });
  EXPECT_LE(learnt.probes, 2000U);
  EXPECT_EQ(learnt.contradicted, 0U);
  std::size_t wrong = 0;
  for (const Row& row : grid) {
    if (learnt.contract.takes(row) == truth(row)) continue;
    if (++wrong > 3) continue;
    std::string text;
    for (std::size_t p = 0; p < row.size(); ++p)
      text += model.parameters[p].name + "=" + model.parameters[p].classes[row[p]] + " ";
    ADD_FAILURE() << (truth(row) ? "taken: " : "declined: ") << text;
  }
  EXPECT_EQ(wrong, 0U) << "of " << grid.size() << ", after " << learnt.probes
                       << " probes: " << ::testing::PrintToString(lines_of(learnt.contract, model));
}

TEST(LearntContract, OfSmallBackendsIsTheTrueOne) {
  const std::vector<Row> rows = covering_array(small_model());
  const auto expect = [&](const std::function<bool(const Row&)>& truth) {
    expect_learnt(small_model(), rows, truth, all_rows(small_model()));
  };
  expect([](const Row&) { return true; });
  expect([](const Row&) { return false; });
  expect([](const Row& row) { return row[0] == row[1]; });
  expect([](const Row& row) { return row[0] == 1 && row[2] == 2; });
  expect([](const Row& row) { return row[0] == row[1] && !(row[3] == 1 && row[4] == 1); });
}

// Finds the parameters of the convolutions' model by name; its rows are too many to ask all.
struct ParameterFinder {
  const Model& model;
  std::size_t operator()(const char* name) const {
    for (std::size_t p = 0; p < model.parameters.size(); ++p) {
      if (model.parameters[p].name == name) return p;
    }
    ADD_FAILURE() << name;
    return 0;
  }
};

// Also for those that the plain classes of the others exclude: y of bfloat16 beside a scale of float needs an
// output_dtype, and that a version beyond the plain one. The rows of the array have every three classes.
TEST(LearntContract, AsksForEveryCombinationOfTheCore) {
  for (const Plan& plan : plans()) {
    const Model& model = plan.swept.model();
    const auto core_of = [&](const Row& row) {
      std::vector<std::uint8_t> core;
      for (std::size_t p = 0; p < row.size(); ++p) {
        if (model.parameters[p].role == ParameterRole::core) core.push_back(row[p]);
      }
      return core;
    };
    std::set<std::vector<std::uint8_t>> asked;
    (void)learn_contract(model, {}, [&](const Row& row, std::uint64_t) {
      asked.insert(core_of(row));
      return false;
    });
    for (const Row& row : plan.rows) {
      EXPECT_TRUE(asked.contains(core_of(row))) << model.name << ": " << ::testing::PrintToString(core_of(row));
    }
  }
}

// Each check is named in turn, and no plain row passes more than one.
TEST(LearntContract, ClimbsByTheReasonsOfRefusals) {
  const Plan& plan = plans().front();
  const Model& model = plan.swept.model();
  const ParameterFinder at{model};
  const std::pair<const char*, std::uint8_t> checks[] = {{"x type", 0},       {"group", 2}, {"kernel", 2},
                                                         {"w parameters", 0}, {"batch", 0}, {"bias", 1}};
  const auto answer = [&](const Row& row, std::uint64_t index) -> ProbeAnswer {
    for (const auto& [name, chosen] : checks) {
      if (row[at(name)] != chosen) return {false, std::string(name) + ": not that, in case " + std::to_string(index)};
    }
    return true;
  };
  const LearntContract learnt = learn_contract(model, {}, answer);
  ASSERT_TRUE(learnt.contract.takes_anything());
  for (const auto& [name, chosen] : checks) EXPECT_EQ(learnt.contract.taken[at(name)], set_of(chosen)) << name;
  const auto silent = [&](const Row& row, std::uint64_t index) { return answer(row, index).taken; };
  EXPECT_FALSE(learn_contract(model, {}, silent).contract.takes_anything());
}

// Two rules of which one is a part of the other, in the model's rows: size 4 excludes mode on.
TEST(LearntContract, HasNoCombinationThatOthersImply) {
  for (int size = 0; size < 4; ++size) {
    const auto truth = [&](const Row& row) { return !(row[0] == 0 && (row[3] == 1 || row[2] == size)); };
    const auto learnt = learn_contract(small_model(), covering_array(small_model()),
                                       [&](const Row& row, std::uint64_t) { return truth(row); });
    for (std::size_t i = 0; i < learnt.contract.declined.size(); ++i) {
      SweepContract others = learnt.contract;
      others.declined.erase(others.declined.begin() + static_cast<std::ptrdiff_t>(i));
      const auto rows = all_rows(small_model());
      EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
        return others.takes(row) && !learnt.contract.takes(row);
      })) << ::testing::PrintToString(lines_of(learnt.contract, small_model()));
    }
  }
}

TEST(LearntContract, OfNarrowKernelsIsTheTrueOne) {
  const Plan& plan = plans().front();
  const Model& model = plan.swept.model();
  const ParameterFinder at{model};
  const auto chosen = [&](const Row& row, const char* name) {
    return std::string_view(model.parameters[at(name)].classes[row[at(name)]]);
  };
  // int8 alone, two dimensions, weight zero point 0, as kernels for microcontrollers have it.
  const auto narrow = [&](const Row& row) {
    return chosen(row, "operator") == "QLinearConv" && chosen(row, "x type") == "int8" &&
           chosen(row, "w type") == "int8" && chosen(row, "y type") == "int8" && chosen(row, "spatial rank") == "2" &&
           chosen(row, "w zero point") == "middle" && chosen(row, "dilation") == "1";
  };
  // Either all uint8 with one scale, or all int8 with w zero point 0 and scales by channel: XNNPACK's.
  const auto two_kinds = [&](const Row& row) {
    if (chosen(row, "operator") != "QLinearConv" || chosen(row, "spatial rank") != "2") return false;
    if (chosen(row, "x type") != chosen(row, "w type") || chosen(row, "x type") != chosen(row, "y type")) return false;
    return chosen(row, "x type") == "uint8" ? chosen(row, "w parameters") == "per tensor"
                                            : chosen(row, "w zero point") == "middle";
  };
  for (const std::function<bool(const Row&)>& truth : {std::function<bool(const Row&)>(narrow), {two_kinds}}) {
    std::vector<Row> grid = plan.rows;
    const LearntContract learnt =
        learn_contract(model, plan.rows, [&](const Row& row, std::uint64_t) { return truth(row); });
    const Model inside = restricted(model, learnt.contract);
    for (const Row& row : covering_array(inside)) grid.push_back(row);
    expect_learnt(model, plan.rows, truth, grid);
    std::printf("%zu probes\n", static_cast<std::size_t>(learnt.probes));
  }
}

}  // namespace
}  // namespace qconform::sweep
