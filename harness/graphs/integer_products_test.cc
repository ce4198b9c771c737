// The MatMul family and TopK: values worked out by hand, and cases of one such node, which are graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/forms/json/case_json.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"
#include "harness/onnx/case_model.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

Outcome answers(std::vector<Tensor> outputs) {
  return outcome::Produced{std::move(outputs)};
}

VerdictKind verdict_of(const Case& test_case, std::vector<Tensor> outputs, const Policy& policy = {}) {
  return judge(expect(test_case, policy), answers(std::move(outputs))).kind;
}

// [[1, 2], [3, 4]] . [[5, 6], [7, 8]], less the zero points.
Case matmul_integer(const std::vector<Tensor>& zero_points) {
  GraphBuilder graph(13);
  std::vector<std::string> inputs{graph.input(make::uint8({2, 2}, {1, 2, 3, 4})),
                                  graph.initializer(make::int8({2, 2}, {5, 6, 7, 8}))};
  for (const Tensor& zero_point : zero_points) inputs.push_back(graph.initializer(zero_point));
  return graph.build({graph.node("MatMulInteger", inputs)});
}

TEST(IntegerProducts, AloneAreGraphs) {
  const Case test_case = matmul_integer({make::integer(uint8, 1)});
  EXPECT_EQ(test_case.subject(), "MatMulInteger") << "reports name the operator";
  EXPECT_TRUE(is_judged_as_graph(test_case));
  EXPECT_TRUE(check_wiring(test_case));
  const Case cases[] = {test_case};
  const auto json = read_cases_json(cases_json(cases));
  ASSERT_TRUE(json) << json.error().text();
  EXPECT_EQ(json->front(), test_case);
  const auto model = case_to_model(test_case);
  ASSERT_TRUE(model) << model.error().text();
  const auto read = case_from_model(*model);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(computation_of(*read), computation_of(test_case));
}

TEST(IntegerProducts, SingleOperatorsAloneAreNone) {
  GraphBuilder graph(13);
  const Case test_case = graph.build(
      {graph.node("QuantizeLinear", {graph.input(make::float32({1}, {1})), graph.initializer(make::float32(1.0F))})});
  ASSERT_FALSE(check_wiring(test_case));
  EXPECT_THAT(check_wiring(test_case).error().text(), HasSubstr("QuantizeLinear alone stands in the case itself"));
}

TEST(IntegerProducts, SubtractZeroPointsOfRowsAndColumns) {
  const auto gives = [](const std::vector<Tensor>& zero_points, const std::vector<std::int64_t>& y) {
    return verdict_of(matmul_integer(zero_points), {make::int32({2, 2}, y)});
  };
  EXPECT_EQ(gives({}, {19, 22, 43, 50}), VerdictKind::pass);
  EXPECT_EQ(gives({}, {19, 22, 43, 51}), VerdictKind::wrong);
  EXPECT_EQ(gives({make::integer(uint8, 1)}, {7, 8, 31, 36}), VerdictKind::pass);
  EXPECT_EQ(gives({make::uint8({2}, {1, 3})}, {7, 8, 7, 8}), VerdictKind::pass);
  EXPECT_EQ(gives({make::uint8({2, 1}, {1, 3})}, {7, 8, 7, 8}), VerdictKind::pass);
  EXPECT_EQ(gives({make::integer(uint8, 0), make::int8({2}, {5, 8})}, {4, -2, 8, -6}), VerdictKind::pass);
  EXPECT_EQ(gives({make::integer(uint8, 0), make::int8({1, 2}, {5, 8})}, {4, -2, 8, -6}), VerdictKind::pass);
  EXPECT_EQ(classify(matmul_integer({make::uint8({3}, {1, 2, 3})})).expectation(), Expectation::invalid);
  EXPECT_EQ(classify(matmul_integer({make::integer(int8, 0)})).expectation(), Expectation::invalid);
}

// A vector times a matrix: a list is one of columns.
TEST(IntegerProducts, TakeZeroPointsOfColumnsBesideAVector) {
  GraphBuilder graph(13);
  const Case test_case = graph.build({graph.node(
      "MatMulInteger", {graph.input(make::uint8({2}, {1, 2})), graph.initializer(make::int8({2, 2}, {5, 6, 7, 8})), "",
                        graph.initializer(make::int8({2}, {5, 8}))})});
  EXPECT_EQ(verdict_of(test_case, {make::int32({2}, {4, -2})}), VerdictKind::pass);
}

TEST(IntegerProducts, WrapAt32Bits) {
  constexpr std::int64_t kTerms = 33026;  // * 255 * 255 exceeds 2^31 - 1
  GraphBuilder graph(13);
  const std::string y = graph.node("MatMulInteger", {graph.input(make::filled(uint8, {1, kTerms}, 255)),
                                                     graph.initializer(make::filled(uint8, {kTerms, 1}, 255))});
  const Case test_case = graph.build({y});
  EXPECT_EQ(verdict_of(test_case, {make::int32({1, 1}, {kTerms * 255 * 255 - (std::int64_t{1} << 32)})}),
            VerdictKind::pass);
  EXPECT_EQ(verdict_of(test_case, {make::int32({1, 1}, {INT32_MAX})}), VerdictKind::wrong);
}

// 3 * 1 / 2, a tie, and the zero point 10.
TEST(IntegerProducts, QLinearMatMulRoundsHalfToEven) {
  GraphBuilder graph(13);
  const auto scale = [&](float value) { return graph.initializer(make::float32(value)); };
  const auto zero = [&](std::int64_t value) { return graph.initializer(make::integer(uint8, value)); };
  const Case test_case = graph.build({graph.node(
      "QLinearMatMul", {graph.input(make::uint8({1, 1}, {3})), scale(1), zero(0),
                        graph.initializer(make::uint8({1, 1}, {1})), scale(1), zero(0), scale(2), zero(10)})});
  const auto gives = [&](std::int64_t y, Profile profile) {
    return verdict_of(test_case, {make::uint8({1, 1}, {y})}, {.profile = profile});
  };
  EXPECT_EQ(gives(12, Profile::conformance), VerdictKind::pass);
  EXPECT_EQ(gives(11, Profile::conformance), VerdictKind::wrong);
  EXPECT_EQ(gives(11, Profile::fused_q31), VerdictKind::pass);
}

Case dynamic_quantize(const std::vector<float>& x) {
  GraphBuilder graph(13);
  const auto size = static_cast<std::int64_t>(x.size());
  return graph.build(graph.nodes("DynamicQuantizeLinear", {graph.input(make::float32({size}, x))}, 3));
}

// The example of the operator's text.
TEST(IntegerProducts, DynamicQuantizeLinearIsThatOfTheText) {
  const Case test_case = dynamic_quantize({0, 2, -3, -2.5F, 1.34F, 0.5F});
  const Tensor y = make::uint8({6}, {153, 255, 0, 26, 221, 179});
  const auto gives = [&](const Tensor& quantized, float scale, std::int64_t zero_point) {
    return verdict_of(test_case, {quantized, make::float32(scale), make::integer(uint8, zero_point)});
  };
  EXPECT_EQ(gives(y, 5.0F / 255, 153), VerdictKind::pass);
  EXPECT_EQ(gives(y, 5.0F / 254, 153), VerdictKind::wrong);
  EXPECT_EQ(gives(y, 5.0F / 255, 152), VerdictKind::wrong);
  EXPECT_EQ(gives(make::uint8({6}, {153, 255, 0, 26, 222, 179}), 5.0F / 255, 153), VerdictKind::wrong);
}

// x / scale is 2.5 by the least scale that is right, and 2.49... by the largest: y follows from the backend's own.
TEST(IntegerProducts, DynamicQuantizeLinearIsJudgedByItsOwnScale) {
  const float scale = 255.0F / 255;
  const float wider = std::nextafter(scale, 2.0F);
  const Case test_case = dynamic_quantize({0, 255, 2.5F, 3.5F});
  const auto gives = [&](float own, const std::vector<std::int64_t>& y) {
    return verdict_of(test_case, {make::uint8({4}, y), make::float32(own), make::integer(uint8, 0)});
  };
  EXPECT_EQ(gives(scale, {0, 255, 2, 4}), VerdictKind::pass);
  EXPECT_EQ(gives(scale, {0, 255, 2, 3}), VerdictKind::wrong);
  EXPECT_EQ(gives(wider, {0, 255, 2, 3}), VerdictKind::pass);
  EXPECT_EQ(gives(wider, {0, 255, 3, 3}), VerdictKind::wrong);
}

TEST(IntegerProducts, ZerosLeaveTheirScaleOpen) {
  const Case test_case = dynamic_quantize({0, 0});
  for (const float scale : {0.0F, 1.0F, 1.0F / 255}) {
    EXPECT_EQ(verdict_of(test_case, {make::uint8({2}, {0, 0}), make::float32(scale), make::integer(uint8, 0)}),
              VerdictKind::pass);
  }
  EXPECT_EQ(verdict_of(test_case, {make::uint8({2}, {0, 0}), make::float32(-1), make::integer(uint8, 0)}),
            VerdictKind::wrong);
}

// Weights have 4 bits, the low ones first, less 8: row 0 is 1, 2, 0 ..., row 1 is -8, 7, 0 ...
TEST(IntegerProducts, MatMulNBitsUnpacksLowBitsFirst) {
  std::vector<float> a(16, 0);
  a[0] = 1;
  a[1] = 2;
  std::vector<std::int64_t> packed(16, 0x88);
  packed[0] = 0xA9;
  packed[8] = 0xF0;
  const auto with_level = [&](std::int64_t level) {
    GraphBuilder graph(13);
    return graph.build({graph.node(
        "MatMulNBits",
        {graph.input(make::float32({1, 16}, a)), graph.initializer(make::uint8({2, 1, 8}, packed)),
         graph.initializer(make::float32({2}, {0.5F, 2}))},
        {{"K", std::int64_t{16}}, {"N", std::int64_t{2}}, {"block_size", std::int64_t{16}}, {"accuracy_level", level}},
        "com.microsoft")});
  };
  EXPECT_EQ(verdict_of(with_level(0), {make::float32({1, 2}, {2.5F, 12})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(with_level(0), {make::float32({1, 2}, {2.5F, 12.001F})}), VerdictKind::wrong);
  EXPECT_THAT(classify(with_level(5)).deciding_remark()->text(), HasSubstr("expected 0 to 4, got 5"));
}

// Column k has the scale and the zero point of block g_idx[k]: column 0 those of block 1, all others those of block 0.
TEST(IntegerProducts, MatMulNBitsTakesTheBlockThatGIdxNames) {
  constexpr std::int64_t kColumns = 32;
  std::vector<float> a(kColumns, 0);
  a[0] = a[16] = 1;
  std::vector<std::int64_t> blocks(kColumns, 0);
  blocks[0] = 1;
  const auto with = [&](std::vector<std::int64_t> g_idx, std::int64_t level) {
    const auto count = static_cast<std::int64_t>(g_idx.size());
    GraphBuilder graph(13);
    return graph.build({graph.node(
        "MatMulNBits",
        {graph.input(make::float32({1, kColumns}, a)),
         graph.initializer(make::uint8({1, 2, 8}, std::vector<std::int64_t>(16, 0x99))),
         graph.initializer(make::float32({2}, {0.5F, 16})), graph.initializer(make::uint8({1}, {0x58})),
         graph.initializer(make::integers(int32, {count}, g_idx))},
        {{"K", kColumns}, {"N", std::int64_t{1}}, {"block_size", std::int64_t{16}}, {"accuracy_level", level}},
        "com.microsoft")});
  };
  const float right = (9 - 5) * 16 + (9 - 8) * 0.5F;
  EXPECT_EQ(verdict_of(with(blocks, 0), {make::float32({1, 1}, {right})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(with(blocks, 0), {make::float32({1, 1}, {right - 48})}), VerdictKind::wrong)
      << "the zero point of block 0 in both";
  EXPECT_THAT(classify(with(blocks, 4)).deciding_remark()->text(), HasSubstr("beside accuracy_level 4 is not judged"));
  EXPECT_THAT(classify(with({0, 1}, 0)).deciding_remark()->text(), HasSubstr("expected int32 of 32 elements"));
  blocks[5] = 2;
  EXPECT_THAT(classify(with(blocks, 0)).deciding_remark()->text(), HasSubstr("expected blocks 0 to 1, got 2"));
}

Case topk(const std::vector<float>& x, std::int64_t k, std::vector<Attribute> attributes) {
  GraphBuilder graph(13);
  const auto size = static_cast<std::int64_t>(x.size());
  return graph.build(graph.nodes("TopK",
                                 {graph.node("Identity", {graph.input(make::float32({size}, x))}),
                                  graph.initializer(make::integers(int64, {1}, {k}))},
                                 2, std::move(attributes)));
}

TEST(TopK, PutsTheLowerIndexFirst) {
  const Case test_case = topk({2, 5, 5, 1}, 3, {});
  const auto gives = [&](const Case& of, const std::vector<float>& y, const std::vector<std::int64_t>& at) {
    return verdict_of(of, {make::float32({3}, y), make::integers(int64, {3}, at)});
  };
  EXPECT_EQ(gives(test_case, {5, 5, 2}, {1, 2, 0}), VerdictKind::pass);
  EXPECT_EQ(gives(test_case, {5, 5, 2}, {2, 1, 0}), VerdictKind::wrong);
  EXPECT_EQ(gives(topk({2, 5, 5, 1}, 3, {{"largest", std::int64_t{0}}}), {1, 2, 5}, {3, 0, 1}), VerdictKind::pass);
  EXPECT_EQ(gives(topk({2, 5, 5, 1}, 3, {{"sorted", std::int64_t{0}}}), {2, 5, 5}, {0, 1, 2}), VerdictKind::pass);
  EXPECT_EQ(gives(topk({2, 5, 5, 1}, 3, {{"sorted", std::int64_t{0}}}), {2, 5, 1}, {0, 1, 3}), VerdictKind::wrong);
}

}  // namespace
}  // namespace qconform
