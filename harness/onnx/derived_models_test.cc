#include "harness/onnx/derived_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/tests/network.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Tensors = std::map<std::string, Tensor>;

// Relu nodes from "x" by "a", "b" and "c" to "d", the last of which adds "a".
Network chain() {
  Network net;
  net.input("x", ElementType::float32, {1});
  net.node("Add", {"c", "a"}, "d");  // out of order
  net.node("Relu", {"x"}, "a");
  net.node("Mul", {"a", net.scale("s")}, "b");
  net.node("Relu", {"b"}, "c");
  net.graph().add_output()->set_name("d");
  return net;
}

Tensors tensors(const std::vector<std::string>& names) {
  Tensors result;
  for (const std::string& name : names)
    result[name] = Tensor::of<float>(ElementType::float32, {1}, std::vector<float>{1});
  return result;
}

struct Shown {
  std::vector<std::string> nodes, inputs, held, outputs;
};

Shown shown(const ModelParts& parts, std::size_t number, const Tensors& known) {
  onnx::ModelProto model;
  const auto bytes = parts.part(number, known);
  EXPECT_TRUE(bytes && model.ParseFromString(*bytes));
  Shown result;
  for (const auto& node : model.graph().node()) result.nodes.push_back(node.name());
  for (const auto& input : model.graph().input()) result.inputs.push_back(input.name());
  for (const auto& tensor : model.graph().initializer()) result.held.push_back(tensor.name());
  for (const auto& output : model.graph().output()) result.outputs.push_back(output.name());
  EXPECT_EQ(model.opset_import_size(), 2);
  return result;
}

TEST(ModelParts, FeedEachOtherInOrder) {
  Network net = chain();
  const auto parts = ModelParts::of(net.model(), {"b", "d"}, {.nodes = 2});
  ASSERT_TRUE(parts) << parts.error().text();
  ASSERT_EQ(parts->size(), 2U);
  const Shown first = shown(*parts, 0, tensors({"x"}));
  EXPECT_THAT(first.nodes, ElementsAre("a_node", "b_node"));
  EXPECT_THAT(first.inputs, ElementsAre("x"));
  EXPECT_THAT(first.held, ElementsAre("s"));
  EXPECT_THAT(first.outputs, ElementsAre("a", "b"));
  EXPECT_FALSE(parts->is_read_after(0, "x"));
  EXPECT_TRUE(parts->is_read_after(0, "a"));
  EXPECT_FALSE(parts->is_read_after(1, "a"));
  EXPECT_TRUE(parts->is_wanted("b"));
  const Shown second = shown(*parts, 1, tensors({"a", "b"}));
  EXPECT_THAT(second.nodes, ElementsAre("c_node", "d_node"));
  EXPECT_THAT(second.inputs, ElementsAre("a", "b"));
  EXPECT_THAT(second.held, IsEmpty());
  EXPECT_THAT(second.outputs, ElementsAre("d"));
  EXPECT_EQ(parts->fed(1, tensors({"a", "b", "x"})), tensors({"a", "b"}));
}

TEST(ModelParts, LeaveOutWhatNobodyAsksFor) {
  Network net = chain();
  const auto parts = ModelParts::of(net.model(), {"b"}, {.nodes = 2});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->part(1, tensors({"a", "b"})), "");
}

TEST(ModelParts, EndWhereTheirValuesAreManyAndNoneIsWithinAUnit) {
  Network net = chain();
  const auto four_bytes = [](const std::string&) { return std::int64_t{4}; };
  const std::set<std::string> all{"a", "b", "c", "d"};
  const auto each = ModelParts::of(net.model(), all, {.bytes = 4, .bytes_of = four_bytes});
  ASSERT_TRUE(each) << each.error().text();
  EXPECT_EQ(each->size(), 4U);
  const auto joined = ModelParts::of(net.model(), all, {.bytes = 4, .bytes_of = four_bytes, .within = {"b"}});
  ASSERT_TRUE(joined) << joined.error().text();
  ASSERT_EQ(joined->size(), 3U);
  EXPECT_THAT(shown(*joined, 1, tensors({"a"})).nodes, ElementsAre("b_node", "c_node"));
  const auto patient = ModelParts::of(net.model(), all, {.bytes = 2, .bytes_of = four_bytes, .within = {"a"}});
  ASSERT_TRUE(patient) << patient.error().text();
  EXPECT_EQ(patient->size(), 2U) << "d reads a, but not forever";
}

TEST(ModelParts, AreOneWhereValuesAreNoTensors) {
  Network net = chain();
  net.node("SequenceConstruct", {"a"}, "list");
  EXPECT_EQ(ModelParts::of(net.model(), {"d"}, {.nodes = 2})->size(), 1U);
}

}  // namespace
}  // namespace qconform
