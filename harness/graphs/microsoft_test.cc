// Operators of com.microsoft, and normalizations: values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

using enum ElementType;

VerdictKind verdict_on(const Case& test_case, Tensor output) {
  return judge(expect(test_case, {}), outcome::Produced{{std::move(output)}}).kind;
}

std::string contract_text(const Case& test_case) {
  const auto violation = classify(test_case).contract.violation;
  return violation ? violation->text() : "";
}

/// A node of com.microsoft on tensors in its order; the first is fed, "" are omitted.
class MicrosoftNode {
 public:
  explicit MicrosoftNode(std::string op_type) : op_type_(std::move(op_type)) {}

  MicrosoftNode& with(Tensor tensor) {
    inputs_.push_back(inputs_.empty() ? graph_.input(std::move(tensor)) : graph_.initializer(std::move(tensor)));
    return *this;
  }
  MicrosoftNode& without() {
    inputs_.emplace_back();
    return *this;
  }
  MicrosoftNode& quantized(const Tensor& tensor, float scale, std::int64_t zero_point) {
    const ElementType type = tensor.type;
    return with(tensor).with(make::float32(scale)).with(make::integer(type, zero_point));
  }
  MicrosoftNode& output(ElementType type, float scale, std::int64_t zero_point) {
    return with(make::float32(scale)).with(make::integer(type, zero_point));
  }
  [[nodiscard]] Case build(std::vector<Attribute> attributes = {}) {
    return graph_.build({graph_.node(op_type_, inputs_, std::move(attributes), "com.microsoft")});
  }

 private:
  std::string op_type_;
  GraphBuilder graph_{13};
  std::vector<std::string> inputs_;
};

TEST(MicrosoftOperators, AddAndMulRequantize) {
  const auto node = [](const char* op_type) {
    return MicrosoftNode(op_type)
        .quantized(make::uint8({3}, {12, 8, 255}), 0.5F, 10)
        .quantized(make::uint8({1}, {6}), 0.25F, 4)
        .output(uint8, 0.5F, 3)
        .build();
  };
  // 1 + 0.5, -1 + 0.5, 122.5 + 0.5 over 0.5, and 3.
  EXPECT_EQ(verdict_on(node("QLinearAdd"), make::uint8({3}, {6, 2, 249})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(node("QLinearAdd"), make::uint8({3}, {6, 2, 250})), VerdictKind::wrong);
  // 0.5, -0.5, 61.25 over 0.5, and 3: 122.5 is a tie, to even; so is 125.5.
  EXPECT_EQ(verdict_on(node("QLinearMul"), make::uint8({3}, {4, 2, 125})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(node("QLinearMul"), make::uint8({3}, {4, 2, 126})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(node("QLinearMul"), make::uint8({3}, {4, 2, 127})), VerdictKind::wrong);
  EXPECT_EQ(verdict_on(node("QLinearMul"), make::uint8({3}, {4, 3, 125})), VerdictKind::wrong);
}

TEST(MicrosoftOperators, OmittedZeroPointsAre0AndOfTheType) {
  Case test_case = MicrosoftNode("QLinearMul")
                       .with(make::int8({2}, {3, -4}))
                       .with(make::float32(1))
                       .without()
                       .with(make::int8({2}, {2, 2}))
                       .with(make::float32(1))
                       .without()
                       .with(make::float32(1))
                       .build();
  EXPECT_EQ(verdict_on(test_case, make::int8({2}, {6, -8})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, make::uint8({2}, {6, 0})), VerdictKind::bad_shape);
}

TEST(MicrosoftOperators, ScalesAreScalars) {
  const Case test_case = MicrosoftNode("QLinearSigmoid")
                             .with(make::uint8({2}, {1, 2}))
                             .with(make::float32({2}, {1, 2}))
                             .without()
                             .with(make::float32(1.0F / 256))
                             .build();
  EXPECT_EQ(contract_text(test_case), "nodes[0].scale: expected a scalar, got shape [2] [rule QLinearSigmoid]");
}

TEST(MicrosoftOperators, PoolsTakeChannelsLast) {
  // One image of 1 by 2 places with two channels each: 1, 10 and 3, 30.
  const auto pooled = [](std::int64_t channels_last) {
    return MicrosoftNode("QLinearGlobalAveragePool")
        .quantized(make::uint8({1, 1, 2, 2}, {1, 10, 3, 30}), 1, 0)
        .output(uint8, 1, 0)
        .build({{"channels_last", channels_last}});
  };
  EXPECT_EQ(verdict_on(pooled(1), make::uint8({1, 1, 1, 2}, {2, 20})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(pooled(0), make::uint8({1, 1, 1, 1}, {11})), VerdictKind::pass);
}

TEST(MicrosoftOperators, ConcatBringsPartsToOneScale) {
  const Case test_case = MicrosoftNode("QLinearConcat")
                             .with(make::float32(0.5F))
                             .with(make::integer(uint8, 0))
                             .with(make::uint8({2}, {3, 4}))
                             .with(make::float32(0.5F))
                             .with(make::integer(uint8, 0))
                             .with(make::uint8({1}, {9}))
                             .with(make::float32(1))
                             .with(make::integer(uint8, 4))
                             .build({{"axis", std::int64_t{0}}});
  EXPECT_EQ(verdict_on(test_case, make::uint8({3}, {3, 4, 10})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, make::uint8({3}, {3, 4, 9})), VerdictKind::wrong);
}

TEST(MicrosoftOperators, GemmAddsItsBiasBeforeTheScales) {
  MicrosoftNode node("QGemm");
  node.quantized(make::uint8({1, 2}, {3, 5}), 0.5F, 1).quantized(make::int8({2, 1}, {2, -1}), 0.25F, 0);
  node.with(make::int32({1}, {7}));
  // (2 * 2 - 4 * 1 + 7) * 0.5 * 0.25 * 2
  EXPECT_EQ(verdict_on(node.build({{"alpha", 2.0F}}), make::float32({1, 1}, {1.75F})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(node.build({{"alpha", 1.0F}}), make::float32({1, 1}, {1.75F})), VerdictKind::wrong);
}

TEST(MicrosoftOperators, IntegerProductsBecomeFloats) {
  const Case test_case = MicrosoftNode("MatMulIntegerToFloat")
                             .with(make::uint8({1, 2}, {3, 5}))
                             .with(make::uint8({2, 2}, {1, 2, 3, 4}))
                             .with(make::float32(0.5F))
                             .with(make::float32({2}, {1, 2}))
                             .with(make::integer(uint8, 1))
                             .without()
                             .with(make::float32({2}, {0.25F, -0.25F}))
                             .build();
  // 2 * 1 + 4 * 3, 2 * 2 + 4 * 4, times 0.5 and 1
  EXPECT_EQ(verdict_on(test_case, make::float32({1, 2}, {7.25F, 19.75F})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, make::float32({1, 2}, {7.25F, 20.0F})), VerdictKind::wrong);
}

// The scale is hidden: 3 / 255 by one division, or by a product with the rounded 1/255. A whole tensor has one of them.
TEST(MicrosoftOperators, AHiddenScaleIsOneForTheWholeTensor) {
  constexpr float kRange = 2.9F;
  const Case test_case = MicrosoftNode("DynamicQuantizeMatMul")
                             .with(make::float32({2, 1}, {kRange, kRange / 2}))
                             .with(make::uint8({1, 1}, {3}))
                             .with(make::float32(0.7F))
                             .build();
  const auto by = [&](float scale) {
    return make::float32({2, 1}, {255 * 3.0F * (scale * 0.7F), 128 * 3.0F * (scale * 0.7F)});
  };
  EXPECT_EQ(verdict_on(test_case, by(kRange / 255)), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, by(kRange * (1.0F / 255))), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, by(kRange / 254)), VerdictKind::wrong);
  EXPECT_EQ(verdict_on(test_case, make::float32({2, 1}, {kRange * 3 * 0.7F, kRange * 3 * 0.7F / 2 * 1.01F})),
            VerdictKind::wrong);
}

TEST(MicrosoftOperators, RowsOfPackedBlocksAreGathered) {
  std::vector<std::int64_t> packed(16, 0x88);
  packed[8] = 0x9F;  // row 1 begins with 15, 9
  const Case test_case = MicrosoftNode("GatherBlockQuantized")
                             .with(make::uint8({2, 8}, packed))
                             .with(make::integers(int64, {1}, {1}))
                             .with(make::float32({2, 1}, {1, 0.5F}))
                             .build({{"block_size", std::int64_t{16}}, {"bits", std::int64_t{4}}});
  std::vector<float> row(16, 0);
  row[0] = 3.5F;
  row[1] = 0.5F;
  EXPECT_EQ(verdict_on(test_case, make::float32({1, 16}, row)), VerdictKind::pass);
  row[1] = 1;
  EXPECT_EQ(verdict_on(test_case, make::float32({1, 16}, row)), VerdictKind::wrong);
}

// A row has its own bytes of zero points; no others are taken, of whatever shape they are.
TEST(MicrosoftOperators, ZeroPointsOfPackedBlocksFillWholeBytes) {
  const auto with_points = [](Tensor points) {
    return MicrosoftNode("GatherBlockQuantized")
        .with(make::uint8({2, 8}, std::vector<std::int64_t>(16, 0x88)))
        .with(make::integers(int64, {1}, {1}))
        .with(make::float32({2, 1}, {1, 0.5F}))
        .with(std::move(points))
        .build({{"block_size", std::int64_t{16}}, {"bits", std::int64_t{4}}});
  };
  EXPECT_EQ(
      verdict_on(with_points(make::uint8({2, 1}, {0xF0, 0x7A})), make::float32({1, 16}, std::vector<float>(16, -1))),
      VerdictKind::pass);
  const std::vector<Tensor> others{make::uint8({}, {8}), make::uint8({0}, {}), make::uint8({2, 0}, {}),
                                   make::uint8({2, 2}, {8, 8, 8, 8}), make::uint8({1, 1}, {8})};
  for (const Tensor& points : others) {
    EXPECT_NE(contract_text(with_points(points)).find("zero_points: expected"), std::string::npos)
        << contract_text(with_points(points));
  }
}

// Rows of float data beside an accuracy_level: what int8 in blocks gives is right at level 4 alone.
TEST(MicrosoftOperators, TheAccuracyLevelPermitsNarrowActivations) {
  std::vector<float> a(16, 0);
  a[0] = 1;
  a[1] = 0.3F;  // 38.1 / 127
  const auto with_level = [&](std::int64_t level) {
    return MicrosoftNode("MatMulNBits")
        .with(make::float32({1, 16}, a))
        .with(make::uint8({1, 1, 8},
                          [] {
                            std::vector<std::int64_t> packed(8, 0x88);
                            packed[0] = 0x98;
                            return packed;
                          }()))
        .with(make::float32({1}, {1}))
        .build({{"K", std::int64_t{16}},
                {"N", std::int64_t{1}},
                {"block_size", std::int64_t{16}},
                {"accuracy_level", level}});
  };
  const Tensor rounded = make::float32({1, 1}, {38.0F / 127});
  EXPECT_EQ(verdict_on(with_level(0), rounded), VerdictKind::wrong);
  EXPECT_EQ(verdict_on(with_level(1), rounded), VerdictKind::wrong);
  EXPECT_EQ(verdict_on(with_level(4), rounded), VerdictKind::pass);
  for (const std::int64_t level : {0, 1, 2, 3, 4}) {
    EXPECT_EQ(verdict_on(with_level(level), make::float32({1, 1}, {0.3F})), VerdictKind::pass) << level;
  }
  const Tensor half = make::float32({1, 1}, {0.300048828125F});
  EXPECT_EQ(verdict_on(with_level(1), half), VerdictKind::wrong);
  EXPECT_EQ(verdict_on(with_level(2), half), VerdictKind::pass) << "float16";
}

// A DQ in front makes a graph of several nodes of it.
Case behind_dequantize(const std::string& op_type, const Tensor& x, std::vector<Tensor> parameters,
                       std::vector<Attribute> attributes = {}, std::int64_t opset = 23) {
  GraphBuilder graph(opset);
  std::vector<std::string> inputs{
      graph.node("DequantizeLinear", {graph.input(x), graph.initializer(make::float32(1))})};
  for (Tensor& tensor : parameters) inputs.push_back(graph.initializer(std::move(tensor)));
  return graph.build({graph.node(op_type, inputs, std::move(attributes))});
}

TEST(Normalizations, HaveTheMeanAndVarianceOfTheirRows) {
  const Tensor x = make::uint8({1, 2, 2}, {1, 3, 10, 20});
  const Tensor one = make::float32({2}, {1, 1});
  const Tensor none = make::float32({2}, {0, 0});
  const std::vector<Attribute> exact{{"epsilon", 0.0F}};
  const auto gives = [&](const Case& test_case, const std::vector<float>& y) {
    return verdict_on(test_case, make::float32({1, 2, 2}, y));
  };
  const Case layer = behind_dequantize("LayerNormalization", x, {one, none}, exact);
  EXPECT_EQ(gives(layer, {-1, 1, -1, 1}), VerdictKind::pass);
  EXPECT_EQ(gives(layer, {-1, 1, -1, 1.0001F}), VerdictKind::wrong);
  EXPECT_EQ(gives(behind_dequantize("InstanceNormalization", x, {one, none}, exact), {-1, 1, -1, 1}),
            VerdictKind::pass);
  const float root_of_5 = std::sqrt(5.0F);
  EXPECT_EQ(gives(behind_dequantize("RMSNormalization", x, {one}, exact),
                  {1 / root_of_5, 3 / root_of_5, 10 / std::sqrt(250.0F), 20 / std::sqrt(250.0F)}),
            VerdictKind::pass);
  const Case batch = behind_dequantize("BatchNormalization", x,
                                       {make::float32({2}, {2, 1}), make::float32({2}, {1, 0}),
                                        make::float32({2}, {2, 15}), make::float32({2}, {4, 25})},
                                       exact);
  EXPECT_EQ(gives(batch, {0, 2, -1, 1}), VerdictKind::pass);
  EXPECT_EQ(gives(batch, {0, 2, -1, 1.01F}), VerdictKind::wrong);
  const Case group =
      behind_dequantize("GroupNormalization", x, {one, none}, {{"epsilon", 0.0F}, {"num_groups", std::int64_t{2}}});
  EXPECT_EQ(gives(group, {-1, 1, -1, 1}), VerdictKind::pass);
}

TEST(Normalizations, ConditionsChooseBetweenOperands) {
  GraphBuilder graph(16);
  const std::string x =
      graph.node("DequantizeLinear", {graph.input(make::uint8({3}, {1, 2, 3})), graph.initializer(make::float32(1))});
  const std::string two = graph.initializer(make::float32(2));
  const std::string zero = graph.initializer(make::float32(0));
  const std::string is_greater = graph.node("Greater", {x, two});
  const Case test_case = graph.build({graph.node("Where", {graph.node("Not", {is_greater}), x, zero})});
  EXPECT_EQ(verdict_on(test_case, make::float32({3}, {1, 2, 0})), VerdictKind::pass);
  EXPECT_EQ(verdict_on(test_case, make::float32({3}, {1, 0, 0})), VerdictKind::wrong);
}

}  // namespace
}  // namespace qconform
