// Libraries whose interfaces take units of graphs: that they are asked rightly shows in what they get right, and that
// they fuse in what they show of themselves. What they get wrong is data (docs/bugs-found.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/operators/graph/graph.h"
#include "harness/operators/graph/unit.h"
#include "harness/suites/select.h"
#include "harness/tests/test_scale.h"

namespace qconform::libraries {
namespace {

using ::testing::HasSubstr;

struct Interface {
  const char* backend;
  const char* fused;  ///< the node that stands for the unit below
};

constexpr Interface kInterfaces[] = {
    {"onednn:3@graph", "onednn.Dequantize+Dequantize+Convolution+ReLU+Quantize"},
    {"xnnpack@subgraph", "xnnpack.convolution_2d"},
};

class GraphInterfaces : public ::testing::TestWithParam<Interface> {
 protected:
  void SetUp() override {
    backend::offer_libraries(libraries());
    auto opened = backend::select(GetParam().backend, RoundingProfile::correctly_rounded);
    if (!opened) GTEST_SKIP() << opened.error().text();
    backend_ = std::move(*opened);
  }

  [[nodiscard]] Verdict verdict_of(const Case& test_case) {
    return judge(expect(test_case, Policy{}), execute(*backend_, test_case, output_));
  }

  std::unique_ptr<Backend> backend_;
  GuardedOutput output_;
};

// DQ, DQ, DQ -> Conv -> Relu -> Q, as one type of data.
Case unit(std::int64_t bias = 9) {
  Case graph;
  graph.id = "unit";
  graph.nodes = {{"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
                 {"DequantizeLinear", "", 13, {}, {"w", "ws"}, {"wf"}},
                 {"DequantizeLinear", "", 13, {}, {"b", "bs"}, {"bf"}},
                 {"Conv", "", 13, {}, {"xf", "wf", "bf"}, {"c"}},
                 {"Relu", "", 13, {}, {"c"}, {"r"}},
                 {"QuantizeLinear", "", 13, {}, {"r", "ys", "yz"}, {"y"}}};
  graph.inputs = {make::integers(ElementType::int8, {1, 1, 2, 2}, {0, 100, -100, 127}),
                  make::float32(0.5F),
                  make::integer(ElementType::int8, 28),
                  make::integers(ElementType::int8, {2, 1, 1, 1}, {-3, 5}),
                  make::float32(0.25F),
                  make::integers(ElementType::int32, {2}, {bias, -bias}),
                  make::float32(0.125F),
                  make::float32(2.0F),
                  make::integer(ElementType::int8, -3)};
  graph.input_names = {"x", "xs", "xz", "w", "ws", "b", "bs", "ys", "yz"};
  graph.fed_inputs = 1;
  graph.outputs = {"y"};
  return graph;
}

TEST_P(GraphInterfaces, ComputeAUnitAndShowThatTheyFuseIt) {
  const Case graph = unit();
  EXPECT_EQ(verdict_of(graph).kind, VerdictKind::pass);
  backend::SandboxPolicy shown;
  shown.which = backend::SandboxPolicy::Which::none;
  shown.shows_graphs = true;
  const auto asked = backend::select(GetParam().backend, RoundingProfile::correctly_rounded, shown);
  ASSERT_TRUE(asked) << asked.error().text();
  const auto rewritten = (*asked)->rewritten(graph);
  ASSERT_TRUE(rewritten);
  // oneDNN gets the bias as a real number, and has no node for that.
  const CaseGraph::Node& last = rewritten->nodes.back();
  EXPECT_EQ(last.domain + "." + last.op_type, GetParam().fused);
  EXPECT_EQ(last.outputs, graph.outputs);
}

TEST_P(GraphInterfaces, DeclineWhatTheyHaveNoFormFor) {
  Case graph = unit();
  graph.nodes[4].op_type = "Erf";
  const Outcome outcome = execute(*backend_, graph, output_);
  const auto* declined = std::get_if<outcome::Unsupported>(&outcome);
  ASSERT_NE(declined, nullptr);
  EXPECT_FALSE(declined->reason.empty());
}

// transB with one term in each sum: w [n, 1] must not be taken for [k, n].
TEST_P(GraphInterfaces, ComputeAGemmOfOneTerm) {
  Case graph;
  graph.id = "gemm";
  graph.nodes = {{"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
                 {"DequantizeLinear", "", 13, {}, {"w", "ws", "wz"}, {"wf"}},
                 {"Gemm", "", 13, {{"transB", std::int64_t{1}}}, {"xf", "wf"}, {"g"}},
                 {"QuantizeLinear", "", 13, {}, {"g", "ys", "yz"}, {"y"}}};
  graph.inputs = {make::integers(ElementType::int8, {2, 1}, {4, -6}),
                  make::float32(0.5F),
                  make::integer(ElementType::int8, 0),
                  make::integers(ElementType::int8, {3, 1}, {2, 4, -8}),
                  make::float32(0.5F),
                  make::integer(ElementType::int8, 0),
                  make::float32(0.5F),
                  make::integer(ElementType::int8, 1)};
  graph.input_names = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
  graph.fed_inputs = 1;
  graph.outputs = {"y"};
  EXPECT_EQ(verdict_of(graph).kind, VerdictKind::pass);
}

// Units of 8 bits, in which all that the interfaces have functions for occurs.
std::vector<Case> drawn_units() {
  Rng rng(1);
  std::vector<Case> cases;
  for (const unit::Compute compute : {unit::kConv, unit::kDepthwise, unit::kConvTranspose, unit::kGemm, unit::kMatMul,
                                      unit::kAdd, unit::kSub, unit::kMul, unit::kAveragePool, unit::kGlobalAveragePool,
                                      unit::kMaxPool, unit::kSigmoid, unit::kLeakyRelu, unit::kRelu, unit::kClip}) {
    for (const ElementType type : {ElementType::int8, ElementType::uint8}) {
      for (int i = 0; i < 4; ++i) {
        unit::Unit unit;
        unit.compute = compute;
        unit.x.type = unit.w.type = unit.y.type = type;
        unit.w.zero_point = type == ElementType::int8 ? unit::kMiddle : unit::kOther;
        unit.scales = i % 2 == 0 ? unit::kPowersOfTwo : unit::kOrdinary;
        unit.bias = i < 2 ? unit::kNoBias : unit::kExactBias;
        cases.push_back(unit::build(unit, rng));
      }
    }
  }
  return cases;
}

TEST_P(GraphInterfaces, GetThroughUnitsAndRandomGraphs) {
  std::vector<Case> cases = drawn_units();
  SuiteOptions options;
  options.cases = static_cast<std::uint64_t>(qconform::testing::scaled(200));
  const auto sources = open_suite("graphs", options);
  ASSERT_TRUE(sources);
  for (auto next = sources->front()->next(); next && *next; next = sources->front()->next()) {
    cases.push_back(std::move(**next));
  }
  std::size_t right = 0;
  std::size_t wrong = 0;
  for (const Case& test_case : cases) {
    const VerdictKind kind = verdict_of(test_case).kind;
    // These would be the adapter's doing.
    EXPECT_NE(kind, VerdictKind::unwritten) << test_case.id;
    EXPECT_NE(kind, VerdictKind::timed_out) << test_case.id;
    EXPECT_NE(kind, VerdictKind::bad_shape) << test_case.id;
    right += kind == VerdictKind::pass ? 1 : 0;
    wrong += is_failure(kind) ? 1 : 0;
  }
  std::printf("%s: %zu right, %zu wrong\n", GetParam().backend, right, wrong);
  EXPECT_GT(right, 40U);
  EXPECT_LT(wrong, right / 2);
}

std::string interface_name(const ::testing::TestParamInfo<Interface>& info) {
  return std::string(info.param.backend, std::string_view(info.param.backend).find_first_of(":@"));
}

INSTANTIATE_TEST_SUITE_P(Here, GraphInterfaces, ::testing::ValuesIn(kInterfaces), interface_name);

class OnnxRuntimeForms : public ::testing::Test {
 protected:
  void SetUp() override {
    backend::offer_libraries(libraries());
    if (!backend::select("onnxruntime", RoundingProfile::correctly_rounded)) GTEST_SKIP() << "no ONNX Runtime";
  }
};

// Without optimization ONNX Runtime computes graphs right: so it does in the bodies of operators, if they are made
// right.
TEST_F(OnnxRuntimeForms, ComputeTheSameInBodies) {
  SuiteOptions options;
  options.cases = static_cast<std::uint64_t>(qconform::testing::scaled(100));
  for (const char* name : {"onnxruntime@disabled,form=branches", "onnxruntime@disabled,form=loop"}) {
    const auto opened = backend::select(name, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(opened) << opened.error().text();
    const auto sources = open_suite("graphs", options);
    ASSERT_TRUE(sources);
    GuardedOutput output;
    std::size_t passed = 0;
    for (auto next = sources->front()->next(); next && *next; next = sources->front()->next()) {
      const Verdict verdict = judge(expect(**next, Policy{}), execute(**opened, **next, output));
      EXPECT_FALSE(is_failure(verdict.kind)) << name << ", " << (**next).id << ": " << verdict.detail;
      passed += verdict.kind == VerdictKind::pass ? 1 : 0;
    }
    EXPECT_GT(passed, *options.cases * 3 / 4) << name;
  }
}

// A case keeps its form while it is shrunk; names that users give choose none.
TEST(OnnxRuntimeFormNames, ChooseTheFormOfDrawnGraphs) {
  const auto text_of = [](const char* id, bool is_of_graph = false) {
    Case graph = unit();
    graph.id = id;
    const auto model = is_of_graph ? ort_graph_model(graph, nullptr) : ort_model(graph, nullptr);
    return model ? model->bytes : model.error().text();
  };
  EXPECT_THAT(text_of("graphs-1-2.loop"), HasSubstr("Loop"));
  EXPECT_THAT(text_of("graphs-1-2.loop.shrunk"), HasSubstr("Loop"));
  EXPECT_THAT(text_of("graphs-1-2.branches"), HasSubstr("else_branch"));
  EXPECT_EQ(text_of("graphs-1-2.loop", true), text_of("graphs-1-2"));
  EXPECT_EQ(text_of("mine.loop"), text_of("graphs-1-2"));
}

// The generator and the adapter know the same words.
TEST(OnnxRuntimeFormNames, AreThoseThatGraphsAreDrawnWith) {
  std::set<std::string> drawn;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const std::string id = graph_case(1, index).id;
    if (const auto dot = id.find('.'); dot != std::string::npos) drawn.insert(id.substr(dot + 1));
  }
  EXPECT_EQ(drawn, (std::set<std::string>{"branches", "loop"}));
  for (const std::string& word : drawn) EXPECT_NE(ort_form_named(word), nullptr) << word;
}

// One cause is one finding, wherever the nodes stand.
TEST_F(OnnxRuntimeForms, AreNotInMessages) {
  std::vector<std::string> messages;
  for (const char* name : {"initializers", "branches", "loop"}) {
    const auto opened =
        backend::select(std::string("onnxruntime@all,form=") + name, RoundingProfile::correctly_rounded);
    ASSERT_TRUE(opened) << opened.error().text();
    Case graph = unit();
    graph.nodes[0].op_type = "Floor";
    graph.nodes[0].inputs.resize(1);
    GuardedOutput output;
    messages.push_back(reason_of(execute(**opened, graph, output)));
  }
  EXPECT_NE(messages[0], "");
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_EQ(messages[0], messages[2]);
}

TEST(OneDnnGraphs, HaveOnePolicyOfTwo) {
  backend::offer_libraries(libraries());
  if (!backend::select("onednn:3@graph=debug", RoundingProfile::correctly_rounded)) GTEST_SKIP() << "no oneDNN 3";
  const auto refused = backend::select("onednn:3@graph=all", RoundingProfile::correctly_rounded);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("expected fusion or debug"), std::string::npos) << refused.error().text();
  EXPECT_FALSE(backend::select("onednn@graph", RoundingProfile::correctly_rounded)) << "version 2 has no graphs";
}

}  // namespace
}  // namespace qconform::libraries
