// Attention, RotaryEmbedding and Einsum: values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

using enum ElementType;

VerdictKind verdict_of(const Case& test_case, std::vector<Tensor> outputs) {
  return judge(expect(test_case, {}), outcome::Produced{std::move(outputs)}).kind;
}

std::string refusal_of(const Case& test_case) {
  const auto violation = classify(test_case).contract.violation;
  return violation ? violation->text() : "";
}

/// A node behind a DequantizeLinear of its first input, which makes a graph of it; "" is an omitted input.
class BehindDequantize {
 public:
  BehindDequantize(std::string op_type, const Tensor& x, std::int64_t opset = 23)
      : op_type_(std::move(op_type)), graph_(opset) {
    inputs_.push_back(graph_.node("DequantizeLinear", {graph_.input(x), graph_.initializer(make::float32(1))}));
  }
  BehindDequantize& with(Tensor tensor) {
    inputs_.push_back(graph_.initializer(std::move(tensor)));
    return *this;
  }
  BehindDequantize& without() {
    inputs_.emplace_back();
    return *this;
  }
  [[nodiscard]] Case build(std::vector<Attribute> attributes = {}, std::size_t outputs = 1) {
    return graph_.build(graph_.nodes(op_type_, inputs_, outputs, std::move(attributes)));
  }

 private:
  std::string op_type_;
  GraphBuilder graph_;
  std::vector<std::string> inputs_;
};

constexpr float kNever = -std::numeric_limits<float>::infinity();

// One head of size 1, one query of 1 by two keys: scores are the keys.
BehindDequantize two_keys(const std::vector<float>& keys, std::int64_t opset = 23) {
  return BehindDequantize("Attention", make::uint8({1, 1, 1, 1}, {1}), opset)
      .with(make::float32({1, 1, 2, 1}, keys))
      .with(make::float32({1, 1, 2, 1}, {8, -8}));
}

Tensor number(float y) {
  return make::float32({1, 1, 1, 1}, {y});
}

float weighted(double first, double second) {
  const double a = std::exp(first);
  const double b = std::exp(second);
  return static_cast<float>(8 * (a - b) / (a + b));
}

TEST(Attention, WeighsValuesByTheSoftmaxOfItsScores) {
  const Case plain = two_keys({1, 0}).build();
  EXPECT_EQ(verdict_of(plain, {number(weighted(1, 0))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(plain, {number(weighted(1, 0) * 1.001F)}), VerdictKind::wrong);
  const Case scaled = two_keys({1, 0}).build({{"scale", 2.0F}});
  EXPECT_EQ(verdict_of(scaled, {number(weighted(2, 0))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(scaled, {number(weighted(1, 0))}), VerdictKind::wrong);
}

TEST(Attention, MasksByTruthOrByNumbers) {
  const Case truth = two_keys({1, 0}).with(make::integers(boolean, {1, 2}, {0, 1})).build();
  EXPECT_EQ(verdict_of(truth, {number(-8)}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(truth, {number(weighted(1, 0))}), VerdictKind::wrong);
  const Case moved = two_keys({1, 0}).with(make::float32({1, 2}, {0, 3})).build();
  EXPECT_EQ(verdict_of(moved, {number(weighted(1, 3))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(moved, {number(weighted(1, 0))}), VerdictKind::wrong);
  for (const float never : {kNever, std::numeric_limits<float>::lowest(), -10000.0F}) {
    const Case hidden = two_keys({1, 0}).with(make::float32({1, 2}, {never, 0})).build();
    EXPECT_EQ(verdict_of(hidden, {number(-8)}), VerdictKind::pass) << never;
    EXPECT_EQ(verdict_of(hidden, {number(-7.9F)}), VerdictKind::wrong) << never;
  }
}

// The newest text has zeros, older ones have no number.
TEST(Attention, LeavesARowThatIsMaskedOpen) {
  const Case none = two_keys({1, 0}).with(make::integers(boolean, {1, 2}, {0, 0})).build();
  for (const float any : {0.0F, 5.0F}) EXPECT_NE(verdict_of(none, {number(any)}), VerdictKind::wrong) << any;
}

// Releases differ in whether the cap of 1 comes before the mask or behind it.
TEST(Attention, CapsScoresBeforeTheMaskOrBehindIt) {
  const std::vector<Attribute> cap{{"softcap", 1.0F}};
  const Case free = two_keys({1, 0}).build(cap);
  EXPECT_EQ(verdict_of(free, {number(weighted(std::tanh(1.0), 0))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(free, {number(weighted(1, 0))}), VerdictKind::wrong);
  const Case moved = two_keys({1, 0}).with(make::float32({1, 2}, {0, 3})).build(cap);
  EXPECT_EQ(verdict_of(moved, {number(weighted(std::tanh(1.0), 3))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(moved, {number(weighted(std::tanh(1.0), std::tanh(3.0)))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(moved, {number(weighted(0, 3))}), VerdictKind::wrong);
  const Case hidden = two_keys({1, 0}).with(make::integers(boolean, {1, 2}, {0, 1})).build(cap);
  EXPECT_EQ(verdict_of(hidden, {number(-8)}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(hidden, {number(weighted(-1, 0))}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(hidden, {number(weighted(0, 0))}), VerdictKind::wrong);
}

TEST(Attention, AQuerySeesWhatLiesBeforeIt) {
  // The second of two queries sees both keys, which are alike; the first one its own.
  const auto causal = [](std::int64_t opset, std::vector<Attribute> attributes) {
    return BehindDequantize("Attention", make::uint8({1, 1, 2, 1}, {1, 1}), opset)
        .with(make::float32({1, 1, 2, 1}, {0, 0}))
        .with(make::float32({1, 1, 2, 1}, {8, -8}))
        .build(std::move(attributes));
  };
  const Tensor seen = make::float32({1, 1, 2, 1}, {8, 0});
  EXPECT_EQ(verdict_of(causal(23, {{"is_causal", std::int64_t{1}}}), {seen}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(causal(23, {}), {seen}), VerdictKind::wrong);
  EXPECT_EQ(verdict_of(causal(25, {{"right_window_size", std::int64_t{0}}}), {seen}), VerdictKind::pass);
  const Tensor own = make::float32({1, 1, 2, 1}, {8, -8});
  EXPECT_EQ(verdict_of(causal(25, {{"is_causal", std::int64_t{1}}, {"left_window_size", std::int64_t{0}}}), {own}),
            VerdictKind::pass);
}

TEST(Attention, AppendsToTheCache) {
  const Case cached = BehindDequantize("Attention", make::uint8({1, 1, 1, 1}, {1}))
                          .with(make::float32({1, 1, 1, 1}, {0}))
                          .with(make::float32({1, 1, 1, 1}, {-8}))
                          .without()
                          .with(make::float32({1, 1, 1, 1}, {1}))
                          .with(make::float32({1, 1, 1, 1}, {8}))
                          .build({{"is_causal", std::int64_t{1}}}, 3);
  const Tensor keys = make::float32({1, 1, 2, 1}, {1, 0});
  const Tensor values = make::float32({1, 1, 2, 1}, {8, -8});
  EXPECT_EQ(verdict_of(cached, {number(weighted(1, 0)), keys, values}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(cached, {number(weighted(1, 0)), values, keys}), VerdictKind::wrong);
}

// Four heads of queries by two of keys, each of size 1, in one axis.
TEST(Attention, GroupsOfHeadsShareKeysAndValues) {
  const Case grouped = BehindDequantize("Attention", make::uint8({1, 1, 4}, {1, 1, 1, 1}))
                           .with(make::float32({1, 1, 2}, {0, 0}))
                           .with(make::float32({1, 1, 2}, {8, -8}))
                           .build({{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  EXPECT_EQ(verdict_of(grouped, {make::float32({1, 1, 4}, {8, 8, -8, -8})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(grouped, {make::float32({1, 1, 4}, {8, -8, 8, -8})}), VerdictKind::wrong);
}

TEST(Attention, NamesWhatIsNotJudged) {
  EXPECT_EQ(refusal_of(two_keys({1, 0}).build({{"softmax_precision", std::int64_t{10}}})),
            "nodes[1].softmax_precision: another type than that of Q is not judged [rule limit]");
  EXPECT_EQ(refusal_of(two_keys({1, 0}).build({}, 4)), "nodes[1].outputs: scores are not judged [rule limit]");
  EXPECT_EQ(refusal_of(two_keys({1, 0}).with(make::float32({3}, {0, 0, 0})).build()),
            "nodes[1].attn_mask: [3] does not broadcast to [1, 1, 1, 2] [rule Attention]");
  EXPECT_EQ(
      refusal_of(BehindDequantize("Attention", make::uint8({1, 1, 4}, {1, 1, 1, 1}))
                     .with(make::float32({1, 1, 2}, {0, 0}))
                     .with(make::float32({1, 1, 2}, {8, -8}))
                     .build({{"q_num_heads", std::int64_t{3}}, {"kv_num_heads", std::int64_t{2}}})),
      "nodes[1].q_num_heads: expected a divisor of the last of 3 dimensions, got 3 for [1, 1, 4] [rule Attention]");
}

// One head of size 1 on x of 1 and 2, with weights of 2, 1 and 3: queries 2, 4; keys 1, 2; values 3 - 5, 6 - 5.
Case quantized_attention(std::vector<Attribute> attributes, std::optional<Tensor> mask = {}) {
  GraphBuilder graph(13);
  std::vector<std::string> inputs{graph.input(make::uint8({1, 2, 1}, {3, 5})),
                                  graph.initializer(make::int8({1, 3}, {4, 2, 6})),
                                  graph.initializer(make::float32({3}, {0, 0, -5})),
                                  graph.initializer(make::float32(0.5F)),
                                  graph.initializer(make::float32(0.5F)),
                                  mask ? graph.initializer(*mask) : "",
                                  graph.initializer(make::integer(uint8, 1))};
  attributes.push_back({"num_heads", std::int64_t{1}});
  return graph.build({graph.node("QAttention", inputs, std::move(attributes), "com.microsoft")});
}

TEST(QAttention, ScalesTheSumAndAttends) {
  const auto row = [](double difference) {
    const double second = 1 / (1 + std::exp(-difference));
    return static_cast<float>(-2 + 3 * second);
  };
  const auto gives = [](float first, float second) {
    return std::vector<Tensor>{make::float32({1, 2, 1}, {first, second})};
  };
  EXPECT_EQ(verdict_of(quantized_attention({}), gives(row(2), row(4))), VerdictKind::pass);
  EXPECT_EQ(verdict_of(quantized_attention({}), gives(row(2), row(2))), VerdictKind::wrong);
  EXPECT_EQ(verdict_of(quantized_attention({{"scale", 0.5F}}), gives(row(1), row(2))), VerdictKind::pass);
  EXPECT_EQ(verdict_of(quantized_attention({{"unidirectional", std::int64_t{1}}}), gives(-2, row(4))),
            VerdictKind::pass);
  for (const Tensor& mask : {make::int32({1}, {1}), make::int32({1, 2}, {1, 0})}) {
    EXPECT_EQ(verdict_of(quantized_attention({}, mask), gives(-2, -2)), VerdictKind::pass);
    EXPECT_EQ(verdict_of(quantized_attention({}, mask), gives(-2, row(4))), VerdictKind::wrong);
  }
  EXPECT_EQ(refusal_of(quantized_attention({{"do_rotary", std::int64_t{1}}})),
            "nodes[0].do_rotary: is not judged [rule limit]");
}

// A quarter turn at position 1: (a, b) becomes (-b, a).
TEST(RotaryEmbedding, TurnsPairsByTheAngleOfTheirPosition) {
  const auto turned = [](std::vector<Attribute> attributes) {
    return BehindDequantize("RotaryEmbedding", make::uint8({1, 1, 2, 5}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}))
        .with(make::float32({3, 2}, {5, 5, 0, 0, 1, 1}))
        .with(make::float32({3, 2}, {5, 5, 1, 1, 0, 0}))
        .with(make::integers(int64, {1, 2}, {1, 2}))
        .build(std::move(attributes));
  };
  const Attribute four{"rotary_embedding_dim", std::int64_t{4}};
  const Case halves = turned({four});
  const Tensor by_halves = make::float32({1, 1, 2, 5}, {-3, -4, 1, 2, 5, 1, 2, 3, 4, 5});
  const Tensor by_neighbours = make::float32({1, 1, 2, 5}, {-2, 1, -4, 3, 5, 1, 2, 3, 4, 5});
  EXPECT_EQ(verdict_of(halves, {by_halves}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(halves, {by_neighbours}), VerdictKind::wrong);
  EXPECT_EQ(verdict_of(turned({four, {"interleaved", std::int64_t{1}}}), {by_neighbours}), VerdictKind::pass);
  EXPECT_EQ(refusal_of(turned({})),
            "nodes[1].rotary_embedding_dim: expected an even number up to 5, got 5 [rule RotaryEmbedding]");
}

TEST(RotaryEmbedding, FindsHeadsInTheLastAxis) {
  const auto turned = [](std::vector<float> angles) {
    return BehindDequantize("RotaryEmbedding", make::uint8({1, 1, 4}, {1, 2, 3, 4}))
        .with(make::float32({1, 1, 1}, {angles[0]}))
        .with(make::float32({1, 1, 1}, {angles[1]}))
        .build({{"num_heads", std::int64_t{2}}});
  };
  EXPECT_EQ(verdict_of(turned({0, 1}), {make::float32({1, 1, 4}, {-2, 1, -4, 3})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(turned({0, 1}), {make::float32({1, 1, 4}, {-3, -4, 1, 2})}), VerdictKind::wrong);
  // 3 * 0.6 - 4 * 0.8 is no sum of exact products.
  EXPECT_EQ(verdict_of(turned({0.6F, 0.8F}), {make::float32({1, 1, 4}, {-1, 2, -1.4F, 4.8F})}), VerdictKind::pass);
}

// Its position_ids of one element stand for the first position.
TEST(RotaryEmbedding, OfMicrosoftCountsFromOnePosition) {
  GraphBuilder graph(13);
  const std::string x = graph.node(
      "DequantizeLinear", {graph.input(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4})), graph.initializer(make::float32(1))});
  const std::string cos = graph.initializer(make::float32({3, 1}, {5, 0, 1}));
  const std::string sin = graph.initializer(make::float32({3, 1}, {5, 1, 0}));
  const std::string first = graph.initializer(make::integers(int64, {1}, {1}));
  const Case test_case = graph.build({graph.node("RotaryEmbedding", {x, first, cos, sin}, {}, "com.microsoft")});
  EXPECT_EQ(verdict_of(test_case, {make::float32({1, 1, 2, 2}, {-2, 1, 3, 4})}), VerdictKind::pass);
}

Case einsum(const std::string& equation) {
  return BehindDequantize("Einsum", make::uint8({2, 3}, {1, 2, 3, 4, 5, 6}))
      .with(make::float32({2, 3}, {1, 0, 0, 0, 1, -1}))
      .build({{"equation", equation}});
}

TEST(Einsum, IsAProductOfMatrices) {
  EXPECT_EQ(verdict_of(einsum("ik,jk->ij"), {make::float32({2, 2}, {1, -1, 4, -1})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(einsum("ik,jk->ij"), {make::float32({2, 2}, {1, 4, -1, -1})}), VerdictKind::wrong);
  EXPECT_EQ(verdict_of(einsum("ik, jk -> ji"), {make::float32({2, 2}, {1, 4, -1, -1})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(einsum("ki,kj"), {make::float32({3, 3}, {1, 4, -4, 2, 5, -5, 3, 6, -6})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(einsum("ij,ij->i"), {make::float32({2}, {1, -1})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(einsum("ij,ij->ji"), {make::float32({3, 2}, {1, 0, 0, 5, 0, -6})}), VerdictKind::pass);
  EXPECT_EQ(verdict_of(einsum("ij,ij->"), {make::float32({}, {0})}), VerdictKind::pass);
}

TEST(Einsum, NamesEquationsThatAreNotJudged) {
  EXPECT_EQ(refusal_of(einsum("ii,jk->jk")),
            "nodes[1].equation: 'ii,jk->jk' has a label twice in one term: it is not judged [rule limit]");
  EXPECT_EQ(refusal_of(einsum("ij,kj->i")),
            "nodes[1].equation: 'ij,kj->i' sums one operand alone: it is not judged [rule limit]");
  EXPECT_EQ(refusal_of(einsum("...j,...j->...")),
            "nodes[1].equation: '...j,...j->...' has other than letters: it is not judged [rule limit]");
  EXPECT_EQ(refusal_of(einsum("ij")), "nodes[1].equation: 'ij' has not two operands: it is not judged [rule limit]");
  EXPECT_EQ(refusal_of(einsum("ij,jk->ik")),
            "nodes[1].equation: expected dimensions of one size for the label j, got 3 and 2 [rule Einsum]");
}

}  // namespace
}  // namespace qconform
