// Units that run on kernel sets: which ones, and that their answers stay in the sets of the graphs as written.
#include <gtest/gtest.h>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/judge/judge.h"
#include "harness/operators/case_builder.h"
#include "harness/suites/select.h"

namespace qconform::backend {
namespace {

std::unique_ptr<Backend> fused_backend(const std::string& name = "fused") {
  auto backend = select(name, RoundingProfile::correctly_rounded);
  EXPECT_TRUE(backend) << backend.error().text();
  return std::move(*backend);
}

struct UnitOptions {
  float bias_scale = 0.125F;  // x_scale * w_scale
  std::int64_t bias = 9;
  std::string activation = "Relu";
};

// DQ, DQ, DQ -> Conv -> activation -> Q
Case unit(const UnitOptions& options) {
  Case graph;
  graph.nodes = {{"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
                 {"DequantizeLinear", "", 13, {}, {"w", "ws"}, {"wf"}},
                 {"DequantizeLinear", "", 13, {}, {"b", "bs"}, {"bf"}},
                 {"Conv", "", 13, {}, {"xf", "wf", "bf"}, {"c"}},
                 {options.activation, "", 13, {}, {"c"}, {"r"}},
                 {"QuantizeLinear", "", 13, {}, {"r", "ys", "yz"}, {"y"}}};
  graph.inputs = {make::integers(ElementType::uint8, {1, 1, 2, 2}, {0, 100, 200, 255}),
                  make::float32(0.5F),
                  make::integer(ElementType::uint8, 128),
                  make::integers(ElementType::int8, {2, 1, 1, 1}, {-3, 5}),
                  make::float32(0.25F),
                  make::integers(ElementType::int32, {2}, {options.bias, -options.bias}),
                  make::float32(options.bias_scale),
                  make::float32(2.0F),
                  make::integer(ElementType::int8, -3)};
  graph.input_names = {"x", "xs", "xz", "w", "ws", "b", "bs", "ys", "yz"};
  graph.fed_inputs = 1;
  graph.outputs = {"y"};
  return graph;
}

std::string operators_of(const CaseGraph& graph) {
  std::string text;
  for (const CaseGraph::Node& node : graph.nodes) text += (text.empty() ? "" : "+") + node.op_type;
  return text;
}

void expect_right(Backend& backend, const Case& test_case) {
  GuardedOutput output;
  const Outcome outcome = execute(backend, test_case, output);
  EXPECT_EQ(judge(expect(test_case, Policy{}), outcome).kind, VerdictKind::pass);
}

TEST(Fused, ComputesAUnitAsOneConvolution) {
  const auto backend = fused_backend("fused@kernels=scalar");
  const Case plain = unit({});
  EXPECT_EQ(operators_of(*backend->rewritten(plain)), "QLinearConv");
  expect_right(*backend, plain);
}

// Each of these would leave the set, or is none of what a convolution and a clamp compute.
TEST(Fused, LeavesUnitsWhoseAnswersWouldDiffer) {
  const auto backend = fused_backend();
  for (const UnitOptions& options :
       {UnitOptions{.bias_scale = 0.1250001F}, UnitOptions{.bias = 2147483647}, UnitOptions{.activation = "Sigmoid"}}) {
    const Case other = unit(options);
    EXPECT_EQ(backend->rewritten(other)->nodes.size(), other.nodes.size()) << options.bias_scale << options.activation;
    expect_right(*backend, other);
  }
}

TEST(Fused, KeepsWhatOthersReadToo) {
  Case shared = unit({});
  shared.outputs.emplace_back("c");
  const auto backend = fused_backend();
  EXPECT_EQ(backend->rewritten(shared)->nodes.size(), shared.nodes.size());
  expect_right(*backend, shared);
}

TEST(Fused, ConformsOnRandomGraphs) {
  const auto cases = static_cast<std::uint64_t>(1200);
  auto suites = *open_suite("graphs", {.seed = 1, .cases = cases});
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(fused_backend());
  Report report;
  ASSERT_TRUE(run_suites(suites, backends, {}, report));
  EXPECT_TRUE(report.conforms());
  std::size_t fused_cases = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Case graph = draw_of_suite("graphs")(1, i);
    const auto rewritten = graph.is_one_node() ? std::nullopt : backends[0]->rewritten(graph);
    fused_cases += rewritten && operators_of(*rewritten).find("QLinearConv") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(fused_cases, cases / 50);
}

TEST(Fused, NamesSettingsThatItDoesNotKnow) {
  for (const char* name : {"fused@kernels=neon99", "fused@fast", "fused@threads=2", "fused:9"}) {
    EXPECT_FALSE(select(name, RoundingProfile::correctly_rounded)) << name;
  }
}

}  // namespace
}  // namespace qconform::backend
