// QMoE: layers of experts against plain sums in binary64, and the layers that are not judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using enum ElementType;

using Numbers = std::vector<double>;

constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kExpertCount = 4;
constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kInner = 64;

/// Number `i` of the numbers below `range` that a salt stands for.
std::int64_t scattered(std::int64_t i, std::int64_t salt, std::int64_t range) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(i * 1000 + salt) * 0x9E3779B97F4A7C15U;
  return static_cast<std::int64_t>(mixed >> 40) % range;
}

double squashed(double x) {
  return 1 / (1 + std::exp(-x));
}

/// One matrix of every expert, quantized: all rows of the first expert, then those of the next.
struct TestedMatrices {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t bits;
  std::int64_t block;  ///< 0: a scale for each row
  bool has_zero_points;
  std::int64_t salt;

  [[nodiscard]] std::int64_t code(std::int64_t i) const { return scattered(i, salt, std::int64_t{1} << bits); }
  [[nodiscard]] std::int64_t blocks() const { return block == 0 ? 1 : columns / block; }
  [[nodiscard]] float scale(std::int64_t parameter) const {
    return std::ldexp(static_cast<float>(5 + scattered(parameter, salt + 1, 7)), -4 - static_cast<int>(bits));
  }
  [[nodiscard]] std::int64_t zero_point(std::int64_t parameter) const {
    const std::int64_t middle = std::int64_t{1} << (bits - 1);
    return has_zero_points ? middle - 1 + scattered(parameter, salt + 2, 3) : middle;
  }
  [[nodiscard]] float bias(std::int64_t expert, std::int64_t row) const {
    return static_cast<float>(scattered(expert * rows + row, salt + 3, 17) - 8) / 8;
  }

  [[nodiscard]] Numbers times(std::int64_t expert, const Numbers& x) const {
    Numbers y;
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = bias(expert, row);
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::int64_t at = expert * rows + row;
        const std::int64_t parameter = at * blocks() + (block == 0 ? 0 : i / block);
        const auto centred = static_cast<double>(code(at * columns + i) - zero_point(parameter));
        sum += x[static_cast<std::size_t>(i)] * centred * scale(parameter);
      }
      y.push_back(sum);
    }
    return y;
  }

  // Low bits first; a row of `length` numbers fills whole bytes.
  template <typename Number>
  [[nodiscard]] Tensor packed(std::int64_t row_count, std::int64_t length, std::vector<std::int64_t> shape,
                              Number number) const {
    const std::int64_t held = 8 / bits;
    std::vector<std::int64_t> bytes;
    for (std::int64_t row = 0; row < row_count; ++row) {
      for (std::int64_t i = 0; i < length; i += held) {
        std::int64_t byte = 0;
        for (std::int64_t j = 0; j < held && i + j < length; ++j) byte |= number(row * length + i + j) << (j * bits);
        bytes.push_back(byte);
      }
    }
    return make::uint8(std::move(shape), bytes);
  }
  [[nodiscard]] Tensor weights() const {
    return packed(kExpertCount * rows, columns, {kExpertCount, rows, columns * bits / 8},
                  [&](std::int64_t i) { return code(i); });
  }
  [[nodiscard]] Tensor zero_points() const {
    const auto number = [&](std::int64_t i) { return zero_point(i); };
    if (block == 0) return packed(kExpertCount, rows, {kExpertCount, (rows * bits + 7) / 8}, number);
    return packed(kExpertCount * rows, blocks(), {kExpertCount, rows, (blocks() * bits + 7) / 8}, number);
  }
  [[nodiscard]] Tensor scales() const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < kExpertCount * rows * blocks(); ++i) values.push_back(scale(i));
    std::vector<std::int64_t> shape{kExpertCount, rows};
    if (block != 0) shape.push_back(blocks());
    return make::float32(std::move(shape), values);
  }
  [[nodiscard]] Tensor biases() const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < kExpertCount * rows; ++i) values.push_back(bias(i / rows, i % rows));
    return make::float32({kExpertCount, rows}, values);
  }
};

/// Three tokens and four experts, the last of which no token chooses.
struct TestedLayer {
  std::string activation = "relu";
  std::int64_t bits = 4;
  std::int64_t block = 0;
  std::int64_t fusion = 0;
  std::int64_t level = 0;
  bool has_zero_points = false;
  bool normalizes = true;
  bool has_weights = false;  ///< router_weights
  float alpha = 1.702F;
  float beta = 1;
  float limit = 1.5F;
  std::vector<Attribute> further = {};
  std::vector<float> logits = {0.5F, 2, -1, -3, 1.25F, -0.5F, 3, -2.5F, -2, 1, 0.25F, -4};

  [[nodiscard]] bool is_swiglu() const { return activation == "swiglu"; }
  [[nodiscard]] TestedMatrices first() const {
    return {is_swiglu() && fusion != 0 ? 2 * kInner : kInner, kHidden, bits, block, has_zero_points, 1};
  }
  [[nodiscard]] TestedMatrices last() const { return {kHidden, kInner, bits, block, has_zero_points, 9}; }
  [[nodiscard]] TestedMatrices linear() const { return {kInner, kHidden, bits, block, has_zero_points, 17}; }

  static float token(std::int64_t i) { return static_cast<float>(scattered(i, 5, 65) - 32) / 16; }
  static float router_weight(std::int64_t i) { return static_cast<float>(1 + scattered(i, 3, 9)) / 16; }

  [[nodiscard]] Case build() const;
  [[nodiscard]] Numbers answer() const;

 private:
  [[nodiscard]] std::vector<Attribute> attributes() const;
  [[nodiscard]] std::vector<std::int64_t> chosen_by(std::int64_t token) const;
  [[nodiscard]] Numbers gates_of(std::int64_t token, const std::vector<std::int64_t>& chosen) const;
  [[nodiscard]] Numbers activated(std::int64_t expert, const Numbers& x) const;
};

std::vector<Attribute> TestedLayer::attributes() const {
  std::vector<Attribute> result{{"k", std::int64_t{2}}, {"activation_type", activation}, {"expert_weight_bits", bits}};
  if (block != 0) result.push_back({"block_size", block});
  if (level != 0) result.push_back({"accuracy_level", level});
  if (normalizes) result.push_back({"normalize_routing_weights", std::int64_t{1}});
  if (is_swiglu()) {
    result.push_back({"swiglu_fusion", fusion});
    result.push_back({"activation_alpha", alpha});
    result.push_back({"activation_beta", beta});
    result.push_back({"swiglu_limit", limit});
  }
  result.insert(result.end(), further.begin(), further.end());
  return result;
}

Case TestedLayer::build() const {
  GraphBuilder graph(21);
  std::vector<float> tokens;
  for (std::int64_t i = 0; i < kTokens * kHidden; ++i) tokens.push_back(token(i));
  std::vector<std::string> inputs{graph.input(make::float32({1, kTokens, kHidden}, tokens)),
                                  graph.input(make::float32({kTokens, kExpertCount}, logits))};
  inputs.resize(15);
  const auto add = [&](const TestedMatrices& matrices, std::size_t at, std::size_t zero_points) {
    inputs[at] = graph.initializer(matrices.weights());
    inputs[at + 1] = graph.initializer(matrices.scales());
    inputs[at + 2] = graph.initializer(matrices.biases());
    if (has_zero_points) inputs[zero_points] = graph.initializer(matrices.zero_points());
  };
  add(first(), 2, 11);
  add(last(), 5, 12);
  if (is_swiglu() && fusion == 0) add(linear(), 8, 13);
  if (has_weights) {
    std::vector<float> weights;
    for (std::int64_t i = 0; i < kTokens * kExpertCount; ++i) weights.push_back(router_weight(i));
    inputs[14] = graph.initializer(make::float32({kTokens, kExpertCount}, weights));
  }
  while (inputs.back().empty()) inputs.pop_back();
  return graph.build({graph.node("QMoE", inputs, attributes(), "com.microsoft")});
}

std::vector<std::int64_t> TestedLayer::chosen_by(std::int64_t token) const {
  std::vector<std::int64_t> order{0, 1, 2, 3};
  const auto logit = [&](std::int64_t expert) {
    return logits[static_cast<std::size_t>(token * kExpertCount + expert)];
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return logit(a) > logit(b); });
  return {order[0], order[1]};
}

Numbers TestedLayer::gates_of(std::int64_t token, const std::vector<std::int64_t>& chosen) const {
  const auto weight = [&](std::int64_t expert) {
    const std::int64_t at = token * kExpertCount + expert;
    return has_weights ? router_weight(at) : std::exp(double{logits[static_cast<std::size_t>(at)]});
  };
  const double sum = has_weights && !normalizes ? 1 : weight(chosen[0]) + weight(chosen[1]);
  return {weight(chosen[0]) / sum, weight(chosen[1]) / sum};
}

Numbers TestedLayer::activated(std::int64_t expert, const Numbers& x) const {
  const Numbers sums = first().times(expert, x);
  const Numbers others = is_swiglu() && fusion == 0 ? linear().times(expert, x) : Numbers();
  Numbers result;
  for (std::size_t i = 0; i < std::size_t{kInner}; ++i) {
    const double value = sums[i];
    if (activation == "relu") result.push_back(std::max(value, 0.0));
    if (activation == "identity") result.push_back(value);
    if (activation == "silu") result.push_back(value * squashed(value));
    if (activation == "gelu") result.push_back(value / 2 * (1 + std::erf(value / std::sqrt(2.0))));
    if (!is_swiglu()) continue;
    const std::size_t inner{kInner};
    const double gate = std::min<double>(fusion == 1 ? sums[2 * i] : sums[i], limit);
    const double other = fusion == 0 ? others[i] : fusion == 1 ? sums[2 * i + 1] : sums[inner + i];
    result.push_back(gate * squashed(alpha * gate) * (std::clamp<double>(other, -limit, limit) + beta));
  }
  return result;
}

Numbers TestedLayer::answer() const {
  Numbers y;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    Numbers x;
    for (std::int64_t i = 0; i < kHidden; ++i) x.push_back(token(t * kHidden + i));
    const std::vector<std::int64_t> chosen = chosen_by(t);
    const Numbers gates = gates_of(t, chosen);
    const Numbers a = last().times(chosen[0], activated(chosen[0], x));
    const Numbers b = last().times(chosen[1], activated(chosen[1], x));
    for (std::size_t i = 0; i < a.size(); ++i) y.push_back(gates[0] * a[i] + gates[1] * b[i]);
  }
  return y;
}

double largest_of(const Numbers& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::fabs(number));
  return largest;
}

VerdictKind verdict_of_layer(const Case& test_case, const Numbers& answer) {
  const Tensor y = make::float32({1, kTokens, kHidden}, std::vector<float>(answer.begin(), answer.end()));
  return judge(expect(test_case, {}), outcome::Produced{{y}}).kind;
}

bool is_right(const Case& test_case, const Numbers& answer) {
  const VerdictKind kind = verdict_of_layer(test_case, answer);
  return kind == VerdictKind::pass || kind == VerdictKind::vacuous;
}

// The plain answer is right; each of its elements is wrong where it is off by that part of the largest.
void expect_judged(const TestedLayer& layer, double off) {
  const Case test_case = layer.build();
  const auto violation = classify(test_case).contract.violation;
  ASSERT_FALSE(violation) << violation->text();
  const Numbers right = layer.answer();
  EXPECT_TRUE(is_right(test_case, right));
  const double largest = largest_of(right);
  for (const std::size_t i : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
    Numbers wrong = right;
    wrong[i] += off * largest;
    EXPECT_EQ(verdict_of_layer(test_case, wrong), VerdictKind::wrong) << "element " << i;
  }
}

std::string refusal_of_layer(const TestedLayer& layer) {
  const auto violation = classify(layer.build()).contract.violation;
  return violation ? violation->text() : "";
}

TEST(Experts, EveryActivationIsJudged) {
  for (const std::int64_t bits : {2, 4, 8}) {
    for (const char* activation : {"relu", "identity", "silu"}) {
      SCOPED_TRACE(std::string(activation) + " of bits " + std::to_string(bits));
      expect_judged({.activation = activation, .bits = bits}, 0x1p-8);
    }
  }
}

TEST(Experts, GeluIsEitherForm) {
  expect_judged({.activation = "gelu"}, 0.02);
}

TEST(Experts, SwigluHasItsPartsInOneMatrixOrInTwo) {
  for (const std::int64_t fusion : {0, 1, 2}) {
    SCOPED_TRACE("fusion " + std::to_string(fusion));
    expect_judged({.activation = "swiglu", .fusion = fusion}, 0x1p-8);
    expect_judged({.activation = "swiglu", .bits = 8, .fusion = fusion, .limit = 0.25F}, 0x1p-8);
  }
  const TestedLayer by_turns{.activation = "swiglu", .fusion = 1};
  const TestedLayer in_halves{.activation = "swiglu", .fusion = 2};
  EXPECT_EQ(verdict_of_layer(by_turns.build(), in_halves.answer()), VerdictKind::wrong);
}

TEST(Experts, ScalesAndZeroPointsAreThoseOfRowsOrBlocks) {
  for (const std::int64_t block : {0, 16}) {
    for (const std::int64_t bits : {2, 4}) {
      SCOPED_TRACE("block " + std::to_string(block) + ", bits " + std::to_string(bits));
      expect_judged({.activation = "silu", .bits = bits, .block = block}, 0x1p-8);
      expect_judged({.activation = "silu", .bits = bits, .block = block, .has_zero_points = true}, 0x1p-8);
    }
  }
  expect_judged({.activation = "silu", .bits = 8, .has_zero_points = true}, 0x1p-8);
  const TestedLayer without{.block = 16};
  const TestedLayer with{.block = 16, .has_zero_points = true};
  EXPECT_EQ(verdict_of_layer(with.build(), without.answer()), VerdictKind::wrong);
}

// Blocks of 8 bits, and level 4, let activations have 8 bits: the sets are wider.
TEST(Experts, BlocksMayTakeCodesOfActivations) {
  expect_judged({.activation = "silu", .bits = 8, .block = 16}, 0.5);
  expect_judged({.activation = "silu", .bits = 4, .block = 16, .level = 4}, 0.5);
}

TEST(Experts, TheLogitsChoose) {
  TestedLayer layer;
  const Case test_case = layer.build();
  layer.logits = {0.5F, 2, -1, 3, 1.25F, -0.5F, 3, 4, -2, 1, 0.25F, 5};
  EXPECT_EQ(verdict_of_layer(test_case, layer.answer()), VerdictKind::wrong);
}

TEST(Experts, RouterWeightsAreTheGates) {
  for (const bool normalizes : {false, true}) {
    expect_judged({.activation = "silu", .normalizes = normalizes, .has_weights = true}, 0x1p-8);
  }
  const TestedLayer normalized{.has_weights = true};
  const TestedLayer as_stated{.normalizes = false, .has_weights = true};
  EXPECT_EQ(verdict_of_layer(as_stated.build(), normalized.answer()), VerdictKind::wrong);
}

// The softmax of the chosen logits, or that of all, is right; nothing below is.
TEST(Experts, GatesThatAreNotNormalizedAreBetweenBothForms) {
  const TestedLayer layer{.activation = "identity", .normalizes = false};
  const Case test_case = layer.build();
  Numbers y = layer.answer();
  EXPECT_TRUE(is_right(test_case, y));
  for (double& value : y) value /= 2;
  EXPECT_EQ(verdict_of_layer(test_case, y), VerdictKind::wrong);
}

TEST(Experts, AChoiceHasToBeCertain) {
  TestedLayer tie;
  tie.logits[2] = tie.logits[0];
  EXPECT_THAT(refusal_of_layer(tie),
              HasSubstr("row 0 chooses between experts 0 and 2 by 0.5 and 0.5: the choice is not "
                        "certain"));
  TestedLayer near_tie;
  near_tie.logits[2] = std::nextafter(near_tie.logits[0], 0.0F);
  EXPECT_THAT(refusal_of_layer(near_tie), HasSubstr("the choice is not certain"));
  TestedLayer among_chosen;
  among_chosen.logits[0] = among_chosen.logits[1];
  EXPECT_EQ(refusal_of_layer(among_chosen), "");
  TestedLayer underflow;
  underflow.logits = {0, 100, -10, -20, 1.25F, -0.5F, 3, -2.5F, -2, 1, 0.25F, -4};
  EXPECT_THAT(refusal_of_layer(underflow), HasSubstr("between experts 0 and 2"));
  TestedLayer infinite;
  infinite.logits[3] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(refusal_of_layer(infinite), HasSubstr("router_probs: inf in row 0 is not judged"));
}

TEST(Experts, AComputedRouterIsNotJudged) {
  GraphBuilder graph(21);
  const TestedMatrices matrices{16, 16, 8, 0, false, 1};
  const std::string x = graph.input(make::float32({1, 16}, std::vector<float>(16, 1)));
  const std::string router = graph.node("Relu", {graph.input(make::float32({1, 4}, {1, 2, 3, 4}))});
  const std::string weights = graph.initializer(matrices.weights());
  const std::string scales = graph.initializer(matrices.scales());
  const Case test_case = graph.build({graph.node("QMoE", {x, router, weights, scales, "", weights, scales},
                                                 {{"expert_weight_bits", std::int64_t{8}}}, "com.microsoft")});
  const auto violation = classify(test_case).contract.violation;
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->rule, "limit");
  EXPECT_THAT(violation->text(), HasSubstr("is computed: the experts that it chooses are not known"));
}

TEST(Experts, OtherLayersAreNotJudged) {
  const auto with = [](Attribute attribute) { return refusal_of_layer({.further = {std::move(attribute)}}); };
  EXPECT_THAT(with({"quant_type", std::string("fp4")}), HasSubstr("quant_type: 'fp4' is not judged [rule limit]"));
  EXPECT_THAT(with({"use_sparse_mixer", std::int64_t{1}}), HasSubstr("use_sparse_mixer: 1 is not judged [rule limit]"));
  EXPECT_THAT(with({"weights_prepacked", std::int64_t{1}}), HasSubstr("weights_prepacked: 1 is not judged"));
  EXPECT_THAT(with({"fc2_expert_weight_bits", std::int64_t{3}}), HasSubstr("fc2_expert_weight_bits: 3 is not judged"));
  EXPECT_THAT(with({"fc1_expert_weight_bits", std::int64_t{8}}),
              HasSubstr("fc1_experts_weights: expected shape [4, 16, 32], got [4, 16, 16] [rule QMoE]"));
  EXPECT_THAT(with({"block_size", std::int64_t{24}}), HasSubstr("expected a power of two from 16 on, got 24"));
  EXPECT_THAT(refusal_of_layer({.activation = "geglu"}), HasSubstr("activation_type: 'geglu' is not judged"));
  EXPECT_THAT(refusal_of_layer({.activation = "tanh"}),
              HasSubstr("expected relu, gelu, silu, swiglu or identity, got tanh"));
  EXPECT_THAT(refusal_of_layer({.bits = 4, .block = 64, .has_zero_points = true}),
              HasSubstr("fc2_zero_points: those of 1 blocks of 4 bits fill no bytes [rule limit]"));
  EXPECT_THAT(refusal_of_layer({.activation = "swiglu", .limit = -1}), HasSubstr("swiglu_limit: -1 is not judged"));
}

}  // namespace
}  // namespace qconform
