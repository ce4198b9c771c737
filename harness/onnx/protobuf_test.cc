// Tensors and their external data from ONNX files, and damaged and hostile files: a clear error each time, or a case;
// never a crash.

#include "harness/onnx/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/case_builder.h"
#include "harness/model/draws/draws.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/derived_models.h"
#include "harness/suites/onnx_model.h"
#include "harness/suites/stored_cases.h"
#include "harness/tests/arbitrary_any_case.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/network.h"
#include "harness/tests/temporary_folder.h"
#include "harness/tests/test_scale.h"

namespace qconform {
namespace {

using ::qconform::testing::TemporaryFolder;

onnx::TensorProto proto_of(ElementType type, std::initializer_list<std::int64_t> shape) {
  onnx::TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(static_cast<std::int32_t>(type));
  for (const std::int64_t dimension : shape) proto.add_dims(dimension);
  return proto;
}

std::string error_of(const onnx::TensorProto& proto, const ExternalFolder& external = {}) {
  const auto tensor = tensor_from_proto(proto, external);
  return tensor ? "" : tensor.error().text();
}

template <typename T>
T entry_at(const Tensor& tensor, std::size_t index) {
  T value{};
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

/// Stores the tensor's values in the typed field that ONNX assigns to its type.
onnx::TensorProto typed_proto(const Tensor& tensor) {
  onnx::TensorProto proto;
  write_tensor(tensor, "t", proto);
  proto.clear_raw_data();
  const int bits = bits_of(tensor.type);
  const std::size_t size = tensor.bytes.size();
  if (tensor.type == ElementType::float32 || tensor.type == ElementType::complex64) {
    for (std::size_t i = 0; i < size / 4; ++i) proto.add_float_data(entry_at<float>(tensor, i));
  } else if (tensor.type == ElementType::float64 || tensor.type == ElementType::complex128) {
    for (std::size_t i = 0; i < size / 8; ++i) proto.add_double_data(entry_at<double>(tensor, i));
  } else if (tensor.type == ElementType::int64) {
    for (std::size_t i = 0; i < size / 8; ++i) proto.add_int64_data(entry_at<std::int64_t>(tensor, i));
  } else if (tensor.type == ElementType::uint64) {
    for (std::size_t i = 0; i < size / 8; ++i) proto.add_uint64_data(entry_at<std::uint64_t>(tensor, i));
  } else if (tensor.type == ElementType::uint32) {
    for (std::size_t i = 0; i < size / 4; ++i) proto.add_uint64_data(entry_at<std::uint32_t>(tensor, i));
  } else if (tensor.type == ElementType::int32) {
    for (std::size_t i = 0; i < size / 4; ++i) proto.add_int32_data(entry_at<std::int32_t>(tensor, i));
  } else if (tensor.type == ElementType::int8) {
    for (std::size_t i = 0; i < size; ++i) proto.add_int32_data(entry_at<std::int8_t>(tensor, i));
  } else if (tensor.type == ElementType::int16) {
    for (std::size_t i = 0; i < size / 2; ++i) proto.add_int32_data(entry_at<std::int16_t>(tensor, i));
  } else if (bits == 16) {
    for (std::size_t i = 0; i < size / 2; ++i) proto.add_int32_data(entry_at<std::uint16_t>(tensor, i));
  } else {
    for (std::size_t i = 0; i < size; ++i) proto.add_int32_data(entry_at<std::uint8_t>(tensor, i));
  }
  return proto;
}

RC_GTEST_PROP(TensorProto, RawDataRoundTripIsLossless, (const Tensor& original)) {
  onnx::TensorProto proto;
  write_tensor(original, "t", proto);
  const auto back = tensor_from_proto(proto, std::nullopt);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == original);
}

RC_GTEST_PROP(TensorProto, TypedFieldsHoldTheSameValues, (const Tensor& original)) {
  const auto back = tensor_from_proto(typed_proto(original), std::nullopt);
  if (!back) RC_FAIL(back.error().text());
  RC_ASSERT(*back == original);
}

TEST(TensorProto, RefusesHostileShapesBeforeAllocating) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_NE(error_of(proto_of(ElementType::uint8, {huge})).find("exceeds the limit"), std::string::npos);
  EXPECT_NE(error_of(proto_of(ElementType::uint8, {huge, huge, 4})).find("exceeds the limit"), std::string::npos);
  EXPECT_NE(error_of(proto_of(ElementType::uint8, {0, huge})).find("exceeds the limit"), std::string::npos);
  EXPECT_NE(error_of(proto_of(ElementType::float64, {1 << 30})).find("exceeds the limit"), std::string::npos);
  EXPECT_EQ(error_of(proto_of(ElementType::uint8, {2, -1})), "tensor 't': negative dimension in shape [2, -1]");
  onnx::TensorProto deep = proto_of(ElementType::uint8, {});
  for (int i = 0; i < 33; ++i) deep.add_dims(1);
  EXPECT_NE(error_of(deep).find("rank 33 exceeds the limit"), std::string::npos);
}

TEST(TensorProto, NamesWhatIsWrong) {
  onnx::TensorProto proto = proto_of(ElementType::uint8, {2});
  EXPECT_EQ(error_of(proto), "tensor 't': int32_data: expected 2 for this type and shape, got 0");
  proto.add_int32_data(1);
  proto.add_int32_data(256);
  EXPECT_EQ(error_of(proto), "tensor 't': int32_data[1]: 256 does not fit uint8");
  proto.set_int32_data(1, -1);
  EXPECT_EQ(error_of(proto), "tensor 't': int32_data[1]: -1 does not fit uint8");
  proto.set_data_type(static_cast<std::int32_t>(ElementType::int8));
  EXPECT_EQ(error_of(proto), "");
  proto.set_raw_data("ab");
  EXPECT_EQ(error_of(proto), "tensor 't': has values in raw_data and in a typed field");
  proto.clear_int32_data();
  proto.set_raw_data("abc");
  EXPECT_EQ(error_of(proto), "tensor 't': bytes in raw_data: expected 2 for this type and shape, got 3");
  proto.set_raw_data("ab");
  proto.mutable_segment()->set_begin(0);
  EXPECT_EQ(error_of(proto), "tensor 't': segmented tensors are not supported");
  EXPECT_EQ(error_of(proto_of(ElementType::string, {1})), "tensor 't': element type string cannot be held in a tensor");
  EXPECT_EQ(error_of(proto_of(static_cast<ElementType>(99), {1})),
            "tensor 't': element type type 99 cannot be held in a tensor");
}

TEST(TensorProto, ClearsUnusedBitsOfPackedTypes) {
  onnx::TensorProto proto = proto_of(ElementType::int4, {3});
  proto.set_raw_data("\x21\xF3");
  const auto tensor = tensor_from_proto(proto, std::nullopt);
  ASSERT_TRUE(tensor.has_value());
  EXPECT_EQ(tensor->bytes, (std::vector<std::byte>{std::byte{0x21}, std::byte{0x03}}));
}

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() {
    std::filesystem::create_directory(folder_.path() / "model");
    std::ofstream(folder_.path() / "model" / "weights.bin", std::ios::binary) << "0123456789";
    std::ofstream(folder_.path() / "outside.bin", std::ios::binary) << "0123456789";
  }

  std::string error_for(const std::string& location, const std::string& offset = "", const std::string& length = "") {
    return error_of(external_proto(location, offset, length), folder_.path() / "model");
  }

  static onnx::TensorProto external_proto(const std::string& location, const std::string& offset,
                                          const std::string& length) {
    onnx::TensorProto proto = proto_of(ElementType::uint8, {4});
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      proto.add_external_data()->set_key(key);
      proto.mutable_external_data(proto.external_data_size() - 1)->set_value(value);
    };
    add("location", location);
    add("offset", offset);
    add("length", length);
    return proto;
  }

  TemporaryFolder folder_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  const auto tensor = tensor_from_proto(external_proto("weights.bin", "3", "4"), folder_.path() / "model");
  ASSERT_TRUE(tensor.has_value()) << tensor.error().text();
  EXPECT_EQ(tensor->values<char>(), (std::vector<char>{'3', '4', '5', '6'}));
  EXPECT_EQ(error_for("weights.bin"), "");
  EXPECT_EQ(error_for("weights.bin", "6"), "");
  EXPECT_EQ(error_of(external_proto("weights.bin", "", "")),
            "tensor 't': values in an external file are not read here");
}

TEST_F(ExternalData, DoesNotLeaveTheFolder) {
  std::filesystem::create_symlink(folder_.path() / "outside.bin", folder_.path() / "model" / "link.bin");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() / "model" / "up");
  EXPECT_NE(error_for("../outside.bin").find("must be relative and without '..'"), std::string::npos);
  EXPECT_NE(error_for("/etc/passwd").find("must be relative and without '..'"), std::string::npos);
  EXPECT_NE(error_for("link.bin").find("leads out of the model's folder"), std::string::npos);
  EXPECT_NE(error_for("up/outside.bin").find("leads out of the model's folder"), std::string::npos);
  EXPECT_NE(error_for(".").find("is not a regular file"), std::string::npos);
  EXPECT_NE(error_for("missing.bin").find("No such file"), std::string::npos);
  EXPECT_EQ(error_for(""), "tensor 't': external_data has no location");
}

TEST_F(ExternalData, MustFitTheFileAndTheTensor) {
  EXPECT_NE(error_for("weights.bin", "7").find("lie beyond the 10 bytes"), std::string::npos);
  EXPECT_NE(error_for("weights.bin", "11").find("lie beyond the 10 bytes"), std::string::npos);
  EXPECT_NE(error_for("weights.bin", "9223372036854775807").find("lie beyond"), std::string::npos);
  EXPECT_NE(error_for("weights.bin", "-1").find("expected a number of bytes, got '-1'"), std::string::npos);
  EXPECT_NE(error_for("weights.bin", "1x").find("expected a number of bytes, got '1x'"), std::string::npos);
  EXPECT_NE(error_for("weights.bin", "0", "5").find("expected 4 bytes for this shape, got 5"), std::string::npos);
}

using ::qconform::testing::scaled;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;

std::string small_model() {
  const Case test_case = QLinearConvBuilder()
                             .id("small")
                             .x(make::uint8({1, 2, 4, 4}, std::vector<std::int64_t>(32, 3)))
                             .w(make::int8({4, 2, 3, 3}, std::vector<std::int64_t>(72, 1)))
                             .pads({1, 1, 1, 1})
                             .rules({"C1"})
                             .recorded_output(make::uint8({1, 4, 4, 4}, std::vector<std::int64_t>(64, 9)))
                             .build();
  return *case_to_model(test_case);
}

/// Whether the bytes are read; every error must say something.
bool is_read(const std::string& bytes) {
  const auto result = case_from_model(bytes);
  if (!result) {
    EXPECT_FALSE(result.error().text().empty());
  }
  return result.has_value();
}

TEST(HostileFile, EveryTruncationIsAnErrorOrACase) {
  const std::string whole = small_model();
  ASSERT_TRUE(is_read(whole));
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) refused += is_read(whole.substr(0, size)) ? 0 : 1;
  // A cut between two fields of the outermost message leaves a well-formed model, possibly complete.
  EXPECT_GT(refused, static_cast<int>(whole.size()) * 3 / 4);
}

TEST(HostileFile, DamagedBytesAreAnErrorOrACase) {
  const std::string whole = small_model();
  Rng rng(7);
  int refused = 0;
  const int count = scaled(5000);
  for (int i = 0; i < count; ++i) {
    std::string damaged = whole;
    for (std::uint64_t flips = 1 + rng.below(8); flips > 0; --flips) {
      damaged[rng.below(static_cast<std::uint32_t>(damaged.size()))] = static_cast<char>(rng.below(256));
    }
    refused += is_read(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

TEST(HostileFile, RandomBytesAreRefused) {
  Rng rng(8);
  for (int i = 0; i < scaled(2000); ++i) {
    std::string bytes(rng.below(200), '\0');
    rng.fill(std::as_writable_bytes(std::span(bytes)));
    EXPECT_FALSE(is_read(bytes));
  }
}

TEST(HostileFile, DeepNestingIsRefused) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(small_model()));
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 200; ++depth) {
    onnx::AttributeProto* attribute = graph->add_node()->add_attribute();
    graph = attribute->mutable_g();
  }
  EXPECT_THAT(case_from_model(model.SerializeAsString()).error().text(), HasSubstr("cannot be parsed"));
}

TEST(HostileFile, HugeShapesAreRefused) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(small_model()));
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, std::int64_t{1} << 62);
  EXPECT_THAT(case_from_model(model.SerializeAsString()).error().text(), HasSubstr("exceeds the limit"));
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -4);
  EXPECT_THAT(case_from_model(model.SerializeAsString()).error().text(), HasSubstr("negative dimension"));
}

TEST(HostileFile, WhatIsNoModelFileIsNamed) {
  const TemporaryFolder folder;
  const auto empty = folder.path() / "empty.onnx";
  std::ofstream(empty).close();
  const auto text_of = [](const std::filesystem::path& file) { return read_case_model(file).error().text(); };
  EXPECT_THAT(text_of(empty), HasSubstr("empty.onnx: is empty"));
  EXPECT_THAT(text_of(folder.path() / "missing.onnx"), HasSubstr("missing.onnx: "));
  EXPECT_THAT(text_of(folder.path()), HasSubstr("is a folder"));
  EXPECT_THAT(OnnxModelSuite::open(empty, 1).error().text(), HasSubstr("empty.onnx: is empty"));
  EXPECT_THAT(OnnxModelSuite::open(folder.path() / "missing.onnx", 1).error().text(), HasSubstr("missing.onnx: "));
  EXPECT_THAT(OnnxModelSuite::open(folder.path(), 1).error().text(), HasSubstr("is a folder"));
  EXPECT_THAT(read_case_folder(folder.path()).error().text(), HasSubstr("model.onnx"));
}

// Two nodes in a row, which quantize "x" to "a" and compute "b" of it.
onnx::ModelProto two_nodes() {
  testing::Network net;
  net.input("x", ElementType::float32, {4});
  net.node("QuantizeLinear", {"x", net.scale("s"), net.zero_point("z")}, "a");
  net.node("Relu", {"a"}, "b");
  net.graph().add_output()->set_name("b");
  return net.model();
}

// Returns the errors of every reader of models for one model, without the file's name.
std::vector<std::string> faults_of(const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.onnx";
  EXPECT_TRUE(write_file(file, model.SerializeAsString()));
  std::vector<std::string> faults;
  faults.push_back(OnnxModelSuite::open(file, 1).error().text());
  faults.push_back(read_case_model(file).error().text());
  faults.push_back(read_case_folder(folder.path()).error().text());
  faults.push_back(write_in_qdq_form(file, folder.path() / "out.onnx").error().text());
  auto folders = OnnxFolderSuite::open(folder.path());
  faults.push_back((*folders)->next().error().text());
  faults.push_back(case_from_model(model.SerializeAsString()).error().text());
  faults.push_back(case_from_fed_model(model.SerializeAsString(), {}).error().text());
  return faults;
}

TEST(HostileFile, GraphsThatAreNoOnnxAreNamedByEveryReader) {
  onnx::ModelProto model = two_nodes();
  model.mutable_graph()->mutable_node(1)->set_output(0, "a");
  EXPECT_THAT(faults_of(model), Each(HasSubstr("node 'b_node' (Relu): invalid ONNX: it computes 'a', which node "
                                               "'a_node' (QuantizeLinear) computes too")));
  for (const char* name : {"x", "s"}) {
    model = two_nodes();
    model.mutable_graph()->mutable_node(1)->set_output(0, name);
    EXPECT_THAT(faults_of(model),
                Each(HasSubstr("node 'b_node' (Relu): invalid ONNX: it overwrites '" + std::string(name) +
                               "', which is an input or initializer of the graph")));
  }
  model = two_nodes();
  model.mutable_graph()->mutable_node(0)->set_input(0, "b");
  EXPECT_THAT(faults_of(model), Each(ContainsRegex("node '[ab]_node' .*: invalid ONNX: its value '[ab]' depends on "
                                                   "itself")));
}

TEST(HostileFile, GraphsThatAreNoOnnxAreFoundInBodies) {
  onnx::ModelProto model = two_nodes();
  onnx::NodeProto& loop = *model.mutable_graph()->add_node();
  loop.set_op_type("Loop");
  loop.add_output("looped");
  onnx::AttributeProto& body = *loop.add_attribute();
  body.set_name("body");
  for (const char* input : {"a", "looped"}) {
    onnx::NodeProto& node = *body.mutable_g()->add_node();
    node.set_op_type("Abs");
    node.add_input(input);
    node.add_output(std::string(input) + "_twice");
  }
  EXPECT_THAT(faults_of(model), Each(HasSubstr("node 2 (Loop): invalid ONNX: its value 'looped' depends on itself")));
  body.mutable_g()->mutable_node(1)->set_input(0, "a");
  body.mutable_g()->mutable_node(1)->set_output(0, "a_twice");
  EXPECT_THAT(faults_of(model), Each(HasSubstr("node 1 (Abs): invalid ONNX: it computes 'a_twice'")));
}

TEST(HostileFile, ValuesBeyondTheLimitsAreNamed) {
  testing::Network net;
  net.constant("shape", Tensor::of<std::int64_t>(ElementType::int64, {2}, std::vector<std::int64_t>{65536, 65536}));
  net.node("ConstantOfShape", {"shape"}, "big");
  net.node("QuantizeLinear", {"big", net.scale("s"), net.zero_point("z")}, "a");
  net.graph().add_output()->set_name("a");
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.onnx";
  ASSERT_TRUE(write_file(file, net.model().SerializeAsString()));
  EXPECT_THAT(OnnxModelSuite::open(file, 1).error().text(),
              HasSubstr("model.onnx: node 'big_node' (ConstantOfShape): value 'big': shape [65536, 65536] exceeds the "
                        "limit of 1073741824 elements [rule limit]"));
}

TEST(HostileFile, AModelThatTakesTooMuchMemoryToReadIsNamed) {
  if (!kCanLimitAddressSpace) GTEST_SKIP() << "this build's sanitizer maps terabytes";
  onnx::ModelProto model = two_nodes();
  for (int i = 0; i < 200'000; ++i) model.mutable_graph()->add_node();
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.onnx";
  ASSERT_TRUE(write_file(file, model.SerializeAsString()));
  ModelOptions options;
  options.memory = std::uint64_t{16} << 20;
  EXPECT_THAT(OnnxModelSuite::open(file, 1, options).error().text(),
              HasSubstr("model.onnx: needs more than the limit of 16 MiB of memory; --model-memory gives it more"));
}

TEST(HostileFile, FilesAboveTheLimitAreNotRead) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "large.onnx";
  std::ofstream(file).close();
  std::filesystem::resize_file(file, std::uintmax_t{3} << 30);  // sparse: takes no space
  EXPECT_THAT(read_case_model(file).error().text(), HasSubstr("larger than the limit"));
  EXPECT_THAT(OnnxModelSuite::open(file, 1).error().text(), HasSubstr("larger than the limit"));
}

TEST(HostileFile, GitLfsPointersAreNamed) {
  const TemporaryFolder folder;
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
  const auto names_it = HasSubstr("is a Git LFS pointer, not the file that it stands for; `git lfs pull` fetches");
  const auto model = folder.path() / "model.onnx";
  const auto json = folder.path() / "case.json";
  for (const auto& file : {model, json}) ASSERT_TRUE(write_file(file, pointer).has_value());
  EXPECT_THAT(OnnxModelSuite::open(model, 1).error().text(), AllOf(HasSubstr("model.onnx: "), names_it));
  EXPECT_THAT(read_case_model(model).error().text(), names_it);
  EXPECT_THAT(read_case_folder(folder.path()).error().text(), names_it);
  EXPECT_THAT(load_case(json).error().text(), AllOf(HasSubstr("case.json: "), names_it));

  const auto weights = folder.path() / "weights.bin";
  ASSERT_TRUE(write_file(weights, pointer).has_value());
  onnx::GraphProto graph;
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::INT8);
  tensor.add_dims(12345);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  tensor.add_external_data()->set_key("location");
  tensor.mutable_external_data(0)->set_value("weights.bin");
  const auto names_weights = AllOf(HasSubstr("tensor 'w': external_data location 'weights.bin': "), names_it);
  EXPECT_THAT(tensor_from_proto(tensor, folder.path()).error().text(), names_weights);
  EXPECT_THAT(check_external_data_is_fetched(graph, folder.path()).error().text(), names_weights);
}

TEST(HostileFile, DamagedFoldersAreAnErrorOrCases) {
  const TemporaryFolder folder;
  const auto place = folder.path() / "case";
  ASSERT_TRUE(write_case_folder(*case_from_model(small_model()), place).has_value());
  const auto file = place / "test_data_set_0" / "input_3.pb";
  const std::string whole = *read_file(file, 1 << 20);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(write_file(file, whole.substr(0, size)).has_value());
    EXPECT_FALSE(read_case_folder(place).has_value()) << size;
  }
  std::filesystem::remove(file);
  EXPECT_THAT(read_case_folder(place).error().text(), HasSubstr("has neither a file"));
}

TEST(HostileFile, DamagedModelsAreAnErrorOrCases) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "model.onnx";
  const std::string whole = small_model();
  Rng rng(9);
  int opened = 0;
  const int count = scaled(60);
  for (int i = 0; i < count; ++i) {
    std::string damaged = whole;
    damaged[rng.below(static_cast<std::uint32_t>(damaged.size()))] = static_cast<char>(rng.below(256));
    ASSERT_TRUE(write_file(file, damaged).has_value());
    auto source = OnnxModelSuite::open(file, 1);
    if (!source) continue;
    ++opened;
    for (auto next = (*source)->next(); next && *next; next = (*source)->next()) {
      EXPECT_LE((*next)->inputs.size(), 9U);
    }
  }
  EXPECT_GT(opened, 0);
}

}  // namespace
}  // namespace qconform
