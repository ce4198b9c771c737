// Defects that a user states in a file, on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/base/file.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kMine = R"({
  "format": "qconform-defects", "version": 1,
  "defects": [{
    "id": "up-below-zero", "description": "ties of a negative zero point go up", "operators": ["QuantizeLinear"],
    "stage": "round", "expression": "half_up", "when": "zero_point < 0", "trigger": "a tie and a negative zero point",
    "rules": ["Q1"], "evidence": "our tracker, 12"
  }]
})";

// A learnt model that computes what the defect does, without its name.
constexpr const char* kNameless = R"({
  "format": "qconform-model", "version": 1, "operator": "QuantizeLinear", "stage": "round",
  "expression": "zero_point < 0 ? half_up : half_even"
})";

class StatedDefects : public ::testing::Test {
 protected:
  StatedDefects() {
    EXPECT_TRUE(write_file(mine_, kMine));
    EXPECT_TRUE(write_file(nameless_, kNameless));
  }

  // Runs qconform with the defects.
  [[nodiscard]] ProgramResult with_mine(const std::string& arguments) const {
    return qconform(arguments + " --defects " + mine_);
  }
  [[nodiscard]] std::string out() const { return " --out " + (folder_.path() / "out").string(); }

  TemporaryFolder folder_;
  std::string mine_ = (folder_.path() / "mine.json").string();
  std::string nameless_ = (folder_.path() / "nameless.json").string();
};

TEST_F(StatedDefects, AreListedBehindTheOthers) {
  const auto text = with_mine("list defects");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.output, AllOf(HasSubstr("up-below-zero             ties of a negative zero point go up\n"
                                           "    in        QuantizeLinear\n"
                                           "    computes  round = zero_point < 0 ? half_up : half_even\n"
                                           "    shows on  a tie and a negative zero point [Q1]\n"),
                                 HasSubstr("our tracker, 12")));
  EXPECT_THAT(with_mine("list defects --json").output, HasSubstr("\"id\": \"up-below-zero\""));
  EXPECT_THAT(qconform("list defects").output, Not(HasSubstr("up-below-zero")));
}

TEST_F(StatedDefects, AuditSaysWhetherASuiteKillsThem) {
  const auto killed = with_mine("audit --suite corpus --json");
  EXPECT_EQ(killed.exit_code, 0) << killed.output;
  EXPECT_THAT(killed.output, HasSubstr("\"defect\": \"up-below-zero\""));
  const auto few = with_mine("audit --suite random --cases 3");
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_THAT(few.output, HasSubstr("up-below-zero            QuantizeLinear"));
}

TEST_F(StatedDefects, RunFindsThemAsABackendAndByTheirName) {
  const auto found = with_mine("run --suite corpus --backend defect:up-below-zero" + out());
  EXPECT_EQ(found.exit_code, 1) << found.output;
  EXPECT_THAT(found.output, AllOf(HasSubstr("wrong, up-below-zero (Q1)"), HasSubstr("resembles our tracker, 12"),
                                  HasSubstr("--backend defect:up-below-zero --defects " + mine_)));
  const std::string failing = (folder_.path() / "out" / "F1.json").string();
  EXPECT_EQ(with_mine("replay " + failing + " --backend defect:up-below-zero").exit_code, 1);
  EXPECT_EQ(with_mine("shrink " + failing + " --backend defect:up-below-zero").exit_code, 1);

  const auto explained = with_mine("explain " + failing + " --backend defect:" + nameless_);
  EXPECT_EQ(explained.exit_code, 1);
  EXPECT_THAT(explained.output, AllOf(HasSubstr("\nexplained: up-below-zero\n"),
                                      HasSubstr("known from our tracker, 12"), Not(HasSubstr("behaves as"))));
  const auto unnamed = qconform("explain " + failing + " --backend defect:" + nameless_);
  EXPECT_THAT(unnamed.output, Not(HasSubstr("up-below-zero")));
}

TEST_F(StatedDefects, FuzzNamesThemAndResumesWithThemAlone) {
  const std::string fuzz = "fuzz --seed 1 --cases 1000 --no-shrink --backend defect:" + nameless_ + out();
  const auto found = with_mine(fuzz);
  EXPECT_EQ(found.exit_code, 1) << found.output;
  EXPECT_THAT(found.output, HasSubstr("up-below-zero"));
  const auto resumed = qconform("fuzz --resume --cases 1000 --no-shrink" + out());
  EXPECT_EQ(resumed.exit_code, 1) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("up-below-zero"));
  std::string other = kMine;
  ASSERT_TRUE(write_file(mine_, other.replace(other.find("half_up"), 7, "half_down")));
  const auto refused = qconform("fuzz --resume --cases 1000 --no-shrink" + out());
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--defects: "));
  const auto guided = with_mine("fuzz --engine libfuzzer --for 1s" + out() + "-guided");
  EXPECT_EQ(guided.exit_code, 2);
  EXPECT_THAT(guided.output, HasSubstr("--defects: does not go with --engine libfuzzer"));
}

TEST_F(StatedDefects, FuzzMergesShardsWithTheFileThatTheyName) {
  for (const char* shard : {"1", "2"}) {
    const auto ran =
        with_mine("fuzz --seed 1 --cases 1200 --no-shrink --no-explain --backend defect:up-below-zero --shard " +
                  std::string(shard) + "/2" + out() + shard);
    ASSERT_NE(ran.exit_code, 2) << ran.output;
  }
  const std::string merge = "report merge " + (folder_.path() / "out1").string() + " " +
                            (folder_.path() / "out2").string() + " -o " + (folder_.path() / "merged").string();
  const auto merged = qconform(merge);
  EXPECT_EQ(merged.exit_code, 1) << merged.output;
  EXPECT_THAT(merged.output, HasSubstr("does not conform: defect:up-below-zero"));
  ASSERT_TRUE(write_file(mine_, "{}"));
  const auto refused = qconform(merge);
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("--defects: " + mine_ + ": "));
}

TEST_F(StatedDefects, OfAWrongFileEndEveryCommandWithExitCode2) {
  const std::string case_file = std::string(QCONFORM_SOURCE_DIRECTORY) + "/corpus/regressions/backends/onednn.json";
  std::string broken = kMine;
  ASSERT_TRUE(write_file(mine_, broken.replace(broken.find("up-below-zero"), 13, "half-up")));
  for (const std::string& command :
       {std::string("audit --suite corpus"), std::string("list defects"), "run --backend scalar" + out(),
        "fuzz --backend scalar --cases 10" + out(), "explain " + case_file + " --backend scalar",
        "replay " + case_file + " --backend scalar", "shrink " + case_file + " --backend scalar"}) {
    const auto result = with_mine(command);
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.output, HasSubstr("--defects: " + mine_ +
                                         ": defects[0].id: expected an id that no other defect has, got \"half-up\""))
        << command;
  }
}

}  // namespace
}  // namespace qconform::testing
