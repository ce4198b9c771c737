// Every command on cases of several nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/base/file.h"
#include "harness/forms/json/case_json.h"
#include "harness/operators/graph/graph.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GraphCommands : public ::testing::Test {
 protected:
  std::string out(const char* name) const { return (folder_.path() / name).string(); }

  std::string graph_file() const {
    const std::string file = out("graph.json");
    EXPECT_TRUE(write_file(file, case_json(graph_case(1, 2))));
    return file;
  }

  TemporaryFolder folder_;
};

TEST_F(GraphCommands, RunReplayAndExplainTakeThem) {
  const auto ran = qconform("run --suite graphs --cases 50 --backend interpreter --backend fused --out " + out("run"));
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, AllOf(HasSubstr("Graph"), HasSubstr("rewritten ")));
  const auto replayed = qconform("replay " + graph_file() + " --backend fused");
  EXPECT_EQ(replayed.exit_code, 0) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("DequantizeLinear+"));
  const auto explained = qconform("explain " + graph_file() + " --backend fused");
  EXPECT_EQ(explained.exit_code, 0) << explained.output;
  const auto shrunk = qconform("shrink " + graph_file() + " --backend fused -o " + out("small.json"));
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.output << "it does not fail";
}

TEST_F(GraphCommands, ExportsOfEveryFormatComeBack) {
  for (const std::string format : {"json", "onnx", "onnx-test"}) {
    const std::string folder = out(format.c_str());
    ASSERT_EQ(qconform("export --suite graphs --cases 12 --format " + format + " -o " + folder).exit_code, 0);
    if (format == "onnx") continue;  // a file each
    const std::string suite = (format == "json" ? "" : "onnx:") + folder;
    const auto ran = qconform("run --suite " + suite + " --backend interpreter --out " + out("run"));
    EXPECT_EQ(ran.exit_code, 0) << format << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("12 cases")) << format;
  }
  std::size_t models = 0;
  for (const auto& model : std::filesystem::directory_iterator(out("onnx"))) {
    const auto ran = qconform("replay " + model.path().string() + " --backend interpreter");
    EXPECT_NE(ran.exit_code, 2) << ran.output;
    ++models;
  }
  EXPECT_EQ(models, 12U);
}

// A campaign has the same cases however many processes run it, however often they are interrupted, and by shards.
TEST_F(GraphCommands, CampaignsAreResumedAndMerged) {
  const std::string fuzz = "fuzz --suite graphs --backend fused --seed 3 --cases 1024 ";
  const auto whole = qconform(fuzz + "--jobs 2 --out " + out("whole"));
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_THAT(whole.output, AllOf(HasSubstr("suite graphs"), HasSubstr("1,024 cases"), HasSubstr("rewritten ")));
  const auto resumed = qconform("fuzz --resume --cases 1024 --out " + out("whole"));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("suite graphs"));
  const auto other = qconform("fuzz --suite random --resume --cases 1024 --out " + out("whole"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.output, HasSubstr("--suite"));
  for (const char* shard : {"1", "2"}) {
    const auto part = qconform(fuzz + "--shard " + shard + "/2 --out " + out(shard));
    EXPECT_EQ(part.exit_code, 0) << part.output;
  }
  const auto merged = qconform("report merge " + out("1") + " " + out("2") + " -o " + out("merged"));
  EXPECT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_THAT(merged.output, AllOf(HasSubstr("suite graphs"), HasSubstr("1,024 cases"), HasSubstr("rewritten ")));
  const auto gated = qconform("gate --baseline " + out("whole") + "/report.json " + out("merged") + "/report.json");
  EXPECT_EQ(gated.exit_code, 0) << gated.output;
}

TEST_F(GraphCommands, DeclineWhatTheyDoNotDoWithGraphs) {
  const auto guided = qconform("fuzz --engine libfuzzer --suite graphs --for 1s --out " + out("guided"));
  EXPECT_EQ(guided.exit_code, 2);
  EXPECT_THAT(guided.output, HasSubstr("--suite: does not go with --engine libfuzzer"));
  const auto timed = qconform("bench --backend interpreter --layers graphs --out " + out("bench"));
  EXPECT_EQ(timed.exit_code, 2);
  EXPECT_THAT(timed.output, HasSubstr("expected single nodes, which are timed"));
  const auto unknown = qconform("fuzz --suite corpus --cases 1 --out " + out("guided"));
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("expected fuzz, random or graphs"));
}

}  // namespace
}  // namespace qconform::testing
