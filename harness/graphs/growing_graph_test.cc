#include "harness/graphs/growing_graph.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "harness/graphs/lowering.h"
#include "harness/model/case_builder.h"
#include "harness/operators/graph/random.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

namespace graph = reference::graph;

// Writes a case's nodes down one after the other.
class Writer {
 public:
  explicit Writer(const Case& whole) : builder(whole.nodes.front().opset_version), whole_(whole) {
    for (std::size_t i = 0; i < whole.inputs.size(); ++i) {
      const Tensor& tensor = *whole.inputs[i];
      names_[whole.input_names[i]] = i < whole.fed_inputs ? builder.input(tensor) : builder.initializer(tensor);
    }
  }

  std::vector<std::string> add(std::size_t index) {
    const Node& node = whole_.nodes[index];
    std::vector<std::string> inputs;
    for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? name : names_.at(name));
    auto outputs = builder.nodes(node.op_type, inputs, node.outputs.size(), node.attributes, node.domain);
    for (std::size_t i = 0; i < outputs.size(); ++i) names_[node.outputs[i]] = outputs[i];
    return outputs;
  }

  GraphBuilder builder;

 private:
  const Case& whole_;
  std::map<std::string, std::string> names_;
};

// Expects the shape and bounds that the graph has when it is lowered as a whole.
void expect_the_same(GrowingGraph& growing, const GraphBuilder& builder, const std::string& name) {
  const Case so_far = builder.build({name});
  reference::Contract contract;
  const auto lowered = lower_graph(so_far, contract);
  ASSERT_EQ(growing.follow(builder), lowered && contract.implementation_defined.empty());
  if (!lowered || !contract.implementation_defined.empty()) return;
  const graph::ValueId id = lowered->program.outputs.front();
  EXPECT_EQ(growing.shape_of(name), lowered->program.values[id].shape);
  for (const auto tier : {reference::Tier::exact, reference::Tier::any_association}) {
    const auto bounds = growing.bounds_of(name, tier);
    const graph::Bounds all = graph::bounds_of(lowered->program, tier)[id];
    ASSERT_TRUE(bounds);
    EXPECT_EQ(bounds->lo, all.lo);
    EXPECT_EQ(bounds->hi, all.hi);
    EXPECT_EQ(bounds->members, all.members);
  }
}

TEST(GrowingGraph, SaysWhatLoweringTheWholeSays) {
  for (int i = 0; i < testing::scaled(100); ++i) {
    const Case whole = graph_case(23, static_cast<std::uint64_t>(i));
    if (whole.is_one_node()) continue;
    SCOPED_TRACE(whole.id);
    Writer writer(whole);
    GrowingGraph growing;
    for (std::size_t node = 0; node < whole.nodes.size(); ++node) {
      const std::string name = writer.add(node).front();
      expect_the_same(growing, writer.builder, name);
      // Nodes that are taken back leave nothing behind: a scale that makes values round, and a node out of contract.
      const std::size_t nodes = writer.builder.node_count();
      const std::size_t initializers = writer.builder.initializer_count();
      const std::string other = writer.builder.initializer(make::float32(0.3F));
      const std::string more = writer.builder.node("Mul", {other, other});
      expect_the_same(growing, writer.builder, more);
      if (node % 2 == 0) (void)writer.builder.node("Conv", {other});
      EXPECT_EQ(growing.follow(writer.builder), node % 2 != 0);
      writer.builder.keep(nodes, initializers);
      expect_the_same(growing, writer.builder, name);
    }
  }
}

}  // namespace
}  // namespace qconform
