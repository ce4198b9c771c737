#include "harness/onnx/numpy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qconform {
namespace {

using ::testing::HasSubstr;

std::string little(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string npy(const std::string& header, const std::string& data) {
  return std::string("\x93NUMPY") + little(1, 1) + little(0, 1) + little(header.size(), 2) + header + data;
}

std::string usual_header(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
}

// An archive of one member.
std::string zip(const std::string& name, const std::string& data, std::uint64_t method = 0) {
  const std::string local = "PK\x03\x04" + std::string(22, '\0') + little(name.size(), 2) + little(0, 2) + name + data;
  const std::string entry = "PK\x01\x02" + std::string(6, '\0') + little(method, 2) + std::string(8, '\0') +
                            little(data.size(), 4) + little(data.size(), 4) + little(name.size(), 2) +
                            std::string(12, '\0') + little(0, 4) + name;
  return local + entry + "PK\x05\x06" + std::string(4, '\0') + little(1, 2) + little(1, 2) + little(entry.size(), 4) +
         little(local.size(), 4) + little(0, 2);
}

TEST(NumpyFile, HoldsAnArray) {
  const auto tensor = tensor_from_npy(npy(usual_header("<i2", "2,"), little(7, 2) + little(0xfffe, 2)), "x");
  ASSERT_TRUE(tensor) << tensor.error().text();
  EXPECT_EQ(*tensor, Tensor::of<std::int16_t>(ElementType::int16, {2}, std::vector<std::int16_t>{7, -2}));
  EXPECT_TRUE(tensor_from_npy(npy(usual_header("<f4", ""), little(0, 4)), "x")->shape.empty());
}

TEST(NumpyFile, SaysWhatItCannotRead) {
  const auto text = [](const std::string& bytes) {
    const auto tensor = tensor_from_npy(bytes, "x.npy");
    return tensor ? std::string("read") : tensor.error().text();
  };
  EXPECT_THAT(text("PK"), HasSubstr("x.npy: does not begin as a .npy file of NumPy does"));
  EXPECT_THAT(text(npy(usual_header(">f4", "1"), "1234")), HasSubstr("descr: expected numbers in little endian"));
  EXPECT_THAT(text(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234")),
              HasSubstr("fortran_order"));
  EXPECT_THAT(text(npy(usual_header("<f4", "1, -2"), "1234")), HasSubstr("shape: expected"));
  EXPECT_THAT(text(npy(usual_header("<f4", "2, 2"), "1234")), HasSubstr("expected 16 bytes behind the header, got 4"));
  EXPECT_THAT(text(npy(usual_header("<f4", "9223372036854775807, 9"), "1234")), HasSubstr("x.npy"));
  const std::string whole = npy(usual_header("<f4", "1"), "1234");
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_NE(text(whole.substr(0, size)), "read") << size;
}

TEST(NumpyFile, HoldsArraysByName) {
  const std::string array = npy(usual_header("|u1", "3"), "abc");
  const std::string whole = zip("ids.npy", array);
  const auto tensors = tensors_from_npz(whole, "x.npz");
  ASSERT_TRUE(tensors) << tensors.error().text();
  ASSERT_EQ(tensors->size(), 1U);
  EXPECT_EQ(tensors->front().first, "ids");
  EXPECT_EQ(tensors->front().second.shape, (std::vector<std::int64_t>{3}));
  const auto compressed = tensors_from_npz(zip("ids.npy", array, 8), "x.npz");
  ASSERT_FALSE(compressed);
  EXPECT_THAT(compressed.error().text(), HasSubstr("x.npz: ids.npy: is compressed"));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(tensors_from_npz(whole.substr(0, size), "x"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    (void)tensors_from_npz(damaged, "x.npz");  // an error or other numbers, and no harm
  }
}

}  // namespace
}  // namespace qconform
