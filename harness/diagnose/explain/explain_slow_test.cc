// Checks what docs/explain.md promises, on every defect, a hundred pairs, and every defect held out.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>

#include "harness/diagnose/explain/explain_power.h"
#include "harness/tests/test_scale.h"

namespace qconform::diagnose {
namespace {

using Grades = std::map<Grade, int>;

Grades grades_of(const std::vector<Plant>& plants, const TrialOptions& options) {
  Grades grades;
  for (const Plant& plant : plants) {
    const Trial trial = try_to_explain(plant, options);
    if (!trial.explanation) continue;  // no case shows it
    ++grades[trial.grade];
    EXPECT_NE(trial.grade, Grade::wrong) << plant.name() << ": " << trial.explanation->signature();
  }
  for (const auto& [grade, count] : grades) std::cout << name_of(grade) << " " << count << "\n";
  return grades;
}

int total(const Grades& grades) {
  int sum = 0;
  for (const auto& [grade, count] : grades) sum += count;
  return sum;
}

TEST(ExplainPower, NamesSingleDefects) {
  Grades grades = grades_of(single_plants(), {});
  ASSERT_GT(total(grades), 80);
  EXPECT_GE(grades[Grade::named] * 100, 95 * total(grades));
}

TEST(ExplainPower, NamesPairs) {
  std::vector<Plant> plants;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(testing::scaled(100)); ++i) {
    plants.push_back(random_plant(1, i));
  }
  Grades grades = grades_of(plants, {});
  EXPECT_GE((grades[Grade::named] + grades[Grade::equivalent]) * 100, 80 * total(grades));
}

TEST(ExplainPower, NamesThreeAtOnce) {
  std::vector<Plant> plants;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(testing::scaled(60)); ++i) {
    plants.push_back(random_plant(1, i, 3));
  }
  Grades grades = grades_of(plants, {});
  EXPECT_GE((grades[Grade::named] + grades[Grade::equivalent]) * 100, 80 * total(grades));
}

// An explanation without the defect's own model still says where and when the defect shows, for cases that it was not
// learnt from: the pattern holds for every wrong element, the region for every failing case. A region may miss one in
// fifty where it misses any. Both are held to a hundred failing cases at least, however rarely a defect shows.
TEST(ExplainPower, SaysWhereAndWhenADefectShowsThatIsNotModelled) {
  std::size_t regions = 0;
  std::size_t explanations = 0;
  std::size_t single = 0;  // defects that replace one stage
  std::size_t learnt = 0;
  for (int seed = 1; seed <= testing::scaled(1); ++seed) {
    TrialOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.hold_out = true;
    for (const Plant& plant : single_plants()) {
      if (plant.op->judges_graphs) continue;
      const Trial trial = try_to_explain(plant, options);
      const std::string what = plant.name() + ", seed " + std::to_string(seed);
      ASSERT_TRUE(trial.explanation.has_value()) << what << " never fails";
      const Explanation& e = *trial.explanation;
      EXPECT_TRUE(trial.grade >= Grade::ambiguous && trial.grade <= Grade::unexplained) << what;
      if (replaced_stages(*plant.defects[0]).size() == 1) {
        ++single;
        learnt += trial.grade == Grade::learnt ? 1 : 0;
      }
      EXPECT_LE(e.work, ExplainOptions().work) << what;
      const Soundness& sound = trial.soundness;
      EXPECT_GE(sound.failing, options.failing) << what;
      EXPECT_TRUE(sound.pattern_holds()) << what << ": " << e.place().id;
      EXPECT_LE(sound.outside_region * 50, sound.failing) << what << ": " << e.region.text();
      regions += sound.region_holds() ? 1 : 0;
      ++explanations;
    }
  }
  std::cout << "regions that hold: " << regions << " of " << explanations << "\n";
  EXPECT_GE(regions * 100, 95 * explanations);
  std::cout << "learnt: " << learnt << " of " << single << " that replace one stage\n";
  EXPECT_GE(learnt * 2, single);
}

// A graph is rewritten in too many ways for a place or a condition to be learnt, and for an expression to stand for it.
TEST(ExplainPower, NamesNothingElseForAModelOfGraphsThatIsWithheld) {
  for (const Plant& plant : single_plants()) {
    if (!plant.op->judges_graphs) continue;
    const Trial trial = try_to_explain(plant, {.further = 0, .failing = 0, .hold_out = true});
    ASSERT_TRUE(trial.explanation.has_value()) << plant.name() << " never fails";
    EXPECT_TRUE(trial.grade >= Grade::ambiguous && trial.grade <= Grade::unexplained)
        << plant.name() << ": " << trial.explanation->signature();
  }
}

}  // namespace
}  // namespace qconform::diagnose
