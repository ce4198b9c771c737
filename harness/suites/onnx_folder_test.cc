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
#include "harness/tests/convolution_builder.h"
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

// The folders test_dynamicquantizelinear_*_expanded of ONNX are such graphs.
TEST(OnnxFolderSuite, SkipsAGraphWithATensorAsAttribute) {
  const TemporaryFolder folder;
  write(some_case("kept"), folder.path() / "kept");
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(*read_file(folder.path() / "kept" / "model.onnx", 1 << 20)));
  onnx::NodeProto& constant = *model.mutable_graph()->add_node();
  constant.set_op_type("Constant");
  constant.add_output("scale");
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  value.mutable_t()->add_float_data(0.5F);
  onnx::NodeProto& quantize = *model.mutable_graph()->add_node();
  quantize.set_op_type("QuantizeLinear");
  for (const char* input : {"x", "scale"}) quantize.add_input(input);
  quantize.add_output("z");
  std::filesystem::create_directories(folder.path() / "expanded" / "test_data_set_0");
  ASSERT_TRUE(write_file(folder.path() / "expanded" / "model.onnx", model.SerializeAsString()).has_value());
  auto source = OnnxFolderSuite::open(folder.path());
  EXPECT_THAT(ids_of(**source), ElementsAre("kept"));
  EXPECT_THAT((*source)->skipped(), ElementsAre(Pair("an attribute that a case cannot hold: Constant", 1)));
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
