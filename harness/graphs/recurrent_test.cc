// Stated activations of recurrent layers: values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/judge/judge.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;
using Activations = std::vector<std::string>;

constexpr std::int64_t kLstmGates = 4;
constexpr std::int64_t kGruGates = 3;

// One step of one unit whose weights are 0 and whose state begins with 0: the gates are the biases.
Case layer_of(const char* op_type, std::int64_t gates, const std::vector<float>& biases,
              std::vector<Attribute> attributes) {
  const std::int64_t directions = static_cast<std::int64_t>(biases.size()) / gates;
  std::vector<float> both(2 * biases.size());  // those of W and of R, which are 0
  for (std::size_t i = 0; i < biases.size(); ++i) {
    const std::size_t each = static_cast<std::size_t>(gates);
    both[i / each * 2 * each + i % each] = biases[i];
  }
  GraphBuilder graph(14);
  const std::string x =
      graph.node("DequantizeLinear", {graph.input(make::uint8({1, 1, 1}, {1})), graph.initializer(make::float32(1))});
  const Tensor weights = Tensor::zeros(ElementType::float32, {directions, gates, 1});
  attributes.push_back({"hidden_size", std::int64_t{1}});
  if (directions == 2) attributes.push_back({"direction", std::string("bidirectional")});
  return graph.build({graph.node(op_type,
                                 {x, graph.initializer(weights), graph.initializer(weights),
                                  graph.initializer(make::float32({directions, 2 * gates}, both))},
                                 std::move(attributes))});
}

Case lstm(std::vector<Attribute> attributes, const std::vector<float>& biases = {0.25F, 0.75F, 0, 0.5F}) {
  return layer_of("LSTM", kLstmGates, biases, std::move(attributes));
}
Case lstm(Activations activations) {
  return lstm(std::vector<Attribute>{{"activations", std::move(activations)}});
}
Case gru(std::vector<Attribute> attributes) {
  return layer_of("GRU", kGruGates, {0.25F, 0, 0.5F}, std::move(attributes));
}

VerdictKind verdict_on_state(const Case& test_case, const std::vector<double>& states) {
  std::vector<float> y(states.begin(), states.end());
  const auto directions = static_cast<std::int64_t>(y.size());
  const outcome::Produced produced{{make::float32({1, directions, 1, 1}, y)}};
  return judge(expect(test_case, {}), produced).kind;
}

std::string violation_of(const Case& test_case) {
  const auto violation = classify(test_case).contract.violation;
  return violation ? violation->text() : "";
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

const double kUsualState = logistic(0.75) * std::tanh(logistic(0.25) * std::tanh(0.5));

TEST(Recurrent, StatedDefaultsChangeNothing) {
  const Case plain = lstm(std::vector<Attribute>());
  for (const Case& test_case : {plain, lstm(Activations{"Sigmoid", "Tanh", "Tanh"}), lstm(Activations())}) {
    EXPECT_EQ(violation_of(test_case), "");
    EXPECT_EQ(classify(test_case).expectation(), classify(plain).expectation());
    EXPECT_EQ(verdict_on_state(test_case, {kUsualState}), VerdictKind::pass);
    EXPECT_EQ(verdict_on_state(test_case, {kUsualState + 0.01}), VerdictKind::wrong);
  }
  const double next = (1 - logistic(0.25)) * std::tanh(0.5);
  EXPECT_EQ(verdict_on_state(gru({}), {next}), VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(gru({{"activations", Activations{"Sigmoid", "Tanh"}}}), {next}), VerdictKind::pass);
}

TEST(Recurrent, OtherCapitalsMayBeRefused) {
  const Case test_case = lstm(Activations{"sigmoid", "tanh", "TANH"});
  const auto classification = classify(test_case);
  EXPECT_EQ(classification.expectation(), Expectation::implementation_defined);
  ASSERT_FALSE(classification.contract.implementation_defined.empty());
  EXPECT_EQ(classification.contract.implementation_defined[0].text(),
            "nodes[1].activations: expected ONNX's spelling Sigmoid, got 'sigmoid' [rule LSTM]");
  EXPECT_EQ(verdict_on_state(test_case, {kUsualState}), VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(test_case, {kUsualState + 0.01}), VerdictKind::wrong);
}

TEST(Recurrent, EachPlaceHasItsActivation) {
  const double gate = 0.2 * 0.25 + 0.5;
  const double output = 0.2 * 0.75 + 0.5;
  EXPECT_EQ(verdict_on_state(lstm(Activations{"HardSigmoid", "Relu", "Tanh"}), {output * std::tanh(gate * 0.5)}),
            VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(lstm(Activations{"Sigmoid", "Tanh", "Relu"}),
                             {logistic(0.75) * logistic(0.25) * std::tanh(0.5)}),
            VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(gru({{"activations", Activations{"HardSigmoid", "Relu"}}}), {(1 - gate) * 0.5}),
            VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(lstm(Activations{"Sigmoid", "Tanh", "Relu"}), {kUsualState}), VerdictKind::wrong);
}

TEST(Recurrent, EachDirectionHasItsActivations) {
  const std::vector<float> biases{0.25F, 0.75F, 0, 0.5F, 0.25F, 0.75F, 0, 0.5F};
  const double other = logistic(0.75) * logistic(0.25) * 0.5;
  const Case test_case =
      lstm({{"activations", Activations{"Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Relu"}}}, biases);
  EXPECT_EQ(violation_of(test_case), "");
  EXPECT_EQ(verdict_on_state(test_case, {kUsualState, other}), VerdictKind::pass);
  EXPECT_EQ(verdict_on_state(test_case, {other, kUsualState}), VerdictKind::wrong);
  EXPECT_EQ(violation_of(lstm({{"activations", Activations{"Sigmoid", "Tanh", "Tanh"}}}, biases)),
            "nodes[1].activations: expected 6 names, 3 for each direction, got 3 [rule LSTM]");
}

TEST(Recurrent, NamesActivationsThatAreNotJudged) {
  EXPECT_EQ(violation_of(lstm(Activations{"Sigmoid", "Softplus", "Tanh"})),
            "nodes[1].activations: 'Softplus' is not judged [rule limit]");
  EXPECT_EQ(violation_of(lstm(Activations{"Sigmoid", "Tanh", "Swish\n"})),
            "nodes[1].activations: expected names of ONNX's activations, got 'Swish?' [rule LSTM]");
  EXPECT_EQ(violation_of(lstm(Activations{"Sigmoid"})),
            "nodes[1].activations: expected 3 names, 3 for each direction, got 1 [rule LSTM]");
  EXPECT_EQ(violation_of(lstm(std::vector<Attribute>{{"activations", std::string("Tanh")}})),
            "nodes[1].activations: expected a list of strings, got a string [rule signature]");
  EXPECT_EQ(violation_of(lstm(std::vector<Attribute>{{"direction", Activations{"forward"}}})),
            "nodes[1].direction: expected a string, got a list of strings [rule signature]");
}

Case dynamic_lstm(Activations activations) {
  GraphBuilder graph(13);
  const std::string weights = graph.initializer(make::int8({1, 1, kLstmGates}, {1, 2, 3, 4}));
  const std::string scale = graph.initializer(make::float32({1}, {0.5F}));
  const std::string zero_point = graph.initializer(make::int8({1}, {0}));
  return graph.build(
      {graph.node("DynamicQuantizeLSTM",
                  {graph.input(make::float32({1, 1, 1}, {1})), weights, weights, "", "", "", "", "", scale, zero_point,
                   scale, zero_point},
                  {{"hidden_size", std::int64_t{1}}, {"activations", std::move(activations)}}, "com.microsoft")});
}

TEST(Recurrent, DynamicQuantizeLstmStatesActivationsToo) {
  EXPECT_EQ(violation_of(dynamic_lstm({"Sigmoid", "Tanh", "Tanh"})), "");
  EXPECT_THAT(violation_of(dynamic_lstm({"Sigmoid", "Tanh", "Elu"})), HasSubstr("activations: 'Elu' is not judged"));
}

}  // namespace
}  // namespace qconform
