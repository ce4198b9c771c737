// Samples of recurrent layers: a few hidden units are judged by the states that the runtime shows.
#include "harness/suites/model_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/graphs/case_graph.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kInput = 7;
constexpr std::int64_t kHidden = 96;
constexpr std::int64_t kMost = 160;  // less than Y has, and more than Y_h

std::string floats(GraphBuilder& graph, std::vector<std::int64_t> shape, Rng& rng) {
  std::vector<float> values(static_cast<std::size_t>(elements_of(shape)));
  for (float& value : values) value = std::ldexp(static_cast<float>(rng.between(-64, 64)), -8);
  return graph.initializer(make::float32(std::move(shape), values));
}

Case float_layer(const std::string& op_type, std::int64_t gates, Rng& rng) {
  GraphBuilder graph(14);
  const std::string q = graph.input(random_bits(rng, ElementType::int8, {kSteps, kBatch, kInput}));
  const std::string x = graph.node("DequantizeLinear", {q, graph.initializer(make::float32(0.03125F))});
  std::vector<std::string> inputs{x};
  inputs.push_back(floats(graph, {1, gates * kHidden, kInput}, rng));
  inputs.push_back(floats(graph, {1, gates * kHidden, kHidden}, rng));
  return graph.build(graph.nodes(op_type, inputs, 2, {{"hidden_size", kHidden}}));
}

Case dynamic_layer(Rng& rng) {
  GraphBuilder graph(13);
  std::vector<std::string> inputs;
  std::vector<float> x(static_cast<std::size_t>(kSteps * kBatch * kInput));
  for (float& value : x) value = std::ldexp(static_cast<float>(rng.between(-64, 64)), -5);
  inputs.push_back(graph.input(make::float32({kSteps, kBatch, kInput}, x)));
  inputs.push_back(graph.initializer(random_bits(rng, ElementType::int8, {1, kInput, 4 * kHidden})));
  inputs.push_back(graph.initializer(random_bits(rng, ElementType::int8, {1, kHidden, 4 * kHidden})));
  inputs.insert(inputs.end(), 5, "");
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(graph.initializer(make::float32({1}, {0.001F})));
    inputs.push_back(graph.initializer(make::int8({1}, {3})));
  }
  return graph.build(graph.nodes("DynamicQuantizeLSTM", inputs, 2, {{"hidden_size", kHidden}}, "com.microsoft"));
}

Case with_its_answers(Case test_case) {
  test_case.recorded_outputs = expect(test_case, {}).answers();
  return test_case;
}

Verdict verdict_on(const Case& test_case) {
  return judge(expect(test_case, {}), outcome::Produced{test_case.recorded_outputs});
}

void add_to(Tensor& tensor, std::int64_t index, float difference) {
  const float changed = static_cast<float>(number_at(tensor, index)) + difference;
  set_raw_bits_at(tensor.bytes, 32, index, bits_at(Tensor::scalar(ElementType::float32, changed), 0));
}

// Y.sample, Y_h.sample where it is one, and Y.
TEST(Samples, OfRecurrentLayersHaveEveryStepOfFewUnits) {
  Rng rng(3);
  for (const Case& drawn : {float_layer("LSTM", 4, rng), float_layer("GRU", 3, rng), dynamic_layer(rng)}) {
    SCOPED_TRACE(drawn.op_types());
    const Case whole = with_its_answers(drawn);
    const Verdict of_all = verdict_on(whole);
    ASSERT_EQ(of_all.kind, VerdictKind::pass) << of_all.detail;
    const Case sample = sampled(whole, kMost, rng);
    EXPECT_THAT(sample.note, HasSubstr(" elements of " + whole.outputs[0] + " judged"));
    ASSERT_EQ(sample.outputs.size(), 3);
    EXPECT_EQ(sample.shown_outputs, std::vector<std::string>{whole.outputs[0]});
    const Verdict of_part = verdict_on(sample);
    EXPECT_EQ(of_part.kind, VerdictKind::pass) << of_part.detail;
    EXPECT_EQ(of_part.elements, static_cast<std::uint64_t>(sample.recorded_outputs[0].elements() +
                                                           sample.recorded_outputs[1].elements()));
    EXPECT_LT(of_part.elements * 4, of_all.elements);
  }
}

TEST(Samples, OfRecurrentLayersAreJudgedByTheStatesThatAreShown) {
  Rng rng(4);
  for (const Case& drawn : {float_layer("LSTM", 4, rng), float_layer("GRU", 3, rng), dynamic_layer(rng)}) {
    SCOPED_TRACE(drawn.op_types());
    const Case sample = sampled(with_its_answers(drawn), kMost, rng);
    const std::int64_t units = sample.recorded_outputs[0].shape.back() / kSteps / kBatch;
    Case changed = sample;
    add_to(changed.recorded_outputs[0], 2 * kBatch * units + 1, 0.25F);
    EXPECT_EQ(verdict_on(changed).wrong_elements, 1);
    changed = sample;
    for (std::int64_t i = 0; i < kHidden; ++i) add_to(changed.recorded_outputs[2], i, i % 2 == 0 ? 0.5F : -0.5F);
    EXPECT_GT(verdict_on(changed).wrong_elements, 0) << "the next state follows from the one that is shown";
    changed = sample;
    changed.recorded_outputs[2].shape.back() /= 2;
    changed.recorded_outputs[2].bytes.resize(changed.recorded_outputs[2].bytes.size() / 2);
    EXPECT_EQ(verdict_on(changed).kind, VerdictKind::bad_shape);
  }
}

}  // namespace
}  // namespace qconform
