// The interpreter as a backend, against the QLinearConv and kernels that it shares nothing with.

#include <gtest/gtest.h>

#include <numeric>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"
#include "harness/tests/convolution_builder.h"

namespace qconform::backend {
namespace {

std::unique_ptr<Backend> opened(std::string_view name) {
  auto backend = select(name, RoundingProfile::correctly_rounded);
  EXPECT_TRUE(backend) << backend.error().text();
  return std::move(*backend);
}

std::string fault_of(std::string_view name) {
  const auto backend = select(name, RoundingProfile::correctly_rounded);
  return backend ? "" : backend.error().text();
}

std::vector<Tensor> outputs_of(Backend& backend, const Case& test_case) {
  GuardedOutput memory;
  const Outcome outcome = execute(backend, test_case, memory);
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  return produced == nullptr ? std::vector<Tensor>{} : produced->outputs;
}

Tensor random_integers(Rng& rng, ElementType type, const make::Shape& shape, std::int64_t lo, std::int64_t hi) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(elements_of(shape)));
  for (std::int64_t& value : values) value = rng.between(lo, hi);
  return make::integers(type, shape, values);
}

struct BothForms {
  Case graph;
  Case single;
};

// With scales that are powers of two and sums below 2^24 each of its answers is exact up to the last rounding.
BothForms exact_convolution(Rng& rng) {
  const Tensor x = random_integers(rng, ElementType::uint8, {1, 2, 4, 5}, 0, 255);
  const Tensor w = random_integers(rng, ElementType::int8, {3, 2, 2, 3}, -128, 127);
  const Tensor bias = random_integers(rng, ElementType::int32, {3}, -9999, 9999);
  const Attribute::Value pads = std::vector<std::int64_t>{1, 0, 0, 1};
  const std::int64_t x_zero_point = rng.between(0, 255);
  BothForms result;
  Case& graph = result.graph;
  graph.nodes = {{"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
                 {"DequantizeLinear", "", 13, {}, {"w", "ws"}, {"wf"}},
                 {"DequantizeLinear", "", 13, {}, {"b", "bs"}, {"bf"}},
                 {"Conv", "", 13, {{"pads", pads}}, {"xf", "wf", "bf"}, {"c"}},
                 {"QuantizeLinear", "", 13, {}, {"c", "ys", "yz"}, {"y"}}};
  graph.inputs = {x,
                  make::float32(0.5F),
                  make::integer(ElementType::uint8, x_zero_point),
                  w,
                  make::float32(0.25F),
                  bias,
                  make::float32(0.125F),
                  make::float32(64.0F),
                  make::integer(ElementType::int8, -3)};
  graph.input_names = {"x", "xs", "xz", "w", "ws", "b", "bs", "ys", "yz"};
  graph.fed_inputs = 1;
  graph.outputs = {"y"};
  std::vector<std::int64_t> biases;
  for (std::int64_t i = 0; i < 3; ++i) biases.push_back(integer_at(bias, i));
  result.single = QLinearConvBuilder()
                      .x(x)
                      .x_scale(0.5F)
                      .x_zero_point(x_zero_point)
                      .w(w)
                      .w_scale(0.25F)
                      .y_type(ElementType::int8)
                      .y_scale(64)
                      .y_zero_point(-3)
                      .bias(biases)
                      .attribute("pads", pads)
                      .build();
  return result;
}

TEST(Interpreter, EqualsQLinearConvWhereNothingRounds) {
  const auto scalar = opened("scalar");
  for (const char* name : {"interpreter", "interpreter@order=backward,fma=1", "interpreter@order=blocked",
                           "interpreter@order=pairwise,flush-subnormals=1", "interpreter@double-sums=1"}) {
    const auto backend = opened(name);
    EXPECT_EQ(backend->info().name, name);
    for (std::uint64_t i = 0; i < 20; ++i) {
      Rng rng(7, i);
      const BothForms both = exact_convolution(rng);
      const auto expected = outputs_of(*scalar, both.single);
      ASSERT_EQ(expected.size(), 1);
      EXPECT_EQ(outputs_of(*backend, both.graph), expected) << name << ", draw " << i;
    }
  }
}

TEST(Interpreter, GivesOutputsOfEveryType) {
  Case graph;
  graph.nodes = {{"ArgMax", "", 13, {{"keepdims", std::int64_t{0}}}, {"x"}, {"i"}},
                 {"Identity", "", 13, {}, {"t"}, {"u"}},
                 {"Cast", "", 13, {{"to", std::int64_t{10}}}, {"x"}, {"h"}}};
  graph.inputs = {make::float32({3}, {1, 3, 2}), make::integers(ElementType::boolean, {2}, {1, 0})};
  graph.input_names = {"x", "t"};
  graph.fed_inputs = 2;
  graph.outputs = {"i", "u", "h"};
  const auto outputs = outputs_of(*opened("interpreter"), graph);
  ASSERT_EQ(outputs.size(), 3);
  EXPECT_EQ(outputs[0], make::integer(ElementType::int64, 1));
  EXPECT_EQ(outputs[1], make::integers(ElementType::boolean, {2}, {1, 0}));
  EXPECT_EQ(outputs[2], Tensor::of(ElementType::float16, {3}, std::vector<std::uint16_t>{0x3C00, 0x4200, 0x4000}));
}

// A kernel set names the operator that it lacks, of a graph of one node too.
TEST(KernelSets, NameTheOperatorThatTheyLack) {
  Case product;
  product.nodes = {{"MatMulInteger", "", 13, {}, {"a", "b"}, {"y"}}};
  product.inputs = {make::uint8({1, 2}, {1, 2}), make::int8({2, 1}, {3, 4})};
  product.input_names = {"a", "b"};
  product.fed_inputs = 1;
  product.outputs = {"y"};
  Rng rng(1);
  const auto scalar = opened("scalar");
  const auto reason_for = [&](const Case& test_case) {
    GuardedOutput memory;
    const Outcome outcome = execute(*scalar, test_case, memory);
    const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome);
    return unsupported == nullptr ? "" : unsupported->reason;
  };
  EXPECT_EQ(reason_for(product), "scalar has no kernel for MatMulInteger: uint8 to int32");
  EXPECT_EQ(reason_for(exact_convolution(rng).graph), "scalar takes no graphs");
}

TEST(Interpreter, DeclinesWhatItDoesNotJudge) {
  const auto backend = opened("interpreter");
  GuardedOutput memory;
  Rng rng(1);
  BothForms both = exact_convolution(rng);
  const auto alone = execute(*backend, both.single, memory);
  ASSERT_TRUE(std::holds_alternative<outcome::Unsupported>(alone));
  EXPECT_EQ(std::get<outcome::Unsupported>(alone).reason,
            "the interpreter computes graphs of several nodes, not one QLinearConv");
  both.graph.nodes[3].attributes[0].value = std::vector<std::int64_t>{1};
  EXPECT_TRUE(std::holds_alternative<outcome::Rejected>(execute(*backend, both.graph, memory)));
  both.graph.nodes[3].op_type = "Loop";
  EXPECT_TRUE(std::holds_alternative<outcome::Unsupported>(execute(*backend, both.graph, memory)));
  both.graph.outputs = {"nothing"};
  EXPECT_TRUE(std::holds_alternative<outcome::Rejected>(execute(*backend, both.graph, memory)));
}

TEST(Interpreter, NamesSettingsThatItDoesNotKnow) {
  EXPECT_NE(fault_of("interpreter@order=sideways").find("forward, backward, pairwise or blocked"), std::string::npos);
  EXPECT_NE(fault_of("interpreter@fma=2").find("0 or 1"), std::string::npos);
  EXPECT_NE(fault_of("interpreter@fast"), "");
  EXPECT_NE(fault_of("interpreter@speed=1"), "");
  EXPECT_NE(fault_of("interpreter:9"), "");
}

// Units that run on kernel sets: which ones, and that their answers stay in the sets of the graphs as written.

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

struct WindowOptions {
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t pad_begin = 0;
  std::int64_t pad_end = 0;
  std::int64_t output_padding = 0;
  std::int64_t group = 1;
};

// DQ, DQ -> ConvTranspose -> Q. Each tap has another weight, and x is asymmetric.
Case transposed_unit(const WindowOptions& options) {
  const auto two = [](std::int64_t value) { return std::vector<std::int64_t>{value, value}; };
  const auto counted = [](std::int64_t count, std::int64_t begin) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), begin);
    return values;
  };
  Case graph;
  graph.nodes = {
      {"DequantizeLinear", "", 13, {}, {"x", "xs", "xz"}, {"xf"}},
      {"DequantizeLinear", "", 13, {{"axis", std::int64_t{1}}}, {"w", "ws", "wz"}, {"wf"}},
      {"ConvTranspose",
       "",
       13,
       {{"strides", two(options.stride)},
        {"dilations", two(options.dilation)},
        {"pads", std::vector<std::int64_t>{options.pad_begin, options.pad_begin, options.pad_end, options.pad_end}},
        {"output_padding", two(options.output_padding)},
        {"group", options.group}},
       {"xf", "wf"},
       {"c"}},
      {"QuantizeLinear", "", 13, {}, {"c", "ys", "yz"}, {"y"}}};
  graph.inputs = {make::integers(ElementType::uint8, {1, 2, 2, 3}, counted(12, 120)),
                  make::float32(0.5F),
                  make::integer(ElementType::uint8, 125),
                  make::integers(ElementType::int8, {2, 2, 2, 3}, counted(24, -9)),
                  make::float32({2}, {0.25F, 0.375F}),
                  make::int8({2}, {1, -2}),
                  make::float32(2.0F),
                  make::integer(ElementType::int8, -3)};
  graph.input_names = {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"};
  graph.fed_inputs = 1;
  graph.outputs = {"y"};
  return graph;
}

// The unit above, with this float in place of a dequantized bias; 1/8 is x_scale * w_scale.
Case with_float_bias(float bias) {
  Case graph = unit({});
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.front() == "bf"; });
  graph.inputs[5] = make::float32({2}, {bias, -bias});
  graph.input_names[5] = "bf";
  graph.inputs.erase(graph.inputs.begin() + 6);
  graph.input_names.erase(graph.input_names.begin() + 6);
  return graph;
}

std::string operators_of(const CaseGraph& graph) {
  std::string text;
  for (const CaseGraph::Node& node : graph.nodes) text += (text.empty() ? "" : "+") + node.op_type;
  return text;
}

VerdictKind verdict_of(Backend& backend, const Case& test_case, const Policy& policy = {}) {
  GuardedOutput output;
  const Outcome outcome = execute(backend, test_case, output);
  return judge(expect(test_case, policy), outcome).kind;
}

void expect_right(Backend& backend, const Case& test_case) {
  EXPECT_EQ(verdict_of(backend, test_case), VerdictKind::pass);
}

TEST(Fused, ComputesAUnitAsOneConvolution) {
  const auto backend = opened("fused@kernels=scalar");
  const Case plain = unit({});
  EXPECT_EQ(operators_of(*backend->rewritten(plain)), "QLinearConv");
  expect_right(*backend, plain);
}

// Each of these would leave the set, or is none of what a convolution and a clamp compute.
TEST(Fused, LeavesUnitsWhoseAnswersWouldDiffer) {
  const auto backend = opened("fused");
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
  const auto backend = opened("fused");
  EXPECT_EQ(backend->rewritten(shared)->nodes.size(), shared.nodes.size());
  expect_right(*backend, shared);
}

TEST(Fused, SpreadsTheDataOfTransposedConvolutions) {
  const auto backend = opened("fused");
  std::vector<WindowOptions> all;
  for (std::int64_t i = 0; i < 3 * 2 * 3 * 2 * 2; ++i) {
    all.push_back({.stride = 1 + i % 3,
                   .dilation = 1 + i / 3 % 2,
                   .pad_begin = i / 6 % 3,
                   .pad_end = i / 18 % 2,
                   .output_padding = i % 3 == 0 ? 0 : 1,
                   .group = 1 + i / 36});
  }
  std::size_t judged = 0;
  for (const WindowOptions& options : all) {
    const Case graph = transposed_unit(options);
    if (!check_wiring(graph) || classify(graph).expectation() != Expectation::valid) continue;  // nothing is left
    EXPECT_EQ(operators_of(*backend->rewritten(graph)), "QLinearConv");
    expect_right(*backend, graph);
    ++judged;
  }
  EXPECT_GT(judged, all.size() / 2);
}

// 3/8 is three steps of the sum, and 0.33 is none. Tier fused-int8 admits the rounding to a step alone.
TEST(Fused, TakesAFloatBiasThatIsAMultipleOfTheScales) {
  const auto backend = opened("fused");
  const auto rounding = opened("fused@float-bias=rounded");
  EXPECT_EQ(operators_of(*backend->rewritten(with_float_bias(0.375F))), "QLinearConv");
  EXPECT_EQ(backend->rewritten(with_float_bias(0.33F))->nodes.size(), 5U);
  EXPECT_EQ(operators_of(*rounding->rewritten(with_float_bias(0.33F))), "QLinearConv");
  expect_right(*backend, with_float_bias(0.375F));
  expect_right(*backend, with_float_bias(0.33F));
}

// (200 - 128) * 0.5 * 0.25 = 9, and 9.05 / 2 goes to 5; without the bias, which is less than half a step, 4.5 goes
// to 4.
TEST(Fused, RoundsAFloatBiasUnderItsProfileAlone) {
  const auto rounding = opened("fused@float-bias=rounded");
  Case graph = with_float_bias(0.05F);
  graph.inputs[0] = make::integers(ElementType::uint8, {1, 1, 1, 1}, {200});
  graph.inputs[3] = make::integers(ElementType::int8, {2, 1, 1, 1}, {1, 1});
  EXPECT_EQ(verdict_of(*rounding, graph), VerdictKind::wrong);
  EXPECT_EQ(verdict_of(*rounding, graph, {.profile = Profile::fused_int8}), VerdictKind::pass);
  expect_right(*opened("fused"), graph);
}

bool conforms_on_random_graphs(const std::string& name, const Policy& policy, std::uint64_t cases) {
  auto suites = *open_suite("graphs", {.seed = 1, .cases = cases});
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(opened(name));
  Report report;
  EXPECT_TRUE(run_suites(suites, backends, {.policy = policy}, report));
  return report.conforms();
}

TEST(Fused, ConformsOnRandomGraphs) {
  const auto cases = static_cast<std::uint64_t>(1200);
  EXPECT_TRUE(conforms_on_random_graphs("fused", {}, cases));
  EXPECT_TRUE(conforms_on_random_graphs("fused@float-bias=rounded", {.profile = Profile::fused_int8}, cases / 2));
  const auto backend = opened("fused");
  std::size_t fused_cases = 0;
  for (std::uint64_t i = 0; i < cases; ++i) {
    const Case graph = draw_of_suite("graphs")(1, i);
    const auto rewritten = is_judged_as_graph(graph) ? backend->rewritten(graph) : std::nullopt;
    fused_cases += rewritten && operators_of(*rewritten).find("QLinearConv") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(fused_cases, cases / 50);
}

TEST(Fused, NamesSettingsThatItDoesNotKnow) {
  for (const char* name : {"fused@kernels=neon99", "fused@float-bias=1", "fused@fast", "fused@threads=2", "fused:9"}) {
    EXPECT_FALSE(select(name, RoundingProfile::correctly_rounded)) << name;
  }
}

// The products have no batch, no row, or one column; weights have a scale for each row or for each column.
TEST(Fused, ProductsWithoutElementsAreEmpty) {
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{0, 3, 2}, {2, 0, 2}, {0, 2}, {1, 3, 2}}) {
    for (const std::int64_t axis : {0, 1}) {
      GraphBuilder b(13);
      const std::string one = b.initializer(make::float32(1.0F));
      const std::string x = b.node("DequantizeLinear", {b.input(make::filled(ElementType::uint8, shape, 7)), one});
      const std::string scales = b.initializer(make::float32({2}, {1, 2}));
      const std::string weights = b.initializer(make::integers(ElementType::int8, {2, 2}, {3, -1, 2, 4}));
      const std::string w = b.node("DequantizeLinear", {weights, scales}, {{"axis", axis}});
      const std::string zero = b.initializer(make::integer(ElementType::int8, 0));
      const Case graph = b.build({b.node("QuantizeLinear", {b.node("MatMul", {x, w}), one, zero})});
      Expected expected = expect(graph, {});
      ASSERT_TRUE(expected.output) << expected.classification.contract.violation->text();
      assess(graph, expected);
      for (const char* backend : {"interpreter", "fused"}) {
        GuardedOutput output;
        const Verdict verdict = judge(expected, execute(*opened(backend), graph, output));
        EXPECT_TRUE(is_computed(verdict.kind) && !is_failure(verdict.kind)) << backend << ": " << verdict.detail;
        EXPECT_EQ(verdict.elements, static_cast<std::uint64_t>(expected.output->elements()));
      }
    }
  }
}

}  // namespace
}  // namespace qconform::backend
