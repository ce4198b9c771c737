// The interpreter as a backend, against the QLinearConv and kernels that it shares nothing with.
#include <gtest/gtest.h>

#include "harness/backends/kinds.h"
#include "harness/backends/select.h"
#include "harness/engine/execute.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/rng.h"

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

struct Convolution {
  Case graph;
  Case single;
};

// With scales that are powers of two and sums below 2^24 each of its answers is exact up to the last rounding.
Convolution exact_convolution(Rng& rng) {
  const Tensor x = random_integers(rng, ElementType::uint8, {1, 2, 4, 5}, 0, 255);
  const Tensor w = random_integers(rng, ElementType::int8, {3, 2, 2, 3}, -128, 127);
  const Tensor bias = random_integers(rng, ElementType::int32, {3}, -9999, 9999);
  const Attribute::Value pads = std::vector<std::int64_t>{1, 0, 0, 1};
  const std::int64_t x_zero_point = rng.between(0, 255);
  Convolution result;
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
      const Convolution both = exact_convolution(rng);
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
  Convolution both = exact_convolution(rng);
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

}  // namespace
}  // namespace qconform::backend
