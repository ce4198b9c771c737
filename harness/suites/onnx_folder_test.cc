#include "harness/suites/stored_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/base/file.h"
#include "harness/model/case_builder.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/network.h"
#include "harness/tests/temporary_folder.h"

namespace qconform {
namespace {

using ::qconform::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Case some_case(const std::string& id) {
  return QLinearConvBuilder()
      .id(id)
      .x(make::uint8({1, 1, 2, 2}, {1, 2, 3, 4}))
      .w(make::int8({1, 1, 1, 1}, {5}))
      .recorded_output(make::uint8({1, 1, 2, 2}, {5, 10, 15, 20}))
      .build();
}

void write(const Case& test_case, const std::filesystem::path& folder) {
  const auto written = write_case_folder(test_case, folder);
  ASSERT_TRUE(written.has_value()) << written.error().text();
}

std::vector<std::string> ids_of(OnnxFolderSuite& source) {
  std::vector<std::string> ids;
  while (true) {
    auto next = source.next();
    if (!next) ADD_FAILURE() << next.error().text();
    if (!next || !*next) return ids;
    ids.push_back((*next)->id);
  }
}

/// Renames every "qconform." key, so that the file looks like another producer's.
void forget_producer(const std::filesystem::path& model_file) {
  std::string bytes = *read_file(model_file, 1 << 20);
  for (std::size_t at = bytes.find("qconform."); at != std::string::npos; at = bytes.find("qconform.", at)) {
    bytes.replace(at, 9, "elsewhere");
  }
  ASSERT_TRUE(write_file(model_file, bytes).has_value());
}

TEST(OnnxFolderSuite, FindsFoldersBelowInTheOrderOfTheirPaths) {
  const TemporaryFolder folder;
  write(some_case("first"), folder.path() / "a" / "z");
  write(some_case("third"), folder.path() / "c");
  write(some_case("second"), folder.path() / "b");
  std::filesystem::create_directories(folder.path() / "empty");
  auto source = OnnxFolderSuite::open(folder.path());
  ASSERT_TRUE(source.has_value()) << source.error().text();
  EXPECT_THAT(ids_of(**source), ElementsAre("first", "second", "third"));
  EXPECT_THAT((*source)->skipped(), IsEmpty());
}

TEST(OnnxFolderSuite, NamesOthersCasesAfterTheirFolder) {
  const TemporaryFolder folder;
  write(some_case("ignored"), folder.path() / "a" / "test_conv");
  std::filesystem::copy(folder.path() / "a" / "test_conv" / "test_data_set_0",
                        folder.path() / "a" / "test_conv" / "test_data_set_1");
  forget_producer(folder.path() / "a" / "test_conv" / "model.onnx");
  auto below = OnnxFolderSuite::open(folder.path());
  EXPECT_THAT(ids_of(**below), ElementsAre("a/test_conv", "a/test_conv/1"));
  auto itself = OnnxFolderSuite::open(folder.path() / "a" / "test_conv");
  const auto first = (*itself)->next();
  ASSERT_TRUE(first.has_value() && first->has_value());
  EXPECT_EQ((*first)->id, "test_conv");
  EXPECT_EQ((*first)->expectation, Expectation::unstated);
  EXPECT_EQ((*first)->recorded_outputs, some_case("").recorded_outputs);
  EXPECT_EQ((*first)->provenance.source, (*itself)->name());
}

TEST(OnnxFolderSuite, CountsOtherNodes) {
  const TemporaryFolder folder;
  Case other = some_case("other");
  other.node().op_type = "Add";
  write(other, folder.path() / "add1");
  write(other, folder.path() / "add2");
  Case theirs = some_case("theirs");
  theirs.node().domain = "com.example";
  write(theirs, folder.path() / "theirs");
  write(some_case("bare"), folder.path() / "bare");
  std::filesystem::remove_all(folder.path() / "bare" / "test_data_set_0");
  write(some_case("kept"), folder.path() / "kept");
  auto source = OnnxFolderSuite::open(folder.path());
  EXPECT_THAT(ids_of(**source), ElementsAre("kept"));
  EXPECT_THAT((*source)->skipped(),
              ElementsAre(Pair("no data set: QLinearConv", 1), Pair("not quantized: Add", 2),
                          Pair("operator that qconform does not test: com.example::QLinearConv", 1)));
}

/// DynamicQuantizeLinear to the Mul of its scales, with the zero point of w from a Constant.
testing::Network dynamic_network() {
  testing::Network net;
  net.input("x", ElementType::float32, {2, 3});
  onnx::NodeProto& quantize = net.node("DynamicQuantizeLinear", {"x"}, "q");
  for (const char* output : {"q_scale", "q_zero"}) quantize.add_output(output);
  onnx::AttributeProto& value = *net.node("Constant", {}, "w_zero").add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  write_tensor(Tensor::scalar<std::int8_t>(ElementType::int8, 0), "", *value.mutable_t());
  net.node("MatMulInteger", {"q", net.constant("w", make::int8({3, 1}, {1, -2, 3})), "q_zero", "w_zero"}, "sum");
  net.integer(net.node("Cast", {"sum"}, "real"), "to", onnx::TensorProto::FLOAT);
  net.node("Mul", {"q_scale", net.scale("w_scale")}, "scale");
  net.node("Mul", {"real", "scale"}, "y");
  net.graph().add_output()->set_name("y");
  net.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return net;
}

// The folders test_dynamicquantizelinear_*_expanded of ONNX hold graphs of no quantized node.
TEST(OnnxFolderSuite, CutsModelsThatAreNoSingleCase) {
  const TemporaryFolder folder;
  write(some_case("kept"), folder.path() / "kept");
  testing::Network net = dynamic_network();
  onnx::TensorProto x;
  write_tensor(make::float32({2, 3}, {0, 1, 2, -4, 5, 255 - 4}), "", x);
  for (const char* data_set : {"test_data_set_0", "test_data_set_1"}) {
    std::filesystem::create_directories(folder.path() / "whole" / data_set);
    const std::filesystem::path file = folder.path() / "whole" / data_set / "input_0.pb";
    ASSERT_TRUE(write_file(file, x.SerializeAsString()).has_value());
  }
  ASSERT_TRUE(write_file(folder.path() / "whole" / "model.onnx", net.model().SerializeAsString()).has_value());
  net.graph().mutable_node()->DeleteSubrange(0, 3);  // leaves Cast and Mul
  std::filesystem::create_directories(folder.path() / "x-floats");
  ASSERT_TRUE(write_file(folder.path() / "x-floats" / "model.onnx", net.model().SerializeAsString()).has_value());
  auto source = OnnxFolderSuite::open(folder.path());
  EXPECT_THAT(ids_of(**source), ElementsAre("kept", "whole/sum_node.unit#2", "whole/1/sum_node.unit#2"));
  EXPECT_EQ((*source)->skipped().at("several nodes, none of them quantized"), 1U);
}

TEST(OnnxFolderSuite, ADamagedModelEndsTheSource) {
  const TemporaryFolder folder;
  write(some_case("a"), folder.path() / "a");
  write(some_case("b"), folder.path() / "b");
  std::ofstream(folder.path() / "a" / "model.onnx") << "not a model";
  auto source = OnnxFolderSuite::open(folder.path());
  const auto next = (*source)->next();
  ASSERT_FALSE(next.has_value());
  EXPECT_THAT(next.error().text(), HasSubstr((folder.path() / "a" / "model.onnx").string()));
  EXPECT_THAT(ids_of(**source), IsEmpty());
}

TEST(OnnxFolderSuite, RefusesFoldersWithoutTests) {
  const TemporaryFolder folder;
  EXPECT_THAT(OnnxFolderSuite::open(folder.path()).error().text(), HasSubstr("holds no backend tests"));
  EXPECT_THAT(OnnxFolderSuite::open(folder.path() / "missing").error().text(), HasSubstr("no such folder"));
}

}  // namespace
}  // namespace qconform
