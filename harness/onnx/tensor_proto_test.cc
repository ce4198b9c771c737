#include "harness/onnx/tensor_proto.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "harness/tests/arbitrary_any_case.h"
#include "harness/tests/temporary_folder.h"

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

}  // namespace
}  // namespace qconform
