#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "harness/onnx/graph_scope.h"
#include "harness/tests/network.h"

namespace qconform {
namespace {

using ::qconform::testing::Network;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A model whose graph calls functions of the domain "own".
class Functions : public ::testing::Test {
 protected:
  Functions() {
    net_.add_opset("own", 1);
    net_.input("x", ElementType::float32, {2, 3});
  }

  onnx::FunctionProto& function(const std::string& name, std::initializer_list<const char*> inputs,
                                std::initializer_list<const char*> outputs) {
    onnx::FunctionProto& result = *net_.model().add_functions();
    result.set_domain("own");
    result.set_name(name);
    for (const char* input : inputs) result.add_input(input);
    for (const char* output : outputs) result.add_output(output);
    result.add_opset_import()->set_version(13);
    return result;
  }

  static onnx::NodeProto& step(onnx::FunctionProto& in, const std::string& op_type,
                               std::initializer_list<const char*> inputs, const std::string& output,
                               const std::string& domain = "") {
    onnx::NodeProto& node = *in.add_node();
    node.set_op_type(op_type);
    node.set_domain(domain);
    for (const char* input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }

  /// Every node of the outermost graph, with what it reads and computes: "Relu(x)=y".
  std::vector<std::string> inlined() {
    const auto done = inline_functions(net_.model());
    EXPECT_TRUE(done) << done.error().text();
    std::vector<std::string> nodes;
    for (const onnx::NodeProto& node : net_.graph().node()) {
      std::string text = node.op_type() + "(";
      for (const std::string& input : node.input()) text += (text.ends_with("(") ? "" : ",") + input;
      text += ")";
      for (const std::string& output : node.output()) text += "=" + output;
      nodes.push_back(text);
    }
    return nodes;
  }

  Network net_;
};

TEST_F(Functions, AreWrittenWhereTheyAreCalled) {
  onnx::FunctionProto& twice = function("Twice", {"a", "unused"}, {"b"});
  step(twice, "Relu", {"a"}, "inside");
  step(twice, "Neg", {"inside"}, "b");
  net_.node("Twice", {"x"}, "y", "own").set_name("");
  net_.node("Twice", {"y"}, "z", "own").set_name("");
  EXPECT_THAT(inlined(), ElementsAre("Relu(x)=Twice/inside", "Neg(Twice/inside)=y", "Relu(y)=Twice#1/inside",
                                     "Neg(Twice#1/inside)=z"));
  EXPECT_THAT(net_.model().functions(), IsEmpty());
}

TEST_F(Functions, OfFunctionsAreWrittenToo) {
  step(function("Outer", {"a"}, {"b"}), "Inner", {"a"}, "b", "own");
  step(function("Inner", {"a"}, {"b"}), "Relu", {"a"}, "b");
  net_.node("Outer", {"x"}, "y", "own");
  EXPECT_THAT(inlined(), ElementsAre("Relu(x)=y"));
}

TEST_F(Functions, HandInputsThrough) {
  step(function("Both", {"a"}, {"a", "b"}), "Relu", {"a"}, "b");
  net_.node("Both", {"x"}, "y", "own").add_output("z");
  EXPECT_THAT(inlined(), ElementsAre("Relu(x)=z", "Identity(x)=y"));
}

// ONNX 1.13 gave functions values for attributes that a call does not state.
TEST_F(Functions, TakeAttributesOfTheCallOrTheirDefaults) {
  onnx::FunctionProto& leaky = function("Leaky", {"a"}, {"b"});
  onnx::NodeProto& node = step(leaky, "LeakyRelu", {"a"}, "b");
  for (const char* name : {"alpha", "beta", "gamma"}) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_ref_attr_name(std::string("of_") + name);
  }
  for (const char* name : {"of_alpha", "of_beta"}) {
    onnx::AttributeProto standard;
    standard.set_name(name);
    standard.set_f(0.25F);
    leaky.GetReflection()->MutableUnknownFields(&leaky)->AddLengthDelimited(11, standard.SerializeAsString());
  }
  onnx::AttributeProto& stated = *net_.node("Leaky", {"x"}, "y", "own").add_attribute();
  stated.set_name("of_alpha");
  stated.set_f(0.5F);
  EXPECT_THAT(inlined(), ElementsAre("LeakyRelu(x)=y"));
  const auto& attributes = net_.graph().node(0).attribute();
  ASSERT_EQ(attributes.size(), 2) << "nobody states gamma";
  EXPECT_EQ(attributes[0].name(), "alpha");
  EXPECT_EQ(attributes[0].f(), 0.5F);
  EXPECT_EQ(attributes[1].name(), "beta");
  EXPECT_EQ(attributes[1].f(), 0.25F);
}

TEST_F(Functions, KeepTheNamesOfBodiesApart) {
  onnx::FunctionProto& choice = function("Choice", {"condition", "a"}, {"b"});
  Network body;
  body.node("Relu", {"a"}, "inside");
  body.graph().add_output()->set_name("inside");
  onnx::AttributeProto& attribute = *step(choice, "If", {"condition"}, "b").add_attribute();
  attribute.set_name("then_branch");
  *attribute.mutable_g() = body.graph();
  net_.input("condition", ElementType::boolean, {});
  net_.node("Choice", {"condition", "x"}, "y", "own").set_name("");
  EXPECT_THAT(inlined(), ElementsAre("If(condition)=y"));
  const onnx::GraphProto& written = net_.graph().node(0).attribute(0).g();
  EXPECT_EQ(written.node(0).input(0), "x");
  EXPECT_EQ(written.node(0).output(0), "Choice/inside");
  EXPECT_EQ(written.output(0).name(), "Choice/inside");
}

TEST_F(Functions, OfOtherVersionsStay) {
  onnx::FunctionProto& other = function("Other", {"a"}, {"b"});
  step(other, "Relu", {"a"}, "b");
  other.mutable_opset_import(0)->set_version(20);
  net_.node("Other", {"x"}, "y", "own");
  EXPECT_THAT(inlined(), ElementsAre("Other(x)=y"));
  EXPECT_EQ(net_.model().functions_size(), 1);
}

TEST_F(Functions, BringTheDomainsOfTheirOperators) {
  onnx::FunctionProto& other = function("Other", {"a"}, {"b"});
  step(other, "Gelu", {"a"}, "b", "further");
  onnx::OperatorSetIdProto& opset = *other.add_opset_import();
  opset.set_domain("further");
  opset.set_version(1);
  net_.node("Other", {"x"}, "y", "own");
  EXPECT_THAT(inlined(), ElementsAre("Gelu(x)=y"));
  EXPECT_EQ(net_.model().opset_import().rbegin()->domain(), "further");
}

TEST_F(Functions, ThatCallThemselvesAreRefused) {
  step(function("Endless", {"a"}, {"b"}), "Endless", {"a"}, "b", "own");
  net_.node("Endless", {"x"}, "y", "own");
  const auto done = inline_functions(net_.model());
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("function 'Endless' is called within itself"));
}

TEST_F(Functions, ThatDoubleAtEveryStepAreRefused) {
  constexpr int kSteps = 40;
  for (int i = 0; i < kSteps; ++i) {
    onnx::FunctionProto& doubled = function("F" + std::to_string(i), {"a"}, {"b"});
    const std::string next = i + 1 == kSteps ? "Relu" : "F" + std::to_string(i + 1);
    step(doubled, next, {"a"}, "inside", i + 1 == kSteps ? "" : "own");
    step(doubled, next, {"inside"}, "b", i + 1 == kSteps ? "" : "own");
  }
  net_.node("F0", {"x"}, "y", "own");
  const auto done = inline_functions(net_.model());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().rule, "limit");
}

}  // namespace
}  // namespace qconform
