#include "harness/onnx/case_model.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <string>

#include "harness/core/limits.h"
#include "harness/tests/arbitrary_any_case.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

using ::qconform::testing::bitwise_equal;
using ::qconform::testing::TemporaryFolder;

Case small_case() {
  Case result;
  result.id = "small";
  result.node().op_type = "DequantizeLinear";
  result.node().opset_version = 13;
  result.node().attributes = {{"axis", std::int64_t{0}}};
  result.inputs = {Tensor::of<std::uint8_t>(ElementType::uint8, {3}, {1, 2, 255}),
                   Tensor::scalar<float>(ElementType::float32, 0.5F), std::nullopt};
  result.expectation = Expectation::valid;
  return result;
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

TEST(FedModel, HoldsParametersAsItIsTold) {
  const std::vector<std::size_t> fed{0};
  const onnx::ModelProto with_initializers = parsed(*case_to_fed_model(small_case(), fed));
  EXPECT_EQ(with_initializers.graph().initializer_size(), 1);
  EXPECT_EQ(with_initializers.graph().node_size(), 1);
  const onnx::ModelProto with_constants =
      parsed(*case_to_fed_model(small_case(), fed, {ModelForm::Storage::constants, ModelForm::Shapes::stated}));
  EXPECT_EQ(with_constants.graph().initializer_size(), 0);
  ASSERT_EQ(with_constants.graph().node_size(), 2);
  const onnx::NodeProto& constant = with_constants.graph().node(0);
  EXPECT_EQ(constant.op_type(), "Constant");
  EXPECT_EQ(constant.output(0), "x_scale");
  EXPECT_EQ(constant.attribute(0).t().SerializeAsString(),
            with_initializers.graph().initializer(0).SerializeAsString());
}

TEST(FedModel, SaysOfShapesWhatItIsTold) {
  const std::vector<std::size_t> fed{0, 1};
  const auto x_of = [&](ModelForm::Shapes shapes) {
    const onnx::ModelProto model =
        parsed(*case_to_fed_model(small_case(), fed, {ModelForm::Storage::initializers, shapes}));
    EXPECT_EQ(model.graph().input_size(), 2);
    return model.graph().input(0).type().tensor_type();
  };
  EXPECT_EQ(x_of(ModelForm::Shapes::stated).shape().dim(0).dim_value(), 3);
  EXPECT_EQ(x_of(ModelForm::Shapes::symbolic).shape().dim_size(), 1);
  EXPECT_EQ(x_of(ModelForm::Shapes::symbolic).shape().dim(0).dim_param(), "x.d0");
  EXPECT_FALSE(x_of(ModelForm::Shapes::unknown).has_shape());
  EXPECT_EQ(x_of(ModelForm::Shapes::unknown).elem_type(), onnx::TensorProto::UINT8);
}

RC_GTEST_PROP(CaseModel, RoundTripIsLossless, (const Case& original)) {
  const auto bytes = case_to_model(original);
  RC_ASSERT(bytes.has_value());
  const auto back = case_from_model(*bytes);
  if (!back) RC_FAIL(back.error().text());
  RC_ASSERT(bitwise_equal(*back, original));
  RC_ASSERT(*case_to_model(*back) == *bytes);
}

RC_GTEST_PROP(CaseModel, FileRoundTripIsLossless, (const Case& original)) {
  const TemporaryFolder folder;
  RC_ASSERT(write_case_model(original, folder.path() / "case.onnx").has_value());
  const auto back = read_case_model(folder.path() / "case.onnx");
  if (!back) RC_FAIL(back.error().text());
  RC_ASSERT(bitwise_equal(*back, original));
}

RC_GTEST_PROP(CaseFolder, RoundTripIsLossless, (const Case& original, const Tensor& computed, bool compute)) {
  const TemporaryFolder folder;
  const std::vector<Tensor> outputs(compute ? original.output_count() : 0, computed);
  RC_ASSERT(write_case_folder(original, folder.path() / "a", outputs).has_value());
  const auto back = read_case_folder(folder.path() / "a");
  if (!back) RC_FAIL(back.error().text());
  RC_ASSERT(back->size() == 1U);
  RC_ASSERT(bitwise_equal(back->front(), original));
}

TEST(CaseModel, StatesVersionsProducerAndNames) {
  const onnx::ModelProto model = parsed(*case_to_model(small_case(), {OutputType{ElementType::float32, {3}}}));
  EXPECT_EQ(model.producer_name(), "qconform");
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).version(), 13);
  const onnx::NodeProto& node = model.graph().node(0);
  ASSERT_EQ(node.input_size(), 3);
  EXPECT_EQ(node.input(0), "x");
  EXPECT_EQ(node.input(1), "x_scale");
  EXPECT_EQ(node.input(2), "");
  const onnx::TypeProto::Tensor& type = model.graph().output(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::FLOAT);
  ASSERT_EQ(type.shape().dim_size(), 1);
  EXPECT_EQ(type.shape().dim(0).dim_value(), 3);
}

TEST(CaseModel, IrVersionFollowsTheOpset) {
  EXPECT_EQ(ir_version_for(10), 8);
  EXPECT_EQ(ir_version_for(18), 8);
  EXPECT_EQ(ir_version_for(19), 9);
  EXPECT_EQ(ir_version_for(21), 10);
  EXPECT_EQ(ir_version_for(23), 11);
  EXPECT_EQ(ir_version_for(24), 12);
  for (const std::int64_t opset : {25, 27, 28, 40}) EXPECT_EQ(ir_version_for(opset), 13) << opset;
}

TEST(CaseModel, AnotherProducersModelStatesNothing) {
  onnx::ModelProto model = parsed(*case_to_model(small_case()));
  model.clear_metadata_props();
  model.set_producer_name("someone else");
  const auto read = case_from_model(model.SerializeAsString());
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->expectation, Expectation::unstated);
  EXPECT_EQ(read->id, "");
  EXPECT_EQ(digest_of(*read), digest_of(small_case()));
}

TEST(CaseModel, AttributeWithoutATypeGetsItFromItsField) {
  onnx::ModelProto model = parsed(*case_to_model(small_case()));
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type();
  const auto read = case_from_model(model.SerializeAsString());
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(read->node().attributes, small_case().node().attributes);
}

TEST(CaseModel, KeepsListsOfStrings) {
  Case original = small_case();
  original.node().attributes = {{"activations", std::vector<std::string>{"Tanh", "", "\xFF"}},
                                {"none", std::vector<std::string>()}};
  const std::string bytes = *case_to_model(original);
  const auto read = case_from_model(bytes);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(*read, original);
  EXPECT_EQ(digest_of(*read), digest_of(original));
  EXPECT_NE(digest_of(original), digest_of(small_case()));
  onnx::ModelProto model = parsed(bytes);
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type();
  const auto untyped = case_from_model(model.SerializeAsString());
  ASSERT_TRUE(untyped.has_value()) << untyped.error().text();
  EXPECT_EQ(untyped->node().attributes, original.node().attributes);
}

/// The message of the error that reading the changed model gives; empty when it is read.
template <typename Change>
std::string error_after(const Change& change) {
  onnx::ModelProto model = parsed(*case_to_model(small_case()));
  change(model);
  const auto read = case_from_model(model.SerializeAsString());
  return read ? "" : read.error().text();
}

TEST(CaseModel, RefusesWhatACaseCannotHold) {
  const auto node = [](onnx::ModelProto& m) -> onnx::NodeProto& { return *m.mutable_graph()->mutable_node(0); };
  EXPECT_EQ(error_after([](onnx::ModelProto& m) { m.mutable_graph()->add_node(); }),
            "nodes[1].outputs: the node computes nothing [rule graph]");
  EXPECT_EQ(error_after([](onnx::ModelProto& m) { m.mutable_graph()->clear_node(); }),
            "nodes: the graph has none [rule graph]");
  EXPECT_EQ(error_after([&](onnx::ModelProto& m) { node(m).set_input(1, "nowhere\n"); }),
            "input 'nowhere?': has no initializer");
  EXPECT_EQ(error_after([&](onnx::ModelProto& m) { node(m).add_output("z"); }),
            "outputs: a case has one output, the node has 2");
  EXPECT_EQ(error_after([](onnx::ModelProto& m) { m.clear_opset_import(); }),
            "opset_import: the model imports no version of domain ''");
  EXPECT_EQ(
      error_after([&](onnx::ModelProto& m) { node(m).mutable_attribute(0)->set_type(onnx::AttributeProto::TENSOR); }),
      "attribute 'axis': type 4: expected float (1), int (2), string (3), floats (6), ints (7) or strings (8)");
  EXPECT_EQ(error_after([&](onnx::ModelProto& m) {
              node(m).mutable_attribute(0)->add_strings("Tanh");
              node(m).mutable_attribute(0)->add_ints(1);
            }),
            "attribute 'axis': expected values of one type, got 0 floats, 1 ints and 1 strings");
  EXPECT_EQ(error_after([](onnx::ModelProto& m) { m.mutable_metadata_props(1)->set_value("perhaps"); }),
            "qconform.expectation: expected unstated, valid, implementation-defined or invalid, got 'perhaps'");
  EXPECT_EQ(error_after([&](onnx::ModelProto& m) {
              for (int i = 0; i < 62; ++i) node(m).add_input("");
            }),
            "inputs: 65 exceed the limit of 64 [rule limit]");
  EXPECT_EQ(error_after([](onnx::ModelProto&) {}), "");
}

TEST(CaseModel, DoesNotWriteWhatItCouldNotRead) {
  Case large = small_case();
  large.inputs.resize(limits::kInputs + 1);
  EXPECT_FALSE(case_to_model(large).has_value());
  large = small_case();
  large.node().attributes[0].value = std::vector<std::int64_t>(limits::kAttributeValues + 1);
  EXPECT_FALSE(case_to_model(large).has_value());
  large.node().attributes[0].value = std::vector<std::string>(limits::kAttributeValues + 1);
  EXPECT_FALSE(case_to_model(large).has_value());
}

TEST(CaseFolder, WritingAgainLeavesNothingOfTheFirst) {
  const TemporaryFolder folder;
  Case first = small_case();
  first.recorded_outputs = {*first.inputs[0]};
  ASSERT_TRUE(write_case_folder(first, folder.path()).has_value());
  ASSERT_TRUE(write_case_folder(small_case(), folder.path()).has_value());
  const auto back = read_case_folder(folder.path());
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_FALSE(back->front().recorded_output());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "test_data_set_0" / "output_0.pb"));
}

TEST(CaseFolder, EveryDataSetIsACase) {
  const TemporaryFolder folder;
  const auto place = folder.path() / "test_some";
  Case test_case = small_case();
  ASSERT_TRUE(write_case_folder(test_case, place, {&*test_case.inputs[0], 1}).has_value());
  onnx::ModelProto model = parsed(*case_to_model(test_case));
  model.clear_metadata_props();  // as another producer writes it: outputs count as recorded
  model.mutable_graph()->clear_initializer();
  for (const char* name : {"x", "x_scale"}) model.mutable_graph()->add_input()->set_name(name);
  std::ofstream(place / "model.onnx", std::ios::binary) << model.SerializeAsString();
  std::filesystem::copy(place / "test_data_set_0", place / "test_data_set_10");
  std::filesystem::copy(place / "test_data_set_0", place / "test_data_set_9");
  std::filesystem::create_directory(place / "test_data_set_x");
  const auto back = read_case_folder(place);
  ASSERT_TRUE(back.has_value()) << back.error().text();
  ASSERT_EQ(back->size(), 3U);
  EXPECT_EQ((*back)[0].id, "test_some");
  EXPECT_EQ((*back)[1].id, "test_some/9");
  EXPECT_EQ((*back)[2].id, "test_some/10");
  EXPECT_EQ(*(*back)[2].recorded_output(), *test_case.inputs[0]);
  EXPECT_EQ(digest_of((*back)[1]), digest_of(test_case));
}

}  // namespace
}  // namespace qconform
