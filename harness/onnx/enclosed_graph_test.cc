#include "harness/onnx/enclosed_graph.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "harness/core/case.h"
#include "harness/model/judge/judge.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/operators/graph/graph.h"

namespace qconform {
namespace {

void add_names(const onnx::GraphProto& graph, std::multiset<std::string>& names) {
  for (const onnx::NodeProto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) add_names(attribute.g(), names);
    }
  }
}

onnx::ModelProto fed_model(const Case& test_case, ModelForm::Place place) {
  std::vector<std::size_t> fed(test_case.fed_inputs);
  for (std::size_t i = 0; i < fed.size(); ++i) fed[i] = i;
  onnx::ModelProto model;
  EXPECT_TRUE(parse_model(*case_to_fed_model(test_case, fed, {.place = place}), model));
  return model;
}

class EnclosedGraphs : public ::testing::TestWithParam<ModelForm::Place> {};

// ONNX's checker and inference are the second opinion; they know no operators of other domains.
TEST_P(EnclosedGraphs, AreModelsWithTheOutputsOfTheGraph) {
  int checked = 0;
  for (std::uint64_t index = 0; checked < 40; ++index) {
    const Case test_case = graph_case(7, index);
    const auto is_onnx = [](const Node& node) { return node.domain.empty() && node.opset_version <= 18; };
    if (!std::all_of(test_case.nodes.begin(), test_case.nodes.end(), is_onnx)) continue;
    ++checked;
    onnx::ModelProto model = fed_model(test_case, GetParam());
    const onnx::ShapeInferenceOptions strict(true, 1, false);
    ASSERT_NO_THROW(onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), strict));
    // The checker wants the shapes of a body's inputs, of which those of a Loop may change.
    if (GetParam() == ModelForm::Place::branches) {
      ASSERT_NO_THROW(onnx::checker::check_model(model)) << test_case.id;
    }
    const Classification classification = classify(test_case);
    ASSERT_TRUE(classification.lowered) << test_case.id;
    EXPECT_EQ(model.graph().output(0).name(), test_case.outputs.front());
    EXPECT_EQ(model.graph().output(0).type().tensor_type().elem_type(),
              static_cast<int>(classification.lowered->output_type()));
    EXPECT_EQ(model.graph().input_size(), static_cast<int>(test_case.fed_inputs));
  }
}

TEST_P(EnclosedGraphs, HideNoNames) {
  for (std::uint64_t index = 0; index < 40; ++index) {
    std::multiset<std::string> names;
    const onnx::ModelProto model = fed_model(graph_case(7, index), GetParam());
    add_names(model.graph(), names);
    names.erase("");
    EXPECT_EQ(names.size(), std::set<std::string>(names.begin(), names.end()).size()) << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Places, EnclosedGraphs, ::testing::Values(ModelForm::Place::branches, ModelForm::Place::loop));

// A condition that is known to a runtime lets it drop the If before it rewrites the nodes.
TEST(EnclosedGraph, HasAConditionThatTheDataTell) {
  const onnx::ModelProto model = fed_model(graph_case(7, 0), ModelForm::Place::branches);
  std::vector<std::string> operators;
  for (const onnx::NodeProto& node : model.graph().node()) operators.push_back(node.op_type());
  EXPECT_EQ(operators, (std::vector<std::string>{"Reshape", "Gather", "Cast", "If"}));
}

TEST(EnclosedGraph, IsChosenByAConstantWhereTheDataTellNothing) {
  Case test_case = graph_case(7, 0);
  onnx::ModelProto model = fed_model(test_case, ModelForm::Place::graph);
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->clear_dim();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      static_cast<int>(ElementType::uint4));
  put_in_branches(*model.mutable_graph());
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).op_type(), "If");
}

}  // namespace
}  // namespace qconform
