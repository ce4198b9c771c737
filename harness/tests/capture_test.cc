// A whole model through ONNX Runtime: what its nodes get there, as cases, and what a backend makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/file.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/onnx_model.h"
#include "harness/tests/model_runtime.h"
#include "harness/tests/network.h"
#include "harness/tests/program.h"
#include "harness/tests/temporary_folder.h"

namespace qconform::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class Capture : public WithModelRuntime {
 protected:
  void SetUp() override {
    WithModelRuntime::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Network net;
    net.input("image", ElementType::float32, {-1, 3, 9, 9});
    net.node("QuantizeLinear", {"image", net.scale("is"), net.zero_point("iz")}, "q");
    net.convolution("q", "stem", {4, 3, 3, 3}, 1, 2);
    net.convolution("stem", "depthwise", {4, 1, 3, 3}, 4, 1);
    net.node("DequantizeLinear", {"depthwise", "depthwise_ys", "depthwise_yz"}, "scores");
    net.graph().add_output()->set_name("scores");
    ASSERT_TRUE(write_file(file_, net.model().SerializeAsString()));
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "net.onnx";
};

TEST_F(Capture, RecordsInputsAndOutputsOfNodes) {
  auto source = OnnxModelSuite::open(file_, 1, {.activations = ModelOptions::Activations::computed});
  ASSERT_TRUE(source) << source.error().text();
  std::optional<Tensor> before;
  std::size_t count = 0;
  for (auto next = (*source)->next(); next && *next; next = (*source)->next(), ++count) {
    const Case& test_case = **next;
    ASSERT_NE(test_case.recorded_output(), nullptr) << test_case.id;
    EXPECT_TRUE(!before || *before == *test_case.inputs[0]) << test_case.id << ": the node before answers into this";
    const Expected expected = expect(test_case, Policy{});
    EXPECT_EQ(judge(expected, outcome::Produced{*test_case.recorded_output()}).kind, VerdictKind::pass) << test_case.id;
    before = *test_case.recorded_output();
  }
  EXPECT_EQ(count, 4U);
}

TEST_F(Capture, OneFindingHasTheNodesThatOneCauseMakesWrong) {
  const std::string cases = (folder_.path() / "cases").string();
  const auto captured = qconform("capture " + file_.string() + " -o " + cases);
  EXPECT_EQ(captured.exit_code, 0) << captured.output;
  EXPECT_THAT(captured.output,
              AllOf(HasSubstr("4 cases in "), HasSubstr("activations of ONNX Runtime"), HasSubstr("from seed 1")));
  const auto run =
      planted("run --no-shrink --suite " + cases + " --backend pad-raw-zero --out " + folder_.path().string());
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("1 finding\n"), HasSubstr("   2 cases"),
                                HasSubstr("depthwise_node#2: activations of ONNX Runtime")));
}

std::vector<Case> units_in(const std::filesystem::path& file, std::size_t context) {
  auto source = OnnxModelSuite::open(file, 1, {.activations = ModelOptions::Activations::computed, .context = context});
  EXPECT_TRUE(source) << source.error().text();
  std::vector<Case> units;
  for (auto next = (*source)->next(); next && *next; next = (*source)->next()) {
    if (is_judged_as_graph(**next)) units.push_back(std::move(**next));
  }
  return units;
}

// Both convolutions stand between DequantizeLinear and QuantizeLinear then, and give what they gave before.
TEST_F(Capture, CutsTheUnitsOfAModelInQdqForm) {
  const std::filesystem::path qdq = folder_.path() / "qdq.onnx";
  const auto rewritten = qconform("qdq " + file_.string() + " -o " + qdq.string());
  EXPECT_EQ(rewritten.exit_code, 0) << rewritten.output;
  EXPECT_THAT(rewritten.output, AllOf(HasSubstr("QLinearConv"), HasSubstr("2")));
  const std::vector<Case> units = units_in(qdq, 0);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_EQ(units[0].op_types(), "DequantizeLinear+DequantizeLinear+DequantizeLinear+Conv+QuantizeLinear");
  EXPECT_EQ(units[0].id, "stem_node.unit#5");
  for (const Case& unit : units) {
    ASSERT_EQ(unit.recorded_outputs.size(), 1U) << unit.id;
    EXPECT_EQ(judge(expect(unit, Policy{}), outcome::Produced{unit.recorded_outputs}).kind, VerdictKind::pass);
  }
  EXPECT_EQ(units[1].inputs[0], units[0].recorded_outputs[0]) << "the unit before answers into this";
  const std::vector<Case> wider = units_in(qdq, 2);
  ASSERT_EQ(wider.size(), 2U);
  EXPECT_EQ(wider[0].nodes.size(), units[0].nodes.size() + 5U)
      << "one is before it; two behind, with two more that dequantize weights";
}

TEST_F(Capture, TellsWhatIsFusedInUnits) {
  const std::filesystem::path qdq = folder_.path() / "qdq.onnx";
  ASSERT_EQ(qconform("qdq " + file_.string() + " -o " + qdq.string()).exit_code, 0);
  const std::string run = "run --suite model:" + qdq.string() + " --expect-fused --out " + folder_.path().string();
  const auto all = qconform(run + " --backend onnxruntime@all");
  EXPECT_THAT(all.output, AllOf(HasSubstr("rewritten 2 of 2 graphs"), HasSubstr("QLinearConv 2"))) << all.output;
  const auto disabled = qconform(run + " --backend onnxruntime@disabled");
  EXPECT_THAT(disabled.output, EndsWith("not fused: onnxruntime@disabled: it computes 2 graphs as stated\n"));
  EXPECT_THAT(disabled.output, AllOf(HasSubstr("nodes that stay in float: Conv"), Not(HasSubstr("conforms"))));
  EXPECT_EQ(disabled.exit_code, 1);
}

// Each backend has a worker that shares memory with the program, in which the model runs too.
TEST_F(Capture, SeveralBackendsAreJudgedAsEachAlone) {
  const std::filesystem::path qdq = folder_.path() / "qdq.onnx";
  ASSERT_EQ(qconform("qdq " + file_.string() + " -o " + qdq.string()).exit_code, 0);
  // Returns what was judged: the suite without its times, and the operators of each backend.
  const auto judged = [&](const std::vector<std::string>& backends) {
    std::string run = "run --suite model:" + qdq.string() + " --out " + folder_.path().string();
    for (const std::string& backend : backends) run += " --backend " + backend;
    EXPECT_EQ(qconform(run).exit_code, 0);
    const auto report = nlohmann::json::parse(read_file(folder_.path() / "report.json", 1 << 24).value_or("{}"));
    std::map<std::string, nlohmann::json> operators;
    for (const auto& backend : report["backends"]) operators[backend["name"]] = backend["operators"];
    EXPECT_FALSE(report["suites"][0]["skipped"].dump().find("drawn") != std::string::npos) << report["suites"][0];
    return operators;
  };
  const std::vector<std::string> names{"onnxruntime@disabled", "onnxruntime@all", "onnxruntime@basic"};
  const auto together = judged(names);
  for (const std::string& name : names) EXPECT_EQ(together.at(name), judged({name}).at(name)) << name;
}

TEST_F(Capture, SaysWhyTheRuntimeRefusesAModel) {
  Network net;
  net.input("image", ElementType::float32, {1, 3});
  net.node("NoSuchOperator", {"image"}, "x");
  net.node("QuantizeLinear", {"x", net.scale("is"), net.zero_point("iz")}, "q");
  net.graph().add_output()->set_name("q");
  ASSERT_TRUE(write_file(file_, net.model().SerializeAsString()));
  const auto result = qconform("capture " + file_.string() + " -o " + (folder_.path() / "cases").string());
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("net.onnx: ONNX Runtime "), HasSubstr("NoSuchOperator")));
}

}  // namespace
}  // namespace qconform::testing
