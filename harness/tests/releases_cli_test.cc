// Backends side by side: `matrix` and `bisect`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/base/file.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Releases : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  // A case that half-away gets wrong, and scalar does not.
  std::string failing_case() const {
    const auto ran = qconform("run --suite corpus --backend defect:half-away --out " + at("run"));
    EXPECT_EQ(ran.exit_code, 1) << ran.output;
    return at("run/F1.json");
  }

  TemporaryFolder folder_;
};

TEST_F(Releases, MatrixJudgesAndShowsCausesByBackend) {
  const auto ran =
      qconform("matrix --suite corpus --backend defect:half-away --backend scalar --json --out " + at("out"));
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  const auto written = read_file(at("out/matrix.json"), 1 << 20);
  ASSERT_TRUE(written) << written.error().text();
  EXPECT_THAT(ran.output, HasSubstr(*written));
  EXPECT_TRUE(std::filesystem::exists(at("out/report.json")));
  const auto again = qconform("report matrix --json " + at("out/report.json"));
  EXPECT_EQ(again.output, *written);
  const auto table = qconform("report matrix " + at("out/report.json"));
  EXPECT_THAT(table.output, AllOf(HasSubstr("wrong, half-away"), HasSubstr("1 backend")));
}

// Cases keep to the contract that a user states, and come before others, of which most lie outside. The report has the
// command line that was given.
TEST_F(Releases, ACaseKeepsToWhatAUserStates) {
  const auto ran = qconform(
      "run --suite corpus --suite within --backend scalar --only \"convolutions: x type=int8, spatial rank=2\" --json "
      "--out " +
      at("out"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  const auto written = read_file(at("out/report.json"), 1 << 26);
  ASSERT_TRUE(written) << written.error().text();
  const auto report = nlohmann::json::parse(*written);
  EXPECT_EQ(report.at("backends").at(0).at("contracts").at(0).at("rules"),
            nlohmann::json::array({"x type: int8; not uint8", "spatial rank: 2; not 1, 3, 4"}));
  EXPECT_THAT(report.at("command").get<std::vector<std::string>>(),
              ::testing::ElementsAre("run", "--suite", "corpus", "--suite", "within", "--backend", "scalar", "--only",
                                     "convolutions: x type=int8, spatial rank=2", "--json", "--out", at("out")));
  std::vector<std::string> suites;
  for (const auto& suite : report.at("suites")) suites.push_back(suite.at("name"));
  const std::string contract = "within convolutions: x type=int8, spatial rank=2";
  EXPECT_THAT(suites, ::testing::ElementsAre("directed " + contract, "random " + contract, "corpus " + contract,
                                             contract, "sizes " + contract, "neighbours " + contract, "corpus"));
  const auto wrong = qconform("run --suite within --backend scalar --only \"convolutions: x typ=int8\"");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("--only: no parameter \"x typ\"; is it x type?"));
}

// A run without its cache is the same run.
TEST_F(Releases, ADamagedCacheIsToldAndCostsNothing) {
  const auto ran = [&](const std::string& options) {
    return qconform(
               "run --suite sweep --backend defect:half-away --fail-fast 1 --no-explain --no-shrink --json --out " +
               at("out") + " " + options)
        .output;
  };
  EXPECT_THAT(ran("--cache " + at("cache")), Not(HasSubstr("note:")));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(at("cache"))) {
    ASSERT_TRUE(write_file(entry.path(), "damaged"));
    ++files;
  }
  EXPECT_EQ(files, 3U) << "one for each model";
  EXPECT_THAT(ran("--cache " + at("cache")), HasSubstr("is damaged; its array is solved anew"));
  EXPECT_THAT(ran("--cache " + at("cache") + " --no-cache"), Not(HasSubstr("note:")));
}

TEST_F(Releases, MatrixNeedsBackends) {
  const auto ran = qconform("matrix --suite corpus --out " + at("out"));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.output, HasSubstr("--backend is required"));
}

TEST_F(Releases, BisectTellsWhatBrokeAndWhatMended) {
  const std::string command = "bisect " + failing_case() + " --backend scalar --backend defect:half-away";
  const auto broken = qconform(command);
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_THAT(broken.output, HasSubstr("broken in defect:half-away; scalar is right\n"));
  const auto mended = qconform(command + " --backend defect:pads-order");
  EXPECT_EQ(mended.exit_code, 0) << mended.output;
  EXPECT_THAT(mended.output, AllOf(HasSubstr("broken in defect:half-away; scalar is right\n"),
                                   HasSubstr("mended in defect:pads-order; defect:half-away fails\n")));
}

TEST_F(Releases, RegressionsPassOnceTheyAreMended) {
  failing_case();
  const std::string again = "run --suite " + at("run/regressions.json") + " --out " + at("again") + " --backend ";
  EXPECT_EQ(qconform(again + "defect:half-away").exit_code, 1);
  const auto mended = qconform(again + "scalar");
  EXPECT_EQ(mended.exit_code, 0) << mended.output;
  EXPECT_THAT(mended.output, HasSubstr("conforms: scalar"));
  EXPECT_FALSE(std::filesystem::exists(at("again/regressions.json"))) << "of the run that failed";
}

TEST_F(Releases, BisectIsData) {
  const auto ran = qconform("bisect " + failing_case() + " --backend scalar --backend defect:half-away --json");
  const auto json = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << ran.output;
  EXPECT_EQ(json.at("backends").size(), 2U);
  EXPECT_EQ(json.at("backends").at(1).at("verdict"), "wrong");
  const nlohmann::json change{{"change", "broken"}, {"before", "scalar"}, {"in", "defect:half-away"}};
  EXPECT_EQ(json.at("changes"), nlohmann::json::array({change}));
}

TEST_F(Releases, BisectSaysWhatAllAgreeOn) {
  const auto ran = qconform("bisect " + failing_case() + " --backend scalar --backend defect:pads-order");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.output, HasSubstr("right in all 2 that compute it\n"));
}

TEST_F(Releases, BisectNeedsSeveralBackends) {
  const auto ran = qconform("bisect " + failing_case() + " --backend scalar");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.output, HasSubstr("--backend: expected a range of releases"));
}

TEST_F(Releases, SinceNeedsALibraryThatHasSome) {
  const auto ran = qconform("run --suite corpus --backend scalar --since 1.0 --out " + at("out"));
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.output, HasSubstr("--since: "));
  const auto no_release = qconform("run --suite corpus --backend scalar --since newest --out " + at("out"));
  EXPECT_EQ(no_release.exit_code, 2);
  EXPECT_THAT(no_release.output, HasSubstr("--since: expected a release, such as 1.22, got \"newest\""));
}

#ifdef QCONFORM_PROCESS_CHILD
// Programs as releases of a peer, in a folder that takes the place of the one with releases.
class PeerReleases : public Releases {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("QCONFORM_ROOTS")) before_ = before;
    setenv("QCONFORM_ROOTS", at("roots").c_str(), 1);
  }
  void TearDown() override { before_ ? setenv("QCONFORM_ROOTS", before_->c_str(), 1) : unsetenv("QCONFORM_ROOTS"); }

  // `how`: an argument of the test's program (harness/tests/process/child.cc).
  void add(const std::string& release, const std::string& how) const {
    const std::filesystem::path program = folder_.path() / "roots" / release / "bin/peer";
    std::filesystem::create_directories(program.parent_path());
    ASSERT_TRUE(write_file(at("roots/" + release + "/VERSION"), "kind:x"));
    ASSERT_TRUE(write_file(program, "#!/bin/sh\nexec " QCONFORM_PROCESS_CHILD " " + how + "\n"));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(PeerReleases, TellWhichOfThemBrokeAFinding) {
  add("rten-9.9.8", "units");
  add("rten-9.9.9", "one-too-many");
  const std::string run =
      "run --suite graphs --cases 20 --no-explain --no-shrink --backend rten:9.9.9 --out " + at("out");
  const auto ran = qconform(run + " --since 9.9.8");
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("since     broken in rten:9.9.9; rten:9.9.8 is right\n"));
  const auto night = qconform(
      "fuzz --suite graphs --cases 60 --seed 1 --no-explain --no-shrink --backend rten:9.9.9 --since 9.9.8 --out " +
      at("night"));
  EXPECT_EQ(night.exit_code, 1) << night.output;
  EXPECT_THAT(night.output, HasSubstr("since     broken in rten:9.9.9; rten:9.9.8 is right\n"));
  const auto unknown = qconform(run + " --since 9.9.9");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("--since: expected several releases of rten:9.9.9 from 9.9.9 on, found one"));
}

// The report of a run is worth more than a release in the middle that does not start.
TEST_F(PeerReleases, LoseNoReportToOneThatDoesNotStart) {
  add("rten-9.9.7", "units");
  add("rten-9.9.8", "speaks-another-version");
  add("rten-9.9.9", "one-too-many");
  const auto ran = qconform(
      "run --suite graphs --cases 20 --no-explain --no-shrink --backend rten:9.9.9 --since 9.9.7 --out " + at("out"));
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("since     unknown: "), HasSubstr("rten:9.9.8")));
  EXPECT_TRUE(std::filesystem::exists(at("out/report.json")));
}

// The program of a peer with a fault: doctor and a run say what is not offered and why, and no case has a wrong shape.
TEST_F(PeerReleases, DoctorNamesWhatAnAdapterDoesNotHandOnRight) {
  add("rten-9.9.9", "first-output-only");
  const auto doctor = qconform("doctor");
  const auto run = qconform("run --suite graphs --cases 100 --backend rten --out " + at("out"));
  EXPECT_THAT(doctor.output,
              AllOf(HasSubstr("rten 9.9.9"), HasSubstr("not offered: several outputs: broke the protocol")));
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("not offered: several outputs: "), Not(HasSubstr("bad-shape"))));
}
#endif

}  // namespace
}  // namespace qconform::testing
